package orchestrator_test

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
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

// refusing is a tracker that refuses some writes for good.
type refusing struct {
	tracker.Tracker
	comments, statuses atomic.Bool
}

func (b *refusing) AddComment(ctx context.Context, n tracker.NewComment) (string, error) {
	if b.comments.Load() {
		return "", errors.New("403: the account may not comment")
	}
	return b.Tracker.AddComment(ctx, n)
}

func (b *refusing) SetStatus(ctx context.Context, project, item string, s stage.Status) error {
	if b.statuses.Load() {
		return errors.New("403: the account may not move cards")
	}
	return b.Tracker.SetStatus(ctx, project, item, s)
}

// gauges remembers what was measured last, and the sums.
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

func (g *gauges) Observe(string, float64, ...string) {}

func (g *gauges) get(name string) float64 {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.of[name]
}

func (r *rig) lane(name string) orchestrator.LaneView {
	r.Helper()
	v, err := r.engine.QueueView(context.Background())
	require.NoError(r, err)
	for _, l := range v.Lanes {
		if l.Lane == name {
			return l
		}
	}
	require.Fail(r, "no such lane", name)
	return orchestrator.LaneView{}
}

func (r *rig) failed() []orchestrator.FailedEffect {
	r.Helper()
	v, err := r.engine.QueueView(context.Background())
	require.NoError(r, err)
	return v.Failed
}

// why is the explanation of a card's task, which is the same among all tasks.
func (r *rig) why(item string) orchestrator.Explanation {
	r.Helper()
	t := r.task(item)
	x, err := r.engine.Explain(context.Background(), t.ID)
	require.NoError(r, err)
	all, err := r.engine.ExplainAll(context.Background(), []orchestrator.Task{t})
	require.NoError(r, err)
	require.Equal(r, x.Blockers, all[0].Blockers)
	require.Equal(r, x.Owed, all[0].Owed)
	return x
}

// acts are what operators have done, in order.
func (r *rig) acts() (out []orchestrator.Act) {
	r.Helper()
	entries, err := r.store.JournalSince(context.Background(), 0, 1000)
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
	runWith(t, func(r *rig) {
		chat.Messenger, r.meter = r.chat, meter
		r.around = func(d *effects.Deps) { d.Messenger = chat }
	}, func(r *rig) {
		require.Zero(r, meter.get("lane_sick lane chat"))
		chat.hangs.Store(true)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(30 * time.Second)
		require.NoError(r, r.engine.Reachable(context.Background()), "not for a minute yet")
		r.settle(5 * time.Minute)
		l := r.lane("chat")
		require.NotNil(r, l.Sick)
		require.GreaterOrEqual(r, l.Sick.Failures, 3)
		require.Positive(r, l.Owed)
		require.Nil(r, r.lane("comments").Sick)
		require.Zero(r, r.lane("comments").Owed)
		require.EqualValues(r, 1, meter.get("lane_sick lane chat"))
		require.EqualValues(r, l.Sick.Failures, meter.get("lane_failures_total lane chat"))
		since := l.Sick.Since.UTC().Format("15:04 UTC")
		require.ErrorContains(r, r.engine.Reachable(context.Background()), "the chat has not answered since "+since+" (try ")
		require.ErrorContains(r, r.engine.Reachable(context.Background()), context.DeadlineExceeded.Error())

		x := r.why(item)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.NotContains(r, x.Summary, "Waits for a human")
		require.Contains(r, x.Summary, "A human is not told everything yet: the notice waits for the chat, which has not answered since "+since+", try ")
		require.Contains(r, x.Blockers[0].Why, "(not told everything yet: the notice waits for the chat")
		require.Equal(r, "Set Approved on the card, or Rejected with a comment that says what is wrong", x.Blockers[0].Do)
		require.NotEmpty(r, x.Owed)
		require.Contains(r, x.Owed[0].Text, "; next try ")

		chat.hangs.Store(false)
		r.settle(10 * time.Minute)
		require.Nil(r, r.lane("chat").Sick)
		require.Zero(r, meter.get("lane_sick lane chat"))
		require.NoError(r, r.engine.Reachable(context.Background()))
		require.Contains(r, r.why(item).Summary, "Waits for a human: ")
	})
}

// busy is an answer that names the moment to come again.
type busy struct{ flaky }

func (*busy) RetryAfter() time.Duration { return 30 * time.Minute }

