package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// account is the service's own for a role.
func account(r stage.Role) string {
	if r == "" {
		return cards.Service + "service"
	}
	return cards.Service + string(r)
}

// Own implements tracker.Accounts.
func (b *Board) Own(accountID string) (bool, error) { return isOwn(accountID), nil }

func isOwn(accountID string) bool { return strings.HasPrefix(accountID, cards.Service) }

// has reports whether a project has a column for a status.
func (b *Board) has(project string, s stage.Status) bool {
	_, known := stage.StatusNamed(s)
	return known && (b.opt.Columns == nil || slices.Contains(b.opt.Columns(project), s))
}

// column is the column that serves a status.
func (b *Board) column(project string, s stage.Status) (string, bool) {
	served, ok := tracker.Resolve(s, func(s stage.Status) bool { return b.has(project, s) })
	return string(served), ok
}

// item is a card as the engine sees it. It counts as updated when it was moved: an edit of
// its title does not set its status again.
func item(r row) tracker.Item {
	c, _ := cards.ColumnOf(r.Column)
	return tracker.Item{
		ID: r.ID, ProjectID: r.Project, Sequence: r.Number, Title: r.Title, Description: r.Description,
		Labels: strings.FieldsFunc(strings.ReplaceAll(r.Labels, ", ", ","), func(c rune) bool { return c == ',' }),
		Status: c.Status, StatusName: c.Name, Finished: c.Status == stage.StatusDone, UpdatedAt: r.MovedAt, MovedAt: r.MovedAt,
	}
}

// Item implements tracker.Tracker.
func (b *Board) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	r, err := b.find(ctx, b.db, projectID, itemID)
	if err != nil {
		return tracker.Item{}, err
	}
	return item(r), nil
}

// pageMax is how many cards a page of List has.
const pageMax = 1000

// List implements tracker.Tracker. Cards that are archived are not listed, and descriptions are left out.
func (b *Board) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	where, args := "project = ? and state = 0 and moved_at >= ?", []any{q.ProjectID, int64(0)}
	if !q.Since.IsZero() {
		args[1] = q.Since.UnixMicro()
	}
	if len(q.Statuses) > 0 {
		where += " and col in (?" + strings.Repeat(", ?", len(q.Statuses)-1) + ")"
		for _, s := range q.Statuses {
			args = append(args, string(s))
		}
	}
	if q.Cursor != "" {
		at, id, _ := strings.Cut(q.Cursor, "/")
		before, err := strconv.ParseInt(at, 10, 64)
		if err != nil {
			return tracker.Page{}, fmt.Errorf("board: %.40q is no cursor of this board", q.Cursor)
		}
		where += " and (moved_at < ? or moved_at = ? and id < ?)"
		args = append(args, before, before, id)
	}
	var p tracker.Page
	fields := strings.Replace(columnsOfCard, "description", "''", 1)
	query := fmt.Sprintf("select %s from board_cards where %s order by moved_at desc, id desc limit %d", fields, where, pageMax+1)
	err := b.db.each(ctx, b.db, query, args, func(scan func(...any) error) error {
		var r row
		if err := r.scan(scan); err != nil {
			return err
		}
		p.Items = append(p.Items, item(r))
		return nil
	})
	if err == nil && len(p.Items) > pageMax {
		p.Items = p.Items[:pageMax]
		last := p.Items[pageMax-1]
		p.Next = fmt.Sprintf("%d/%s", last.UpdatedAt.UnixMicro(), last.ID)
	}
	return p, err
}

// SetStatus implements tracker.Tracker.
func (b *Board) SetStatus(ctx context.Context, projectID, itemID string, status stage.Status) error {
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, projectID, itemID)
		if err != nil {
			return err
		}
		column, ok := b.column(projectID, status)
		switch {
		case !ok:
			return fmt.Errorf("%w: %s in project %s", tracker.ErrNoStatus, status, projectID)
		case r.Column == column:
			return nil
		}
		_, err = b.put(ctx, t, &r, column, account(stage.Stream), "")
		return err
	})
}

// Comments implements tracker.Tracker.
func (b *Board) Comments(ctx context.Context, projectID, itemID string) ([]tracker.Comment, error) {
	if _, err := b.find(ctx, b.db, projectID, itemID); err != nil {
		return nil, err
	}
	list, err := b.comments(ctx, b.db, itemID)
	var out []tracker.Comment
	for _, c := range list {
		if c.DeletedBy != "" {
			continue
		}
		body := tracker.NewComment{Body: c.Body, Links: c.Links, Note: c.Note}.Plain()
		out = append(out, tracker.Comment{ID: c.ID, AuthorID: c.Author, Body: body, CreatedAt: c.At, Own: c.Service})
	}
	return out, err
}

// AddComment implements tracker.Tracker. A key is taken within a project.
func (b *Board) AddComment(ctx context.Context, n tracker.NewComment) (id string, err error) {
	err = b.db.write(ctx, func(t tx) error {
		id, _, err = b.post(ctx, t, n)
		return err
	})
	return id, err
}

