package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A wait for CI names the checks that are missing, and when they were looked at.
func TestExplainNamesMissingChecks(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].Contexts, r.Projects[0].WebURL = []string{"build", "e2e"}, "https://git.test/acme/app"
	}, func(r *Rig) {
		item := atCI(r)
		r.Settle(2 * time.Minute)
		b := r.Explain(item).Blockers[0]
		head := r.Task(item).State.Head
		require.Equal(r, "CI is not finished at "+head[:12]+": build, e2e", b.Why)
		require.Equal(r, admit.WhoOutside, b.Who)
		require.Equal(r, "https://git.test/acme/app/commit/"+head, b.Link)
		require.WithinDuration(r, time.Now(), b.CheckedAt, time.Minute)
		require.True(r, b.Since.Before(b.CheckedAt))
		r.Host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.Settle(2 * time.Minute)
		require.Equal(r, "CI is not finished at "+head[:12]+": e2e", r.Explain(item).Blockers[0].Why)
	})
}

// A person who has set Approved does not get the advice to do so while that cannot be read.
func TestExplainNamesWhatIsUnheard(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		require.Len(r, r.Explain(item).Blockers, 1)
		r.MoveAs("kim", App, item, stage.StatusApproved)
		r.Board.FailCall("Item", &fault.Error{Text: "502 bad gateway", Again: true}) // before the move is heard, which is at once
		r.Hook(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: App, ItemID: item, ActorID: "kim", Status: true})
		r.Settle(time.Minute)
		x := r.Explain(item)
		require.Len(r, x.Blockers, 2)
		require.Equal(r, []any{"board", admit.WhoOutside}, []any{x.Blockers[0].Kind, x.Blockers[0].Who})
		require.Contains(r, x.Blockers[0].Why, "a change of the card, received ")
		require.Contains(r, x.Blockers[0].Why, "502 bad gateway")
		require.Contains(r, x.Summary, "a change of the card, received ")
		require.Contains(r, x.Words[1].String(), ". a move by kim (webhook, signature), heard 2000-01-01T00:01:00Z: not judged yet: 502 bad gateway")
		r.Board.FailCall("Item", nil)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		require.Contains(r, r.Explain(item).Words[1].String(), ": acted on: the requirements are approved")
	})
}

// A column that the board does not have is made first.
func TestExplainNamesMissingColumns(t *testing.T) {
	columns := map[stage.Status]string{}
	known := func(project string) (map[stage.Status]string, bool) { return columns, project == App }
	Run(t, func(r *Rig) { r.Options.Columns = known }, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, "Add the column Approved to the board of APP, which has none, then: Set Approved on the card, or Rejected with a comment that says what is wrong", b.Do)
		require.Equal(r, stage.StatusApproved, b.Status)
		columns[stage.StatusApproved] = "OK by me"
		require.Equal(r, "Set Approved on the card, or Rejected with a comment that says what is wrong", r.Explain(item).Blockers[0].Do)
	})
}

// A push that the host does not take is what a task at CI waits for.
func TestExplainNamesThePush(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		r.Place.FailCall("Push", &fault.Error{Text: "the remote is away", Again: true})
		r.Set(item, stage.StatusApproved)
		r.Settle(3 * time.Minute)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, []any{"push", admit.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the push of the branch")
		r.Place.FailCall("Push", nil)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
	})
}

// Agents that failed are tried again at a moment, with what went wrong.
func TestExplainNamesTheFailedAttempt(t *testing.T) {
	failing := func(r *Rig) {
		r.Place = memwork.New(func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "the program is missing"}
		})
		r.Place.OnPush = r.Pushed
	}
	Run(t, failing, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(20 * time.Second)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, []any{"delay", admit.WhoService}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the program is missing")
		require.False(r, b.Until.IsZero() || b.Since.IsZero())
	})
}

// A person who may not set a status gets no advice to set it.
func TestExplainSaysWhoMay(t *testing.T) {
	const do = "Set Approved on the card, or Rejected with a comment that says what is wrong"
	for name, c := range map[string]struct {
		people task.People
		want   string
	}{
		"everybody": {task.People{Releasers: []string{"kim"}}, do},
		"list":      {task.People{Approvers: []string{"ann@example.org", "role:admin"}}, do + "; it takes one of the approvers (ann@example.org, role:admin)"},
		"separate":  {task.People{Separate: true}, do + "; it takes somebody else than who has started the task"},
		"both":      {task.People{Approvers: []string{"ann"}, Separate: true}, do + "; it takes one of the approvers (ann), other than who has started the task"},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) { r.Projects[0].People = c.people }, func(r *Rig) {
				item := r.Card(App, "x")
				moveAs(r, "kim", item, stage.StatusToAnalyse)
				r.Settle(time.Minute)
				require.Equal(r, c.want, r.Explain(item).Blockers[0].Do)
			})
		})
	}
}

