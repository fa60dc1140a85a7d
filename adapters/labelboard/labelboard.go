// Package labelboard makes a board of the issues of a git host, GitHub or Gitea (Forgejo), so that a team needs nothing but its git host.
// An issue is a card, and the column that it stands in is its label "status/<column>", such as "status/To Analyse".
//
// A project is a repository, owner/name as the host writes it. An item's id is the host's name, the repository and the issue's number,
// such as "github.com/acme/shop#7", since numbers begin anew in each repository; pull requests are no items. All labels that begin with
// "status/" are the board's. An issue has one of them: of several, which GitHub lets happen, the one that was given last counts, and the
// service leaves the one that it sets. An issue without one has no status.
//
// A comment of ours ends with its key in an HTML comment, which nobody sees. By that and by its account it is the service's own. It is
// looked for before it is posted, so that a key is posted once for an issue; within one process once for a repository. What is posted is
// escaped: it shows as it is, and neither mentions anybody nor refers to anything.
//
// Waiting for longer than a moment is left to the caller: an error reports whether and when a later try may succeed.
package labelboard

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Options of a Client. Issues are required; so is one of Secrets for webhooks, unless Insecure. The accounts that the hosts' clients sign
// in as must be no person's: what they do is the service's own, and nobody's word.
type Options struct {
	Issues   Issues            // of a host's client, of the account that the service acts as
	Secrets  signature.Secrets // of the webhooks
	Insecure bool              // take unsigned webhooks while there are no Secrets
	Log      *slog.Logger      // nil discards
}

// knownMax bounds how many comments, issues and boards are remembered.
const knownMax = 10_000

// Client implements tracker.Tracker with every optional port of package tracker, and tracker.Receiver. It is safe for concurrent use.
type Client struct {
	*edge

	opt  Options
	rest *restclient.Client
	site string // how ids of items begin: the address of the pages without its scheme, and a slash

	own     atomic.Pointer[string] // login of our account; nil: it was not read yet
	mu      sync.Mutex
	posting map[string]chan struct{}        // keys that are being posted, by project and key; closed when that is over
	boards  *expirable.LRU[string, board]   // by project
	posted  *expirable.LRU[string, string]  // ids of comments, by project and key
	glances *expirable.LRU[string, glanced] // by item
}

var (
	_ interface {
		tracker.Tracker
		tracker.Accounts
		tracker.Board
		tracker.Log
		tracker.People
	} = (*Client)(nil)
	_ interface {
		tracker.Linker
		tracker.Editor
		tracker.Relations
		tracker.Receiver
	} = (*Client)(nil)
)

// New checks the options. It does not call the network.
func New(o Options) (*Client, error) {
	if o.Issues.REST == nil {
		return nil, errors.New("labelboard: Token is missing: " +
			"a token that may read and write issues, of an account that the service acts as")
	}
	defaults.Fill(&o)
	_, site, _ := strings.Cut(o.Issues.Web, "://")
	c := &Client{
		edge: restclient.NewEdge(scheme, o.Secrets, o.Insecure), opt: o,
		rest: calls(o.Issues.REST), site: site + "/", boards: expirable.NewLRU[string, board](knownMax, nil, 0),
		posting: map[string]chan struct{}{},
		posted:  expirable.NewLRU[string, string](knownMax, nil, 0), glances: expirable.NewLRU[string, glanced](knownMax, nil, 0),
	}
	return c, nil
}

// Identify reads which account is the service's own, so that its changes are recognised when they come back as webhooks.
// Until it has succeeded once, Own and Comments answer tracker.ErrUnidentified.
func (c *Client) Identify(ctx context.Context) error {
	var me wireUser
	if err := c.call(ctx, http.MethodGet, "/user", nil, &me); err != nil {
		return fmt.Errorf("Token: %w", err)
	}
	if me.Login == "" {
		return unreadable("/user", "without a login; is BaseURL the address of the API?")
	}
	c.own.Store(&me.Login)
	return nil
}

// Own implements tracker.Accounts.
func (c *Client) Own(accountID string) (bool, error) {
	own := c.own.Load()
	if own == nil {
		return false, tracker.ErrUnidentified
	}
	return strings.EqualFold(*own, accountID), nil
}

// project is the path of a repository. Nothing but owner/name reaches a path.
func project(id string) (string, error) {
	owner, name, _ := strings.Cut(id, "/")
	if !restclient.IsName(owner) || !restclient.IsName(name) {
		return "", fmt.Errorf("labelboard: project %.80q, want owner/name: %w", id, tracker.ErrNotFound)
	}
	return "/repos/" + id + "/", nil
}

// ItemID is the id of an issue. The hosts take a repository's name in any case.
func (c *Client) ItemID(projectID string, number int64) string {
	return c.site + strings.ToLower(projectID) + "#" + strconv.FormatInt(number, 10)
}

// number is that of an issue of a project; 0 when the id is none.
func (c *Client) number(projectID, itemID string) int64 {
	n, err := strconv.ParseInt(itemID[strings.LastIndexByte(itemID, '#')+1:], 10, 64)
	if err != nil || c.ItemID(projectID, n) != itemID {
		return 0
	}
	return n
}

// item is the path of an issue.
func (c *Client) item(projectID, itemID string) (string, error) {
	at, err := project(projectID)
	n := c.number(projectID, itemID)
	if err == nil && n <= 0 {
		return "", fmt.Errorf("labelboard: item %.80q, want an id such as %s: %w", itemID, c.ItemID(projectID, 1), tracker.ErrNotFound)
	}
	return at + "issues/" + strconv.FormatInt(n, 10), err
}

// ItemURL implements tracker.Linker, by the item's id alone: it names the repository.
func (c *Client) ItemURL(_, itemID string) string {
	repo, number, _ := strings.Cut(strings.TrimPrefix(itemID, c.site), "#")
	owner, name, _ := strings.Cut(repo, "/")
	return c.opt.Issues.Web + "/" + url.PathEscape(owner) + "/" + url.PathEscape(name) + "/issues/" + url.PathEscape(number)
}
