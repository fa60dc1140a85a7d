package orchestrator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A word on a card whose analyst has not begun is answered with what it waits for, on the board and elsewhere.
func TestWordBeforeTheAgentBegins(t *testing.T) {
	orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
		require.NoError(r, admin.Pause(r.Context(), r.Engine, orchestratortest.AppRepo, "the vendor's prices", admin.OperatorBy(stage.ViaAPI)))
		item := r.Card(orchestratortest.App, "x")
		r.Move(orchestratortest.App, item, stage.StatusToAnalyse)
		r.Settle(time.Minute)
		for _, word := range []stage.Status{stage.StatusApproved, stage.StatusInProgress} {
			r.Move(orchestratortest.App, item, word)
			r.Settle(time.Minute)
		}
		require.Equal(r, 2, count(r.Comments(orchestratortest.App, item), "the analyst has not begun: it waits: paused by admin: the vendor's prices."))
		require.False(r, r.Commented(orchestratortest.App, item, "at work"))
		err := admin.Decide(r.Context(), r.Engine, r.Task(item).ID, admin.Word{On: stage.OnApproved}, admin.OperatorBy(stage.ViaAPI))
		require.ErrorContains(r, err, "Approved moves nothing: the analyst has not begun")
		r.Replays()
	})
}

// What CI has not reported is named as soon as something else was, and before that what it takes.
func TestMissingCheckIsNamedAtOnce(t *testing.T) {
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Options.Stage.CIPoll = time.Hour
		r.Projects[0].Contexts = []string{"build", "e2e"}
	}, func(r *orchestratortest.Rig) {
		item := atCI(r)
		task := r.Task(item)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "it takes build, e2e")
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: orchestratortest.AppRepo, Branch: task.Branch, SHA: task.State.Head, State: string(githost.CheckPassed)})
		r.Settle(time.Minute)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, "ci", b.Kind)
		require.Contains(r, b.Why, "e2e")
		require.NotContains(r, b.Why, "build")
	})
}
