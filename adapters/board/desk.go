package board

import (
	"cmp"
	"context"
	"crypto/sha256"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// titleOf tidies a title: it is one line.
func titleOf(typed string) (string, error) {
	title := strings.Join(strings.Fields(cards.CleanText(typed)), " ")
	if title == "" {
		return "", &cards.InputError{Text: "The card has no title."}
	}
	return title, atMost("title", title, cards.TitleMax)
}

// textOf tidies a description.
func textOf(typed string) (string, error) {
	text := strings.TrimSpace(cards.CleanText(typed))
	return text, atMost("description", text, cards.TextMax)
}

func atMost(what, text string, n int) error {
	if have := utf8.RuneCountInString(text); have > n {
		return &cards.InputError{Text: fmt.Sprintf("The %s has %d characters, %d are possible.", what, have, n)}
	}
	return nil
}

// labelsOf tidies labels: each is there once.
func labelsOf(typed string) (string, error) {
	var list []string
	for label := range strings.SplitSeq(cards.CleanText(typed), ",") {
		label = strings.Join(strings.Fields(label), " ")
		if label != "" && !slices.ContainsFunc(list, func(o string) bool { return strings.EqualFold(o, label) }) {
			list = append(list, label)
		}
	}
	labels := strings.Join(list, ", ")
	return labels, atMost("list of labels", labels, cards.LabelsMax)
}

// texts tidies what a person has typed on a card.
func texts(title, description, labels *string) (err error) {
	for _, one := range []struct {
		text *string
		tidy func(string) (string, error)
	}{{title, titleOf}, {description, textOf}, {labels, labelsOf}} {
		if *one.text, err = one.tidy(*one.text); err != nil {
			return err
		}
	}
	return nil
}

// label gives a card its labels.
func (t tx) label(ctx context.Context, id, labels string) error {
	return t.exec(ctx, `insert into board_labels (card, labels) values (?, ?)
		on conflict (card) do update set labels = excluded.labels`, id, labels)
}

// form is the identity of what was typed: the key of its form, and the texts, so that a
// form that is sent again with other words loses none of them.
func form(kind, key string, texts ...string) string {
	return fmt.Sprintf("%s/%s/%.8x", kind, cmp.Or(plain(key), newID()), sha256.Sum256([]byte(strings.Join(texts, "\x00"))))
}

// plain is a key that both databases hold and index; one that is long or no text is known by its digest.
func plain(key string) string {
	if len(key) <= 200 && cards.CleanText(key) == key {
		return key
	}
	return fmt.Sprintf("%.16x", sha256.Sum256([]byte(key)))
}

// Cards implements cards.Reader.
func (b *Board) Cards(ctx context.Context, f cards.Filter) (out []cards.Card, err error) {
	where, args := "state = ?", []any{int64(f.State)}
	if f.Project != "" {
		where, args = where+" and project = ?", append(args, f.Project)
	}
	if f.Number != 0 {
		where, args = where+" and number = ?", append(args, f.Number)
	}
	within := "(partition by project, col order by " + rankOfCard + ", id)"
	query := `select id, project, number, title, '', col, state, version, entries, made_by, made_at, moved_at` +
		labelsOfCard + `, place, many,
		(select count(*) from board_comments where card = board_cards.id and ` + isThere + `) from (
		select *, row_number() over ` + within + ` as place, count(*) over (partition by project, col) as many
		from board_cards where ` + where + `) as board_cards`
	if f.Each > 0 {
		query, args = query+" where place <= ?", append(args, int64(f.Each))
	}
	err = b.db.each(ctx, b.db, query+" order by project, col, place", args, func(scan func(...any) error) error {
		var r row
		var place, of, said int
		err := r.scan(scan, &place, &of, &said)
		r.Place, r.Of, r.Said = place, of, said
		out = append(out, r.Card)
		return err
	})
	return out, err
}

// Story implements cards.Reader.
func (b *Board) Story(ctx context.Context, id string) (s cards.Story, err error) {
	r, err := b.find(ctx, b.db, "", id)
	if err != nil {
		return s, err
	}
	s.Card = r.Card
	if s.Comments, err = b.comments(ctx, b.db, id); err != nil {
		return s, err
	}
	if s.Files, err = b.files(ctx, b.db, id); err != nil {
		return s, err
	}
	for _, c := range s.Comments {
		if c.DeletedBy == "" {
			s.Said++
		}
	}
	log := "select " + columnsOfEntry + " from board_moves where card = ? order by n"
	err = b.db.each(ctx, b.db, log, []any{id}, func(scan func(...any) error) error {
		e, err := scanEntry(scan)
		s.Log = append(s.Log, e)
		return err
	})
	if err != nil {
		return s, err
	}
	if s.BlockedBy, err = b.related(ctx, id, "blocked_by", "card"); err != nil {
		return s, err
	}
	s.Blocks, err = b.related(ctx, id, "card", "blocked_by")
	return s, err
}

// Revision implements cards.Reader.
func (b *Board) Revision(ctx context.Context) (string, error) {
	text, _, err := b.db.once(ctx, b.db, "select n from board_revision where id = 1")
	return text, err
}

// Make implements cards.Writer.
func (b *Board) Make(ctx context.Context, n cards.New) (c cards.Card, e cards.Entry, err error) {
	if err = texts(&n.Title, &n.Description, &n.Labels); err != nil {
		return c, e, err
	}
	once := form("card", n.Key, n.Title, n.Description, n.Labels)
	if n.Once {
		once = "once/" + plain(n.Key)
	}
	err = b.db.write(ctx, func(t tx) error {
		id, had, err := b.db.once(ctx, t, "select id from board_cards where project = ? and form = ?", n.Project, once)
		if err != nil {
			return err
		}
		if had {
			r, err := b.find(ctx, t, n.Project, id)
			c, e = r.Card, cards.Entry{Card: id, Project: n.Project, N: 1, Kind: cards.Made, By: r.MadeBy, Proof: n.By.Proof, At: r.MadeAt}
			return err
		}
		c, e, err = b.add(ctx, t, n, once)
		return err
	})
	return c, e, err
}

// add makes a card, with the next number of its project.
func (b *Board) add(ctx context.Context, t tx, n cards.New, once string) (cards.Card, cards.Entry, error) {
	at := b.now()
	r := row{moved: at, Card: cards.Card{
		ID: newID(), Project: n.Project, Title: n.Title, Description: n.Description, Labels: n.Labels, Column: cards.Backlog,
		Version: 1, MadeBy: n.By.Name, MadeAt: moment(at), MovedAt: moment(at),
	}}
	next := "select coalesce(max(number), 0) + 1 from board_cards where project = ?"
	err := b.db.each(ctx, t, next, []any{n.Project}, func(scan func(...any) error) error { return scan(&r.Number) })
	if err != nil {
		return r.Card, cards.Entry{}, err
	}
	err = t.exec(ctx, "insert into board_cards (form, "+storedOfCard+") values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
		once, r.ID, r.Project, r.Number, r.Title, r.Description, r.Column, int64(cards.Live), r.Version, int64(0), r.MadeBy, at, at)
	if err == nil {
		err = t.label(ctx, r.ID, r.Labels)
	}
	if err != nil {
		return r.Card, cards.Entry{}, err
	}
	e, err := b.change(ctx, t, &r, cards.Entry{Kind: cards.Made, By: n.By.Name, Proof: proof(n.By), At: moment(at)}, "")
	return r.Card, e, err
}

// proof returns the proof of a person's act for the log: never empty, as the service's own is.
func proof(p cards.Person) stage.Proof {
	return cmp.Or(p.Proof, stage.ProofNone)
}

// Edit implements cards.Writer.
func (b *Board) Edit(ctx context.Context, e cards.Edit) (err error) {
	if err = texts(&e.Title, &e.Description, &e.Labels); err != nil {
		return err
	}
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", e.ID)
		switch {
		case err != nil:
			return err
		case r.Title == e.Title && r.Description == e.Description && r.Labels == e.Labels:
			return nil
		case r.Version != e.Version:
			return cards.ErrConflict
		}
		edited := cards.Entry{
			Kind: cards.Edited, By: e.By.Name, Proof: proof(e.By), Before: r.Title + "\n" + r.Description,
		}
		if err = t.label(ctx, r.ID, e.Labels); err != nil {
			return err
		}
		_, err = b.change(ctx, t, &r, edited, "title = ?, description = ?, version = version + 1", e.Title, e.Description)
		return err
	})
}

