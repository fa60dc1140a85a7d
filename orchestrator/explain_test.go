package orchestrator_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// A wait for CI names the checks that are missing, and when they were looked at.
func TestExplainNamesMissingChecks(t *testing.T) {
	runWith(t, func(r *rig) {
		r.project[0].Contexts, r.project[0].WebURL = []string{"build", "e2e"}, "https://git.test/acme/app"
	}, func(r *rig) {
		item := r.atCI()
		r.settle(2 * time.Minute)
		b := r.why(item).Blockers[0]
		head := r.task(item).State.Head
		require.Equal(r, "CI is not finished at "+head[:12]+": build, e2e", b.Why)
		require.Equal(r, orchestrator.WhoOutside, b.Who)
		require.Equal(r, "https://git.test/acme/app/commit/"+head, b.Link)
		require.WithinDuration(r, time.Now(), b.CheckedAt, time.Minute)
		require.True(r, b.Since.Before(b.CheckedAt))
		r.host.SetChecks(head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
		r.settle(2 * time.Minute)
		require.Equal(r, "CI is not finished at "+head[:12]+": e2e", r.why(item).Blockers[0].Why)
	})
}

// unreadable is a board whose cards cannot be read while it is away.
type unreadable struct {
	*memtracker.Board
	away atomic.Bool
}

func (u *unreadable) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	if u.away.Load() {
		return tracker.Item{}, &fault.Error{Text: "502 bad gateway", Again: true}
	}
	return u.Board.Item(ctx, project, item)
}

// A person who has set Approved is not told to do so while that cannot be read.
func TestExplainNamesWhatIsUnheard(t *testing.T) {
	var board *unreadable
	runWith(t, func(r *rig) { board = &unreadable{Board: r.board}; r.tracker = board }, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.Len(r, r.why(item).Blockers, 1)
		board.away.Store(true)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Minute)
		x := r.why(item)
		require.Len(r, x.Blockers, 2)
		require.Equal(r, []any{"board", orchestrator.WhoOutside}, []any{x.Blockers[0].Kind, x.Blockers[0].Who})
		require.Contains(r, x.Blockers[0].Why, "a change of the card, received ")
		require.Contains(r, x.Blockers[0].Why, "502 bad gateway")
		require.Contains(r, x.Summary, "a change of the card, received ")
		board.away.Store(false)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// A column that the board does not have is made first.
func TestExplainNamesMissingColumns(t *testing.T) {
	columns := map[stage.Status]string{}
	known := func(project string) (map[stage.Status]string, bool) { return columns, project == appProject }
	runWith(t, func(r *rig) { r.opt.Columns = known }, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		b := r.why(item).Blockers[0]
		require.Equal(r, "Add the column Approved to the board of APP, which has none, then: Set Approved on the card, or Rejected with a comment that says what is wrong", b.Do)
		require.Equal(r, stage.StatusApproved, b.Status)
		columns[stage.StatusApproved] = "OK by me"
		require.Equal(r, "Set Approved on the card, or Rejected with a comment that says what is wrong", r.why(item).Blockers[0].Do)
	})
}

// A push that the host does not take is what a task at CI waits for.
func TestExplainNamesThePush(t *testing.T) {
	run(t, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		r.place.FailCall("Push", &fault.Error{Text: "the remote is away", Again: true})
		r.move(appProject, item, stage.StatusApproved)
		r.settle(3 * time.Minute)
		b := r.why(item).Blockers[0]
		require.Equal(r, []any{"push", orchestrator.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the push of the branch")
		r.place.FailCall("Push", nil)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}

// Agents that failed are tried again at a moment, with what went wrong.
func TestExplainNamesTheFailedAttempt(t *testing.T) {
	failing := func(r *rig) {
		r.place = memwork.New(func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "the program is missing"}
		})
		r.place.OnPush = r.pushed
	}
	runWith(t, failing, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(20 * time.Second)
		b := r.why(item).Blockers[0]
		require.Equal(r, []any{"delay", orchestrator.WhoService}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the program is missing")
		require.False(r, b.Until.IsZero() || b.Since.IsZero())
	})
}

// Whoever may not set a status is not sent to set it.
func TestExplainSaysWhoMay(t *testing.T) {
	const do = "Set Approved on the card, or Rejected with a comment that says what is wrong"
	for name, c := range map[string]struct {
		people orchestrator.People
		want   string
	}{
		"everybody": {orchestrator.People{Releasers: []string{"kim"}}, do},
		"list":      {orchestrator.People{Approvers: []string{"ann@example.org", "role:admin"}}, do + "; it takes one of the approvers (ann@example.org, role:admin)"},
		"separate":  {orchestrator.People{Separate: true}, do + "; it takes somebody else than who has started the task"},
		"both":      {orchestrator.People{Approvers: []string{"ann"}, Separate: true}, do + "; it takes one of the approvers (ann), other than who has started the task"},
	} {
		t.Run(name, func(t *testing.T) {
			runWith(t, func(r *rig) { r.project[0].People = c.people }, func(r *rig) {
				item := r.card(appProject, "x")
				r.says("kim", item, stage.StatusToAnalyse)
				r.settle(time.Minute)
				require.Equal(r, c.want, r.why(item).Blockers[0].Do)
			})
		})
	}
}

// An agent that waits for its next attempt tries at once when an operator says so, as the
// explanation does.
func TestRetryOfADelayedAgent(t *testing.T) {
	var fails atomic.Bool
	fails.Store(true)
	flaky := func(r *rig) {
		r.opt.AgentRetries = []time.Duration{time.Hour}
		r.place = memwork.New(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if fails.Load() {
				return work.Result{Kind: work.ResultFailed, Reason: "the program is missing"}
			}
			return goodAgent(ctx, c, files)
		})
		r.place.OnPush = r.pushed
	}
	runWith(t, flaky, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		require.Contains(r, r.why(item).Blockers[0].Do, "POST /tasks/1/retry")
		fails.Store(false)
		require.NoError(r, r.engine.Retry(r.Context(), 1, orchestrator.OperatorBy(stage.ViaAPI)))
		r.settle(time.Minute)
		require.Equal(r, stage.HoldApproval, r.task(item).State.Hold)
	})
}