// What waits for its time is tried now when an operator says so, for a lane or a task,
// although the destination has named a later moment.
func TestHasten(t *testing.T) {
	for name, hasten := range map[string]func(*rig, string) (int, error){
		"lane": func(r *rig, _ string) (int, error) {
			return r.engine.HastenLane(context.Background(), "chat", operator)
		},
		"task": func(r *rig, item string) (int, error) {
			return r.engine.HastenTask(context.Background(), r.task(item).ID, operator)
		},
	} {
		t.Run(name, func(t *testing.T) {
			run(t, func(r *rig) {
				r.chat.FailWith(&busy{})
				item := r.card(appProject, "x")
				r.move(appProject, item, stage.StatusToAnalyse)
				r.settle(20 * time.Second)
				require.NotNil(r, r.lane("chat").Sick)
				r.chat.FailWith(nil)
				r.settle(10 * time.Minute)
				require.Empty(r, r.chat.Messages())
				due, err := hasten(r, item)
				require.NoError(r, err)
				require.Positive(r, due)
				r.settle(time.Second)
				require.NotEmpty(r, r.chat.Messages())
				require.Nil(r, r.lane("chat").Sick)
				acts := r.acts()
				require.Len(r, acts, 1)
				require.Equal(r, []any{orchestrator.ActHasten, operator}, []any{acts[0].Act, acts[0].By})
			})
		})
	}
	run(t, func(r *rig) {
		_, err := r.engine.HastenLane(context.Background(), "nowhere", operator)
		require.ErrorIs(r, err, orchestrator.ErrNoLane)
		_, err = r.engine.HastenTask(context.Background(), 404, operator)
		require.ErrorIs(r, err, orchestrator.ErrNotFound)
		require.Empty(r, r.acts())
	})
}

// A comment that the tracker refuses is given up, named with what to do about it, and
// made again once.
func TestRefusedCommentIsMadeAgain(t *testing.T) {
	board := &refusing{}
	runWith(t, func(r *rig) {
		board.Tracker = r.board
		r.around = func(d *effects.Deps) { d.Tracker = board }
	}, func(r *rig) {
		ctx := context.Background()
		board.comments.Store(true)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		require.Empty(r, r.comments(appProject, item))
		failed := r.failed()
		require.NotEmpty(r, failed)
		first := failed[0]
		require.Equal(r, []any{"comment", orchestrator.LaneComments, r.task(item).ID, appRepo, "403: the account may not comment", 3},
			[]any{first.Kind, first.Lane, first.TaskID, first.Repo, first.Error, first.Attempt})
		require.False(r, first.At.IsZero())
		for i := 1; i < len(failed); i++ {
			require.False(r, failed[i].At.After(failed[i-1].At), "the newest first")
		}
		require.Nil(r, r.lane("comments").Sick, "it has answered")

		x := r.why(item)
		require.NotContains(r, x.Summary, "Waits for a human")
		require.Contains(r, x.Blockers[0].Why, "the comment was refused for good: 403: the account may not comment")
		require.True(r, x.Owed[0].GivenUp)
		require.Contains(r, x.Owed[0].Text, "make it again")

		board.comments.Store(false)
		var made atomic.Int32
		var clicks sync.WaitGroup
		for range 8 { // and a click more on each
			for _, f := range failed {
				clicks.Go(func() {
					if _, err := r.engine.Again(ctx, f.JobID, operator); err == nil {
						made.Add(1)
					} else if !errors.Is(err, queue.ErrNotFailed) {
						r.Errorf("%v", err)
					}
				})
			}
		}
		clicks.Wait()
		require.EqualValues(r, len(failed), made.Load())
		r.settle(time.Second)
		require.Len(r, r.comments(appProject, item), len(failed))
		require.Empty(r, r.failed())
		require.Empty(r, r.why(item).Owed)
		require.Contains(r, r.why(item).Summary, "Waits for a human: ")
		act := r.acts()[0]
		require.Equal(r, []any{orchestrator.ActAgain, operator}, []any{act.Act, act.By})
		require.NotZero(r, act.Job)

		_, err := r.engine.Again(ctx, 1, operator) // an event
		require.ErrorIs(r, err, orchestrator.ErrNoEffect)
		_, err = r.engine.Again(ctx, 1<<40, operator)
		require.ErrorIs(r, err, orchestrator.ErrNoEffect)
	})
}

// The board is a register: a status that was refused is not made again when another was
// wanted since, and the newest of those that were refused is.
func TestOldStatusIsNotMadeAgain(t *testing.T) {
	board := &refusing{}
	runWith(t, func(r *rig) {
		board.Tracker = r.board
		r.around = func(d *effects.Deps) { d.Tracker = board }
	}, func(r *rig) {
		ctx := context.Background()
		board.statuses.Store(true)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		jobs, err := r.store.Jobs(ctx, queue.Filter{Failed: true, Pool: orchestrator.LaneBoard.Pool()})
		require.NoError(r, err)
		require.Len(r, jobs, 2, "Analysis, and what waits for the approval")
		require.Len(r, r.failed(), 1)
		require.Equal(r, jobs[0].ID, r.failed()[0].JobID)
		require.Contains(r, r.why(item).Summary, "the board status ")
		_, err = r.engine.Again(ctx, jobs[1].ID, operator)
		require.ErrorIs(r, err, orchestrator.ErrOutdated)
		require.Empty(r, r.acts())
		board.statuses.Store(false)
		_, err = r.engine.Again(ctx, jobs[0].ID, operator)
		require.NoError(r, err)
		r.settle(time.Second)
		require.Equal(r, r.task(item).State.Set, r.status(appProject, item))
		require.Empty(r, r.failed())
		require.Contains(r, r.why(item).Summary, "Waits for a human: ")
	})
}
