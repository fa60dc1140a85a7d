package board_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// A comment says what was written last, and nothing once it is deleted; the log has what it said before. Neither is a
// move, and what is sent again brings nothing back.
func TestCommentsAreAmended(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, o board.Options) {
		ctx := t.Context()
		c := card(t, b, "one")
		for _, body := range []string{"first", "second"} {
			require.NoError(t, b.Say(ctx, cards.Saying{ID: c.ID, Key: "k", Body: body, By: kim}))
		}
		live := tracker.NewComment{Key: "live", ProjectID: "p", ItemID: c.ID, Author: stage.Analyst, Body: "at work"}
		_, err := b.AddComment(ctx, live)
		require.NoError(t, err)
		s := read(t, b.Story, c.ID)
		before, err := b.Item(ctx, "p", c.ID)
		require.NoError(t, err)
		first, second, ours := s.Comments[0].ID, s.Comments[1].ID, s.Comments[2].ID

		for range 2 {
			require.NoError(t, b.Amend(ctx, cards.Amendment{ID: c.ID, Comment: first, Body: " newer\r\n", By: kim}))
			for _, id := range []string{second, ours} {
				require.NoError(t, b.Amend(ctx, cards.Amendment{ID: c.ID, Comment: id, Delete: true, By: lee}))
			}
			require.NoError(t, b.Say(ctx, cards.Saying{ID: c.ID, Key: "k", Body: "second", By: kim}), "sent again")
			live.Body = "still at work"
			require.NoError(t, b.SetComment(ctx, live))
		}
		var input *cards.InputError
		require.ErrorAs(t, b.Amend(ctx, cards.Amendment{ID: c.ID, Comment: second, Body: "back", By: kim}), &input)
		require.ErrorAs(t, b.Amend(ctx, cards.Amendment{ID: c.ID, Comment: first, Body: " ", By: kim}), &input)
		other := card(t, b, "two")
		require.ErrorIs(t, b.Amend(ctx, cards.Amendment{ID: other.ID, Comment: first, Body: "x", By: kim}), tracker.ErrNotFound)

		list, err := b.Comments(ctx, "p", c.ID)
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, "newer", list[0].Body)
		s, err = open(t, o).Story(ctx, c.ID)
		require.NoError(t, err)
		require.Equal(t, []any{1, 3}, []any{s.Said, len(s.Comments)})
		require.NotZero(t, s.Comments[0].EditedAt)
		require.Equal(t, []string{"", "Lee", "Lee"}, []string{s.Comments[0].DeletedBy, s.Comments[1].DeletedBy, s.Comments[2].DeletedBy})
		require.Len(t, s.Log, 4, "made, and each change once")
		for n, want := range [][]string{{cards.Reworded, first, "Kim", "first"}, {cards.Unsaid, second, "Lee", "second"}, {cards.Unsaid, ours, "Lee", "at work"}} {
			e := s.Log[n+1]
			require.Equal(t, want, []string{e.Kind, e.To, e.By, e.Before})
		}
		listed, err := b.Cards(ctx, cards.Filter{Project: "p", Number: c.Number})
		require.NoError(t, err)
		require.Equal(t, 1, listed[0].Said)
		after, err := b.Item(ctx, "p", c.ID)
		require.NoError(t, err)
		require.Equal(t, before, after)
		m, err := b.LastMove(ctx, "p", c.ID)
		require.NoError(t, err)
		require.Equal(t, "Kim", m.ActorID, "who has made it")
	})
}

// A name that was typed does not reach what was said with proof, nor what is older than the record of proofs.
func TestWhoseCommentItIs(t *testing.T) {
	typed, proved := cards.Person{Name: "Kim", Proof: stage.ProofNone}, kim
	of := func(p stage.Proof) cards.Comment { return cards.Comment{Author: "Kim", Proof: p} }
	for _, row := range []struct {
		c    cards.Comment
		by   cards.Person
		want bool
	}{
		{of(stage.ProofNone), typed, true}, {of(stage.ProofNone), proved, true}, {of(stage.ProofToken), proved, true}, {of(""), proved, true},
		{of(stage.ProofToken), typed, false}, {of(""), typed, false}, {of(""), cards.Person{Name: "Kim"}, false}, {of(stage.ProofNone), lee, false},
		{cards.Comment{Author: "Kim", Proof: stage.ProofNone, Service: true}, proved, false},
	} {
		require.Equal(t, row.want, row.c.IsOf(row.by), "%+v by %+v", row.c, row.by)
	}
}
