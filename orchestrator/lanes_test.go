package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// hanging is a chat that takes ten seconds to say nothing.
type hanging struct {
	messenger.Messenger
	hangs atomic.Bool
}

func (h *hanging) Send(ctx context.Context, m messenger.Message) (string, error) {
	if !h.hangs.Load() {
		return h.Messenger.Send(ctx, m)
	}
	select {
	case <-ctx.Done():
	case <-time.After(10 * time.Second):
	}
	return "", context.DeadlineExceeded
}

// gauges keeps what was measured last, and the sums.
type gauges struct {
	mu sync.Mutex
	of map[string]float64
}

func newGauges() *gauges { return &gauges{of: map[string]float64{}} }

func (g *gauges) Add(name string, n float64, labels ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[name+" "+strings.Join(labels, " ")] += n
}

func (g *gauges) Set(name string, v float64, labels ...string) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.of[name+" "+strings.Join(labels, " ")] = v
}

func (g *gauges) Observe(name string, seconds float64, labels ...string) {
	g.Set(name, seconds, labels...)
}

func (g *gauges) get(name string) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[name]
}

func lane(r *Rig, name string) explain.LaneView {
	r.Helper()
	v, err := explain.ReadQueue(context.Background(), r.Engine)
	require.NoError(r, err)
	for _, l := range v.Lanes {
		if l.Lane == name {
			return l
		}
	}
	require.Fail(r, "no such lane", name)
	return explain.LaneView{}
}

func failedEffects(r *Rig) []explain.FailedEffect {
	r.Helper()
	v, err := explain.ReadQueue(context.Background(), r.Engine)
	require.NoError(r, err)
	return v.Failed
}

// acts returns what operators have done, in order.
func acts(r *Rig) (out []task.Act) {
	r.Helper()
	entries, err := r.Store.JournalSince(context.Background(), 0, 1000)
	require.NoError(r, err)
	for _, e := range entries {
		if a, err := e.Acted(); err == nil {
			out = append(out, a)
		}
	}
	return out
}

// A chat that hangs is named, with what waits for it, and holds up nothing else.
func TestHangingChatIsNamed(t *testing.T) {
	chat, meter := &hanging{}, newGauges()
	Run(t, func(r *Rig) {
		chat.Messenger = r.Chat
		r.Deps = func(d *orchestrator.Deps) { d.Meter = meter }
		r.Effects = func(d *effects.Deps) { d.Messenger = chat }
	}, func(r *Rig) {
		require.Zero(r, meter.get("lane_sick lane chat"))
		chat.hangs.Store(true)
		item := r.Begin("x")
		r.Settle(30 * time.Second)
		require.NoError(r, r.Engine.Reachable(context.Background()), "not for a minute yet")
		r.Settle(5 * time.Minute)
		l := lane(r, "chat")
		require.NotNil(r, l.Sick)
		require.GreaterOrEqual(r, l.Sick.Failures, 3)
		require.Positive(r, l.Owed)
		require.Nil(r, lane(r, "comments").Sick)
		require.Zero(r, lane(r, "comments").Owed)
		require.EqualValues(r, 1, meter.get("lane_sick lane chat"))
		require.EqualValues(r, l.Sick.Failures, meter.get("lane_failures_total lane chat"))
		since := l.Sick.Since.UTC().Format("15:04 UTC")
		require.ErrorContains(r, r.Engine.Reachable(context.Background()), "the chat has not answered since "+since+" (try ")
		require.ErrorContains(r, r.Engine.Reachable(context.Background()), context.DeadlineExceeded.Error())

		x := r.Explain(item)
		r.Waits(item, stage.HoldApproval)
		require.NotContains(r, x.Summary, "Waits for a human")
		require.Contains(r, x.Summary, "A human is not told everything yet: the notice waits for the chat, which has not answered since "+since+", try ")
		require.Contains(r, x.Blockers[0].Why, "(not told everything yet: the notice waits for the chat")
		require.Equal(r, "Set Approved on the card, or Rejected with a comment that says what is wrong", x.Blockers[0].Do)
		require.NotEmpty(r, x.Owed)
		require.Contains(r, x.Owed[0].Text, "; next try ")

		chat.hangs.Store(false)
		r.Settle(10 * time.Minute)
		require.Nil(r, lane(r, "chat").Sick)
		require.Zero(r, meter.get("lane_sick lane chat"))
		require.NoError(r, r.Engine.Reachable(context.Background()))
		require.Contains(r, r.Explain(item).Summary, "Waits for a human: ")
	})
}

