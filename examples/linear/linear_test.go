// Package linear_test is a board of another vendor, made without this module's knowing: an adapter of the kind of Linear, with its
// server in memory, that a main adds to the program.
package linear_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/examples/server/command"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// What the API shows.
type (
	user  struct{ ID, Name, Email string }
	state struct{ ID, Name, Type string }
	issue struct {
		ID, Identifier, URL, Title, Description string
		Number                                  int64
		CreatedAt, UpdatedAt                    time.Time
		Team, Creator                           user
		State                                   state
		History                                 page[move] // newest first
	}
	move struct {
		CreatedAt time.Time
		Actor     user
		ToState   state
	}
	comment struct {
		ID, Body  string
		CreatedAt time.Time
		User      user
	}
	page[T any] struct {
		Nodes    []T
		PageInfo struct {
			HasNextPage bool
			EndCursor   string
		}
	}
)

// client is the adapter.
type client struct {
	command.Entry
	secrets atomic.Pointer[signature.Secrets]
	self    atomic.Pointer[user]
	states  sync.Map // columns by team
}

func open(e command.Entry) (*client, error) {
	c := &client{Entry: e}
	c.SetSecrets(e.Secrets)
	return c, nil
}

// do makes an operation. Its text, which Linear would get as well, is left out: the server here knows operations by their names.
func (c *client) do(ctx context.Context, operation string, variables map[string]any, out any) error {
	body, err := json.Marshal(map[string]any{"operationName": operation, "variables": variables})
	if err != nil {
		return err
	}
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, c.URL+"/graphql", bytes.NewReader(body))
	if err != nil {
		return err
	}
	req.Header = http.Header{"Authorization": {c.Token}, "Content-Type": {"application/json"}}
	resp, err := c.HTTP.Do(req)
	if ctx.Err() != nil {
		return fmt.Errorf("linear: %s: %w", operation, ctx.Err())
	}
	if err != nil {
		return &fault.Error{Text: "linear: " + err.Error(), Again: true}
	}
	defer resp.Body.Close()
	answer := struct {
		Data   any
		Errors []struct{ Extensions struct{ Code string } }
	}{Data: out}
	err = json.NewDecoder(resp.Body).Decode(&answer)
	switch {
	case resp.StatusCode >= 500 || err != nil:
		return &fault.Error{Text: fmt.Sprintf("linear: %s: %s", operation, resp.Status), Again: true}
	case len(answer.Errors) == 0:
		return nil
	case answer.Errors[0].Extensions.Code == "ENTITY_NOT_FOUND":
		return fmt.Errorf("linear: %s: %w", operation, tracker.ErrNotFound)
	}
	code := answer.Errors[0].Extensions.Code
	wait, _ := fault.Moment(resp.Header.Get("Retry-After"), time.Now())
	return &fault.Error{Text: "linear: " + code, Again: code == "RATELIMITED", Wait: wait}
}

// each reads all pages of a list.
func each[T any](ctx context.Context, c *client, operation string, variables map[string]any, f func(T)) error {
	for {
		var p page[T]
		if err := c.do(ctx, operation, variables, &p); err != nil {
			return err
		}
		for _, n := range p.Nodes {
			f(n)
		}
		if !p.PageInfo.HasNextPage {
			return nil
		}
		variables["after"] = p.PageInfo.EndCursor
	}
}

func (c *client) Identify(ctx context.Context) error {
	var me user
	err := c.do(ctx, "Viewer", nil, &me)
	if err == nil {
		c.self.Store(&me)
	}
	return err
}

func (c *client) Own(account string) (bool, error) {
	if me := c.self.Load(); me != nil {
		return account == me.ID, nil
	}
	return false, tracker.ErrUnidentified
}

// board reads the columns of a team, which have no order.
func (c *client) board(ctx context.Context, team string) (list []state, err error) {
	if known, ok := c.states.Load(team); ok {
		return known.([]state), nil
	}
	if err = each(ctx, c, "States", map[string]any{"team": team}, func(s state) { list = append(list, s) }); err == nil {
		c.states.Store(team, list)
	}
	return list, err
}

