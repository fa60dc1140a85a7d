package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// commanded is a rig with STOP whose first repository has a command gate where tasks leave
// a stage. Its pools of events have one worker each.
func commanded(t *testing.T, at stage.Stage, ends func(ctx context.Context, argv []string) (int, string, error), f func(*Rig, *commands)) {
	t.Helper()
	c := &commands{ends: ends}
	stoppableWith(t, func(r *Rig) {
		r.Options.EventWorkers, r.Options.MaxConcurrency = 1, 4
		r.Deps = func(d *orchestrator.Deps) {
			d.Gates, d.Commands = append(d.Gates, checks.Command("APP/licences", "./bin/licences", "--all")), c
		}
		r.Projects[0].Gates = map[stage.Stage][]string{at: {"APP/licences"}}
	}, func(r *Rig) { f(r, c) })
}

func never(ctx context.Context, _ []string) (int, string, error) {
	<-ctx.Done()
	return -1, "", ctx.Err()
}

// A command that never ends delays neither the events of others, wherever it is run, nor
// a STOP of its own card, which ends it.
func TestCommandGateDelaysNobody(t *testing.T) {
	for _, at := range []stage.Stage{stage.Analysis, stage.Architecture, stage.Development, stage.Testing} {
		t.Run(string(at), func(t *testing.T) {
			ended := false
			commanded(t, at, func(ctx context.Context, argv []string) (int, string, error) {
				defer func() { ended = true }()
				return never(ctx, argv)
			}, func(r *Rig, c *commands) {
				item := r.Finish("slow")
				require.Equal(r, at, r.Task(item).State.Stage)
				require.Len(r, c.runs(), 1)
				require.False(r, ended)

				other := r.Card(Self, "other")
				r.Move(Self, other, stage.StatusToAnalyse)
				r.Settle(5 * time.Second)
				require.Equal(r, stage.HoldApproval, r.Task(other).State.Hold, "begun, and its analyst has finished")
				r.Move(Self, other, stage.StatusStop)
				r.Settle(3 * time.Second)
				r.Cancelled(other)

				r.Set(item, stage.StatusStop)
				r.Settle(3 * time.Second)
				r.Cancelled(item)
				require.True(r, ended, "nobody waits for the command any more")
				r.Settle(time.Hour)
				require.Empty(r, r.Open())
				require.Len(r, c.runs(), 1)
				r.Replays()
			})
		})
	}
}

// A command that is not done at the limit is ended, and tried again twice. Then it is an
// error that names the command and the limit, and people see it.
func TestCommandGateExpires(t *testing.T) {
	commanded(t, stage.Architecture, never, func(r *Rig, c *commands) {
		item := r.Finish("slow")
		r.Settle(28 * time.Minute)
		require.Len(r, c.runs(), 3)
		require.Equal(r, 1, r.Ran(stage.Architect))
		r.Settle(3 * time.Minute)
		require.Equal(r, 2, r.Ran(stage.Architect), "an error of a gate, as any other")
		r.Settle(4 * time.Hour)
		task := r.Task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Contains(r, task.State.HoldReason, "./bin/licences --all did not end within 10 min")
		ran := len(c.runs())
		r.Settle(24 * time.Hour)
		require.Len(r, c.runs(), ran, "a blocked task is a person's")
		require.Empty(r, r.Open())
		r.Replays()
	})
}

// A command gate is judged once the others are green: until CI has finished it is not run.
func TestCommandGateComesLast(t *testing.T) {
	commanded(t, stage.Development, func(context.Context, []string) (int, string, error) { return 0, "", nil }, func(r *Rig, c *commands) {
		r.SetCI(githost.CheckPending)
		item := r.Finish("x")
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Development)
		require.Empty(r, c.runs())
		head := r.Task(item).State.Head
		r.SetCI(githost.CheckPassed) // of the reports that follow
		r.Host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, []string{"./bin/licences --all " + head}, c.runs())
		results := read(r, r.Store.GateResults, r.Task(item).ID)
		var seen []string
		for _, g := range results {
			for _, one := range g.Verdict.Children {
				seen = append(seen, one.Check)
			}
		}
		require.Equal(r, "check_ci_green check_work_done check_protected_paths APP/licences", strings.Join(seen, " "))
		r.Replays()
	})
}

// After a restart of the service the command is run again.
func TestCommandGateIsInterrupted(t *testing.T) {
	commanded(t, stage.Architecture, never, func(r *Rig, c *commands) {
		item := r.Finish("x")
		for range 4 {
			r.Shutdown()
			r.Start()
			r.Settle(time.Minute)
		}
		jobs := read(r, r.Store.Jobs, queue.Filter{Open: true})
		require.Len(r, jobs, 1)
		require.Equal(r, "events/slow", jobs[0].Pool)
		c.endAs(func(context.Context, []string) (int, string, error) { return 2, "a licence is missing", nil })
		r.Shutdown()
		r.Start()
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "a licence is missing")
		v, err := explain.ReadQueue(r.Context(), r.Engine)
		require.NoError(r, err)
		require.Contains(r, v.Lanes, explain.LaneView{Lane: "command gates"})
	})
}