// Move implements cards.Writer.
func (b *Board) Move(ctx context.Context, id, column string, by cards.Person) (e cards.Entry, err error) {
	to, ok := cards.ColumnOf(column)
	if !ok {
		return e, &cards.InputError{Text: fmt.Sprintf("There is no column %.40q.", column)}
	}
	err = b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", id)
		switch {
		case err != nil:
			return err
		case r.State != cards.Live:
			return &cards.InputError{Text: "The card is archived: put it back first."}
		case to.Key != cards.Backlog && !b.has(r.Project, to.Status):
			return &cards.InputError{Text: fmt.Sprintf("The board has no column %s.", to.Name)}
		case r.Column == to.Key:
			list, err := b.lastMoves(ctx, t, id, 1)
			if len(list) > 0 {
				e = list[0]
			}
			return err
		}
		e, err = b.put(ctx, t, &r, to.Key, by.Name, proof(by))
		return err
	})
	return e, err
}

// Arrange implements cards.Writer.
func (b *Board) Arrange(ctx context.Context, a cards.Arrangement) error {
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", a.ID)
		if err != nil {
			return err
		}
		set, args, changed := "", []any(nil), true
		switch a.Kind {
		case cards.ArchivedIt:
			set, changed = "state = 1", r.State == cards.Live
		case cards.RestoredIt:
			set, changed = "state = 0", r.State == cards.Archived
		case cards.DeletedIt:
			if r.State != cards.Archived {
				return &cards.InputError{Text: "Only a card that is archived can be deleted."}
			}
			set, args = "state = 2, title = ?, description = ?", []any{"deleted", ""}
			err = b.forget(ctx, t, r.ID)
		case cards.Blocked, cards.Unblocked:
			changed, err = b.relate(ctx, t, r, a)
		case cards.PutBefore, cards.PutBehind:
			changed, err = b.rank(ctx, t, r, a)
		default:
			return &cards.InputError{Text: fmt.Sprintf("There is nothing called %.40q to do with a card.", a.Kind)}
		}
		if err != nil || !changed {
			return err
		}
		_, err = b.change(ctx, t, &r, cards.Entry{Kind: a.Kind, To: a.Other, By: a.By.Name, Proof: proof(a.By)}, set, args...)
		return err
	})
}

