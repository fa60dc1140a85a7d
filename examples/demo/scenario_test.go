package main

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/planetest"
	work "github.com/signalbox-dev/signalbox/internal/run"
)

// The card that freezes its repository is begun when the one before it has been taken
// up, however late that is: behind a freeze that one would never begin.
func TestFreezeComesLast(t *testing.T) {
	w, err := newWorld(t.Context(), options{speed: 1000, replicas: 1}, t.TempDir())
	defer w.close()
	require.NoError(t, err)
	require.NoError(t, w.deal(t.Context()))
	column := func(f fate) (i planetest.Item) {
		for _, i = range w.board.Items("") {
			if w.ends(i.Name, f) {
				return i
			}
		}
		return planetest.Item{}
	}
	require.Equal(t, "To Analyse", column(stopped).StateName)
	before := column(blocked).StateName
	require.NotEqual(t, "To Analyse", before)
	g := work.New(t.Context(), nil)
	defer g.Stop()
	turns := 0
	g.Go("people", func(ctx context.Context) {
		for ctx.Err() == nil {
			turn, end := context.WithTimeout(ctx, 200*time.Millisecond)
			w.people(turn)
			end()
			turns++
			if turns == 2 { // they have had time, and nobody has taken up the first
				if column(blocked).StateName != before {
					t.Errorf("the card was begun before the one before it")
				}
				_ = w.board.Say(column(stopped).ID, "The task is taken up: the analyst is next.")
			}
		}
	})
	require.Eventually(t, func() bool { return column(blocked).StateName == "To Analyse" }, 20*time.Second, 10*time.Millisecond)
}

// Whatever is begun behind another names a card of the same project that is dealt
// before it.
func TestBehind(t *testing.T) {
	seen := map[string]string{}
	for _, c := range cards() {
		if c.behind != "" {
			require.Equal(t, c.project, seen[c.behind], c.title)
		}
		seen[c.title] = c.project
		if c.fate == blocked {
			require.NotEmpty(t, c.behind, "it freezes the repository")
		}
	}
}