// mute is a board that takes no comments at the moment.
type mute struct {
	*memtracker.Board
	calls atomic.Int32
}

func (m *mute) AddComment(context.Context, tracker.NewComment) (string, error) {
	m.calls.Add(1)
	return "", faulttest.Error(faulttest.Passing)
}

// A neighbour that does not answer is looked at by one job at a time, however many are owed to it.
func TestSickLaneIsNotFlooded(t *testing.T) {
	board, meter := &mute{}, newGauges()
	Run(t, func(r *Rig) {
		board.Board, r.Tracker = r.Board, board
		r.Deps = func(d *orchestrator.Deps) { d.Meter = meter }
	}, func(r *Rig) {
		for i := range 12 {
			r.Begin(fmt.Sprint("card ", i))
		}
		r.Settle(time.Minute)
		before := board.calls.Load()
		r.Settle(time.Minute)
		require.LessOrEqual(r, board.calls.Load()-before, int32(5))
		require.Positive(r, meter.get("effects_total kind comment outcome retry"))
		require.Zero(r, meter.get("effects_total kind comment outcome done"))
		require.Positive(r, meter.get("effects_total kind status outcome done"))
	})
}

// busy is an answer that names the moment to come again.
type busy struct{ flaky }

func (*busy) RetryAfter() time.Duration { return 30 * time.Minute }

// What waits for its time is tried now when an operator says so, for a lane or a task,
// although the destination has named a later moment.
func TestHasten(t *testing.T) {
	for name, hasten := range map[string]func(*Rig, string) (int, error){
		"lane": func(r *Rig, _ string) (int, error) {
			return admin.HastenLane(context.Background(), r.Engine, "chat", admin.OperatorBy(stage.ViaAPI))
		},
		"task": func(r *Rig, item string) (int, error) {
			return admin.HastenTask(context.Background(), r.Engine, r.Task(item).ID, admin.OperatorBy(stage.ViaAPI))
		},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				r.Chat.FailWith(&busy{})
				item := r.Begin("x")
				r.Settle(20 * time.Second)
				require.NotNil(r, lane(r, "chat").Sick)
				r.Chat.FailWith(nil)
				r.Settle(10 * time.Minute)
				require.Empty(r, r.Chat.Messages())
				due, err := hasten(r, item)
				require.NoError(r, err)
				require.Positive(r, due)
				r.Settle(time.Second)
				require.NotEmpty(r, r.Chat.Messages())
				require.Nil(r, lane(r, "chat").Sick)
				acts := acts(r)
				require.Len(r, acts, 1)
				require.Equal(r, []any{task.ActHasten, admin.OperatorBy(stage.ViaAPI)}, []any{acts[0].Act, acts[0].By})
			})
		})
	}
	Run(t, nil, func(r *Rig) {
		_, err := admin.HastenLane(context.Background(), r.Engine, "nowhere", admin.OperatorBy(stage.ViaAPI))
		require.ErrorIs(r, err, admin.ErrNoLane)
		_, err = admin.HastenTask(context.Background(), r.Engine, 404, admin.OperatorBy(stage.ViaAPI))
		require.ErrorIs(r, err, task.ErrNotFound)
		require.Empty(r, acts(r))
	})
}

