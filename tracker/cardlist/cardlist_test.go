package cardlist_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cardlist"
)

// table is a board in memory.
type table struct {
	cards []tracker.Item
	moved int
	said  []string
	fails error
}

func (t *table) list(context.Context, string) ([]tracker.Item, error) { return t.cards, t.fails }

func (t *table) move(_ context.Context, card tracker.Item, to stage.Status) error {
	for i := range t.cards {
		if t.cards[i].ID == card.ID {
			t.cards[i].Status, t.moved = to, t.moved+1
		}
	}
	return nil
}

func (t *table) say(_ context.Context, c tracker.NewComment) error {
	t.said = append(t.said, c.Body)
	return nil
}

// What the port says of trackers holds, as far as a list of cards goes.
func TestTracker(t *testing.T) {
	t.Parallel()
	ctx, at := t.Context(), time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	of := &table{cards: []tracker.Item{{ID: "1", Title: "old", UpdatedAt: at}, {ID: "2", Title: "new", Status: stage.StatusDone, UpdatedAt: at.Add(time.Hour)}}}
	b := &cardlist.Tracker{Cards: of.list, Move: of.move, Say: of.say}

	require.NoError(t, b.SetStatus(ctx, "p", "1", stage.StatusToAnalyse))
	require.NoError(t, b.SetStatus(ctx, "p", "1", stage.StatusToAnalyse), "setting it again")
	require.Equal(t, 1, of.moved)
	item, err := b.Item(ctx, "p", "1")
	require.NoError(t, err)
	require.Equal(t, tracker.Item{ID: "1", ProjectID: "p", Title: "old", Status: stage.StatusToAnalyse, StatusName: "To Analyse", UpdatedAt: at}, item)
	require.Empty(t, of.cards[0].ProjectID, "the list stays the program's")

	ids := func(q tracker.Query) (out []string) {
		page, err := b.List(ctx, q)
		require.NoError(t, err)
		require.Equal(t, 2, page.Total)
		for _, i := range page.Items {
			out = append(out, i.ID)
		}
		return out
	}
	require.Equal(t, []string{"2", "1"}, ids(tracker.Query{ProjectID: "p"}), "the newest first")
	require.Equal(t, []string{"2"}, ids(tracker.Query{Since: at.Add(time.Hour)}))
	require.Equal(t, []string{"1"}, ids(tracker.Query{Statuses: []stage.Status{stage.StatusToAnalyse}}))
	done, err := b.Item(ctx, "p", "2")
	require.NoError(t, err)
	require.True(t, done.Finished)

	id, err := b.AddComment(ctx, tracker.NewComment{ItemID: "1", Key: "k", Body: "b"})
	require.NoError(t, err)
	require.Equal(t, "k", id)
	require.Equal(t, []string{"b"}, of.said)
	_, err = b.AddComment(ctx, tracker.NewComment{ItemID: "3", Key: "k"})
	require.ErrorIs(t, err, tracker.ErrNotFound)
	require.ErrorIs(t, b.SetStatus(ctx, "p", "3", stage.StatusDone), tracker.ErrNotFound)
	columns, err := b.Columns(ctx, "p")
	require.NoError(t, err)
	for status, column := range columns {
		is, err := b.StatusOf(ctx, "p", column)
		require.NoError(t, err)
		require.Equal(t, status, is)
	}

	of.fails = errors.New("the disk is away")
	_, err = b.List(ctx, tracker.Query{})
	require.ErrorIs(t, err, of.fails)
	require.ErrorIs(t, b.SetStatus(ctx, "p", "1", stage.StatusDone), of.fails)
}

func Example() {
	cards := []tracker.Item{{ID: "1", Sequence: 1, Title: "Faster tiles", Status: stage.StatusToAnalyse}}
	board := &cardlist.Tracker{
		Cards: func(context.Context, string) ([]tracker.Item, error) { return cards, nil },
		Move: func(_ context.Context, card tracker.Item, to stage.Status) error {
			cards[0].Status = to // there is only one
			return nil
		},
	}
	fmt.Println(board.SetStatus(context.Background(), "app", "1", stage.StatusAnalysis), cards[0].Status)
	fmt.Println(board.SetStatus(context.Background(), "app", "2", stage.StatusAnalysis))
	// Output:
	// <nil> analysis
	// tracker: not found: card 2
}