// column is the one that serves a status.
func (c *client) column(ctx context.Context, team string, s stage.Status) (out state, ok bool, err error) {
	list, err := c.board(ctx, team)
	at := func(s stage.Status) int {
		return slices.IndexFunc(list, func(one state) bool { return tracker.StatusCalled(one.Name) == s })
	}
	served, ok := tracker.Resolve(s, func(s stage.Status) bool { return at(s) >= 0 })
	if ok {
		out = list[at(served)]
	}
	return out, ok, err
}

func (c *client) Columns(ctx context.Context, team string) (map[stage.Status]string, error) {
	out := map[stage.Status]string{}
	for _, s := range stage.Statuses() {
		if column, ok, err := c.column(ctx, team, s.Key); err != nil {
			return nil, err
		} else if ok {
			out[s.Key] = column.Name
		}
	}
	return out, nil
}

func (c *client) StatusOf(ctx context.Context, team, column string) (stage.Status, error) {
	list, err := c.board(ctx, team)
	for _, s := range list {
		if s.ID == column || s.Name == column {
			return tracker.StatusCalled(s.Name), err
		}
	}
	return stage.StatusUnknown, err
}

func (c *client) AddColumn(context.Context, string, stage.Status) error { return errors.ErrUnsupported }

func (i issue) item() tracker.Item {
	out := tracker.Item{
		ID: i.ID, ProjectID: i.Team.ID, Sequence: i.Number, Key: i.Identifier, URL: i.URL, Title: i.Title, Description: i.Description,
		Status: tracker.StatusCalled(i.State.Name), StatusName: i.State.Name, UpdatedAt: i.UpdatedAt, MovedAt: i.CreatedAt,
		Finished: i.State.Type == "completed" || i.State.Type == "canceled",
	}
	if moves := i.History.Nodes; len(moves) > 0 {
		out.MovedAt = moves[0].CreatedAt
	}
	return out
}

func (c *client) issue(ctx context.Context, operation, team, id string) (i issue, err error) {
	if err = c.do(ctx, operation, map[string]any{"id": id}, &i); err == nil && i.Team.ID != team {
		err = fmt.Errorf("linear: %s is of another team now: %w", i.Identifier, tracker.ErrNotFound)
	}
	return i, err
}

func (c *client) Item(ctx context.Context, team, id string) (tracker.Item, error) {
	i, err := c.issue(ctx, "Issue", team, id)
	return i.item(), err
}

func (c *client) List(ctx context.Context, q tracker.Query) (out tracker.Page, err error) {
	var p page[issue]
	err = c.do(ctx, "Issues", map[string]any{"team": q.ProjectID, "after": q.Cursor, "since": q.Since}, &p)
	for _, i := range p.Nodes {
		if item := i.item(); len(q.Statuses) == 0 || slices.Contains(q.Statuses, item.Status) {
			out.Items = append(out.Items, item)
		}
	}
	if p.PageInfo.HasNextPage {
		out.Next = p.PageInfo.EndCursor
	}
	return out, err
}

func (c *client) SetStatus(ctx context.Context, team, id string, s stage.Status) error {
	to, ok, err := c.column(ctx, team, s)
	if err == nil && !ok {
		err = fmt.Errorf("%w: %s", tracker.ErrNoStatus, s)
	}
	if err != nil {
		return err
	}
	return c.do(ctx, "UpdateIssue", map[string]any{"id": id, "stateId": to.ID}, &issue{})
}

func (c *client) LastMove(ctx context.Context, team, id string) (tracker.Move, error) {
	i, err := c.issue(ctx, "History", team, id)
	var moves []tracker.Move
	for _, m := range i.History.Nodes {
		moves = append(moves, tracker.Move{To: m.ToState.ID, ActorID: m.Actor.ID, At: m.CreatedAt})
	}
	moves = append(moves, tracker.Move{ActorID: i.Creator.ID, At: i.CreatedAt})
	moves[0].Earlier = moves[1:]
	return moves[0], err
}

func (c *client) Comments(ctx context.Context, _, id string) (out []tracker.Comment, err error) {
	if _, err := c.Own(""); err != nil {
		return nil, err
	}
	err = each(ctx, c, "Comments", map[string]any{"id": id}, func(m comment) {
		own, _ := c.Own(m.User.ID)
		out = append(out, tracker.Comment{ID: m.ID, AuthorID: m.User.ID, Body: m.Body, CreatedAt: m.CreatedAt, Own: own})
	})
	return out, err
}

