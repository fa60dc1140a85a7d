package gitea

import (
	"cmp"
	"context"
	"errors"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

type review struct {
	ID        int64
	User      user
	State     string
	Body      string
	SHA       string `json:"commit_id"`
	Official  bool   // its author may write, or is on the protection's list
	Dismissed bool
	Comments  int       `json:"comments_count"` // on lines
	At        time.Time `json:"submitted_at"`
}

// reviewState normalises a review's state; ok is false for what is no review, or not one
// yet. One that is stale is one of another commit.
func reviewState(word string) (state githost.ReviewState, ok bool) {
	switch word {
	case "APPROVED":
		return githost.ReviewApproved, true
	case "REQUEST_CHANGES":
		return githost.ReviewChangesRequested, true
	case "COMMENT":
		return githost.ReviewCommented, true
	}
	return "", false
}

// Reviews implements githost.Host.
func (c *Client) Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error) {
	pr, err := c.find(ctx, repo, branch, base, "all")
	if restclient.IsAbsent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	return c.reviewsOf(ctx, repo, pr)
}

func (c *Client) reviewsOf(ctx context.Context, repo string, pr pull) ([]githost.Review, error) {
	_, all, err := c.listReviews(ctx, repo, pr.Number)
	if err != nil {
		return nil, err
	}
	return c.weigh(ctx, repo, pr, all)
}

// listReviews reads the reviews of a pull request, and gives its path.
func (c *Client) listReviews(ctx context.Context, repo string, number int64) (at string, all map[int64]review, err error) {
	if at, err = repoPath(repo); err != nil {
		return "", nil, err
	}
	at, all = at+"/pulls/"+strconv.FormatInt(number, 10), map[int64]review{}
	err = list(ctx, c, "the reviews of "+repo, at+"/reviews", nil, func(rows []review) bool {
		before := len(all)
		for _, r := range rows {
			all[r.ID] = r
		}
		return len(all) > before
	})
	return at, all, err
}

// officials are the accounts that have an official review: of an author the newest is.
func officials(all map[int64]review) map[string]bool {
	out := map[string]bool{}
	for _, r := range all {
		out[r.User.Login] = out[r.User.Login] || r.Official
	}
	return out
}

// weigh converts reviews, oldest first, with the roles of their authors. A comment judges
// nothing, so that nobody is looked up for it.
func (c *Client) weigh(ctx context.Context, repo string, pr pull, all map[int64]review) ([]githost.Review, error) {
	official := officials(all)
	byTime := func(a, b review) int { return cmp.Or(a.At.Compare(b.At), cmp.Compare(a.ID, b.ID)) }
	var out []githost.Review
	for _, r := range slices.SortedFunc(maps.Values(all), byTime) {
		state, ok := reviewState(r.State)
		if !ok {
			continue
		}
		if r.Dismissed {
			state = githost.ReviewDismissed
		}
		one := githost.Review{ID: strconv.FormatInt(r.ID, 10), Author: r.User.Login, State: state, SHA: r.SHA, Body: r.Body, At: r.At}
		if state != githost.ReviewCommented {
			if err := c.know(ctx, repo, pr, r.User, official[one.Author], &one); err != nil {
				return nil, err
			}
		}
		out = append(out, one)
	}
	return out, nil
}

// know fills in what the author of a review is to a pull request.
func (c *Client) know(ctx context.Context, repo string, pr pull, by user, official bool, r *githost.Review) error {
	self, err := c.account(ctx)
	if err != nil {
		return err
	}
	r.Bot, r.Own = by.bot(), self != "" && strings.EqualFold(r.Author, self)
	r.Opener = strings.EqualFold(r.Author, pr.User.Login)
	r.Permission, err = c.permission(ctx, repo, by, official)
	return err
}

// account is the login of the token's account; empty when the token may not read it.
func (c *Client) account(ctx context.Context) (string, error) {
	if known := c.self.Load(); known != nil {
		return *known, nil
	}
	me, err := c.me(ctx)
	if errors.Is(err, githost.ErrDenied) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	c.self.Store(&me)
	return me, nil
}

// permission records what an account may do, and when that was read.
type permission struct {
	is githost.Permission
	at time.Time
}

// permission reads what an account may do in a repository. Gitea answers that to
// administrators of the repository alone; for others it marks the reviews of authors who
// may write (official).
func (c *Client) permission(ctx context.Context, repo string, who user, official bool) (githost.Permission, error) {
	at, err := repoPath(repo)
	switch {
	case err != nil || who.bot() || who.Login == "":
		return githost.PermissionUnknown, err
	case who.ID == ghost:
		return githost.PermissionNone, nil
	case !restclient.IsName(who.Login):
		return githost.PermissionUnknown, nil
	}
	key := strings.ToLower(repo + " " + who.Login)
	known, _ := c.permissions.Get(key)
	found := known.is
	if c.opt.Now().Sub(known.at) >= knownFor {
		what := "what " + who.Login + " may do in " + repo
		if found, err = c.readPermission(ctx, what, at+"/collaborators/"+who.Login+"/permission"); err != nil {
			return githost.PermissionUnknown, err
		}
		c.permissions.Add(key, permission{found, c.opt.Now()})
	}
	if found != githost.PermissionUnknown {
		return found, nil
	}
	if official {
		return githost.PermissionWrite, nil
	}
	return githost.PermissionRead, nil
}

// readPermission gives PermissionUnknown where the token may not look.
func (c *Client) readPermission(ctx context.Context, what, path string) (githost.Permission, error) {
	var level struct{ Permission string }
	err := c.get(ctx, what, path, &level)
	switch {
	case errors.Is(err, githost.ErrNotFound):
		return githost.PermissionNone, nil
	case errors.Is(err, githost.ErrDenied):
		return githost.PermissionUnknown, nil
	case err != nil:
		return githost.PermissionUnknown, err
	}
	switch level.Permission {
	case "admin", "owner":
		return githost.PermissionAdmin, nil
	case "write", "read", "none":
		return githost.Permission(level.Permission), nil
	case "":
		return githost.PermissionUnknown, unreadable(what)
	}
	return githost.PermissionUnknown, nil
}
