package main

import (
	"database/sql"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// usage makes an agent end with the result of Claude.
const usage = `trap 'cat "$WORLD_DIR/usage.json"' EXIT
`

const usageJSON = `{"type":"result","subtype":"success","is_error":false,"result":"Done.","session_id":"s","total_cost_usd":0.25,
"usage":{"input_tokens":1000,"cache_creation_input_tokens":4000,"cache_read_input_tokens":30000,"output_tokens":200},
"modelUsage":{"us.anthropic.claude-sonnet-4-5-20250929-v1:0":{"inputTokens":1000,"outputTokens":200,"cacheReadInputTokens":30000,"cacheCreationInputTokens":4000,"costUSD":0.25}}}
`

// database is the server's, once that has ended.
func (w *world) database(mode string) *sql.DB {
	w.Helper()
	db, err := sql.Open("sqlite", "file:"+filepath.Join(w.data, "signalbox.db")+"?mode="+mode)
	require.NoError(w, err)
	return db
}

// saved is one value of the server's database, once that has ended.
func (w *world) saved(query string) (value string) {
	w.Helper()
	db := w.database("ro")
	defer db.Close()
	require.NoError(w, db.QueryRowContext(w.Context(), query).Scan(&value), query)
	return value
}

// said are the comments of accounts on a card, of all of them if none is named.
func (w *world) said(item string, accounts ...string) (out []string) {
	for _, c := range w.board.Comments(item) {
		if len(accounts) == 0 || slices.Contains(accounts, c.Actor) {
			out = append(out, c.HTML)
		}
	}
	return out
}

// answered waits for a comment on a card, of some accounts: comments and columns have no
// order between them.
func (w *world) answered(item, text string, accounts ...string) {
	w.Helper()
	w.until("a comment says "+text, func() bool { return strings.Contains(strings.Join(w.said(item, accounts...), "\n"), text) })
}

// holder returns the holder of a repository's merge lease, as its file says; empty: nobody.
func (w *world) holder() string {
	w.Helper()
	files := matches(w, filepath.Join(w.data, "leases", "*.lease"))
	for _, f := range files {
		var lease struct{ Holder string }
		if body, err := os.ReadFile(f); err == nil && json.Unmarshal(body, &lease) == nil {
			return lease.Holder
		}
	}
	return ""
}

// A card of the service's own repository, from To Analyse to the end of its monitor, with
// all that a person may do on the way: what the board, its comments, the chat, git, the
// API, the lease and the database show of it.
func TestWholeLife(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1", "MONITOR_WINDOW": "1s", "MONITOR_INTERVAL": "100ms"}
	for _, role := range append(stage.Roles(), stage.Stream) {
		if role != stage.Tester { // has none, and uses the shared one
			settings["PLANE_TOKEN_"+strings.ToUpper(string(role))] = string(role) + "-token"
		}
	}
	w := newWorld(t, settings, &place{prefix: "LIF", self: true})
	w.write("usage.json", usageJSON)
	for _, who := range []string{"architect", "developer", "tester", "deployer", "deployera", "deployerdeploy"} {
		w.write("LIF-1-"+who, usage)
	}
	w.write("LIF-1-analyst", usage+`printf '%s\n' "$SIGNALBOX_FEEDBACK" >>"$WORLD_DIR/feedback"; pwd >"$WORLD_DIR/pwd"; git branch --show-current >"$WORLD_DIR/branch"; await "$WORLD_DIR/analyse"`+"\n")
	w.write("LIF-1-reviewer", usage+`await "$WORLD_DIR/review"`+"\n")
	title := "Кэш тайлов: a title of more than thirty characters"
	item := w.card("LIF", title)

	w.Log("the analyst works, and is not started twice")
	w.move(item, "To Analyse")
	w.until("the analyst works", func() bool { return w.read("branch") != "" && w.column(item) == "Analysis" })
	task := w.task(item)
	require.Equal(t, []string{"LIF-1", item, "acme/lif", "feature/LIF-1-kesh-taylov-a-title-of-more-th", title, "analysis"},
		[]string{task.WorkItemID, task.TrackerIssueID, task.Repo, task.Branch, task.Title, string(task.Stage)})
	require.Len(t, strings.TrimPrefix(task.Branch, "feature/LIF-1-"), 30)
	require.Equal(t, []string{w.checkout("LIF-1"), task.Branch}, []string{strings.TrimSpace(w.read("pwd")), strings.TrimSpace(w.read("branch"))}, "a worktree of the task's branch")
	w.board.Edit(item, "Renamed", "<p>what is wanted</p>")
	w.move(item, "In Progress")
	w.reaches(item, "Analysis")
	w.write("analyse", "")
	w.reaches(item, "In Review")
	task = w.task(item)
	require.Len(t, w.runs("LIF-1"), 1, "In Progress with an agent at work starts none")
	require.Equal(t, []any{title, stage.Analysis, stage.HoldApproval}, []any{task.Title, task.Stage, task.Hold}, "no agent's end leaves analysis")
	w.answered(item, "Set the status Approved to go on", "analyst-bot")
	require.NotContains(t, strings.Join(w.said(item), "\n"), "The card was edited", "the task was made with the card's text")
	require.NotZero(t, task.BRDReviewStartedAt)
	require.True(t, task.BRDReviewEndedAt.IsZero())

	w.Log("what a run has used")
	run := task.Runs[0]
	require.Equal(t, []any{"claude-sonnet-4-5", stage.Analyst, stage.Analysis}, []any{run.Model, run.Role, run.Stage})
	require.Equal(t, []any{int64(35000), int64(30000), int64(4000), int64(200), 0.25}, []any{run.Input, run.CacheRead, run.CacheCreation, run.Output, run.CostUSD})
	require.Contains(t, strings.Join(w.said(item, "analyst-bot"), "\n"), "35,000 tokens in (30,000 cached), 200 out, $0.25, claude-sonnet-4-5")

	w.Log("a comment drives nothing; In Progress and Rejected run the analyst again")
	require.NoError(t, w.board.Say(item, "<p>Approved. /approve, go on!</p>"))
	w.move(item, "In Progress")
	w.until("the analyst has run again", func() bool { return len(w.runs("LIF-1")) == 2 && w.column(item) == "In Review" })
	require.NoError(t, w.board.Say(item, "<p>The <b>last</b> word &amp; reason.</p>"))
	w.move(item, "Rejected")
	w.until("the analyst has run a third time", func() bool { return len(w.runs("LIF-1")) == 3 && w.column(item) == "In Review" })
	require.Equal(t, "\n\nThe **last** word & reason.\n", w.read("feedback"))
	require.Equal(t, stage.Analysis, w.task(item).Stage)

	w.Log("to the deployment, which a person confirms")
	main := w.heads("LIF")["main"]
	w.move(item, "Approved")
	w.until("the reviewer works", func() bool { return w.task(item).Active == stage.Reviewer && w.column(item) == "Code Review" })
	require.False(t, w.task(item).BRDReviewEndedAt.Before(w.task(item).BRDReviewStartedAt))
	require.True(t, strings.HasPrefix(w.runs("LIF-1")[3], "architect "), "Approved starts the architect")
	require.Regexp(t, `LIF-1 +acme/lif +review +reviewer's turn`, w.signalbox("tasks"))
	require.Contains(t, w.signalbox("queue"), "agents at work: 1 of")
	w.write("review", "")
	w.until("Confirm Deploy is waited for", func() bool { return w.task(item).Hold == stage.HoldConfirm && w.column(item) == "Awaiting Deploy" })
	require.Equal(t, stage.Deploy, w.task(item).Stage)
	w.answered(item, "Set the status Confirm Deploy to merge and deploy it.", "deployer-bot")
	require.Equal(t, fmt.Sprintf("LIF-1 (task %d)", task.ID), w.holder(), "the lease is kept until the release")
	w.move(item, "Approved")
	w.reaches(item, "Awaiting Deploy")
	require.Equal(t, []any{stage.Deploy, stage.HoldConfirm, 0}, []any{w.task(item).Stage, w.task(item).Hold, w.host.Merges()})
	require.Equal(t, main, w.heads("LIF")["main"])
	w.move(item, "Confirm Deploy")
	w.reaches(item, "Done")
	task = w.task(item)
	require.Equal(t, stage.Done, task.Stage)
	require.Equal(t, task.MergeSHA+"\n", w.read("deployed-LIF-1"))
	require.Equal(t, task.MergeSHA, w.heads("LIF")["main"])
	w.until("the lease is free", func() bool { return w.holder() == "" })
	require.Equal(t, []string{
		"To Analyse", "Analysis", "In Progress", "Analysis", "In Review", "In Progress", "Analysis", "In Review", "Rejected", "Analysis", "In Review", "Approved",
		"In Progress", "Code Review", "In Progress", "Awaiting Deploy", "Approved", "Awaiting Deploy", "Confirm Deploy", "Deploying", "Monitoring after Deploy", "Done",
	}, w.columns(item, "To Analyse"))
	w.comments(item)
	w.chatOf(item, task)
	w.tokens()
	w.Log("commands of an operator")
	require.NotContains(t, w.signalbox("tasks"), "LIF-1")
	var list web.TaskList
	require.NoError(t, json.Unmarshal([]byte(w.signalbox("tasks", "--all", "--repo", "acme/lif", "--json")), &list))
	require.Equal(t, []int64{task.ID}, []int64{list.Tasks[0].ID})
	shown := w.signalbox("show", "lif-1")
	require.Contains(t, shown, "at done since")
	require.Regexp(t, `1\.1 +analyst +claude-sonnet-4-5 +ok`, shown)
	require.NotContains(t, shown, "\x1b")
	w.end(syscall.SIGTERM)
	require.Equal(t, fmt.Sprint("1/", w.live(item).ID), w.saved("select tracker_message_id from tasks"))
	require.Equal(t, "10 claude-sonnet-4-5 1000 200 30000 4000 250000", w.saved(`select count(*) || ' ' || max(model) || ' ' || max(input_tokens) || ' ' || max(output_tokens) || ' ' ||
		max(cache_read_input_tokens) || ' ' || max(cache_creation_input_tokens) || ' ' || max(cost_micro_usd) from agent_runs`))
}

// comments looks at who has said what on the card of a whole life.
func (w *world) comments(item string) {
	w.Helper()
	for account, want := range map[string][]string{
		"analyst-bot":   {"The task is taken up", "The analyst has finished"},
		"architect-bot": {"The architect has finished"}, "developer-bot": {"The developer has finished"}, "reviewer-bot": {"The reviewer has finished"},
		"bot": {"The tester has finished"}, "deployer-bot": {"The deployer has finished", "Set the status Confirm Deploy"},
		"stream-bot": {"architecture → development", "deploy-staging → deploy", "deploy → done"},
	} {
		for _, part := range want {
			w.answered(item, part, account)
		}
	}
	require.NotContains(w, strings.Join(w.said(item, "stream-bot", "bot"), "\n"), "The analyst has finished")
}

// tokens checks the requests to the board and their tokens: roles have their own
// for comments and for nothing else.
func (w *world) tokens() {
	w.Helper()
	w.mu.Lock()
	defer w.mu.Unlock()
	const at = "/api/v1/workspaces/w/projects/"
	kinds := map[string]*regexp.Regexp{
		"columns": regexp.MustCompile("^GET " + at + "[^/]+/states/$"), "item": regexp.MustCompile("^GET " + at + "[^/]+/work-items/[^/]+/$"),
		"comments": regexp.MustCompile("^GET .*/comments/$"), "list": regexp.MustCompile("^GET " + at + "[^/]+/work-items/$"),
		"status": regexp.MustCompile("^PATCH " + at + "[^/]+/work-items/[^/]+/$"), "comment": regexp.MustCompile("^POST .*/comments/$"),
	}
	seen := map[string]int{}
	for _, c := range w.calls {
		what := c.method + " " + c.path
		for kind, form := range kinds {
			if form.MatchString(what) {
				seen[kind]++
			}
		}
		if !kinds["comment"].MatchString(what) && !strings.HasSuffix(c.path, "/users/me/") { // whom a token speaks for
			require.Equal(w, "plane-token", c.token, what)
		}
	}
	for kind := range kinds {
		require.Positive(w, seen[kind], kind)
	}
	require.Greater(w, seen["comment"], 10)
}

// live is a card's live message.
func (w *world) live(item string) (out struct {
	ID, Edits int
	Text      string
}) {
	w.Helper()
	n := 0
	for _, m := range w.chat.Messages() {
		if m.Silent {
			n++
			out.ID, out.Edits, out.Text = m.ID, m.Edits, m.Text
		}
	}
	require.Equal(w, 1, n, "one message of %s, which is edited", item)
	return out
}

// chatOf looks at what the chat shows of a whole life.
func (w *world) chatOf(item string, task web.TaskDetail) {
	w.Helper()
	w.until("the message shows the end", func() bool { return strings.Contains(w.live(item).Text, "wall ") })
	m := w.live(item)
	require.Greater(w, m.Edits, 8)
	for _, part := range []string{
		"LIF-1: ", "analysis: in 105,000 (90,000 cached), out 600, $0.75, claude-sonnet-4-5", "architecture: in 35,000", "development: in 35,000", "review: in 35,000",
		"testing: in 35,000", "deploy-staging: in 35,000", "deploy: in 70,000", "total: in 350,000", "$2.50", "human review: ", "wall ", "agents ", task.PullRequest, "/docs/work/LIF-1",
	} {
		require.Contains(w, m.Text, part)
	}
	var loud []string
	for _, m := range w.chat.Messages() {
		if !m.Silent {
			loud = append(loud, m.Text)
		}
	}
	require.Len(w, loud, 4, "three times requirements were ready, and one deployment: %v", loud)
	require.NotContains(w, strings.Join(loud, "\n"), "finished")
}

// A live database needs no hand: what an older program had not made is made, once, and the
// work goes on.
func TestOlderDatabase(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "OLD"})
	item := w.cardIn("OLD", "From before", "To Analyse")
	w.until("the requirements are ready", func() bool { return w.column(item) == "In Review" && w.task(item).Hold == stage.HoldApproval })
	w.end(syscall.SIGTERM)
	const schema = "select group_concat(type || ' ' || name || ' ' || coalesce(sql, ''), char(10)) from (select * from sqlite_schema order by type, name)"
	whole := w.saved(schema)
	db := w.database("rw")
	_, err := db.ExecContext(t.Context(), `drop table job_deps; drop table reservations; drop index tasks_live`)
	require.NoError(t, err)
	require.NoError(t, db.Close())
	require.NotEqual(t, whole, w.saved(schema))
	w.start()
	w.move(item, "Approved")
	w.reaches(item, "Done")
	w.end(syscall.SIGTERM)
	require.Equal(t, strings.Count(whole, "\n"), strings.Count(w.saved(schema), "\n"), "all of it is there again")
	before := w.saved(schema)
	w.start()
	w.end(syscall.SIGTERM)
	require.Equal(t, before, w.saved(schema), "and opening it once more changes nothing")
}
