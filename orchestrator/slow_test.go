package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// commanded is a rig with STOP whose first repository has a command gate where tasks leave
// a stage. Its pools of events have one worker each.
func commanded(t *testing.T, at stage.Stage, ends func(ctx context.Context, argv []string) (int, string, error), f func(*rig, *commands)) {
	t.Helper()
	c := &commands{ends: ends}
	stoppableWith(t, func(r *rig) {
		r.opt.EventWorkers, r.opt.MaxConcurrency = 1, 4
		r.gates, r.commands = []gates.Gate{checks.Command("APP/licences", "./bin/licences", "--all")}, c
		r.project[0].Gates = map[stage.Stage][]string{at: {"APP/licences"}}
	}, func(r *rig) { f(r, c) })
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
			}, func(r *rig, c *commands) {
				item := r.card(appProject, "slow")
				r.toDone(appProject, item)
				require.Equal(r, at, r.task(item).State.Stage)
				require.Len(r, c.ran, 1)
				require.False(r, ended)

				other := r.card(selfProject, "other")
				r.move(selfProject, other, stage.StatusToAnalyse)
				r.settle(5 * time.Second)
				require.Equal(r, stage.HoldApproval, r.task(other).State.Hold, "begun, and its analyst has finished")
				r.move(selfProject, other, stage.StatusStop)
				r.settle(3 * time.Second)
				require.Equal(r, stage.Cancelled, r.cancelled(other).State.Stage)

				r.move(appProject, item, stage.StatusStop)
				r.settle(3 * time.Second)
				require.Equal(r, stage.Cancelled, r.cancelled(item).State.Stage)
				require.True(r, ended, "nobody waits for the command any more")
				r.settle(time.Hour)
				require.Empty(r, r.open())
				require.Len(r, c.ran, 1)
				r.replays()
			})
		})
	}
}

// A command that is not done at the limit is ended, and tried again twice. Then it is an
// error that names the command and the limit, and people see it.
func TestCommandGateExpires(t *testing.T) {
	commanded(t, stage.Architecture, never, func(r *rig, c *commands) {
		item := r.card(appProject, "slow")
		r.toDone(appProject, item)
		r.settle(28 * time.Minute)
		require.Len(r, c.ran, 3)
		require.Equal(r, 1, count(r.roles(), stage.Architect))
		r.settle(3 * time.Minute)
		require.Equal(r, 2, count(r.roles(), stage.Architect), "an error of a gate, as any other")
		r.settle(4 * time.Hour)
		task := r.task(item)
		require.Equal(r, stage.HoldBlocked, task.State.Hold)
		require.Contains(r, task.State.HoldReason, "./bin/licences --all did not end within 10 min")
		ran := len(c.ran)
		r.settle(24 * time.Hour)
		require.Len(r, c.ran, ran, "a blocked task is a person's")
		require.Empty(r, r.open())
		r.replays()
	})
}

// A command gate is judged once the others are green: until CI has finished it is not run.
func TestCommandGateComesLast(t *testing.T) {
	commanded(t, stage.Development, func(context.Context, []string) (int, string, error) { return 0, "", nil }, func(r *rig, c *commands) {
		r.setCI(githost.CheckPending)
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Development, r.task(item).State.Stage)
		require.Empty(r, c.ran)
		head := r.task(item).State.Head
		r.host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, []string{"./bin/licences --all " + head}, c.ran)
		results, err := r.store.GateResults(r.Context(), r.task(item).ID)
		require.NoError(r, err)
		var seen []string
		for _, g := range results {
			for _, one := range g.Verdict.Children {
				seen = append(seen, one.Check)
			}
		}
		require.Equal(r, "check_ci_green check_protected_paths APP/licences", strings.Join(seen, " "))
		r.replays()
	})
}

// After a restart of the service the command is run again.
func TestCommandGateIsInterrupted(t *testing.T) {
	commanded(t, stage.Architecture, never, func(r *rig, c *commands) {
		item := r.card(appProject, "x")
		r.toDone(appProject, item)
		for range 4 {
			r.shutdown()
			r.start()
			r.settle(time.Minute)
		}
		jobs, err := r.store.Jobs(r.Context(), queue.Filter{Open: true})
		require.NoError(r, err)
		require.Len(r, jobs, 1)
		require.Equal(r, "events/slow", jobs[0].Pool)
		c.ends = func(context.Context, []string) (int, string, error) { return 2, "a licence is missing", nil }
		r.shutdown()
		r.start()
		r.settle(time.Minute)
		require.Equal(r, stage.HoldBlocked, r.task(item).State.Hold)
		require.Contains(r, r.task(item).State.HoldReason, "a licence is missing")
		v, err := r.engine.QueueView(r.Context())
		require.NoError(r, err)
		require.Contains(r, v.Lanes, orchestrator.LaneView{Lane: "command gates"})
	})
}
