package orchestrator_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// moody is a board that takes statuses as it pleases until it is well: it refuses,
// takes one and loses the answer, or takes it late.
type moody struct {
	*memtracker.Board

	mu   sync.Mutex
	rng  *rand.Rand
	well bool
}

func (m *moody) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	m.mu.Lock()
	mood, late := m.rng.IntN(5), time.Duration(m.rng.IntN(20))*time.Second
	if m.well {
		mood = 0
	}
	m.mu.Unlock()
	switch mood {
	case 0, 1:
		return m.Board.SetStatus(ctx, project, item, s)
	case 2:
		time.Sleep(late)
		return m.Board.SetStatus(ctx, project, item, s)
	case 3:
		_ = m.Board.SetStatus(ctx, project, item, s) // the answer is lost, whatever it was
		return faulttest.Error(faulttest.Passing)
	default:
		return faulttest.Error(faulttest.Passing)
	}
}

// spoken is a word of a person's.
type spoken struct {
	status stage.Status
	at     time.Time
}

const (
	hookDelay = 90 * time.Second // the longest of a webhook
	speaking  = 10 * time.Minute
)

// Whatever our own writes do meanwhile, and however late and often webhooks come, each
// word of a person's is judged, none is acted upon twice, and nothing that the service
// has set itself is taken for a word.
func TestWords(t *testing.T) {
	t.Parallel()
	seeds := uint64(150)
	if testing.Short() {
		seeds = 30
	}
	for seed := range seeds {
		words(t, seed)
	}
}

func words(t *testing.T, seed uint64) {
	rng := rand.New(rand.NewPCG(seed, 7))
	var board *moody
	Run(t, func(r *Rig) {
		board = &moody{Board: r.Board, rng: rand.New(rand.NewPCG(seed, 8))}
		r.Tracker = board
	}, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Developer, Hang)) // nothing reaches a finished task any more
		item := r.Card(App, "x")
		said := []spoken{moveLate(r, rng, item, stage.StatusToAnalyse)}
		r.Settle(2 * hookDelay) // else there may never be a task
		for end := time.Now().Add(speaking); time.Now().Before(end); {
			r.Settle(time.Duration(1+rng.IntN(200)) * time.Second)
			to := []stage.Status{stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress}[rng.IntN(3)]
			if r.Status(App, item) != to { // else a person cannot set it
				said = append(said, moveLate(r, rng, item, to))
			}
		}
		board.mu.Lock()
		board.well = true
		board.mu.Unlock()
		r.Settle(15 * time.Minute)
		judged(r, fmt.Sprintf("seed %d: %v", seed, said), item, said)
	})
}

// moveLate moves a card as a person does. The webhook comes late, and more than once; and the tracker may save the move a
// second time, a second later, with a webhook of its own.
func moveLate(r *Rig, rng *rand.Rand, item string, to stage.Status) spoken {
	r.Helper()
	r.MoveUnseen(App, item, to)
	i := cardOf(r, item)
	report := func(at time.Time, late time.Duration) {
		time.AfterFunc(late, func() {
			r.Hook(tracker.Hook{
				Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: at,
			})
		})
	}
	for range 1 + rng.IntN(3) {
		report(i.UpdatedAt, time.Duration(rng.IntN(int(hookDelay))))
	}
	if late := time.Duration(rng.IntN(int(hookDelay))); rng.IntN(3) == 0 {
		time.AfterFunc(time.Second, func() {
			if now, err := r.Board.Item(context.Background(), App, item); err == nil && now.Status == to {
				r.Board.PutAs("kim", now)
				report(time.Now(), late)
			}
		})
	}
	return spoken{to, time.Now()}
}

// judged compares the journal of a card's task with what a person has said.
func judged(r *Rig, what, item string, said []spoken) {
	r.Helper()
	entries := read(r, r.Store.Journal, r.Task(item).ID)
	moved, count := map[stage.Status]int{}, map[stage.Status]int{}
	heard := map[stage.Status]time.Time{} // newest judgement of each word
	fates := map[int64][]task.Word{}
	for _, e := range entries {
		if w, is := e.Word(); is {
			fates[w.Number] = append(fates[w.Number], w)
			continue
		}
		d, err := e.Recorded()
		require.NoError(r, err)
		word := stage.Status(d.Event.On)
		if _, board := stage.BoardTrigger(word); !board {
			continue
		}
		heard[word] = e.At
		if d.Decision.Moved {
			moved[word]++
		}
	}
	jobs := read(r, r.Store.Jobs, queue.Filter{Key: orchestrator.BoardKey(item), Limit: 1 << 20})
	acted, repeated := map[string]int{}, 0
	for _, j := range jobs {
		require.Len(r, fates[j.ID], 1, "%s: word %d has one fate: %s", what, j.ID, j.Payload)
		w := fates[j.ID][0]
		require.NotEmpty(r, w.Fate, "%s: %v", what, w)
		require.NotEmpty(r, w.Why, "%s: %v", what, w)
		switch w.Fate {
		case task.FateActed:
			acted[w.Said+" "+fmt.Sprint(w.Seq)]++
		case task.FateRepeated:
			repeated++
			require.Len(r, fates[w.Of], 1, "%s: %v", what, w)
		}
	}
	for w, n := range acted {
		require.Equal(r, 1, n, "%s: %s", what, w)
	}
	for i, w := range said {
		count[w.status]++
		if i+1 < len(said) && said[i+1].at.Sub(w.at) <= hookDelay+10*time.Second {
			continue // a newer word was set before this one's webhooks had all come
		}
		require.False(r, heard[w.status].Before(w.at), "%s: word %d was not judged", what, i)
	}
	for word := range heard {
		require.Positive(r, count[word], "%s: %s was never said", what, word)
	}
	for word, n := range moved {
		require.LessOrEqual(r, n, count[word], "%s: %s was acted upon %d times", what, word, n)
	}
}