// say posts or edits a comment under the id that its key makes.
func (c *client) say(ctx context.Context, operation string, n tracker.NewComment) (string, error) {
	sum := sha256.Sum256([]byte(n.ProjectID + "\x00" + n.Key))
	sum[6], sum[8] = sum[6]&0x0f|0x40, sum[8]&0x3f|0x80
	id := fmt.Sprintf("%x-%x-%x-%x-%x", sum[:4], sum[4:6], sum[6:8], sum[8:10], sum[10:16])
	return id, c.do(ctx, operation, map[string]any{"id": id, "issueId": n.ItemID, "body": n.Plain()}, &comment{})
}

func (c *client) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	id, err := c.say(ctx, "CreateComment", n)
	if err != nil && strings.Contains(err.Error(), "exists already") {
		err = nil
	}
	return id, err
}

func (c *client) SetComment(ctx context.Context, n tracker.NewComment) error {
	_, err := c.say(ctx, "UpdateComment", n)
	if errors.Is(err, tracker.ErrNotFound) {
		_, err = c.say(ctx, "CreateComment", n)
	}
	return err
}

func (c *client) Person(ctx context.Context, _, account string) (tracker.Person, error) {
	var u user
	err := c.do(ctx, "User", map[string]any{"id": account}, &u)
	return tracker.Person{ID: u.ID, Name: u.Name, Email: u.Email}, err
}

// ItemURL has nothing to say: an issue names its page itself.
func (c *client) ItemURL(_, _ string) string { return "" }

func (c *client) BlockedBy(context.Context, string, string) ([]tracker.Ref, error) {
	return nil, tracker.ErrNoRelations
}

// scheme is how Linear signs; the moment stands in the body.
var scheme = signature.Scheme{In: []signature.Place{{Header: "Linear-Signature"}}}

func (c *client) SetSecrets(s signature.Secrets) { c.secrets.Store(&s) }

func (c *client) Signature(h http.Header) (*signature.Check, error) {
	return scheme.Check(h.Get, *c.secrets.Load(), c.Unsigned, time.Time{})
}

func (c *client) Delivery(h http.Header) (string, string) {
	return h.Get("Linear-Delivery"), h.Get("Linear-Event")
}

func (c *client) Habits() signature.Habits {
	return signature.Habits{Limit: 1 << 20, Hold: 4 * time.Second}
}

type payload struct {
	Action, Type     string
	Actor            user
	CreatedAt        time.Time
	WebhookTimestamp int64
	UpdatedFrom      map[string]any
	Data             struct{ ID, TeamID, StateID, StateName, IssueID, Body string }
}

func (c *client) Decode(event string, body []byte) (tracker.Hook, error) {
	var p payload
	if err := json.Unmarshal(body, &p); err != nil {
		return tracker.Hook{}, err
	}
	h := tracker.Hook{Kind: tracker.HookOther, Event: event + "." + p.Action, ProjectID: p.Data.TeamID, ItemID: p.Data.ID, At: p.CreatedAt}
	switch p.Type + " " + p.Action {
	case "Issue create":
		h.Kind = tracker.HookItemCreated
	case "Issue remove":
		h.Kind = tracker.HookItemRemoved
	case "Issue update":
		h.Kind = tracker.HookItemUpdated
		if _, h.Status = p.UpdatedFrom["stateId"]; h.Status {
			h.To, h.Word = p.Data.StateID, tracker.StatusCalled(p.Data.StateName)
		}
	case "Comment create":
		h.Kind, h.ItemID, h.Body = tracker.HookComment, p.Data.IssueID, p.Data.Body
	default:
		return h, nil
	}
	if at := time.UnixMilli(p.WebhookTimestamp); time.Since(at).Abs() > time.Minute {
		return tracker.Hook{}, fmt.Errorf("linear: a webhook of %s", at)
	}
	h.ActorID, h.Actor = p.Actor.ID, tracker.Person{ID: p.Actor.ID, Name: p.Actor.Name, Email: p.Actor.Email}
	h.Unsigned = len(*c.secrets.Load()) == 0
	h.Self, _ = c.Own(h.ActorID) // while that is not known yet, it is judged later by the actor
	return h, nil
}
