package board_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/board"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// People put cards where they like within a column, as often as they like; what comes later comes to the end of a line
// to begin, and to the top elsewhere.
func TestOrderByHand(t *testing.T) {
	inEach(t, func(t *testing.T, b *board.Board, _ board.Options) {
		ctx := t.Context()
		ids := map[string]string{}
		add := func(title, column string) {
			ids[title] = card(t, b, title).ID
			_, err := b.Move(ctx, ids[title], column, kim)
			require.NoError(t, err)
		}
		put := func(title, kind, other string) error {
			return b.Arrange(ctx, cards.Arrangement{ID: ids[title], Kind: kind, Other: ids[other], By: kim})
		}
		order := func(column string) (out string) {
			list, err := b.Cards(ctx, cards.Filter{Project: "p"})
			require.NoError(t, err)
			for _, c := range list {
				if c.Column == column {
					out += c.Title
				}
			}
			return out
		}
		for _, title := range []string{"a", "b", "c", "d"} {
			add(title, "analysis")
		}
		add("x", "done")
		add("y", "done")
		require.Equal(t, []string{"abcd", "yx"}, []string{order("analysis"), order("done")})
		line, err := b.Order(ctx, "p")
		require.NoError(t, err)
		require.Empty(t, line, "nobody has put them")

		require.NoError(t, put("d", cards.PutBefore, "b"))
		require.NoError(t, put("a", cards.PutBehind, "c"))
		require.Equal(t, "dbca", order("analysis"))
		require.NoError(t, put("c", cards.PutBehind, "d"))
		story := read(t, b.Story, ids["c"])
		require.Equal(t, cards.PutBehind, story.Log[len(story.Log)-1].Kind)
		require.NoError(t, put("c", cards.PutBehind, "d"))
		require.Len(t, read(t, b.Story, ids["c"]).Log, len(story.Log), "it stands there already")
		for range 40 { // there is room no more between two at some time
			require.NoError(t, put("b", cards.PutBehind, "d"))
			require.Equal(t, "dbca", order("analysis"))
			require.NoError(t, put("c", cards.PutBehind, "d"))
			require.Equal(t, "dcba", order("analysis"))
		}
		require.NoError(t, put("x", cards.PutBefore, "y"))
		add("e", "analysis")
		add("z", "done")
		add("t", "to_analyse")
		require.Equal(t, []string{"dcbae", "zxy"}, []string{order("analysis"), order("done")})
		line, err = b.Order(ctx, "p")
		require.NoError(t, err)
		require.Equal(t, []string{ids["d"], ids["c"], ids["b"], ids["a"], ids["e"], ids["t"]}, line)

		var wrong *cards.InputError
		for _, other := range []string{"x", "d", "nobody"} {
			require.ErrorAs(t, put("d", cards.PutBefore, other), &wrong, other)
		}
		require.ErrorContains(t, wrong, "Analysis")
		_, err = b.Move(ctx, ids["d"], "done", kim)
		require.NoError(t, err)
		_, err = b.Move(ctx, ids["d"], "analysis", kim)
		require.NoError(t, err)
		require.Equal(t, "cbaed", order("analysis"), "a place is of one stay")
	})
}
