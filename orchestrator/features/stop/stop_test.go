package stop_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// stoppable makes a rig with STOP on, and the serial gate beside it.
func stoppable(t *testing.T, f func(*Rig)) {
	t.Helper()
	stoppableWith(t, func(*Rig) {}, f)
}

func stoppableWith(t *testing.T, prepare, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		prepare(r)
		r.Features = func() []orchestrator.Feature {
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: []string{AppRepo}})
			require.NoError(r, err)
			return []orchestrator.Feature{s, gate.Feature()}
		}
	}, f)
}

func TestStopWhileAnAgentWorks(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Architect, Hang))
		item := r.Finish("x")
		before := r.Task(item)
		require.Equal(r, stage.Architecture, before.State.Stage)
		require.NotEmpty(r, r.Place.Remote(AppRepo, before.Branch))
		r.Set(item, stage.StatusStop)
		r.Settle(30 * time.Second)
		row := r.Cancelled(item)
		require.Equal(r, stage.Cancelled, row.State.Stage)
		require.False(r, row.CancelRequestedAt.IsZero() || row.CancelledAt.IsZero())
		for key, want := range map[string]string{row.WorkItemID: before.WorkItemID, row.Branch: before.Branch} {
			original, ok := task.ParseTombstone(key)
			require.True(r, ok)
			require.Equal(r, want, original)
		}
		require.Equal(r, stage.StatusStop, r.Status(App, item), "the board stays as the person left it")
		require.Empty(r, r.Place.Remote(AppRepo, before.Branch), "the remote branch is gone")
		require.Empty(r, r.Place.Checkouts())
		require.Empty(r, r.Open())
		jobs, err := r.Store.Jobs(context.Background(), queue.Filter{TaskID: row.ID, Pool: queue.PoolAgents})
		require.NoError(r, err)
		require.Equal(r, queue.Cancelled, jobs[len(jobs)-1].Status)
		r.Settle(time.Hour)
		require.Equal(r, 1, r.Ran(stage.Architect), "and never runs again")

		r.Set(item, stage.StatusStop) // two STOPs
		r.Settle(10 * time.Second)
		require.Equal(r, stage.StatusStop, r.Status(App, item))
		r.Place.SetScript(GoodAgent)
		r.ToDone(App, item)
		again := r.Task(item)
		require.Equal(r, stage.Done, again.State.Stage, "a later To Analyse makes a new task")
		require.Greater(r, again.ID, row.ID)
		require.Equal(r, []string{before.WorkItemID, before.Branch}, []string{again.WorkItemID, again.Branch}, "the names are free")
	})
}

