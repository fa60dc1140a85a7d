package stop_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// moveTold is kim moving a card; it returns the webhook of that, which has not arrived yet.
func moveTold(r *Rig, item string, to stage.Status) tracker.Hook {
	r.Helper()
	r.MoveAs("kim", App, item, to)
	i, err := r.Board.Item(context.Background(), App, item)
	require.NoError(r, err)
	return tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: i.UpdatedAt}
}

// working is a card whose analyst is at work.
func working(r *Rig) (item string) {
	r.Helper()
	r.Place.SetScript(Instead(stage.Analyst, Hang))
	return started(r)
}

// started is a card with a task whose analyst has begun.
func started(r *Rig) (item string) {
	r.Helper()
	item = r.Begin("x")
	r.Settle(10 * time.Second)
	return item
}

// A person moves the card on before the webhook of the STOP is worked off: the STOP counts, by a
// webhook that names the status and by one whose column has to be looked up.
func TestStopThatWasMovedOn(t *testing.T) {
	for _, on := range []stage.Status{stage.StatusUnknown, stage.StatusBlocked, stage.StatusInProgress, stage.StatusApproved} {
		for name, word := range map[string]stage.Status{"read by the receiver": stage.StatusStop, "looked up": stage.StatusUnknown} {
			t.Run(string(on)+"/"+name, func(t *testing.T) {
				stoppable(t, func(r *Rig) {
					item := working(r)
					stop := moveTold(r, item, stage.StatusStop)
					stop.Word = word
					r.Settle(300 * time.Millisecond)
					next := moveTold(r, item, on)
					r.Settle(time.Second)
					r.Hook(stop)
					r.Hook(next)
					r.Settle(10 * time.Second)
					r.Cancelled(item)
					require.True(r, r.Commented(App, item, "Cancelled: STOP"), "%q", r.Comments(App, item))
				})
			})
		}
	}
}

// A STOP whose webhook comes after a later word was acted on still ends the task; that of the task
// before it does not.
func TestStopThatComesLate(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Architect, Hang))
		item := started(r)
		stop := moveTold(r, item, stage.StatusStop)
		stop.Word = stage.StatusStop
		r.Settle(time.Second)
		r.Hook(moveTold(r, item, stage.StatusApproved))
		r.Settle(time.Minute)
		r.Stands(item, stage.Architecture)
		r.Hook(stop)
		r.Settle(10 * time.Second)
		r.Cancelled(item)

		r.Hook(moveTold(r, item, stage.StatusToAnalyse))
		r.Settle(10 * time.Second)
		stop.Actor.Name = "sent again with another body"
		r.Hook(stop)
		r.Settle(10 * time.Second)
		r.Stands(item, stage.Analysis)
	})
}

// Two webhooks of one STOP are worked off one after the other: the second finds that the first was acted on.
func TestSavedTwiceIsOneWord(t *testing.T) {
	stoppable(t, func(r *Rig) {
		item := working(r)
		stop := moveTold(r, item, stage.StatusStop)
		stop.Word = stage.StatusStop
		first, _ := r.Engine.Wanted(stop)
		stop.At = stop.At.Add(time.Second)
		second, _ := r.Engine.Wanted(stop)
		_, err := r.Store.Put(t.Context(), queue.Job{Pool: "apart", Key: first.Key}, queue.Job{Pool: "apart", Key: second.Key})
		require.NoError(r, err)
		claims, err := r.Store.Take(t.Context(), "apart", "w", 2, time.Minute)
		require.NoError(r, err)
		require.Len(r, claims, 1)
	})
}

// A signed STOP needs no answer of the tracker.
func TestStopWhileTheTrackerIsAway(t *testing.T) {
	for name, away := range map[string]error{
		"502": &fault.Error{Text: "502", Again: true}, "403": &fault.Error{Text: "403"}, "silence": &fault.Error{Text: "no answer", Again: true, Wait: time.Minute},
	} {
		t.Run(name, func(t *testing.T) {
			stoppable(t, func(r *Rig) {
				var ended atomic.Bool
				r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					defer ended.Store(true)
					return Hang(ctx, c, files)
				}))
				item := started(r)
				stop := moveTold(r, item, stage.StatusStop)
				stop.Word = stage.StatusStop
				before := moveTold(r, item, stage.StatusBlocked) // whose webhook waits for the tracker
				before.At, stop.At = stop.At, before.At
				r.Board.FailWith(away)
				r.Hook(before)
				r.Settle(10 * time.Minute) // the breaker is open
				require.Equal(r, stage.Analyst, r.Task(item).State.Active)
				r.Hook(stop)
				r.Settle(2 * time.Second)
				r.Cancelled(item)
				require.True(r, ended.Load(), "the agent is ended")
			})
		})
	}
}

// staleTracker answers from a replica that is behind, as often as it is told to.
type staleTracker struct {
	*memtracker.Board
	was  tracker.Item
	left atomic.Int64
}

func (s *staleTracker) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if s.left.Add(-1) >= 0 {
		return s.was, nil
	}
	return s.Board.Item(ctx, project, item)
}

// A single look at the board that says STOP cancels nothing while the webhook and the tracker's
// log say another word. The webhook of a true STOP may be lost: then the log confirms it.
func TestStopOfOneStaleLook(t *testing.T) {
	stale := &staleTracker{}
	for name, touched := range map[string]bool{"as it was": false, "with a later time": true} {
		t.Run(name, func(t *testing.T) {
			stoppableWith(t, func(r *Rig) {
				stale.Board = r.Board
				r.Tracker = stale
			}, func(r *Rig) {
				r.Place.SetScript(Instead(stage.Analyst, Hang))
				item := r.Card(App, "x")
				r.MoveUnseen(App, item, stage.StatusStop) // there is no task to stop
				was, err := r.Board.Item(context.Background(), App, item)
				require.NoError(r, err)
				r.Settle(10 * time.Second)
				began := moveTold(r, item, stage.StatusToAnalyse)
				r.Hook(began)
				r.Settle(10 * time.Second)
				if stale.was = was; touched {
					stale.was.UpdatedAt = time.Now()
				}
				stale.left.Store(1)
				r.Hook(began)
				r.Settle(5 * time.Minute)
				r.Stands(item, stage.Analysis)
				require.Equal(r, stage.Analyst, r.Task(item).State.Active)

				r.MoveAs("kim", App, item, stage.StatusStop)
				r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim"}) // of something else
				r.Settle(10 * time.Second)
				r.Cancelled(item)
			})
		})
	}
}

// A card that is set to To Analyse again right after a STOP is not set back to STOP: the column is a newer word,
// though it is the one that the task began by.
func TestStopAndStartAgainAtOnce(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, Hang))
		item := r.Card(App, "x")
		r.Hook(moveTold(r, item, stage.StatusToAnalyse))
		r.Settle(10 * time.Second)
		first := r.Task(item).ID
		stop := moveTold(r, item, stage.StatusStop)
		stop.Word = stage.StatusStop
		r.Settle(10 * time.Millisecond)
		again := moveTold(r, item, stage.StatusToAnalyse)
		r.Hook(stop)
		r.Settle(10 * time.Second)
		r.Hook(again)
		r.Settle(2 * time.Minute)
		require.NotEqual(r, first, r.Task(item).ID)
		r.Stands(item, stage.Analysis)
		for _, m := range r.Board.Moves() {
			require.NotEqual(r, stage.StatusStop, m.To, "nobody but people sets STOP here")
		}
	})
}
