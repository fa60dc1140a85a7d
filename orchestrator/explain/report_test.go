package explain_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// past is a store whose journals were written by hand, with an engine over it that counts what is read.
type past struct {
	*testing.T
	*memstore.Store
	engine *orchestrator.Engine
	read   int // journals
}

func (p *past) Journal(ctx context.Context, id int64) ([]task.JournalEntry, error) {
	p.read++
	return p.Store.Journal(ctx, id)
}

func newPast(t *testing.T) *past {
	p := &past{T: t, Store: memstore.New(nil)}
	board, host, place := memtracker.New(nil), memhost.New(), memwork.New(nil)
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	p.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: p.Store, Records: p, Jobs: p.Store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place, Gates: checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: p.Store, Jobs: p.Store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place}),
	}, orchestrator.Options{})
	require.NoError(t, err)
	return p
}

// move is a decision of a journal that was written by hand: the state from then on.
type move struct {
	after time.Duration // the one before
	ev    stage.Event
	to    stage.State
}

// live writes a life that ends with its last move, and what it has cost.
func (p *past) live(repo, title string, began time.Time, usd int64, moves ...move) int64 {
	id, err := p.NewTaskID(p.Context())
	require.NoError(p, err)
	row := task.Task{ID: id, WorkItemID: fmt.Sprint("APP-", id), TrackerIssueID: fmt.Sprint(id), Repo: repo, Branch: fmt.Sprint("b", id), Title: title, CreatedAt: began}
	at, c := began, task.Commit{Task: &row}
	for n, m := range moves {
		at = at.Add(m.after)
		payload, err := json.Marshal(task.Recorded{Event: m.ev, Decision: stage.Decision{State: m.to, Moved: true}})
		require.NoError(p, err)
		c.Journal = append(c.Journal, task.JournalEntry{TaskID: id, Seq: int64(n), At: at, Kind: task.KindDecision, Payload: payload})
		if v := m.ev.Verdict; v.Outcome == stage.Red {
			red := gates.Verdict{Check: "check_ci_green", Outcome: gates.Red, Reason: v.Reason}
			c.Gates = append(c.Gates, task.GateResult{TaskID: id, At: at, Verdict: gates.Verdict{Check: "all", Outcome: gates.Red, Reason: v.Reason, Children: []gates.Verdict{{Check: "ok", Outcome: gates.Green}, red}}})
		}
		row.State = m.to
	}
	row.StageEnteredAt, row.UpdatedAt = at, at
	c.Runs = []task.AgentRun{{TaskID: id, JobID: id, Attempt: 1, Finished: at, Usage: work.Usage{MicroUSD: usd * 1e6}}}
	require.NoError(p, p.Commit(p.Context(), c))
	return id
}

// plain is a life of some hours without a fault: an hour for an agent, an hour for a person, then agents, and an hour of CI.
func (p *past) plain(title string, began time.Time, hours int, usd int64) int64 {
	kim, lee := stage.Principal{Name: "Kim"}, stage.Principal{Name: "Lee"}
	return p.live("acme/app", title, began, usd,
		move{0, stage.Event{On: stage.OnToAnalyse, By: lee}, stage.State{Stage: stage.Analysis, Active: stage.Analyst}},
		move{time.Hour, stage.Event{On: stage.OnAgentFinished}, stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval}},
		move{time.Hour, stage.Event{On: stage.OnApproved, By: kim}, stage.State{Stage: stage.Development, Active: stage.Developer}},
		move{time.Duration(hours-3) * time.Hour, stage.Event{On: stage.OnAgentFinished}, stage.State{Stage: stage.Development}},
		move{time.Hour, stage.Event{On: stage.OnCI}, stage.State{Stage: stage.Done, MergeSHA: "abc"}})
}

func (p *past) report(l *explain.Lives, query string) explain.Report {
	c, err := explain.ReadChoice(httptest.NewRequest(http.MethodGet, "/report?"+query, nil), p.engine.Now(), 30)
	require.NoError(p, err)
	c.Reads = func(repo string) bool { return repo != "acme/secret" }
	r, err := l.Report(p.Context(), p.engine, c)
	require.NoError(p, err)
	return r
}

// inPast runs a test on Saturday, the first of January 2000, at midnight (UTC).
func inPast(t *testing.T, f func(*past, time.Time)) {
	synctest.Test(t, func(t *testing.T) { f(newPast(t), time.Now().UTC()) })
}

