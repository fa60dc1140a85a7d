package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/markdown"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

const hidden = "hunter2*is*a-long-password"

// atVerdict runs a test with a card whose requirements, which a stranger has written, wait for a person.
func atVerdict(t *testing.T, f func(w *world, tk task.Task)) {
	t.Helper()
	inWorld(t, func(o *dashboard.Options) {
		o.Markdown, o.Redactor = markdown.Render, &secret.Redactor{}
		o.Redactor.Hide(hidden)
	}, func(w *world) {
		w.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := agent(ctx, c, files)
			if docs := c.Env["SIGNALBOX_DOCS"]; c.Role == stage.Analyst {
				files[docs+"/requirements.md"] = fmt.Sprintf("# Wanted %d\n\n- [ ] fast\n\n[x](javascript:alert(3)) ![i](https://evil.example.org/i.png) %s\n\n%s", c.Run, hidden, evil)
				files[docs+"/notes.txt"] = evil
			} else if c.Role == stage.Developer {
				files[".github/workflows/ci.yml"] = "on: " + evil
			}
			return result
		})
		item := w.card(project, "x "+evil)
		w.Settle(time.Minute)
		f(w, w.Task(item))
	})
}

// What is asked for can be read where it is asked for, and nothing of it is more than text.
func TestReadWhatIsAsked(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		require.Contains(t, w.get("/").body, `href="./tasks/1/review"`)
		page := w.get("/tasks/1").body
		require.Contains(t, page, "Your verdict")
		head := tk.State.Head
		for _, name := range []string{"requirements.md", "acceptance.md", "notes.txt", "request.md"} {
			at := "documents/" + name + "?commit=" + head
			require.Contains(t, page, at)
			doc := w.get("/tasks/1/" + at)
			require.Equal(t, http.StatusOK, doc.status)
			for _, bad := range []string{"<script>alert", "<img", `="javascript:`, "hunter2"} {
				require.NotContains(t, doc.body, bad, name)
			}
			require.Contains(t, doc.body, `name="commit" value="`+head+`"`, "the verdict stands beside it")
		}
		doc := w.get("/tasks/1/documents/requirements").body
		require.Contains(t, doc, "<h3>Wanted 1</h3>")
		require.Contains(t, doc, "☐ fast")
		require.Contains(t, doc, `href="https://evil.example.org/i.png">image: i</a>`)
		for _, path := range []string{"/tasks/1/documents/none.md", "/tasks/1/documents/..%2frequest.md", "/tasks/1/documents/requirements.md?commit=main", "/tasks/1/diff?commit=" + strings.Repeat("0", 40)} {
			require.Equal(t, http.StatusNotFound, w.get(path).status, path)
		}
	})
}

// The changes are shown, and what of them a person has to see is marked.
func TestReadTheDiff(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/decide", right("column", "approved", "commit", tk.State.Head)).status)
		w.Settle(time.Minute)
		require.Equal(t, stage.HoldApproval, w.Task(tk.TrackerIssueID).State.Hold, "of the protected path")
		require.Contains(t, w.get("/tasks/1").body, "Your verdict")
		page := w.get("/tasks/1/diff").body
		require.Regexp(t, `(?s)<details class="file" id="s\d" open><summary><bdi>\.github/workflows/ci\.yml</bdi> <span class="soft">\+\d −\d</span> <span class="tag gate">protected`, page)
		require.Contains(t, page, `<span class="add">&#43;on: &lt;/title&gt;`)
		require.NotContains(t, page, "<script>alert")
	})
}

// A verdict is of the commit that was shown, says why when it is a rejection, and needs the right; what is
// not taken keeps its words.
func TestDecideOnThePage(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		first := tk.State.Head
		for name, c := range map[string]struct {
			form   url.Values
			status int
			says   string
		}{
			"no reason":      {right("column", "rejected", "commit", first, "body", " \n"), http.StatusConflict, "a rejection needs a reason"},
			"another commit": {right("form", "decide", "column", "approved", "commit", strings.Repeat("0", 40), "body", "my words"), http.StatusConflict, "not the head of the task any more"},
			"no decision":    {right("column", "stop", "commit", first), http.StatusBadRequest, "no decision"},
			"no token":       {url.Values{"form": {"decide"}, "column": {"approved"}, "commit": {first}, "body": {"my words"}}, http.StatusUnauthorized, "not signed in"},
		} {
			a := w.post("/tasks/1/decide", c.form)
			require.Equal(t, c.status, a.status, name)
			require.Contains(t, a.body, c.says, name)
			if c.form.Get("body") == "my words" {
				require.Contains(t, a.body, ">my words</textarea>", name)
			}
		}
		w.Settle(time.Minute)
		require.Equal(t, tk.Version, w.Task(tk.TrackerIssueID).Version, "nothing was taken")
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/decide", right("column", "rejected", "commit", first, "body", "name the limits")).status)
		w.Settle(time.Minute)
		now := w.Task(tk.TrackerIssueID)
		require.NotEqual(t, first, now.State.Head)
		require.Equal(t, "name the limits", w.Place.Runs()[1].Env["SIGNALBOX_FEEDBACK"])
		old := w.get("/tasks/1/documents/requirements.md?commit=" + first).body
		require.Contains(t, old, "Wanted 1")
		require.Contains(t, old, "This is not what the task stands at any more")
		require.NotContains(t, old, "verdictform")
		require.Equal(t, http.StatusConflict, w.post("/tasks/1/decide", right("column", "approved", "commit", first)).status)
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/decide", right("column", "approved", "commit", now.State.Head)).status)
		w.Settle(time.Minute)
		require.NotEqual(t, stage.Analysis, w.Task(tk.TrackerIssueID).State.Stage)
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/stop", right()).status)
		w.Settle(time.Minute)
		late := w.post("/tasks/1/decide", right("form", "decide", "column", "rejected", "commit", now.State.Head, "body", "my <words>"))
		require.Equal(t, http.StatusConflict, late.status)
		require.Contains(t, late.body, ">my &lt;words&gt;</textarea>", "where nothing is asked any more")
	})
}

