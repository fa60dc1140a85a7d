package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// stoppable makes a rig with STOP on, and the serial gate beside it.
func stoppable(t *testing.T, f func(*rig)) {
	t.Helper()
	stoppableWith(t, func(*rig) {}, f)
}

func stoppableWith(t *testing.T, prepare, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		prepare(r)
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			s, err := stop.Feature(stop.Options{Store: r.store, Projects: projects, Workspaces: r.place, Agents: r.place})
			require.NoError(r, err)
			gate, err := serialgate.New(serialgate.Options{Store: r.store, Holds: r.store, Lister: r.store, Repos: []string{appRepo}})
			require.NoError(r, err)
			return []orchestrator.Feature{s, gate.Feature()}
		}
	}, f)
}

// cancelled finds the cancelled task of a card.
func (r *rig) cancelled(item string) orchestrator.Task {
	r.Helper()
	list, err := r.store.Tasks(context.Background(), orchestrator.TaskFilter{Stage: stage.Cancelled})
	require.NoError(r, err)
	for _, t := range list {
		if original, ok := orchestrator.Untomb(t.TrackerIssueID); ok && original == item {
			return t
		}
	}
	require.Fail(r, "the card has no cancelled task")
	return orchestrator.Task{}
}

// hang is an agent that works until it is ended.
func hang(ctx context.Context, _ work.Command, _ map[string]string) work.Result {
	<-ctx.Done()
	return work.Result{Kind: work.ResultCancelled}
}

func TestStopWhileAnAgentWorks(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.place.SetScript(instead(stage.Architect, hang))
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		before := r.task(item)
		require.Equal(r, stage.Architecture, before.State.Stage)
		require.NotEmpty(r, r.place.Remote(appRepo, before.Branch))
		r.move(appProject, item, stage.StatusStop)
		r.settle(30 * time.Second)
		task := r.cancelled(item)
		require.Equal(r, stage.Cancelled, task.State.Stage)
		require.False(r, task.CancelRequestedAt.IsZero() || task.CancelledAt.IsZero())
		for key, want := range map[string]string{task.WorkItemID: before.WorkItemID, task.Branch: before.Branch} {
			original, ok := orchestrator.Untomb(key)
			require.True(r, ok)
			require.Equal(r, want, original)
		}
		require.Equal(r, stage.StatusStop, r.status(appProject, item), "the board stays as the person left it")
		require.Empty(r, r.place.Remote(appRepo, before.Branch), "the remote branch is gone")
		require.Empty(r, r.place.Checkouts())
		require.Empty(r, r.open())
		jobs, err := r.store.Jobs(context.Background(), queue.Filter{TaskID: task.ID, Pool: queue.PoolAgents})
		require.NoError(r, err)
		require.Equal(r, queue.Cancelled, jobs[len(jobs)-1].Status)
		r.settle(time.Hour)
		require.Equal(r, 1, count(r.roles(), stage.Architect), "and never runs again")

		r.move(appProject, item, stage.StatusStop) // two STOPs
		r.settle(10 * time.Second)
		require.Equal(r, stage.StatusStop, r.status(appProject, item))
		r.place.SetScript(goodAgent)
		r.toDone(appProject, item)
		again := r.task(item)
		require.Equal(r, stage.Done, again.State.Stage, "a later To Analyse makes a new task")
		require.Greater(r, again.ID, task.ID)
		require.Equal(r, []string{before.WorkItemID, before.Branch}, []string{again.WorkItemID, again.Branch}, "the names are free")
	})
}

// A STOP that is set between the service's look at a card and its own write to it
// is overwritten on the board. The webhook has told of it.
func TestOverwrittenStop(t *testing.T) {
	for name, c := range map[string]struct {
		after time.Duration // from our own write to the webhook
		hook  tracker.Hook
		stops bool
	}{
		"by the status":             {0, tracker.Hook{ActorID: "kim", To: string(stage.StatusStop)}, true},
		"by the column's name":      {30 * time.Second, tracker.Hook{ActorID: "kim", To: "Stop"}, true},
		"long after our last write": {time.Hour, tracker.Hook{ActorID: "kim", To: "STOP"}, false},
		"by nobody":                 {0, tracker.Hook{To: "STOP"}, false},
		"ourselves":                 {0, tracker.Hook{ActorID: "kim", To: "STOP", Self: true}, false},
		"no word of the column":     {0, tracker.Hook{ActorID: "kim"}, false},
		"another column":            {0, tracker.Hook{ActorID: "kim", To: "Blocked"}, false},
		"an unknown column":         {0, tracker.Hook{ActorID: "kim", To: "Later"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			stoppable(t, func(r *rig) {
				r.place.SetScript(instead(stage.Analyst, hang))
				item := r.card(appProject, "x")
				r.move(appProject, item, stage.StatusToAnalyse)
				r.settle(10 * time.Second)
				was := r.status(appProject, item)
				_, trigger := stage.BoardTrigger(was)
				require.False(r, trigger)
				r.settle(c.after)
				h := c.hook
				h.Kind, h.ProjectID, h.ItemID, h.Status = tracker.HookItemUpdated, appProject, item, true
				r.hook(h)
				r.settle(10 * time.Second)
				if !c.stops {
					require.Equal(r, was, r.status(appProject, item))
					require.Equal(r, stage.Analysis, r.task(item).State.Stage)
					return
				}
				require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
				require.Equal(r, stage.StatusStop, r.status(appProject, item), "the card says so again")
			})
		})
	}
}

