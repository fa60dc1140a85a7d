// Package plane talks to the project board Plane: its REST API v1, and its
// webhooks in both versions.
//
// Writing is idempotent: a comment carries the service's name and its key, by which Plane
// and the client recognise a second one; a status is set, not toggled. Waiting for longer
// than a moment is left to the caller: an error reports whether and when a later
// try may succeed.
package plane

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/golang-lru/v2/expirable"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Options of a Client. BaseURL, Workspace and Token are required; so is one of
// Secrets for webhooks, unless Insecure.
type Options struct {
	BaseURL    string                  // of the server, without /api
	Workspace  string                  // slug
	Token      string                  // of the account that the service acts as
	RoleTokens map[stage.Role]string   // of accounts that comment for a role; a role without one uses Token
	Secrets    signature.Secrets       // of the webhook
	Insecure   bool                    // take unsigned webhooks while there are no Secrets
	Source     string                  `envDefault:"signalbox"` // marks our comments
	States     map[stage.Status]string // ids of columns, for when a project's cannot be read
	HTTPClient *http.Client            // nil = one with a time-out of 20 s
	Log        *slog.Logger            // nil discards
	Now        func() time.Time
	Sleep      func(context.Context, time.Duration) error // nil = a timer; its error is that of the context
}

// knownMax bounds how many boards, items and comments are remembered.
const knownMax = 1000

// Client implements tracker.Tracker, tracker.Accounts, tracker.Board, tracker.Log,
// tracker.People, tracker.Budgeted and tracker.Receiver. It is safe for concurrent use.
type Client struct {
	*edge

	opt  Options
	rest *restclient.Client

	timeout time.Duration // of one request

	budgets map[string]*budget            // by token; never changed
	boards  *expirable.LRU[string, board] // by project
	members atomic.Pointer[members]
	recent  *expirable.LRU[string, seen]      // by item
	posting *expirable.LRU[string, time.Time] // until when a comment may come that was not answered in time, by key

	mu         sync.Mutex
	own        map[string]bool // ids of our accounts
	identified bool            // own is complete
}

// New checks the options. It does not call the network.
func New(o Options) (*Client, error) {
	u, err := url.Parse(o.BaseURL)
	switch {
	case err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https":
		return nil, errors.New("plane: BaseURL must be the server's address, such as https://plane.example.org")
	case o.Workspace == "" || strings.ContainsAny(o.Workspace, "/?#"):
		return nil, fmt.Errorf("plane: Workspace is %q, want the workspace's slug", o.Workspace)
	case o.Token == "":
		return nil, errors.New("plane: Token is missing: an API token of the account that the service acts as")
	}
	defaults.Fill(&o)
	if o.Sleep == nil {
		o.Sleep = func(ctx context.Context, d time.Duration) error { return run.Sleep(ctx, run.Real{}, d) }
	}
	c := &Client{
		edge: restclient.NewEdge(scheme, o.Secrets, o.Insecure), opt: o,
		own: map[string]bool{}, budgets: map[string]*budget{}, boards: expirable.NewLRU[string, board](knownMax, nil, 0),
		recent: expirable.NewLRU[string, seen](knownMax, nil, 0), posting: expirable.NewLRU[string, time.Time](knownMax, nil, 0),
	}
	c.members.Store(&members{})
	for _, t := range c.tokens() {
		c.budgets[t.secret] = &budget{Meter: allowance.Meter{Window: window, Slack: slack, Settling: settling}, of: t.of()}
	}
	own := http.Client{}
	if o.HTTPClient != nil {
		own = *o.HTTPClient
	}
	own.Timeout = cmp.Or(own.Timeout, timeout)
	own.Transport = metered{cmp.Or[http.RoundTripper](own.Transport, http.DefaultTransport), c.budgets, o.Now}
	c.timeout = own.Timeout
	c.rest = &restclient.Client{
		Service: service, Base: strings.TrimSuffix(u.String(), "/") + "/api/v1/", HTTP: restclient.Straight(&own),
		Now: o.Now, Refuse: refuse, Sign: func(r *http.Request, token string) { r.Header.Set("X-Api-Key", token) },
	}
	return c, nil
}

// Identify reads which accounts are the service's own, so that their changes are
// recognised when they come back as webhooks. Until it has succeeded once, Own
// answers tracker.ErrUnidentified. An error names each token whose account
// could not be read; call it again then, whatever the error. A role's token that
// Plane refuses is such an error, but holds nothing up: it can change nothing.
func (c *Client) Identify(ctx context.Context) error {
	_, err := c.readTokens(ctx)
	return err
}

// Own implements tracker.Accounts.
func (c *Client) Own(accountID string) (bool, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.identified {
		return false, tracker.ErrUnidentified
	}
	return c.own[accountID], nil
}

// token returns the token that a role comments with.
func (c *Client) token(r stage.Role) string {
	if t := c.opt.RoleTokens[r]; t != "" {
		return t
	}
	return c.opt.Token
}

func (c *Client) project(id string) string {
	return "workspaces/" + url.PathEscape(c.opt.Workspace) + "/projects/" + url.PathEscape(id) + "/"
}

