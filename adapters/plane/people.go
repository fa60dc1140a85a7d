package plane

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/restclient"
	"github.com/signalbox-dev/signalbox/tracker"
)

// wireActivity is one entry of a work item's log.
type wireActivity struct {
	ID        string
	Verb      string
	Field     *string
	New       *string `json:"new_value"`      // of a state: the column's name
	NewID     *string `json:"new_identifier"` // of a state: its id
	Actor     *string
	CreatedAt restclient.Time `json:"created_at"`
}

// activitiesMax bounds how many pages of a log are read: what is older than some
// thousands of entries is no news.
const activitiesMax = 20

// LastMove implements tracker.Log. Plane writes its log in the background, so that it
// may be behind the board by a moment; a server that does not serve
// it has none.
func (c *Client) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	path := c.item(projectID, itemID) + "activities/"
	values := url.Values{"per_page": {"100"}, "order_by": {"-created_at"}}
	var moves, made []tracker.Move
	for range activitiesMax {
		var p page[wireActivity]
		err := c.call(ctx, call{path: path, query: values, out: &p})
		if e := (*Error)(nil); errors.As(err, &e) && e.unserved {
			return tracker.Move{}, fmt.Errorf("%w: %w", tracker.ErrNoLog, err)
		}
		if err != nil {
			return tracker.Move{}, err
		}
		if p.Results == nil {
			return tracker.Move{}, unreadable(path, "without results")
		}
		for _, a := range p.Results {
			switch m := a.move(); {
			case a.Field != nil && *a.Field == "state":
				moves = append(moves, m)
			case a.Field == nil && a.Verb == "created":
				made = append(made, m)
			}
		}
		if len(moves) > 0 {
			slices.SortStableFunc(moves, func(a, b tracker.Move) int { return b.At.Compare(a.At) })
			moves[0].Earlier = append(moves[1:], made...)
			return moves[0], nil
		}
		if !p.More {
			break
		}
		values.Set("cursor", p.Next)
	}
	if len(made) > 0 {
		return made[0], nil
	}
	return tracker.Move{}, fmt.Errorf("%w: item %s", tracker.ErrNoLog, itemID)
}

func (a wireActivity) move() tracker.Move {
	m := tracker.Move{At: a.CreatedAt.Time, ID: a.ID}
	for _, to := range []*string{a.New, a.NewID} { // the id, where there is one
		if a.Field != nil && to != nil && *to != "" {
			m.To = *to
		}
	}
	if a.Actor != nil {
		m.ActorID = *a.Actor
	}
	return m
}

// members are the people of the workspace as they were read last.
type members struct {
	byID map[string]tracker.Person
	read time.Time
}

// Person implements tracker.People; a role is one of the workspace. Plane describes them
// to every member of the workspace.
func (c *Client) Person(ctx context.Context, _, accountID string) (tracker.Person, error) {
	known, err := c.people(ctx, boardTTL)
	if _, is := known.byID[accountID]; err == nil && !is { // it may have joined since
		known, err = c.people(ctx, time.Minute)
	}
	p, is := known.byID[accountID]
	if err == nil && !is {
		err = fmt.Errorf("%w: account %s", tracker.ErrNotFound, accountID)
	}
	return p, err
}

// people are the members as they are known for less than a time, or as they are read now.
func (c *Client) people(ctx context.Context, age time.Duration) (members, error) {
	known := *c.members.Load()
	if known.byID != nil && c.opt.Now().Sub(known.read) < age {
		return known, nil
	}
	return c.readMembers(ctx)
}

func (c *Client) readMembers(ctx context.Context) (members, error) {
	var list []struct {
		ID    string
		Name  string `json:"display_name"`
		Email string
		Role  int
	}
	path := "workspaces/" + url.PathEscape(c.opt.Workspace) + "/members/"
	err := c.call(ctx, call{path: path, out: &list})
	out := members{byID: map[string]tracker.Person{}, read: c.opt.Now()}
	switch {
	case err != nil:
		return out, err
	case list == nil:
		return out, unreadable(path, "without a list")
	}
	for _, m := range list {
		out.byID[m.ID] = tracker.Person{ID: m.ID, Name: m.Name, Email: m.Email, Role: roleName(m.Role)}
	}
	c.members.Store(&out)
	return out, nil
}

// roleName translates a role of the workspace into the word on Plane's pages.
func roleName(role int) string {
	switch role {
	case 20:
		return "admin"
	case 15:
		return "member"
	case 5:
		return "guest"
	}
	return ""
}