// A STOP by an operator shows on the board too, if that has a column for it.
func TestOperatorsStopShows(t *testing.T) {
	for name, c := range map[string]struct {
		columns []stage.Status
		want    stage.Status
	}{
		"a column":  {nil, stage.StatusStop},
		"no column": {[]stage.Status{stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusDone}, stage.StatusInProgress},
	} {
		t.Run(name, func(t *testing.T) {
			stoppable(t, func(r *rig) {
				r.place.SetScript(instead(stage.Analyst, hang))
				r.board.AddProject(appProject, c.columns...)
				item := r.card(appProject, "x")
				r.move(appProject, item, stage.StatusToAnalyse)
				r.settle(10 * time.Second)
				require.NoError(r, r.engine.Stop(context.Background(), r.task(item).ID, operator))
				r.settle(10 * time.Second)
				require.Equal(r, c.want, r.status(appProject, item))
				require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
				require.Empty(r, r.open())
			})
		})
	}
}

func TestStopBeforeAClaim(t *testing.T) {
	stoppable(t, func(r *rig) {
		first, second := r.card(appProject, "one"), r.card(appProject, "two")
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, second, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.Equal(r, 1, count(r.roles(), stage.Analyst), "the second waits for the first")
		r.move(appProject, second, stage.StatusStop)
		r.settle(10 * time.Second)
		require.Equal(r, stage.Cancelled, r.cancelled(second).State.Stage)
		third := r.card(appProject, "three")
		r.move(appProject, third, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, first, stage.StatusStop)
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(third).State.Hold, "a cancelled task lets the next one begin")
	})
}

// In the middle of a deployment STOP waits, and takes effect then.
func TestStopInTheMiddleOfADeployment(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.place.SetScript(instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Stage == stage.Deploy {
				time.Sleep(time.Minute)
			}
			return goodAgent(ctx, c, files)
		}))
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(50 * time.Second)
		require.Equal(r, stage.PhaseRelease, r.task(item).State.Phase)
		r.move(appProject, item, stage.StatusStop)
		r.settle(5 * time.Second)
		task := r.task(item)
		require.True(r, task.State.Stopping)
		require.False(r, task.CancelRequestedAt.IsZero())
		x, err := r.engine.Explain(context.Background(), task.ID)
		require.NoError(r, err)
		require.Equal(r, "stop", x.Blockers[0].Kind)
		r.move(appProject, item, stage.StatusStop)
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		require.Equal(r, 2, count(r.roles(), stage.Deployer), "the deployment has finished")
		require.Equal(r, 1, r.host.Merges())
	})
}

func TestStopOfAFinishedTaskAndByAnOperator(t *testing.T) {
	stoppable(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.move(appProject, item, stage.StatusStop)
		r.settle(10 * time.Second)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		other := r.card(appProject, "y")
		r.move(appProject, other, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		require.NoError(r, r.engine.Stop(context.Background(), r.task(other).ID, operator))
		r.settle(10 * time.Second)
		require.Equal(r, stage.Cancelled, r.cancelled(other).State.Stage)
		require.ErrorIs(r, r.engine.Stop(context.Background(), 99, operator), orchestrator.ErrNotFound)
	})
}

// With the switch off STOP has no effect.
func TestStopSwitchedOff(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.move(appProject, item, stage.StatusStop)
		r.settle(10 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// A person's commits on the branch are not thrown away with it.
func TestStopLeavesForeignCommits(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, hang))
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		branch := r.task(item).Branch
		r.place.SetRemote(appRepo, branch, "a person's commit")
		r.move(appProject, item, stage.StatusStop)
		r.settle(30 * time.Second)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		require.Equal(r, "a person's commit", r.place.Remote(appRepo, branch))
		require.Empty(r, r.open())
	})
}

func TestStopRefuses(t *testing.T) {
	_, err := stop.Feature(stop.Options{})
	require.ErrorContains(t, err, "required")
}

// A STOP that comes after a job was claimed and before its agent works ends it
// there: no agent starts, and nothing comes back of what was removed.
func TestStopBetweenClaimAndStart(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.shutdown()
		claimed := 0
		with := r.features
		r.features = func() []orchestrator.Feature {
			slow := orchestrator.Feature{Name: "slow", Admit: func(context.Context, orchestrator.Start) string {
				claimed++
				time.Sleep(5 * time.Second)
				return ""
			}}
			return append(with(), slow)
		}
		r.opt.JobTTL = time.Hour // the heartbeat does not tell
		r.start()
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(3 * time.Second)
		require.Equal(r, 1, claimed)
		r.move(appProject, item, stage.StatusStop)
		r.settle(time.Minute)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
		require.Empty(r, r.roles())
		require.Empty(r, r.place.Checkouts())
		require.Empty(r, r.open())
	})
}

// An agent that is slow to end does not take its successor out of STOP's sight.
func TestStopAfterASlowEnd(t *testing.T) {
	stoppable(t, func(r *rig) {
		r.shutdown()
		r.opt.JobTTL = time.Hour // the heartbeat does not tell
		r.start()
		ended := 0
		r.place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			switch {
			case c.Role == stage.Reviewer:
				<-ctx.Done()
				time.Sleep(20 * time.Second)
			case c.Role == stage.Developer && c.Env["SIGNALBOX_FEEDBACK"] != "":
				<-ctx.Done()
			default:
				return goodAgent(ctx, c, files)
			}
			ended++
			return work.Result{Kind: work.ResultCancelled}
		})
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		require.Equal(r, stage.Review, r.task(item).State.Stage)
		r.move(appProject, item, stage.StatusRejected)
		r.settle(10 * time.Second)
		require.Equal(r, 2, count(r.roles(), stage.Developer), "the developer works again already")
		r.settle(time.Minute)
		require.Equal(r, 1, ended)
		r.move(appProject, item, stage.StatusStop)
		r.settle(10 * time.Second)
		require.Equal(r, 2, ended)
		require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
	})
}
