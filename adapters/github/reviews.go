package github

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"strings"
	"time"

	gh "github.com/google/go-github/v60/github"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/restclient"
)

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

func (c *Client) reviewsOf(ctx context.Context, repo string, pr githost.PullRequest) ([]githost.Review, error) {
	owner, name, err := split(repo)
	if err != nil {
		return nil, err
	}
	var out []githost.Review
	opt := gh.ListOptions{PerPage: 100}
	for {
		list, resp, err := c.api.PullRequests.ListReviews(ctx, owner, name, int(pr.Number), &opt)
		if err != nil {
			return nil, c.convert(ctx, "the reviews of "+repo, err)
		}
		if list == nil {
			return nil, unreadable("the reviews of " + repo)
		}
		for _, r := range list {
			state, ok := reviewState(r.GetState())
			if !ok {
				continue
			}
			review := githost.Review{
				ID: strconv.FormatInt(r.GetID(), 10), Author: r.GetUser().GetLogin(), State: state, SHA: r.GetCommitID(),
				Body: r.GetBody(), At: r.GetSubmittedAt().Time,
			}
			if state != githost.ReviewCommented { // a comment judges nothing, so that nobody is looked up for it
				if err := c.weigh(ctx, repo, pr, r.GetUser(), r.GetAuthorAssociation(), &review); err != nil {
					return nil, err
				}
			}
			out = append(out, review)
		}
		more, err := next(&opt.Page, resp)
		if err != nil {
			return nil, err
		}
		if !more {
			slices.SortStableFunc(out, func(a, b githost.Review) int { return a.At.Compare(b.At) })
			return out, nil
		}
	}
}

// weigh fills in the role of an author in the repository.
func (c *Client) weigh(
	ctx context.Context, repo string, pr githost.PullRequest, by *gh.User, association string, out *githost.Review,
) error {
	self, err := c.account(ctx)
	if err != nil {
		return err
	}
	out.Bot = by.GetType() == bot
	out.Own = self != "" && strings.EqualFold(out.Author, self)
	out.Opener = strings.EqualFold(out.Author, pr.Author)
	switch {
	case out.Bot, out.Author == "": // a deleted account has no name
		return nil
	case association == "OWNER":
		out.Permission = githost.PermissionAdmin
		return nil
	}
	out.Permission, err = c.permission(ctx, repo, out.Author)
	return err
}

// bot is the type of an account that is an app's.
const bot = "Bot"

// account is the login of the token's account. An app's installation has none: its
// reviews are those of a bot.
func (c *Client) account(ctx context.Context) (string, error) {
	if known := c.self.Load(); known != nil {
		return *known, nil
	}
	me, _, err := c.api.Users.Get(ctx, "")
	if err = c.convert(ctx, "the token's account", err); err != nil {
		if errors.Is(err, githost.ErrDenied) {
			return "", nil
		}
		return "", err
	}
	if me.GetLogin() == "" {
		return "", unreadable("the token's account")
	}
	c.self.Store(me.Login)
	return me.GetLogin(), nil
}

// permission records what an account may do, and when that was read.
type permission struct {
	is githost.Permission
	at time.Time
}

// permission reads what an account may do in a repository. An association such as
// MEMBER does not say it: a member may have been given no more than reading, and one
// whose membership is hidden looks like a stranger. Where the token may not look,
// nothing is known.
func (c *Client) permission(ctx context.Context, repo, login string) (githost.Permission, error) {
	owner, name, err := split(repo)
	if err != nil || !restclient.IsName(login) {
		return githost.PermissionUnknown, err
	}
	key := strings.ToLower(repo + " " + login)
	if known, _ := c.permissions.Get(key); c.opt.Now().Sub(known.at) < knownFor {
		return known.is, nil
	}
	level, _, err := c.api.Repositories.GetPermissionLevel(ctx, owner, name, login)
	found := githost.PermissionUnknown
	switch err = c.convert(ctx, "what "+login+" may do in "+repo, err); {
	case errors.Is(err, githost.ErrNotFound):
		found = githost.PermissionNone
	case errors.Is(err, githost.ErrDenied):
	case err != nil:
		return found, err
	case level.GetPermission() == "":
		return found, unreadable("what " + login + " may do in " + repo)
	default:
		found = permissionOf(level.GetPermission())
	}
	c.permissions.Add(key, permission{found, c.opt.Now()})
	return found, nil
}

// permissionOf normalises GitHub's word: the roles triage and maintain are given as
// read and write by GitHub itself, and as themselves by some servers.
func permissionOf(word string) githost.Permission {
	switch word {
	case "admin":
		return githost.PermissionAdmin
	case "write", "maintain":
		return githost.PermissionWrite
	case "read", "triage":
		return githost.PermissionRead
	case "none":
		return githost.PermissionNone
	}
	return githost.PermissionUnknown
}
