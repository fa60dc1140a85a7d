package dashboard_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A repository says what holds it: the freeze and its cause, the line of the
// serial gate, the merge lease, today's money; and when it was last looked at.
func TestRepos(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "first")
		w.card(project, "second")
		w.card("p2", "third")
		_, err := w.leases.Acquire(context.Background(), "merge/"+other, "OTH-9 (task 2)", time.Hour)
		require.NoError(w, err)
		w.freeze(0, "task 1 is degraded")
		w.Settle(2 * time.Minute)
		body := w.get("/repos").body
		text := plain(body)
		require.Regexp(w, `acme/app APP frozen task 1 is degraded for \d+ .*Unfreeze…`, text)
		require.Regexp(w, `Serial gate one task begins at a time Merge lease free Spent today \$0\.\d+ of \$50\.00`, text)
		require.Regexp(w, `Line APP-1 first analysis needs you .* APP-\d second analysis waits for a place: one task at a time in acme/app, and APP-1 \(task 1\) is before it`, text)
		require.Regexp(w, `acme/other OTH · hosts this service .*does not hold this repository Merge lease OTH-9 \(task 2\) until`, text)
		require.Contains(w, body, `OTH-9 (<a href="./tasks/2">task 2</a>)`)
		require.Regexp(w, `Reconciler Last pass .* ago Since the start passes: [1-9] · tasks taken on: 0`, text)
	})
}

// Of a long line the first tasks are shown, and where the others are.
func TestLongLine(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for i := range 45 {
			name := fmt.Sprintf("OTH-%d", 100+i)
			require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Task: &task.Task{
				ID: int64(100 + i), Repo: other, WorkItemID: name, TrackerIssueID: name, Branch: name, State: stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval},
			}}))
		}
		w.card(project, "first")
		body := w.get("/repos").body
		require.Len(w, regexp.MustCompile(`id="r1[0-9]{2}"`).FindAllString(body, -1), 40)
		require.Contains(w, body, ">OTH-139<")
		require.NotContains(w, body, ">OTH-140<")
		require.Equal(w, 1, strings.Count(body, "The whole line is on the board"))
		require.Contains(w, body, `href="./?repo=acme%2fother"`)
		require.Contains(w, w.get("/?repo="+other+"&stage=analysis").body, ">OTH-144<")
	})
}

// Every sum on the page of costs is the sum of the runs.
func TestCost(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.full()
		runs, err := w.Store.AgentRuns(context.Background())
		require.NoError(w, err)
		var total task.Cost
		by := map[string]int64{}
		for _, r := range runs {
			row, err := w.Store.Task(context.Background(), r.TaskID)
			require.NoError(w, err)
			total.Add(task.CostOf(r))
			by[row.Repo] += r.Usage.MicroUSD
			by[string(r.Stage)] += r.Usage.MicroUSD
			by[r.Finished.UTC().Format(time.DateOnly)] += r.Usage.MicroUSD
			by[r.Usage.Model] += r.Usage.MicroUSD
		}
		text := plain(w.get("/cost").body)
		require.Contains(w, text, fmt.Sprintf("%s for %d runs", stage.Dollars(total.Usage.MicroUSD), total.Runs))
		require.Greater(w, len(by), 8)
		for name, sum := range by {
			if sum > 0 {
				require.Regexp(w, regexp.QuoteMeta(words(name))+` \d+ \S+( k)? \S+( k)? \S+( k)? `+regexp.QuoteMeta(stage.Dollars(sum))+` \d+ %`, text)
			}
		}
		require.Contains(w, text, "a task may cost $9.00")
		require.Contains(w, plain(w.get("/").body), "Cost today (UTC) "+stage.Dollars(by[time.Now().UTC().Format(time.DateOnly)]))
	})
}

// A price that is not known is no price of nothing: on the cards, the page of a task and the page of
// costs. What its runs may cost yet is held by the budget as before.
func TestUnknownPrices(t *testing.T) {
	unpriced := func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		r := GoodAgent(ctx, c, files)
		if c.Role != stage.Analyst {
			r.Usage.MicroUSD = 0
		}
		return r
	}
	inWorld(t, nil, func(w *world) {
		w.Place.SetScript(unpriced)
		item := w.Card(project, "x")
		w.ToDone(project, item)
		w.Settle(time.Minute)
		for page, want := range map[string]string{"/cost": "$0.0015 and 1 run of unknown price for 2 runs", "/": "$0.0015 + $?", "/tasks/1": "price not known"} {
			require.Contains(w, plain(w.get(page).body), want, page)
		}
		require.True(w, w.Commented(project, item, "20 out, price not known"))
	})
}