func (c *Client) item(projectID, itemID string) string {
	return c.project(projectID) + "work-items/" + url.PathEscape(itemID) + "/"
}

// Item implements tracker.Tracker.
func (c *Client) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	var w wireItem
	named := url.Values{"expand": {"labels"}}
	at := c.item(projectID, itemID)
	if err := c.call(ctx, call{path: at, query: named, out: &w}); err != nil {
		return tracker.Item{}, err
	}
	if w.ID == "" {
		return tracker.Item{}, unreadable(at, "without an id")
	}
	b, err := c.board(ctx, projectID, string(w.State))
	if err != nil {
		return tracker.Item{}, err
	}
	if strings.Contains(w.HTML, "<mention-component") {
		if _, err := c.people(ctx, boardTTL); err != nil {
			c.opt.Log.Warn("people who are mentioned on a card are named by their ids", "item", w.ID, "err", err)
		}
	}
	item := c.convert(w, b)
	c.recent.Add(item.ID, seen{item, c.opt.Now()})
	return item, nil
}

// How many items one page has: as many as Plane gives, or what may have changed lately.
const (
	listSize  = 1000
	sinceSize = 100
)

// listFields names what a listing reads of each item, in place of descriptions.
const listFields = "id,name,sequence_id,state,project,updated_at"

// List implements tracker.Tracker, without descriptions. Plane has no filter: statuses and the moment
// are applied here, and items that are older end the listing.
func (c *Client) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	size := listSize
	if !q.Since.IsZero() {
		size = sinceSize
	}
	values := url.Values{"per_page": {fmt.Sprint(size)}, "order_by": {"-updated_at"}, "fields": {listFields}}
	if q.Cursor != "" {
		values.Set("cursor", q.Cursor)
	}
	var p page[wireItem]
	at := c.project(q.ProjectID) + "work-items/"
	if err := c.call(ctx, call{path: at, query: values, out: &p}); err != nil {
		return tracker.Page{}, err
	}
	if p.Results == nil {
		return tracker.Page{}, unreadable(at, "without results")
	}
	out := tracker.Page{Total: p.Total}
	if p.More {
		out.Next = p.Next
	}
	for _, w := range p.Results {
		b, err := c.board(ctx, q.ProjectID, string(w.State))
		if err != nil {
			return tracker.Page{}, err
		}
		item := c.convert(w, b)
		if !q.Since.IsZero() && item.UpdatedAt.Before(q.Since) {
			out.Next = ""
			break
		}
		if len(q.Statuses) == 0 || slices.Contains(q.Statuses, item.Status) {
			out.Items = append(out.Items, item)
		}
	}
	return out, nil
}

// SetStatus implements tracker.Tracker.
func (c *Client) SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error {
	b, err := c.board(ctx, projectID, "")
	if err != nil {
		return err
	}
	tried, ok := b.column(status)
	if ok {
		if err = c.patchState(ctx, projectID, itemID, tried, b); !isStatus(err, http.StatusBadRequest) {
			return err
		}
	}
	// A column may have been added, or removed and made anew, since the board
	// was read.
	b, refreshErr := c.refresh(ctx, projectID)
	if refreshErr != nil {
		return refreshErr
	}
	id, ok := b.column(status)
	switch {
	case !ok:
		return fmt.Errorf("%w: %s in project %s", tracker.ErrNoStatus, status, projectID)
	case id == tried:
		return err
	}
	return c.patchState(ctx, projectID, itemID, id, b)
}

func (c *Client) patchState(ctx context.Context, projectID, itemID, stateID string, b board) error {
	var out wireItem
	at := c.item(projectID, itemID)
	err := c.call(ctx, call{method: http.MethodPatch, path: at, in: map[string]string{"state": stateID}, out: &out, again: true})
	switch {
	case err == nil && out.ID == "":
		err = unreadable(at, "without an id") // it is not Plane that says so
	case err == nil && string(out.State) == stateID:
		c.recent.Add(out.ID, seen{c.convert(out, b), c.opt.Now()})
		return nil
	}
	c.recent.Remove(itemID)
	return err
}

// isStatus reports whether err is an answer of Plane with that HTTP status.
func isStatus(err error, status int) bool {
	var e *Error
	return errors.As(err, &e) && e.Status == status
}

// Columns implements tracker.Board. They are cached for ten minutes, but where no card can
// begin: somebody may be adding that column.
func (c *Client) Columns(ctx context.Context, projectID string) (map[stage.Status]string, error) {
	b, err := c.board(ctx, projectID, "")
	if _, begins := b.ids[stage.StatusToAnalyse]; err == nil && !begins {
		b, err = c.refresh(ctx, projectID)
	}
	if err != nil {
		return nil, err
	}
	out := map[stage.Status]string{}
	for _, s := range stage.Statuses() {
		if id, ok := b.column(s.Key); ok {
			out[s.Key] = b.names[id]
		}
	}
	return out, nil
}

// StatusOf implements tracker.Board. Older servers call a column by its name in
// their webhooks.
func (c *Client) StatusOf(ctx context.Context, projectID, column string) (stage.Status, error) {
	b, err := c.board(ctx, projectID, "")
	return b.status(column), err
}
