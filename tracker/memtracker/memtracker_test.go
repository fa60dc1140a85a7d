package memtracker_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

var kim = tracker.Person{ID: memtracker.Somebody, Name: "Kim", Email: "kim@example.org", Role: "member"}

func TestConformance(t *testing.T) {
	trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
		at := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
		b := memtracker.New(func() time.Time { at = at.Add(time.Second); return at }) // called under the board's lock
		b.AddPerson(kim)
		n := 0
		id := func(prefix string) string { n++; return fmt.Sprint(prefix, n) }
		projects := map[string]string{}
		return trackertest.Fixture{
			Tracker: b,
			NewProject: func(columns ...stage.Status) string {
				p := id("p")
				b.AddProject(p, columns...)
				return p
			},
			NewItem: func(p, title, description string) string {
				i := id("i")
				projects[i] = p
				b.Put(tracker.Item{ID: i, ProjectID: p, Title: title, Description: description})
				return i
			},
			Move: func(item string, to stage.Status) {
				i, err := b.Item(t.Context(), projects[item], item)
				require.NoError(t, err)
				i.Status = to
				b.Put(i)
			},
			Say:    func(item, text string) { b.Say(item, "kim", text) },
			Attach: b.Attach,
			Person: kim,
			Fail:   func(call string, how faulttest.Kind) { b.FailCall(call, faulttest.Error(how)) },
			Edges: trackertest.Edges{Label: func(item string, labels ...string) {
				i, err := b.Item(t.Context(), projects[item], item)
				require.NoError(t, err)
				i.Labels = labels
				b.Put(i)
			}, Block: func(item, by string) {
				before, err := b.BlockedBy(t.Context(), projects[item], item)
				require.NoError(t, err)
				all := []string{by}
				for _, ref := range before {
					all = append(all, ref.ItemID)
				}
				b.Block(item, all...)
			}},
		}
	})
}

func TestFailWith(t *testing.T) {
	b := memtracker.New(time.Now)
	b.AddProject("p")
	down := errors.New("down")
	b.FailWith(down)
	_, err := b.List(t.Context(), tracker.Query{ProjectID: "p"})
	require.ErrorIs(t, err, down)
	_, err = b.Columns(t.Context(), "p")
	require.ErrorIs(t, err, down)
	_, err = b.Item(t.Context(), "p", "i")
	require.ErrorIs(t, err, down)
	require.ErrorIs(t, b.SetStatus(t.Context(), "p", "i", stage.StatusDone), down)
	b.FailWith(nil)
	_, err = b.List(t.Context(), tracker.Query{ProjectID: "q"})
	require.ErrorIs(t, err, tracker.ErrNotFound)
	_, err = b.Columns(t.Context(), "q")
	require.ErrorIs(t, err, tracker.ErrNotFound)
	require.Empty(t, b.Moves())
}

// A test can distinguish what the service did from what a person did.
func TestMoves(t *testing.T) {
	b := memtracker.New(nil)
	b.AddProject("p")
	b.Put(tracker.Item{ID: "i", ProjectID: "p", Status: stage.StatusToAnalyse})
	for range 2 {
		require.NoError(t, b.SetStatus(t.Context(), "p", "i", stage.StatusAnalysis))
	}
	require.Equal(t, []memtracker.Move{{ItemID: "i", To: stage.StatusAnalysis}}, b.Moves(), "setting what is set is no move")
	require.ErrorIs(t, b.SetStatus(t.Context(), "other", "i", stage.StatusDone), tracker.ErrNotFound)
}

func Example() {
	b := memtracker.New(nil)
	b.AddProject("p", stage.StatusToAnalyse, stage.StatusInProgress)
	b.Put(tracker.Item{ID: "i", ProjectID: "p", Title: "Cache tiles", Status: stage.StatusToAnalyse})
	_ = b.SetStatus(context.Background(), "p", "i", stage.StatusAnalysis) // falls back
	item, err := b.Item(context.Background(), "p", "i")
	fmt.Println(item.StatusName, err)
	// Output: In Progress <nil>
}

// A column that a card cannot reach from where it stands is refused for good, with the ways that there are.
func TestWays(t *testing.T) {
	b := memtracker.New(nil)
	b.AddProject("p")
	b.Put(tracker.Item{ID: "i", ProjectID: "p", Status: stage.StatusToAnalyse})
	b.SetWays(map[stage.Status][]stage.Status{stage.StatusToAnalyse: {stage.StatusInReview, stage.StatusBlocked}})
	err := b.SetStatus(t.Context(), "p", "i", stage.StatusDone)
	var noWay *tracker.NoWayError
	require.ErrorAs(t, err, &noWay)
	require.Equal(t, tracker.NoWayError{To: "Done", Ways: []string{"In Review", "Blocked"}}, *noWay)
	require.EqualError(t, err, "the board moves no card into Done from the column where this one stands, only into In Review or Blocked")
	require.False(t, fault.Retryable(err))
	require.NoError(t, b.SetStatus(t.Context(), "p", "i", stage.StatusInReview))
	require.NoError(t, b.SetStatus(t.Context(), "p", "i", stage.StatusDone))
}
