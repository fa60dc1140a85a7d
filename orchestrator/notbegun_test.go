package orchestrator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A word on a card whose analyst has not begun is answered with what it waits for, on the board and elsewhere.
func TestWordBeforeTheAgentBegins(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		require.NoError(r, admin.Pause(r.Context(), r.Engine, AppRepo, "the vendor's prices", admin.OperatorBy(stage.ViaAPI)))
		item := r.Begin("x")
		r.Settle(time.Minute)
		for _, word := range []stage.Status{stage.StatusApproved, stage.StatusInProgress} {
			r.Set(item, word)
			r.Settle(time.Minute)
		}
		require.Equal(r, 2, count(r.Comments(App, item), "the analyst has not begun: it waits: paused by admin: the vendor's prices."))
		require.False(r, r.Commented(App, item, "at work"))
		err := admin.Decide(r.Context(), r.Engine, r.Task(item).ID, admin.Word{On: stage.OnApproved}, admin.OperatorBy(stage.ViaAPI))
		require.ErrorContains(r, err, "Approved moves nothing: the analyst has not begun")
		r.Replays()
	})
}

// What CI has not reported is named as soon as something else was, and before that what it takes.
func TestMissingCheckIsNamedAtOnce(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Options.Stage.CIPoll = time.Hour
		r.Projects[0].Contexts = []string{"build", "e2e"}
	}, func(r *Rig) {
		item := atCI(r)
		task := r.Task(item)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "it takes build, e2e")
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, Branch: task.Branch, SHA: task.State.Head, State: string(githost.CheckPassed)})
		r.Settle(time.Minute)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, "ci", b.Kind)
		require.Contains(r, b.Why, "e2e")
		require.NotContains(r, b.Why, "build")
	})
}
