package orchestrator_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// A remote that does not answer is shown, and nothing is concluded from it.
func TestPlainRemoteIsAway(t *testing.T) {
	plain(t, func(p *plainRig) { p.endAs(never) }, func(p *plainRig) {
		item := p.Finish("x")
		p.Host.FailCall("Heads", errors.New("ssh: no route to host"))
		p.Settle(5 * time.Minute)
		p.Waits(item, stage.HoldNone)
		v, err := explain.ReadQueue(p.Context(), p.Engine)
		require.NoError(p, err)
		raw, err := v.MarshalJSON()
		require.NoError(p, err)
		require.Contains(p, string(raw), `"repo":"acme/app","at":`)
		require.Contains(p, string(raw), "ssh: no route to host")
		p.Host.FailCall("Heads", nil)
		p.remote.pushMain(p.Task(item).State.Head)
		p.Settle(2 * time.Minute)
		p.Stands(item, stage.Done)
	})
}

// A deployment that is rejected after its merge is followed by another merge: what main has
// already does not count as that.
func TestPlainRejectedDeployment(t *testing.T) {
	fails := true
	plain(t, func(p *plainRig) {
		p.Place.SetScript(Instead(stage.Deployer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_PHASE"] == string(stage.PhaseRelease) && fails {
				files[work.ReportPath] = "---\nverdict: failure\nsha: " + c.Env["SIGNALBOX_SHA"] + "\nsummary: it does not start\n---\n"
				return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
			}
			return GoodAgent(ctx, c, files)
		}))
	}, func(p *plainRig) {
		item := p.Finish("x")
		task := p.Task(item)
		require.Equal(p, []any{stage.Deploy, stage.HoldBlocked}, []any{task.State.Stage, task.State.Hold})
		first := task.State.MergeSHA
		require.Equal(p, first, p.heads()["main"])
		fails = false
		p.Set(item, stage.StatusRejected)
		p.Settle(5 * time.Minute)
		task = p.Task(item)
		require.Equal(p, stage.Done, task.State.Stage, p.Comments(App, item))
		require.NotEqual(p, first, task.State.MergeSHA)
		require.True(p, p.Place.Contains(task.State.MergeSHA, first))
		require.Equal(p, 2, p.Host.Merges())
		p.Replays()
	})
}
