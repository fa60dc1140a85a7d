package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// No agent starts in what is paused, in any process and after a restart; one at work goes on, and
// STOP and the words of people are taken in.
func TestPause(t *testing.T) {
	for name, c := range map[string]struct{ repo, end string }{"of a repository": {"ACME/app", "signalbox unpause acme/app"}, "of all": {"", "signalbox unpause"}} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) {
				r.Place.SetScript(Instead(stage.Analyst, func(ctx context.Context, k work.Command, files map[string]string) work.Result {
					time.Sleep(time.Minute)
					return GoodAgent(ctx, k, files)
				}))
			}, func(r *Rig) {
				ctx := context.Background()
				first, second, other := r.Card(App, "x"), r.Card(App, "y"), r.Card(Self, "z")
				r.Set(first, stage.StatusToAnalyse)
				r.Settle(10 * time.Second)
				require.NoError(r, admin.Pause(ctx, r.Engine, c.repo, "the host is upgraded", holder("ann")))
				r.Start() // a second process
				r.Set(second, stage.StatusToAnalyse)
				r.Move(Self, other, stage.StatusToAnalyse)
				r.Settle(2 * time.Minute)
				require.Equal(r, stage.HoldApproval, r.Task(first).State.Hold, "it has gone on")
				r.Set(first, stage.StatusApproved)
				r.Settle(time.Minute)
				r.Stands(first, stage.Architecture)
				r.Shutdown()
				r.Start()
				r.Settle(time.Hour)
				began := 1
				if c.repo != "" {
					began = 2
				}
				require.Equal(r, began, len(r.Roles()), r.Roles())
				x := r.Explain(second)
				require.Equal(r, "The analyst's job waits: paused by ann: the host is upgraded (pause)", x.Summary)
				require.Equal(r, "Run "+c.end, x.Blockers[0].Do)
				require.ErrorContains(r, admin.CheckPaused(ctx, r.Engine), "paused by ann: the host is upgraded; "+c.end+" ends it")

				was, err := admin.Unpause(ctx, r.Engine, c.repo, holder("ann"))
				require.NoError(r, err)
				require.True(r, was)
				r.Settle(5 * time.Minute)
				r.Stands(first, stage.Done)
				r.Waits(second, stage.HoldApproval)
				require.NoError(r, admin.CheckPaused(ctx, r.Engine))
				was, err = admin.Unpause(ctx, r.Engine, c.repo, holder("ann"))
				require.NoError(r, err)
				require.False(r, was)
				require.Len(r, read(r, r.Store.Journal, 0), 2)
			})
		})
	}
}

func TestPauseOfNothing(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		var unknown *orchestrator.UnregisteredError
		require.ErrorAs(r, admin.Pause(context.Background(), r.Engine, "acme/none", "", holder("ann")), &unknown)
		require.NoError(r, admin.CheckPaused(context.Background(), r.Engine))
	})
}

// A STOP waits for a deployment that is under way, and for none that a pause keeps from beginning, or from beginning again.
func TestStopOfAPausedDeployment(t *testing.T) {
	ctx := context.Background()
	stoppableWith(t, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, k work.Command, files map[string]string) work.Result {
			if k.Stage == stage.DeployStaging {
				return GoodAgent(ctx, k, files)
			}
			require.NoError(r, admin.Pause(ctx, r.Engine, "", "the host is upgraded", holder("ann")))
			return work.Result{Kind: work.ResultFailed}
		}))
	}, func(r *Rig) {
		item := r.Finish("x")
		r.Settle(time.Minute)
		require.Equal(r, stage.PhaseRelease, r.Task(item).State.Phase)
		r.Set(item, stage.StatusStop)
		r.Settle(10 * time.Second)
		r.Cancelled(item)
		_, err := admin.Unpause(ctx, r.Engine, "", holder("ann"))
		require.NoError(r, err)
		r.Settle(time.Hour)
		require.Equal(r, 2, r.Ran(stage.Deployer), "staging's too")
	})
}