// A STOP that is set between the service's look at a card and its own write to it
// is overwritten on the board. The webhook has reported it.
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
		"with an account of ours":   {0, tracker.Hook{ActorID: "service/", To: "STOP"}, true},
		"ourselves":                 {0, tracker.Hook{ActorID: "service/", To: "Analysis", Self: true}, false},
		"no word of the column":     {0, tracker.Hook{ActorID: "kim"}, false},
		"another column":            {0, tracker.Hook{ActorID: "kim", To: "Blocked"}, false},
		"an unknown column":         {0, tracker.Hook{ActorID: "kim", To: "Later"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			stoppable(t, func(r *Rig) {
				r.Place.SetScript(Instead(stage.Analyst, Hang))
				item := r.Begin("x")
				r.Settle(10 * time.Second)
				was := r.Status(App, item)
				_, trigger := stage.BoardTrigger(was)
				require.False(r, trigger)
				r.Settle(c.after)
				h := c.hook
				h.Kind, h.ProjectID, h.ItemID, h.Status = tracker.HookItemUpdated, App, item, true
				r.Hook(h)
				r.Settle(10 * time.Second)
				if !c.stops {
					require.Equal(r, was, r.Status(App, item))
					r.Stands(item, stage.Analysis)
					return
				}
				r.Cancelled(item)
				require.Equal(r, stage.StatusStop, r.Status(App, item), "the card says so again")
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
			stoppable(t, func(r *Rig) {
				r.Place.SetScript(Instead(stage.Analyst, Hang))
				r.Board.AddProject(App, c.columns...)
				item := r.Begin("x")
				r.Settle(10 * time.Second)
				require.NoError(r, admin.Stop(context.Background(), r.Engine, r.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
				r.Settle(10 * time.Second)
				require.Equal(r, c.want, r.Status(App, item))
				r.Cancelled(item)
				require.Empty(r, r.Open())
			})
		})
	}
}

func TestStopBeforeAClaim(t *testing.T) {
	stoppable(t, func(r *Rig) {
		first, second := r.Card(App, "one"), r.Card(App, "two")
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		r.Set(second, stage.StatusToAnalyse)
		r.Settle(10 * time.Second)
		require.Equal(r, 1, r.Ran(stage.Analyst), "the second waits for the first")
		r.Set(second, stage.StatusStop)
		r.Settle(10 * time.Second)
		r.Cancelled(second)
		third := r.Begin("three")
		r.Settle(10 * time.Second)
		r.Set(first, stage.StatusStop)
		r.Settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.Task(third).State.Hold, "a cancelled task lets the next one begin")
	})
}

// An operator's STOP is none of the board's words: the one that the board shows stays known, also while the STOP waits.
func TestOperatorsStopKeepsTheWord(t *testing.T) {
	at := time.Unix(1, 0)
	s := stage.State{Stage: stage.Deploy, Phase: stage.PhaseMerge, Acted: stage.StatusToAnalyse, ActedAt: at}
	waits := stop.Rule(s, stage.Event{On: stage.OnStop}, stage.Decision{State: s})
	over := waits.State
	over.Hold = stage.HoldBlocked
	waits = stop.Rule(waits.State, stage.Event{On: stage.OnRetry}, stage.Decision{State: over, Moved: true}) // ends no merge
	require.True(t, waits.State.Stopping)
	ended := stop.Rule(waits.State, stage.Event{On: stage.OnAgentFailed}, stage.Decision{State: over, Moved: true})
	require.Equal(t, stage.Cancelled, ended.State.Stage)
	require.Equal(t, stage.StatusToAnalyse, ended.State.Acted)
	require.Equal(t, at, ended.State.ActedAt)
	require.Contains(t, ended.Effects[len(ended.Effects)-1].Replaces, stage.StatusToAnalyse)
}

// In the middle of a deployment STOP waits, and takes effect then.
func TestStopInTheMiddleOfADeployment(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Stage == stage.Deploy {
				time.Sleep(time.Minute)
			}
			return GoodAgent(ctx, c, files)
		}))
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Set(item, stage.StatusApproved)
		r.Settle(50 * time.Second)
		require.Equal(r, stage.PhaseRelease, r.Task(item).State.Phase)
		r.Set(item, stage.StatusStop)
		r.Settle(5 * time.Second)
		task := r.Task(item)
		require.True(r, task.State.Stopping)
		require.NotZero(r, task.CancelRequestedAt)
		require.Equal(r, "stop", r.Explain(item).Blockers[0].Kind)
		r.Set(item, stage.StatusStop)
		r.Settle(2 * time.Minute)
		r.Cancelled(item)
		require.Equal(r, 2, r.Ran(stage.Deployer), "the deployment has finished")
		require.Equal(r, 1, r.Host.Merges())
	})
}

// What has yet to begin need not be waited for, and what has failed, or has ended with its process, is not made again.
func TestStopOfWhatIsNotUnderWay(t *testing.T) {
	fails := func(call string, err error) func(*Rig) { return func(r *Rig) { r.Host.FailCall(call, err) } }
	away, none := faulttest.Error(faulttest.Passing), func(*Rig) {}
	for name, c := range map[string]struct {
		phase           stage.Phase
		staged, stopped func(*Rig)
		deploy          memwork.Script
	}{
		"no merge was sent":  {stage.PhaseMerge, fails("PullRequest", away), fails("PullRequest", nil), GoodAgent},
		"a merge has failed": {stage.PhaseMerge, fails("Merge", away), fails("Merge", nil), GoodAgent},
		"no worker is free":  {stage.PhaseRelease, func(r *Rig) { r.Move(Self, r.Card(Self, "other"), stage.StatusToAnalyse) }, none, GoodAgent},
		"it was interrupted": {stage.PhaseRelease, none, func(r *Rig) { r.Shutdown(); r.Start() }, Hang},
	} {
		stoppableWith(t, func(r *Rig) { r.Options.MaxConcurrency = 1 }, func(r *Rig) {
			r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
				switch {
				case cmd.Repo != AppRepo:
					return Hang(ctx, cmd, files)
				case cmd.Stage == stage.Deploy:
					return c.deploy(ctx, cmd, files)
				case cmd.Stage == stage.DeployStaging:
					c.staged(r)
				}
				return GoodAgent(ctx, cmd, files)
			})
			item := r.Begin("x")
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(time.Minute)
			require.Equal(r, c.phase, r.Task(item).State.Phase, name)
			made := []int{r.Host.Merges(), r.Ran(stage.Deployer)}
			r.Set(item, stage.StatusStop)
			r.Settle(time.Second)
			c.stopped(r)
			r.Settle(time.Minute)
			r.Cancelled(item)
			require.Equal(r, made, []int{r.Host.Merges(), r.Ran(stage.Deployer)}, name)
		})
	}
}