// forget removes what was said and put on a card, and what it is related to.
func (b *Board) forget(ctx context.Context, t tx, id string) error {
	for _, statement := range []string{
		"delete from board_comments where card = ?",
		"delete from board_files where card = ?",
		"delete from board_labels where card = ?",
		"delete from board_ranks where card = ?",
		"delete from board_relations where card = ?",
		"delete from board_relations where blocked_by = ?",
		"update board_moves set before_it = '' where card = ?",
	} {
		if err := t.exec(ctx, statement, id); err != nil {
			return err
		}
	}
	return nil
}

// relate adds or removes a relation, and reports whether that changes anything.
func (b *Board) relate(ctx context.Context, t tx, r row, a cards.Arrangement) (changed bool, err error) {
	_, had, err := b.db.once(ctx, t, "select card from board_relations where card = ? and blocked_by = ?", r.ID, a.Other)
	if err != nil {
		return false, err
	}
	if a.Kind == cards.Unblocked {
		return had, t.exec(ctx, "delete from board_relations where card = ? and blocked_by = ?", r.ID, a.Other)
	}
	if a.Other == r.ID {
		return false, &cards.InputError{Text: "A card does not wait for itself."}
	}
	if _, err := b.find(ctx, t, "", a.Other); err != nil || had {
		return false, err
	}
	return true, t.exec(ctx, "insert into board_relations (card, blocked_by) values (?, ?)", r.ID, a.Other)
}