// An agent that waits for its next attempt tries at once when an operator says so, as the
// explanation does.
func TestRetryOfADelayedAgent(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	flaky := func(r *Rig) {
		r.Options.AgentRetries = []time.Duration{time.Hour}
		r.Place = memwork.New(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if fails.Load() {
				return work.Result{Kind: work.ResultFailed, Reason: "the program is missing"}
			}
			return GoodAgent(ctx, c, files)
		})
		r.Place.OnPush = r.Pushed
	}
	Run(t, flaky, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Minute)
		require.Contains(r, r.Explain(item).Blockers[0].Do, "POST /tasks/1/retry")
		fails.Store(false)
		require.NoError(r, admin.Retry(r.Context(), r.Engine, 1, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		r.Waits(item, stage.HoldApproval)
	})
}

// A result that no gate can judge while the host is away is waited for by name.
func TestExplainNamesTheResultThatWaits(t *testing.T) {
	silent := func(r *Rig) {
		r.Place = memwork.New(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Reviewer { // people review at the host
				return work.Result{Kind: work.ResultOK}
			}
			return GoodAgent(ctx, c, files)
		})
		r.Place.OnPush = r.Pushed
	}
	Run(t, silent, func(r *Rig) {
		r.Host.FailCall("Reviews", &fault.Error{Text: "502 bad gateway", Again: true})
		item := r.Begin("x")
		r.Settle(time.Minute)
		r.Set(item, stage.StatusApproved)
		r.Settle(3 * time.Minute)
		x := r.Explain(item)
		require.Equal(r, stage.Review, x.Stage)
		require.Len(r, x.Blockers, 1)
		b := x.Blockers[0]
		require.Equal(r, []any{"event", admit.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the reviewer has ended, and its result ")
		require.Contains(r, b.Why, "502 bad gateway")
		require.Contains(r, b.Do, "Wait: it is tried again")
		r.Host.FailCall("Reviews", nil)
		r.Settle(10 * time.Minute)
		require.NotEqual(r, "event", append(r.Explain(item).Blockers, explain.Blocker{})[0].Kind)
	})
}

// Reasons of several gates have no names of the machine in them.
func TestExplainNamesNoGates(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.SetCI(githost.CheckFailed)
		item := r.Begin("x")
		r.Settle(time.Minute)
		r.Set(item, stage.StatusApproved)
		r.Settle(time.Hour)
		b := r.Explain(item).Blockers[0]
		require.Contains(r, b.Why, "out of retries (3): CI failed at ")
		require.NotContains(r, b.Why, "_")
	})
}

// While the host does not answer, a wait for CI says so.
func TestExplainNamesTheHostOfCI(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := atCI(r)
		require.NotContains(r, r.Explain(item).Blockers[0].Why, "502")
		r.Host.FailCall("Checks", &fault.Error{Text: "502 bad gateway", Again: true})
		r.Settle(10 * time.Minute)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, []any{"ci", admit.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the git host (host events) has not answered since ")
		require.Contains(r, b.Why, "502 bad gateway")
	})
}

// Results of CI that are refused are not waited for without a word, nor for ever.
func TestExplainNamesARefusedLookAtCI(t *testing.T) {
	Run(t, func(r *Rig) { r.Options.CIWait = time.Hour }, func(r *Rig) {
		item := atCI(r)
		r.Host.FailCall("Checks", &fault.Error{Text: "403 the token may not read checks"})
		r.Settle(10 * time.Minute)
		require.Contains(r, r.Explain(item).Blockers[0].Why, "403 the token may not read checks")
		r.Settle(time.Hour)
		b := r.Explain(item).Blockers[0]
		require.Equal(r, []any{"human", admit.WhoYou, stage.StatusInProgress}, []any{b.Kind, b.Who, b.Status})
		require.Contains(r, b.Why, "403 the token may not read checks")
		r.Host.FailCall("Checks", nil)
		r.SetCI(githost.CheckPassed)
		r.Host.SetChecks(r.Task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.Set(item, b.Status)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
	})
}