// A comment that the tracker refuses is given up, named with what to do about it, and
// made again once.
func TestRefusedCommentIsMadeAgain(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		ctx := context.Background()
		r.Board.FailCall("AddComment", errors.New("403: the account may not comment"))
		item := r.Begin("x")
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
		require.Empty(r, r.Comments(App, item))
		failed := failedEffects(r)
		require.NotEmpty(r, failed)
		first := failed[0]
		require.Equal(r, []any{stage.EffectComment, orchestrator.LaneComments, r.Task(item).ID, AppRepo, "403: the account may not comment", 3},
			[]any{first.Kind, first.Lane, first.TaskID, first.Repo, first.Error, first.Attempt})
		require.NotZero(r, first.At)
		for i := 1; i < len(failed); i++ {
			require.False(r, failed[i].At.After(failed[i-1].At), "the newest first")
		}
		require.Nil(r, lane(r, "comments").Sick, "it has answered")

		x := r.Explain(item)
		require.NotContains(r, x.Summary, "Waits for a human")
		require.Contains(r, x.Blockers[0].Why, "the comment was refused for good: 403: the account may not comment")
		require.True(r, x.Owed[0].GivenUp)
		require.Contains(r, x.Owed[0].Text, "make it again")

		r.Board.FailCall("AddComment", nil)
		var made atomic.Int32
		var clicks sync.WaitGroup
		for range 8 { // and a click more on each
			for _, f := range failed {
				clicks.Go(func() {
					if _, err := admin.Again(ctx, r.Engine, f.JobID, admin.OperatorBy(stage.ViaAPI)); err == nil {
						made.Add(1)
					} else if !errors.Is(err, queue.ErrNotFailed) {
						r.Errorf("%v", err)
					}
				})
			}
		}
		clicks.Wait()
		require.EqualValues(r, len(failed), made.Load())
		r.Settle(time.Second)
		require.Len(r, r.Comments(App, item), len(failed))
		require.Empty(r, failedEffects(r))
		require.Empty(r, r.Explain(item).Owed)
		require.Contains(r, r.Explain(item).Summary, "Waits for a human: ")
		act := acts(r)[0]
		require.Equal(r, []any{task.ActAgain, admin.OperatorBy(stage.ViaAPI)}, []any{act.Act, act.By})
		require.NotZero(r, act.Job)

		_, err := admin.Again(ctx, r.Engine, 1, admin.OperatorBy(stage.ViaAPI)) // an event
		require.ErrorIs(r, err, admin.ErrNoEffect)
		_, err = admin.Again(ctx, r.Engine, 1<<40, admin.OperatorBy(stage.ViaAPI))
		require.ErrorIs(r, err, admin.ErrNoEffect)
	})
}

// The board is a register: a status that was refused is not made again when another was
// owed since, and the newest of those that were refused is.
func TestOldStatusIsNotMadeAgain(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		ctx := context.Background()
		r.Board.FailCall("SetStatus", errors.New("403: the account may not move cards"))
		item := r.Begin("x")
		r.Settle(time.Minute)
		jobs := read(r, r.Store.Jobs, queue.Filter{Failed: true, Pool: orchestrator.LaneBoard.Pool()})
		require.Len(r, jobs, 2, "Analysis, and what waits for the approval")
		require.Len(r, failedEffects(r), 1)
		require.Equal(r, jobs[0].ID, failedEffects(r)[0].JobID)
		require.Contains(r, r.Explain(item).Summary, "the board status ")
		_, err := admin.Again(ctx, r.Engine, jobs[1].ID, admin.OperatorBy(stage.ViaAPI))
		require.ErrorIs(r, err, admin.ErrOutdated)
		require.Empty(r, acts(r))
		r.Board.FailCall("SetStatus", nil)
		_, err = admin.Again(ctx, r.Engine, jobs[0].ID, admin.OperatorBy(stage.ViaAPI))
		require.NoError(r, err)
		r.Settle(time.Second)
		require.Equal(r, r.Task(item).State.Set, r.Status(App, item))
		require.Empty(r, failedEffects(r))
		require.Contains(r, r.Explain(item).Summary, "Waits for a human: ")
	})
}