// One move is one word, however it is heard: by a webhook, by the reconciler, by the second save of the same drag, and
// beside a comment or an edit that changes the card. Set again in between, it is another.
func TestOneMoveIsOneWord(t *testing.T) {
	t.Parallel()
	type act func(r *Rig, item string)
	report := func(r *Rig, item string, to stage.Status) {
		i := cardOf(r, item)
		r.Hook(tracker.Hook{
			Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true, To: string(to), At: i.UpdatedAt,
		})
	}
	move := func(to stage.Status) act {
		return func(r *Rig, item string) { r.MoveAs("kim", App, item, to) }
	}
	webhook := func(r *Rig, item string) { report(r, item, stage.StatusRejected) }
	replay := func(r *Rig, item string) {
		r.Hook(tracker.Hook{
			Kind: tracker.HookItemUpdated, Event: orchestrator.HookReplayed, ProjectID: App, ItemID: item, Status: true,
		})
	}
	back := move(stage.StatusInReview)
	refuse := func(r *Rig, _ string) { r.Board.FailCall("LastMove", faulttest.Error(faulttest.Final)) }
	heal := func(r *Rig, _ string) { r.Board.FailCall("LastMove", nil) }
	save := func(r *Rig, item string) { move(stage.StatusRejected)(r, item) } // nothing but the moment changes
	for name, c := range map[string]struct {
		acts []act
		want int
	}{
		"heard twice":                     {[]act{move(stage.StatusRejected), webhook, webhook}, 1},
		"second save":                     {[]act{move(stage.StatusRejected), webhook, save, webhook}, 1},
		"replayed, then the second save":  {[]act{move(stage.StatusRejected), replay, save, webhook}, 1},
		"second save, then replayed":      {[]act{move(stage.StatusRejected), webhook, save, replay}, 1},
		"set again":                       {[]act{move(stage.StatusRejected), webhook, back, move(stage.StatusRejected), webhook}, 2},
		"set again, and its webhook lost": {[]act{move(stage.StatusRejected), webhook, back, move(stage.StatusRejected), replay}, 2},
		"second save, the log refused":    {[]act{move(stage.StatusRejected), webhook, refuse, save, webhook}, 1},
		"set again, the log refused":      {[]act{move(stage.StatusRejected), webhook, refuse, back, move(stage.StatusRejected), webhook, heal}, 2},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) { r.Board.FailCall("SetStatus", faulttest.Error(faulttest.Passing)) }, func(r *Rig) {
				item := r.Begin("x")
				r.Settle(time.Minute)
				r.Waits(item, stage.HoldApproval)
				r.Place.SetScript(Instead(stage.Analyst, Hang))
				for _, do := range c.acts {
					do(r, item)
					r.Settle(time.Second)
				}
				r.Settle(time.Minute)
				entries := read(r, r.Store.Journal, r.Task(item).ID)
				decided := 0
				for _, e := range entries {
					if d, err := e.Recorded(); err == nil && d.Event.On == stage.OnRejected {
						decided++
					}
				}
				require.Equal(r, c.want, decided)
			})
		})
	}
}

// A webhook that comes late proves no move that somebody else has made since.
func TestLateWebhookOfAnother(t *testing.T) {
	ruled(t, task.People{Approvers: []string{"ann"}}, func(r *Rig, _ *reconcile.Reconciler) {
		item := waiting(r)
		r.MoveAs("ann", App, item, stage.StatusApproved)
		i := cardOf(r, item)
		for _, taken := range []stage.Status{stage.StatusInReview, stage.StatusApproved} {
			time.Sleep(time.Second)
			r.MoveAs("guest", App, item, taken)
		}
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "ann", Status: true, To: string(stage.StatusApproved), At: i.UpdatedAt})
		r.Settle(10 * time.Minute)
		r.Waits(item, stage.HoldApproval)
		moveAs(r, "ann", item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}