// Every page says how many wait, and a comment on a file is a part of the words, which the next run reads; what has changed
// since they were said comes first then.
func TestReview(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		w.card("p2", "y")
		w.Settle(time.Minute)
		for _, path := range []string{"/", "/queue", "/tasks/1", "/tasks/2/review", "/history"} {
			require.Contains(t, w.get(path).body, `id="needs-n">2</span>`, path)
		}
		line := w.get("/review").body
		require.Regexp(t, `(?s)tasks/1/review.*tasks/2/review`, line, "who waits longest is first")
		page := w.get("/tasks/1/review").body
		require.Contains(t, page, "a human&#39;s verdict on the requirements")
		require.Contains(t, page, "<h3>Wanted 1</h3>", "the document of the stage")
		require.NotContains(t, page, "Changed since")
		require.Contains(t, page, `<textarea form="verdict-form" name="on"`)
		require.Contains(t, page, `Next in line: <a href="../../tasks/2/review">`)
		form := right("column", "rejected", "commit", tk.State.Head, "body", "name the limits", "on", " ", "path", "a.md")
		form.Add("on", "too <wide>")
		form.Add("path", "docs/`x`.md")
		said := w.post("/tasks/1/decide", form)
		require.Equal(t, http.StatusSeeOther, said.status, said.body)
		require.Contains(t, w.get("/tasks/1?said=decided").body, `<a href="../tasks/2/review">Next: OTH-3`)
		w.Settle(time.Minute)
		require.Equal(t, "name the limits\n\n`docs/x.md`: too <wide>", w.Place.Runs()[2].Env["SIGNALBOX_FEEDBACK"])
		page = w.get("/tasks/1/review").body
		require.Regexp(t, `Changed since <bdi>admin</bdi> set Rejected`, page)
		require.Regexp(t, `(?s)id="s0" open.*<span class="del">-# Wanted 1.*<span class="add">&#43;# Wanted [23].*What it changes`, page)
		require.Regexp(t, `id="f\d"><summary><bdi>docs/work/APP-1/requirements.md`, page, "folded: it was shown")
		require.Regexp(t, `<details class="chapter" id="ch-\d" open>`, w.get("/tasks/1").body, "where it stands now")
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/stop", right()).status)
		w.Settle(time.Minute)
		require.NotRegexp(t, `<details class="chapter" id="ch-\d" open>`, w.get("/tasks/1").body, "it is over")
	})
}

// A page with a diff is bounded, and each file can be had whole.
func TestReviewIsBounded(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		w.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			for n := 0; n < 50 && c.Role == stage.Developer; n++ {
				files[fmt.Sprintf("src/f%02d.go", n)] = strings.Repeat("a long line of code\n", 400) + "the bottom\n"
			}
			if c.Role == stage.Developer {
				files[".github/workflows/ci.yml"] = "on: push\n"
			}
			return agent(ctx, c, files)
		})
		require.Equal(t, http.StatusSeeOther, w.post("/tasks/1/decide", right("column", "approved", "commit", tk.State.Head)).status)
		w.Settle(time.Minute)
		page := w.get("/tasks/1/review").body
		require.Less(t, len(page), 250<<10)
		require.Contains(t, page, "src/f49.go")
		require.NotContains(t, page, "the bottom")
		require.Regexp(t, `review\?commit=[0-9a-f]{40}&amp;file=src%2ff30\.go`, page)
		whole := w.get("/tasks/1/review?file=src/f00.go").body
		require.Contains(t, whole, "the bottom")
		require.NotContains(t, whole, "src/f01.go")
		packed := w.request(http.MethodGet, "", "/tasks/1/review", nil, "Accept-Encoding", "gzip")
		require.Equal(t, "gzip", packed.header.Get("Content-Encoding"))
		require.Less(t, len(packed.body), 60_000)
	})
}