func TestStopOfAFinishedTaskAndByAnOperator(t *testing.T) {
	stoppable(t, func(r *Rig) {
		item := r.Finish("x")
		r.Set(item, stage.StatusStop)
		r.Settle(10 * time.Second)
		r.Stands(item, stage.Done)
		other := r.Begin("y")
		r.Settle(10 * time.Second)
		require.NoError(r, admin.Stop(context.Background(), r.Engine, r.Task(other).ID, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(10 * time.Second)
		r.Cancelled(other)
		require.ErrorIs(r, admin.Stop(context.Background(), r.Engine, 99, admin.OperatorBy(stage.ViaAPI)), task.ErrNotFound)
	})
}

// With the switch off STOP has no effect, but for one that waited when it was.
func TestStopSwitchedOff(t *testing.T) {
	feature := stop.Feature
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			f, err := feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
	}, func(r *Rig) {
		r.Host.FailCall("Merge", faulttest.Error(faulttest.Passing))
		merging := r.Finish("y")
		r.Settle(20 * time.Minute) // attempts are far apart
		r.Set(merging, stage.StatusStop)
		r.Settle(time.Second)
		require.True(r, r.Task(merging).State.Stopping)
		r.Shutdown()
		feature = stop.Owed
		r.Start()
		r.Host.FailCall("Merge", nil)
		r.Settle(time.Hour)
		r.Cancelled(merging)

		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Set(item, stage.StatusStop)
		r.Settle(10 * time.Second)
		r.Waits(item, stage.HoldApproval)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
	})
}

// A person's commits on the branch are not thrown away with it.
func TestStopLeavesForeignCommits(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, Hang))
		item := r.Begin("x")
		r.Settle(5 * time.Second)
		branch := r.Task(item).Branch
		r.Place.SetRemote(AppRepo, branch, "a person's commit")
		r.Set(item, stage.StatusStop)
		r.Settle(30 * time.Second)
		r.Cancelled(item)
		require.Equal(r, "a person's commit", r.Place.Remote(AppRepo, branch))
		require.Empty(r, r.Open())
	})
}

// A STOP that comes after a job was claimed and before its agent works ends it
// there: no agent starts, and nothing comes back of what was removed.
func TestStopBetweenClaimAndStart(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Shutdown()
		claimed := 0
		with := r.Features
		r.Features = func() []orchestrator.Feature {
			slow := orchestrator.Feature{Name: "slow", Admission: []admit.Rule{{
				Name: "slow", Read: func(_ context.Context, _ *admit.Pass, s admit.Start) (admit.Facts, error) {
					if s.JobID != 0 {
						claimed++
						time.Sleep(5 * time.Second)
					}
					return nil, nil
				},
			}}}
			return append(with(), slow)
		}
		r.Options.JobTTL = time.Hour // the heartbeat reports nothing
		r.Start()
		item := r.Begin("x")
		r.Settle(3 * time.Second)
		require.Equal(r, 1, claimed)
		r.Set(item, stage.StatusStop)
		r.Settle(time.Minute)
		r.Cancelled(item)
		require.Empty(r, r.Roles())
		require.Empty(r, r.Place.Checkouts())
		require.Empty(r, r.Open())
	})
}

// An agent that is slow to end does not take its successor out of STOP's sight.
func TestStopAfterASlowEnd(t *testing.T) {
	stoppable(t, func(r *Rig) {
		r.Shutdown()
		r.Options.JobTTL = time.Hour // the heartbeat reports nothing
		r.Start()
		ended := 0
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			switch {
			case c.Role == stage.Reviewer:
				<-ctx.Done()
				time.Sleep(20 * time.Second)
			case c.Role == stage.Developer && c.Env["SIGNALBOX_FEEDBACK"] != "":
				<-ctx.Done()
			default:
				return GoodAgent(ctx, c, files)
			}
			ended++
			return work.Result{Kind: work.ResultCancelled}
		})
		item := r.Finish("x")
		r.Stands(item, stage.Review)
		r.Set(item, stage.StatusRejected)
		r.Settle(10 * time.Second)
		require.Equal(r, 2, r.Ran(stage.Developer), "the developer works again already")
		r.Settle(time.Minute)
		require.Equal(r, 1, ended)
		r.Set(item, stage.StatusStop)
		r.Settle(10 * time.Second)
		require.Equal(r, 2, ended)
		r.Cancelled(item)
	})
}