// The page of a moment shows every task where the decisions up to then left it.
func TestMoment(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.full()
		entries, err := w.Store.JournalSince(context.Background(), 0, 10_000)
		require.NoError(w, err)
		require.Greater(w, len(entries), 40)
		at := map[int64]stage.Stage{}
		same := 0
		for _, e := range entries {
			r, err := e.Recorded()
			if err == nil {
				at[e.TaskID] = r.Decision.State.Stage
			}
			count := map[stage.Stage]int{}
			for _, s := range at {
				count[s]++
			}
			text := plain(w.get("/journal/" + strconv.FormatInt(e.ID, 10)).body)
			for _, s := range []stage.Stage{stage.Analysis, stage.Development, stage.Review, stage.Done, stage.Cancelled} {
				require.Regexp(w, fmt.Sprintf(`\b%s %d\b`, s, count[s]), text, "entry %d", e.ID)
			}
			if err == nil {
				require.Contains(w, text, "Decided again now: the same", "entry %d", e.ID)
				same++
			}
		}
		require.Positive(w, same)
	})
}

// forger is a story in which somebody has altered one entry.
type forger struct {
	task.Records
	entry   int64
	payload []byte
}

// Journal implements task.Records.
func (f forger) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	entries, err := f.Records.Journal(ctx, taskID)
	for i := range entries {
		if entries[i].ID == f.entry {
			entries[i].Payload = f.payload
		}
	}
	return entries, err
}

// A decision that is another one now is shown at its own entry, with what differs, and
// not at others of the same version.
func TestMomentOfADifference(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.full()
		entries, err := w.Store.JournalSince(context.Background(), 0, 10_000)
		require.NoError(w, err)
		shared, version := map[string][]task.JournalEntry{}, ""
		for _, e := range entries {
			key := fmt.Sprint(e.TaskID, "/", e.Seq)
			if r, err := e.Recorded(); err == nil {
				if shared[key] = append(shared[key], e); !r.Decision.Moved {
					version = key
				}
			}
		}
		require.Greater(w, len(shared[version]), 1, "entries share a version")
		changed, nothing := shared[version][0], shared[version][1]
		rec, err := nothing.Recorded()
		require.NoError(w, err)
		rec.Decision.Notes = []string{"Forged."}
		body, err := json.Marshal(rec)
		require.NoError(w, err)
		page := func(e task.JournalEntry) string {
			return plain(w.get("/journal/" + strconv.FormatInt(e.ID, 10)).body)
		}
		w.Engine.Records = forger{w.Store, nothing.ID, body}
		require.Contains(w, page(nothing), "Decided again now: something else")
		require.Contains(w, page(nothing), `notes.0: "Forged." was recorded`)
		require.Contains(w, page(changed), "Decided again now: the same")
		w.Engine.Records = forger{w.Store, nothing.ID, []byte("{")}
		require.Contains(w, page(changed), "Decided again now: nothing is sure: journal entry")
	})
}

// The journal goes back to its first entry, page by page, and shows what features
// wrote down as well; each entry once.
func TestJournal(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		w.Shutdown()
		for i := range 150 {
			e := task.JournalEntry{TaskID: 1, At: time.Now(), Kind: "monitor", Payload: fmt.Appendf(nil, `{"result":"DEGRADED","last":"look %d"}`, i)}
			require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Journal: []task.JournalEntry{e}}))
		}
		left := task.JournalEntry{TaskID: 1, At: time.Now(), Kind: task.KindLeft, Payload: []byte(`{"ref":"refs/signalbox/left/APP-1/2"}`)}
		require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Journal: []task.JournalEntry{left}}))
		text, next, pages := "", "/journal", 0
		for ; next != ""; pages++ {
			body := w.get(next).body
			text += plain(body) + "\n"
			_, older, _ := strings.Cut(body, `>Newest</a>`)
			if pages == 0 {
				older = body
			}
			next = ""
			if m := regexp.MustCompile(`href="\./(journal\?before=\d+)">Older`).FindStringSubmatch(older); m != nil {
				next = "/" + m[1]
			}
		}
		require.Equal(w, 3, pages)
		for i := range 150 {
			require.Equal(w, 1, strings.Count(text, fmt.Sprintf("note monitor monitor: DEGRADED: look %d ", i)), "entry %d", i)
		}
		require.Contains(w, text, "To Analyse starts the pipeline")
		require.Contains(w, text, "note left uncommitted What the attempt before had not committed is kept in the mirror as refs/signalbox/left/APP-1/2.")
	})
}