// Each figure of a report is that of a journal written by hand.
func TestReportOfAJournal(t *testing.T) {
	inPast(t, func(p *past, now time.Time) {
		ago := func(days int) time.Time { return now.AddDate(0, 0, -days) }
		for n := range 5 {
			p.plain(fmt.Sprint("plain ", n), ago(17), 10*(n+1), 2) // they end in the week of 13 December
		}
		back := p.live("acme/app", "=1+1 sent back", ago(3), 20, // it ends in the week of 27 December
			move{0, stage.Event{On: stage.OnToAnalyse}, stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval}},
			move{2 * time.Hour, stage.Event{On: stage.OnRejected, Reason: "no"}, stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval}},
			move{2 * time.Hour, stage.Event{On: stage.OnApproved, By: stage.Principal{Name: "Ann"}}, stage.State{Stage: stage.Development}},
			move{time.Hour, stage.Event{On: stage.OnCI, Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Red, Reason: "CI is red: build 7 failed"}}}, stage.State{Stage: stage.Development, Active: stage.Developer, Retries: 1}},
			move{time.Hour, stage.Event{On: stage.OnCI, Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Red, Reason: "CI is red: build 8 failed"}}}, stage.State{Stage: stage.Development, Active: stage.Developer, Retries: 2}},
			move{time.Hour, stage.Event{On: stage.OnMergeDone}, stage.State{Stage: stage.Deploy, Phase: stage.PhaseRetest}},
			move{time.Hour, stage.Event{On: stage.OnMergeDone}, stage.State{Stage: stage.Deploy}},
			move{time.Hour, stage.Event{On: stage.OnMergeDone}, stage.State{Stage: stage.Done, MergeSHA: "def"}})
		p.live("acme/app", "stopped", ago(3), 1, move{0, stage.Event{On: stage.OnToAnalyse}, stage.State{Stage: stage.Analysis}}, move{time.Hour, stage.Event{On: stage.OnStop}, stage.State{Stage: stage.Cancelled}})
		p.live("acme/secret", "hidden", ago(3), 1, move{time.Hour, stage.Event{}, stage.State{Stage: stage.Done, MergeSHA: "x"}})
		p.plain("long ago", ago(60), 10, 2)

		l := explain.Remember(p.Store)
		r := p.report(l, "")
		require.Len(t, r.Tasks, 7)
		h := int64(3600)
		require.Equal(t, explain.Sum{
			Merged: 6, Others: 1, FirstPass: 5, Lead: 20 * h, Lead85: 50 * h, People: (5 + 4) * h,
			Machine: 150*h - 5*h + 5*h + h, Agents: 150*h - 10*h + 2*h, CI: 5*h + 2*h, CostUSD: 31, CostEach: 2,
		}, r.Sum)
		require.Equal(t, "[{analysis 6 7200 14400} {development 6 64800 172800} {deploy 1 7200 7200}]", fmt.Sprint(r.Stages))
		require.Equal(t, "[{{check_ci_green CI is red} 2} {{a person rejected} 1}]", fmt.Sprint(r.Backs))
		var weeks []string
		for _, w := range r.Weeks {
			weeks = append(weeks, fmt.Sprint(w.From, " ", w.Merged, w.Others, w.FirstPass))
		}
		require.Equal(t, []string{"1999-12-27 1 1 0", "1999-12-20 0 0 0", "1999-12-13 5 0 5", "1999-12-06 0 0 0", "1999-11-29 0 0 0"}, weeks)
		for _, past := range r.Tasks {
			require.Equal(t, past.TaskID == back, past.Outlier, past.Title)
		}
		for query, want := range map[string]int{
			"person=kim": 5, "person=lee": 5, "person=ann": 1, "end=stopped": 1, "end=merged": 6, "end=degraded": 0, "q=PLAIN": 5, "q=ann": 1,
			"repo=acme/app": 7, "from=1999-12-29": 2, "from=1999-12-01&to=1999-12-16": 4, "from=1999-12-01&to=1999-12-14": 0, "days=366": 8,
		} {
			require.Len(t, p.report(l, query).Tasks, want, query)
		}
		var rows strings.Builder
		require.NoError(t, r.CSV(&rows))
		require.Equal(t, 8, strings.Count(rows.String(), "\n"))
		require.Contains(t, rows.String(), fmt.Sprintf(
			"\n%d,APP-%d,acme/app,'=1+1 sent back,merged,1999-12-29T00:00:00Z,,1999-12-29T09:00:00Z,def,32400,14400,7200,7200,3,Ann,20.0000,0,true\n", back, back))
		require.Contains(t, r.Text(), "Shipped since 1999-12-02: 6, 5 of them at the first pass, in 20 h each (median)")
	})
}

// What a person has merged at the host is merged, by the head that was. A lane without analysis has spent no time there.
func TestReportOfAMergeByHand(t *testing.T) {
	inPast(t, func(p *past, now time.Time) {
		p.live("acme/app", "by hand", now.AddDate(0, 0, -3), 1, move{0, stage.Event{On: stage.OnToAnalyse}, stage.State{Stage: stage.Development}},
			move{time.Hour, stage.Event{On: stage.OnPRMerged, SHA: "fed"}, stage.State{Stage: stage.Done}})
		r := p.report(explain.Remember(p.Store), "end=merged")
		require.Contains(t, r.Text(), " by hand (fed, 1 h)")
		require.Equal(t, "[{development 1 3600 3600}]", fmt.Sprint(r.Stages))
	})
}

