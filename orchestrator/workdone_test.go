package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// idler is a developer that commits nothing but, where it has one, a text in no-change.md.
func idler(says string) memwork.Script {
	return Instead(stage.Developer, func(_ context.Context, c work.Command, files map[string]string) work.Result {
		time.Sleep(time.Second)
		if says != "" {
			files[c.Env["SIGNALBOX_DOCS"]+"/"+checks.NoChange] = says
		}
		return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
	})
}

// A card without any work is not done: the developer is sent back once, then a person decides.
func TestNoWorkDone(t *testing.T) {
	for name, ciNone := range map[string]bool{"CI": false, "ci: none": true} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) { r.Projects[0].CINone = ciNone }, func(r *Rig) {
				r.Place.SetScript(idler(""))
				item := r.Finish("x")
				r.Settle(time.Minute)
				task := r.Task(item)
				require.Equal(r, stage.HoldApproval, task.State.Hold)
				require.Equal(r, 2, r.Ran(stage.Developer))
				require.True(r, r.Commented(App, item, "development again: retry 1 of 3: no work is done: "))
				require.Contains(r, task.State.HoldReason, "changes nothing against main but documents in docs/work/APP-1")
				x := r.Explain(item)
				require.Contains(r, x.Summary, "no work is done")
				require.Contains(r, x.Blockers[0].Do, "say in a comment what is and set In Progress to run the developer again")
				require.Equal(r, stage.StatusNeedsInput, r.Status(App, item))
				require.True(r, r.Commented(App, item, "Set the status Approved to confirm that nothing is, or say in a comment what is to be done and set In Progress"))
				r.Settle(2 * time.Hour)
				require.Equal(r, task.State.Seq, r.Task(item).State.Seq)
				r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					require.Contains(r, c.Prompt, "The button is to be blue.")
					return GoodAgent(ctx, c, files)
				}))
				r.Board.Say(item, "kim", "The button is to be blue.")
				r.Set(item, stage.StatusInProgress)
				r.Settle(time.Minute)
				r.Stands(item, stage.Done)
				require.Empty(r, r.Task(item).State.Vouched.SHA)
				require.Equal(r, 3, r.Ran(stage.Developer))
				r.Replays()
			})
		})
	}
}

// A developer who reports that nothing is to be done is not sent back: a person confirms it, and
// the reconciler does not.
func TestNothingToBeDone(t *testing.T) {
	reconciled(t, func(r *Rig, rec *reconcile.Reconciler) {
		r.Place.SetScript(idler("It works so since v2."))
		item := r.Card(App, "x")
		task := toWord(r, App, item)
		require.Equal(r, 1, r.Ran(stage.Developer))
		require.Equal(r, stage.StatusNeedsInput, r.Status(App, item))
		require.True(r, r.Commented(App, item, "the developer reports that nothing is to be done: It works so since v2."))
		for range 3 {
			r.Settle(time.Hour)
			require.NoError(r, rec.Pass(r.Context(), r.Engine))
		}
		require.Equal(r, task.State.Seq, r.Task(item).State.Seq)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, task.State.Head, r.Task(item).State.Vouched.SHA)
	})
}

// With the switch off a card is as it was before there was the gate.
func TestWorkGateOff(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.Off = []string{checks.WorkDone} }, func(r *Rig) {
		r.Place.SetScript(idler(""))
		item := r.Finish("x")
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Ran(stage.Developer))
		results := read(r, r.Store.GateResults, r.Task(item).ID)
		for _, v := range results {
			for _, one := range append(v.Verdict.Children, v.Verdict) {
				require.NotEqual(r, checks.WorkDone, one.Check)
			}
		}
	})
}