// SetComment implements tracker.Editor.
func (b *Board) SetComment(ctx context.Context, n tracker.NewComment) error {
	return b.db.write(ctx, func(t tx) error {
		id, had, err := b.post(ctx, t, n)
		if err != nil || !had {
			return err
		}
		more, err := json.Marshal(small{Links: n.Links, Note: n.Note})
		if err != nil {
			return err
		}
		update := "update board_comments set body = ?, small = ? where id = ? and " + isThere
		if err := t.exec(ctx, update, cards.CleanText(n.Body), string(more), id); err != nil {
			return err
		}
		return t.touch(ctx)
	})
}

// post adds a comment of the service's; had reports that it was there already under its key.
func (b *Board) post(ctx context.Context, t tx, n tracker.NewComment) (id string, had bool, err error) {
	r, err := b.find(ctx, t, n.ProjectID, n.ItemID)
	if err != nil {
		return "", false, err
	}
	more, err := json.Marshal(small{Links: n.Links, Note: n.Note})
	if err != nil {
		return "", false, err
	}
	form := "key/" + n.Key
	if n.Key == "" {
		form = "key/" + newID()
	}
	return b.addComment(ctx, t, r, form, account(n.Author), cards.CleanText(n.Body), string(more))
}

// addComment adds a comment, once for its form.
func (b *Board) addComment(ctx context.Context, t tx, r row, form, author, body, more string) (id string, had bool, err error) {
	id, had, err = b.db.once(ctx, t, "select id from board_comments where project = ? and form = ?", r.Project, form)
	if err != nil || had {
		return id, had, err
	}
	last, _, err := b.db.once(ctx, t, "select max(at) from board_comments where card = ?", r.ID)
	if err != nil {
		return "", false, err
	}
	at := b.now()
	if newest, err := strconv.ParseInt(last, 10, 64); err == nil { // empty: there is none yet
		at = max(at, newest+1)
	}
	id = newID()
	err = t.exec(ctx, `insert into board_comments (id, project, card, form, author, body, small, at)
		values (?, ?, ?, ?, ?, ?, ?, ?)`, id, r.Project, r.ID, form, author, body, more, at)
	if err != nil {
		return "", false, err
	}
	return id, false, t.touch(ctx)
}

// Columns implements tracker.Board.
func (b *Board) Columns(_ context.Context, projectID string) (map[stage.Status]string, error) {
	out := map[stage.Status]string{}
	for _, info := range stage.Statuses() {
		if key, ok := b.column(projectID, info.Key); ok {
			served, _ := stage.StatusNamed(stage.Status(key))
			out[info.Key] = served.Name
		}
	}
	return out, nil
}

// StatusOf implements tracker.Board.
func (b *Board) StatusOf(_ context.Context, projectID, column string) (stage.Status, error) {
	if c, ok := cards.ColumnOf(column); ok && b.has(projectID, c.Status) {
		return c.Status, nil
	}
	return stage.StatusUnknown, nil
}

// LastMove implements tracker.Log. A name without proof is returned as such.
func (b *Board) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	if _, err := b.find(ctx, b.db, projectID, itemID); err != nil {
		return tracker.Move{}, err
	}
	list, err := b.lastMoves(ctx, b.db, itemID, movesMax)
	if err != nil || len(list) == 0 {
		return tracker.Move{}, err
	}
	moves := make([]tracker.Move, len(list))
	for i, e := range list {
		moves[i] = tracker.Move{To: e.To, ActorID: e.By, Proof: e.Proof, At: e.At}
	}
	moves[0].Earlier = moves[1:]
	return moves[0], nil
}

// movesMax bounds the moves of a card that are read.
const movesMax = 200

// Person implements tracker.People: an account is described by the
// name.
func (b *Board) Person(ctx context.Context, _, accountID string) (tracker.Person, error) {
	query := `select actor from board_moves where actor = ?
		union select author from board_comments where author = ? limit 1`
	_, found, err := b.db.once(ctx, b.db, query, accountID, accountID)
	if err == nil && !found {
		err = notFound("account", accountID)
	}
	if err != nil {
		return tracker.Person{}, err
	}
	return tracker.Person{ID: accountID, Name: accountID}, nil
}

// ItemURL implements tracker.Linker.
func (b *Board) ItemURL(_, itemID string) string { return b.opt.Page + "/" + itemID }

// BlockedBy implements tracker.Relations.
func (b *Board) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	if _, err := b.find(ctx, b.db, projectID, itemID); err != nil {
		return nil, err
	}
	list, err := b.related(ctx, itemID, "blocked_by", "card")
	var out []tracker.Ref
	for _, c := range list {
		out = append(out, tracker.Ref{ProjectID: c.Project, ItemID: c.ID})
	}
	return out, err
}

// related are the cards at one end of the relations of the card at the other.
func (b *Board) related(ctx context.Context, id, end, other string) (out []cards.Card, err error) {
	query := "select " + columnsOfCard + " from board_cards where state < 2 and id in (select " + end +
		" from board_relations where " + other + " = ?) order by project, number"
	err = b.db.each(ctx, b.db, query, []any{id}, func(scan func(...any) error) error {
		var r row
		err := r.scan(scan)
		out = append(out, r.Card)
		return err
	})
	return out, err
}