// A forecast is taken from the last cards of its repository, or of all where these are too few, says so where it is of few, and is
// none of what nobody has stood in. Journals are read once, and that of a card that has moved once more.
func TestForecasts(t *testing.T) {
	inPast(t, func(p *past, now time.Time) {
		for n := range 10 {
			p.plain("old", now.AddDate(0, 0, -3), 10+n, int64(1+n)) // 8 h and more since the developer has begun
		}
		works := stage.State{Stage: stage.Development, Active: stage.Developer}
		live := func(repo string, s stage.State) task.Task {
			id := p.live(repo, "live", now.Add(-2*time.Hour), 2, move{0, stage.Event{On: stage.OnToAnalyse}, stage.State{Stage: stage.Analysis, Active: stage.Analyst}}, move{2 * time.Hour, stage.Event{}, s})
			row, err := p.Task(p.Context(), id)
			require.NoError(t, err)
			return row
		}
		first, other, asks := live("acme/app", works), live("acme/other", works), live("acme/app", stage.State{Stage: stage.Development, Hold: stage.HoldNeedsInput})
		l := explain.Remember(p.Store)
		one := func(row task.Task, want string) {
			list, err := l.Forecasts(p.Context(), p.engine, row)
			require.NoError(t, err)
			x, err := l.One(p.Context(), p.engine, row.ID)
			require.NoError(t, err)
			if want == "" {
				require.Empty(t, list)
				require.Nil(t, x.Forecast)
				return
			}
			require.Equal(t, want, list[0].Text)
			require.Equal(t, list[0], *x.Forecast)
			require.Equal(t, []int64{row.ID, (4*time.Hour + 24*time.Minute).Milliseconds() / 1000, 7_500_000, 4_400_000, 10}, []int64{list[0].TaskID, list[0].Within, list[0].MicroUSD, list[0].WithinUSD, int64(list[0].Cards)})
		}
		one(first, "done by 12:30 UTC ± 4 h 24 min, about $7.50 ± $4.40 (as 10 cards of acme/app)")
		one(other, "done by 12:30 UTC ± 4 h 24 min, about $7.50 ± $4.40 (as 10 cards of all repositories)")
		one(asks, "")
		for _, moved := range []int{0, 1} {
			first.Version += int64(moved)
			p.read = 0
			list, err := l.Forecasts(p.Context(), p.engine, first)
			require.NoError(t, err)
			require.Len(t, list, 1)
			require.Equal(t, moved, p.read)
		}
		list, err := l.Forecasts(p.Context(), p.engine)
		require.NoError(t, err)
		require.Len(t, list, 2, "of all that live")

		few := newPast(t)
		few.plain("old", now.AddDate(0, 0, -3), 10, 1)
		few.live("acme/app", "live", now.Add(-time.Hour), 1, move{time.Hour, stage.Event{}, works})
		none, err := explain.Remember(few.Store).Forecasts(t.Context(), few.engine)
		require.NoError(t, err)
		require.Empty(t, none, "of one card")
		few.plain("old", now.AddDate(0, 0, -3), 12, 2)
		list, err = explain.Remember(few.Store).Forecasts(t.Context(), few.engine)
		require.NoError(t, err)
		require.Equal(t, "done by 09:00 UTC ± 1 h, about $2.50 ± $0.50 (as only 2 cards of acme/app)", list[0].Text)
		none, err = explain.Remember(nil).Forecasts(t.Context(), few.engine)
		require.NoError(t, err)
		require.Empty(t, none)
	})
}

// A journal is read once when its life is over for good, and a report reads a bounded number.
func TestJournalsAreReadOnce(t *testing.T) {
	inPast(t, func(p *past, now time.Time) {
		for n := range 700 {
			p.plain("old", now.AddDate(0, 0, -20).Add(time.Duration(n)*time.Minute), 10, 1)
		}
		p.plain("new", now.Add(-12*time.Hour), 10, 1)
		l := explain.Remember(p.Store)
		for _, c := range []struct {
			tasks, read int
			more        bool
		}{{500, 500, true}, {701, 202, false}, {701, 1, false}} {
			p.read = 0
			r := p.report(l, "")
			require.Equal(t, []any{c.tasks, c.read, c.more, "new"}, []any{len(r.Tasks), p.read, r.More, r.Tasks[0].Title})
		}
	})
}

func TestWrongChoice(t *testing.T) {
	for query, want := range map[string]string{
		"days=0": "days must be", "from=yesterday": "from must be a day", "to=1": "to must be a day", "end=well": "end must be merged",
		"from=2026-11-20&to=2026-11-19": "from must not be after to",
	} {
		_, err := explain.ReadChoice(httptest.NewRequest(http.MethodGet, "/report?"+query, nil), time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC), 7)
		require.ErrorContains(t, err, want, query)
	}
}
