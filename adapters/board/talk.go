package board

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// commentMax is how long a comment may be, in characters.
const commentMax = 50_000

// small holds what stands below a comment, and what has become of it.
type small struct {
	Links     []tracker.Link `json:"links,omitempty"`
	Note      string         `json:"note,omitempty"`
	Proof     stage.Proof    `json:"proof,omitempty"`
	EditedAt  int64          `json:"edited_at,omitempty"`
	DeletedBy string         `json:"deleted_by,omitempty"`
}

// isThere selects comments that are not deleted: those say something.
const isThere = `body <> ''`

// comments reads the comments of a card, oldest first.
func (b *Board) comments(ctx context.Context, from asker, id string) (out []cards.Comment, err error) {
	query := "select id, author, body, small, at from board_comments where card = ? order by at, id"
	err = b.db.each(ctx, from, query, []any{id}, func(scan func(...any) error) error {
		var c cards.Comment
		var at int64
		var more string
		var s small
		if err := scan(&c.ID, &c.Author, &c.Body, &more, &at); err != nil {
			return err
		}
		if err := json.Unmarshal([]byte(more), &s); err != nil {
			return fmt.Errorf("comment %s: %w", c.ID, err)
		}
		c.Links, c.Note, c.At, c.Service = s.Links, s.Note, moment(at), isOwn(c.Author)
		if c.Proof, c.DeletedBy = s.Proof, s.DeletedBy; s.EditedAt > 0 {
			c.EditedAt = moment(s.EditedAt)
		}
		out = append(out, c)
		return nil
	})
	return out, err
}

// commentOf tidies a comment.
func commentOf(typed string) (string, error) {
	body := strings.TrimSpace(cards.CleanText(typed))
	if body == "" {
		return "", &cards.InputError{Text: "The comment is empty."}
	}
	return body, atMost("comment", body, commentMax)
}

// Say implements cards.Talk.
func (b *Board) Say(ctx context.Context, s cards.Saying) error {
	body, err := commentOf(s.Body)
	if err != nil {
		return err
	}
	more, err := json.Marshal(small{Proof: proof(s.By)})
	if err != nil {
		return err
	}
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", s.ID)
		if err != nil {
			return err
		}
		_, _, err = b.addComment(ctx, t, r, form("said", s.Key, s.ID, body), s.By.Name, body, string(more))
		return err
	})
}

// Amend implements cards.Talk.
func (b *Board) Amend(ctx context.Context, a cards.Amendment) (err error) {
	kind, body := cards.Unsaid, ""
	if !a.Delete {
		kind = cards.Reworded
		if body, err = commentOf(a.Body); err != nil {
			return err
		}
	}
	return b.db.write(ctx, func(t tx) error {
		r, err := b.find(ctx, t, "", a.ID)
		if err != nil {
			return err
		}
		list, err := b.comments(ctx, t, r.ID)
		at := slices.IndexFunc(list, func(c cards.Comment) bool { return c.ID == a.Comment })
		switch {
		case err != nil:
			return err
		case at < 0:
			return notFound("comment", a.Comment)
		case a.Delete && list[at].DeletedBy != "", list[at].DeletedBy == "" && list[at].Body == body && !a.Delete:
			return nil
		case list[at].DeletedBy != "":
			return &cards.InputError{Text: "The comment is deleted: make another one."}
		}
		s := small{Links: list[at].Links, Note: list[at].Note, Proof: list[at].Proof, EditedAt: b.now()}
		if a.Delete {
			s = small{DeletedBy: a.By.Name, Proof: s.Proof}
		}
		more, err := json.Marshal(s)
		if err != nil {
			return err
		}
		if err := t.exec(ctx, "update board_comments set body = ?, small = ? where id = ?", body, string(more), a.Comment); err != nil {
			return err
		}
		e := cards.Entry{Kind: kind, To: a.Comment, By: a.By.Name, Proof: proof(a.By), Before: list[at].Body}
		_, err = b.change(ctx, t, &r, e, "")
		return err
	})
}