// Each word needs its right in the repository.
func TestWhoDecidesOnThePage(t *testing.T) {
	inWorld(t, func(o *dashboard.Options) { o.Access = access.New(access.Options{}) }, func(w *world) {
		item := w.card(project, "x")
		w.Settle(time.Minute)
		tk := w.Task(item)
		post := func(role access.Role, column stage.Status) int {
			row, secret, err := access.NewToken(string(role)+string(column), access.Grant{Role: role, Repos: []string{repo}}, time.Now(), time.Time{})
			require.NoError(t, err)
			_, err = w.opt.Access.Store.AddToken(context.Background(), row)
			require.NoError(t, err)
			return w.post("/tasks/1/decide", url.Values{"token": {secret}, "column": {string(column)}, "commit": {tk.State.Head}}).status
		}
		over := w.post("/tasks/1/decide", url.Values{"form": {"decide"}, "column": {"rejected"}, "commit": {tk.State.Head}, "body": {"my words"}})
		require.Equal(t, http.StatusUnauthorized, over.status, "a session has ended")
		require.Regexp(t, `(?s)>my words</textarea>.*<input id="token-\w+" name="token"`, over.body)
		require.Equal(t, http.StatusForbidden, post(access.Approver, stage.StatusConfirmDeploy))
		require.Equal(t, http.StatusConflict, post(access.Releaser, stage.StatusConfirmDeploy), "it is not asked for")
		require.Equal(t, http.StatusSeeOther, post(access.Approver, stage.StatusApproved))
	})
}

// On a board of our own a verdict is a move of the card, so that it has the name of who has decided.
func TestDecideOnOurOwnCard(t *testing.T) {
	d := signedIn(t)
	path := d.made("one")
	id := strings.TrimPrefix(path, "/board/cards/")
	require.NoError(t, d.store.Commit(t.Context(), task.Commit{Task: &task.Task{
		ID: 1, Repo: repo, TrackerProjectID: project, TrackerIssueID: id, WorkItemID: "APP-1", Branch: "b", Title: "one", State: stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, Head: "abc"},
	}}))
	column := func() string {
		story, err := d.board.Story(t.Context(), id)
		require.NoError(t, err)
		return story.Column
	}
	for _, page := range []string{path, "/tasks/1"} {
		body := d.request(http.MethodGet, page, nil).body
		require.Contains(t, body, "Your verdict", page)
		require.Contains(t, body, id+"/say", page)
	}
	drag := url.Values{"form": {"move"}, "column": {"rejected"}}
	for name, a := range map[string]answer{
		"dragged":                               d.post(path+"/move", drag),
		"moved, with words that are not posted": d.post(path+"/move", url.Values{"form": {"move"}, "column": {"rejected"}, "body": {"unseen"}}),
		"without words":                         d.post(path+"/say", url.Values{"form": {"decide"}, "key": {"1"}, "column": {"rejected"}, "body": {" "}, "commit": {"abc"}}),
	} {
		require.Equal(t, http.StatusUnprocessableEntity, a.status, name)
		require.Contains(t, a.body, "A rejection needs a reason", name)
	}
	stale := d.post(path+"/say", url.Values{"form": {"decide"}, "key": {"2"}, "column": {"approved"}, "body": {"my words"}, "commit": {"abd"}})
	require.Equal(t, http.StatusConflict, stale.status)
	require.Contains(t, stale.body, "not the head of the task any more")
	require.Contains(t, stale.body, ">my words</textarea>")
	require.Equal(t, cards.Backlog, column())
	form := url.Values{"form": {"decide"}, "key": {"3"}, "column": {"rejected"}, "body": {"name the limits"}, "commit": {"abc"}, "next": {"tasks/1"}}
	for range 2 { // sent again it is the same
		a := d.post(path+"/say", form)
		require.Equal(t, "../../../tasks/1?said=decided", a.header.Get("Location"), a.body)
	}
	require.Equal(t, "rejected", column())
	story, err := d.board.Story(t.Context(), id)
	require.NoError(t, err)
	require.Len(t, story.Comments, 1)
	require.Equal(t, http.StatusSeeOther, d.post(path+"/move", url.Values{"form": {"move"}, "column": {"backlog"}}).status)
	require.Equal(t, http.StatusUnprocessableEntity, d.post(path+"/move", drag).status, "the comment was for the last time")
	require.Equal(t, http.StatusSeeOther, d.post(path+"/say", url.Values{"form": {"say"}, "key": {"4"}, "body": {"still no limits"}}).status)
	require.Equal(t, http.StatusSeeOther, d.post(path+"/move", drag).status)
}

// The question whether a stage is to be run again is about that stage.
func TestRetryOfAnotherStage(t *testing.T) {
	atVerdict(t, func(w *world, tk task.Task) {
		moment := regexp.MustCompile(`name="moment" value="(\w+)"`).FindStringSubmatch(w.get("/tasks/1/retry").body)[1]
		w.post("/tasks/1/decide", right("column", "approved", "commit", tk.State.Head))
		w.Settle(time.Minute)
		asks := w.Task(tk.TrackerIssueID).State
		require.Equal(t, stage.HoldApproval, asks.Hold)
		require.Equal(t, http.StatusConflict, w.post("/tasks/1/retry", right("moment", moment)).status)
		w.Settle(time.Minute)
		require.Equal(t, asks.Run, w.Task(tk.TrackerIssueID).State.Run)
	})
}