// A task's page shows its whole story: runs, verdicts with evidence, people's
// acts, effects, and what it has cost.
func TestTask(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.kim = "kim"
		id := w.card("p2", nowRed)
		w.Board.Say(id, "kim", "the acceptance criteria are missing")
		w.move("p2", id, stage.StatusRejected)
		w.move("p2", id, stage.StatusApproved)
		w.Settle(time.Hour)
		page := w.get("/tasks/1").body
		small := regexp.MustCompile(`(?s)<summary>\d+ small things?</summary>.*?</ol></details>`).FindAllString(page, -1)
		require.NotEmpty(w, small)
		for _, one := range small {
			require.NotRegexp(w, `<li class="(human|move|gate|run)`, one)
		}
		require.NotContains(w, regexp.MustCompile(`(?s)<summary>\d+ small things?</summary>.*?</ol></details>`).ReplaceAllString(page, ""), `<li class="effect">`)
		text := plain(page)
		for _, part := range []string{
			`analysis \d+ s · 2 runs · \$0\.\d+`,
			`human set Rejected by kim \(webhook, signature\) then : state at entry \d+ the acceptance criteria are missing`,
			`human set Approved: analysis → architecture by kim \(webhook, signature\)`,
			`Approved by kim`,
			`run developer at work \(run \d+, attempt 1\) ok 1 s · 350 in · 20 out · \$0\.0015 · model .* output of run`,
			`red all: evidence red all: .* red check_ci_green: .* not ok check .* green check_protected_paths`,
			`effect status: In Review done`,
			`effect comment \(analyst\): .* done`,
			`effect publish [0-9a-f]{10} done`,
			`total \d+ [\d,]+ [\d,]+ [\d,]+ \$0\.\d+ \d+ s`,
			`move agent_finished: architecture → development then : state at entry \d+ the design is ready green check_architecture_ready: evidence`,
			`Sent back \d times`,
		} {
			require.Regexp(w, part, text)
		}
	})
}

// The page shows the figures of the report, as tables and as bars, and the same rows as files.
func TestHistoryPage(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for n, usd := range []int64{1, 1, 1, 9} {
			id := w.card(project, fmt.Sprint("card ", n))
			w.Settle(2 * time.Hour)
			w.move(project, id, stage.StatusApproved)
			w.Settle(time.Hour)
			run := task.AgentRun{TaskID: w.Task(id).ID, JobID: 900, Attempt: n, Finished: time.Now(), Usage: work.Usage{MicroUSD: usd * 1e6}}
			require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Runs: []task.AgentRun{run}}))
		}
		page := w.get("/history").body
		require.Regexp(w, `<b>4</b> merged, 4 of them with nothing sent back, in 2 h`, page)
		require.Regexp(w, `Over three times the median cost: <a href="./tasks/4">APP-\d+</a> \$9\.01\.`, page)
		require.Regexp(w, `<title>\d+ \w+, merged: 4</title>`, page)
		require.Regexp(w, `<title>\d+ \w+, people: 8 h</title>`, page)
		require.Regexp(w, `<th scope="row">analysis</th><td class="num">4</td><td class="num">2 h`, page)
		require.Contains(w, page, `aria-labelledby="waited-h" aria-describedby="waited"`)
		w.has("/history?person=nobody", "No task has ended so in this time.")
		rows := w.get("/history/csv?q=card+3")
		require.Equal(w, "text/csv; charset=utf-8", rows.header.Get("Content-Type"))
		require.Equal(w, 2, strings.Count(rows.body, "\n"))
		w.has("/history/json?q=card+3", `"title":"card 3`)
		require.Equal(w, http.StatusNotFound, w.get("/history/xml").status)
		require.Equal(w, http.StatusBadRequest, w.get("/history/csv?from=x").status)
	})
}

// A deployment that does not work is no grey "done", whether its repository is frozen or not; one that works again is.
func TestDegradedWithoutAFreeze(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		id := w.card(project, "x")
		w.Settle(time.Minute)
		w.move(project, id, stage.StatusApproved)
		w.Settle(time.Hour)
		tk := w.Task(id)
		require.Equal(t, stage.Done, tk.State.Stage)
		ends := func(result string) {
			payload := fmt.Appendf(nil, `{"result": %q, "last": "https://app.example.org: 503"}`, result)
			entry := task.JournalEntry{TaskID: tk.ID, Seq: tk.State.Seq, At: time.Now(), Kind: "monitor", Payload: payload}
			require.NoError(t, w.Store.Commit(context.Background(), task.Commit{Journal: []task.JournalEntry{entry}}))
		}
		for _, c := range []struct{ result, lamp, row string }{{"INCONCLUSIVE", "done", "merged"}, {"DEGRADED", "degraded", "degraded"}, {"HEALTHY", "done", "merged"}} {
			ends(c.result)
			for _, path := range []string{"/", "/tasks/1"} {
				require.Contains(t, w.get(path).body, `<span class="lampword `+c.lamp+`">`, "%s at %s", c.result, path)
			}
			require.Regexp(t, `<td[^>]*>`+c.row+`</td>`, w.get("/history").body, c.result)
		}
		ends("DEGRADED")
		require.Contains(t, w.get("/").body, "degraded after its deployment: https://app.example.org: 503")
	})
}