// A result that no gate can judge while the host is away is waited for by name.
func TestExplainNamesTheResultThatWaits(t *testing.T) {
	silent := func(r *rig) {
		r.place = memwork.New(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Reviewer { // people review at the host
				return work.Result{Kind: work.ResultOK}
			}
			return goodAgent(ctx, c, files)
		})
		r.place.OnPush = r.pushed
	}
	runWith(t, silent, func(r *rig) {
		r.host.FailCall("Reviews", &fault.Error{Text: "502 bad gateway", Again: true})
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(3 * time.Minute)
		x := r.why(item)
		require.Equal(r, stage.Review, x.Stage)
		require.Len(r, x.Blockers, 1)
		b := x.Blockers[0]
		require.Equal(r, []any{"event", orchestrator.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the reviewer has ended, and its result ")
		require.Contains(r, b.Why, "502 bad gateway")
		require.Contains(r, b.Do, "Wait: it is tried again")
		r.host.FailCall("Reviews", nil)
		r.settle(10 * time.Minute)
		require.NotEqual(r, "event", append(r.why(item).Blockers, orchestrator.Blocker{})[0].Kind)
	})
}

// Reasons of several gates have no names of the machine in them.
func TestExplainNamesNoGates(t *testing.T) {
	run(t, func(r *rig) {
		r.setCI(githost.CheckFailed)
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(time.Minute)
		r.move(appProject, item, stage.StatusApproved)
		r.settle(time.Hour)
		b := r.why(item).Blockers[0]
		require.Contains(r, b.Why, "out of retries (3): CI failed at ")
		require.NotContains(r, b.Why, "_")
	})
}

// While the host does not answer, a wait for CI says so.
func TestExplainNamesTheHostOfCI(t *testing.T) {
	run(t, func(r *rig) {
		item := r.atCI()
		require.NotContains(r, r.why(item).Blockers[0].Why, "502")
		r.host.FailCall("Checks", &fault.Error{Text: "502 bad gateway", Again: true})
		r.settle(10 * time.Minute)
		b := r.why(item).Blockers[0]
		require.Equal(r, []any{"ci", orchestrator.WhoOutside}, []any{b.Kind, b.Who})
		require.Contains(r, b.Why, "the git host (host events) has not answered since ")
		require.Contains(r, b.Why, "502 bad gateway")
	})
}

// Results of CI that are refused are not waited for without a word, nor for ever.
func TestExplainNamesARefusedLookAtCI(t *testing.T) {
	runWith(t, func(r *rig) { r.opt.CIWait = time.Hour }, func(r *rig) {
		item := r.atCI()
		r.host.FailCall("Checks", &fault.Error{Text: "403 the token may not read checks"})
		r.settle(10 * time.Minute)
		require.Contains(r, r.why(item).Blockers[0].Why, "403 the token may not read checks")
		r.settle(time.Hour)
		b := r.why(item).Blockers[0]
		require.Equal(r, []any{"human", orchestrator.WhoYou, stage.StatusInProgress}, []any{b.Kind, b.Who, b.Status})
		require.Contains(r, b.Why, "403 the token may not read checks")
		r.host.FailCall("Checks", nil)
		r.setCI(githost.CheckPassed)
		r.move(appProject, item, b.Status)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
	})
}
