package dashboard_test

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func (w *world) post(path string, form url.Values, header ...string) answer {
	w.Helper()
	return w.request(http.MethodPost, "/dash", path, form, header...)
}

// acts lists the requests of operators, oldest first.
func (w *world) acts() (out []task.Act) {
	w.Helper()
	entries, err := w.Store.JournalSince(context.Background(), 0, 10_000)
	require.NoError(w, err)
	for _, e := range entries {
		if a, err := e.Acted(); err == nil {
			require.Len(w, a.By.Request, 16)
			require.NotEmpty(w, a.By.From)
			a.By.From, a.By.Request = "", ""
			out = append(out, a)
		}
	}
	return out
}

// right is a form with the operator's token.
func right(pairs ...string) url.Values {
	out := url.Values{"token": {token}}
	for pair := range slices.Chunk(pairs, 2) {
		out.Set(pair[0], pair[1])
	}
	return out
}

// signIn returns the cookie of a new session.
func (w *world) signIn() *http.Cookie {
	w.Helper()
	a := w.post("/session", right())
	require.Equal(w, http.StatusSeeOther, a.status)
	list := (&http.Response{Header: a.header}).Cookies()
	require.Len(w, list, 1)
	return list[0]
}

// A changing request without the right token changes nothing and leaves no row.
func TestRefused(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		w.freeze(0, "cause")
		cookie := w.signIn()
		session := "signalbox_session=" + cookie.Value
		forged := "signalbox_session=" + cookie.Value[1:] + "x"
		for _, path := range []string{"/tasks/1/retry", "/tasks/1/stop", "/repos/unfreeze"} {
			w.Settle(time.Minute) // wrong guesses are forgotten
			repoForm := url.Values{"repo": {repo}}
			wrong := url.Values{"repo": {repo}, "token": {"guess"}}
			for name, a := range map[string]answer{
				"no token": w.post(path, repoForm), "a wrong token": w.post(path, wrong), "a forged session": w.post(path, repoForm, "Cookie", forged),
				"the token in the address": w.post(path+"?token="+token, repoForm),
			} {
				require.Equal(w, http.StatusUnauthorized, a.status, "%s: %s", path, name)
				require.NotContains(w, a.body, "guess")
			}
			for _, header := range [][]string{{"Sec-Fetch-Site", "cross-site"}, {"Origin", "https://evil.example.org"}} {
				require.Equal(w, http.StatusForbidden, w.post(path, right("repo", repo), append(header, "Cookie", session)...).status)
			}
			again := w.post(path, wrong)
			require.Contains(w, again.body, "This is no token of this server")
			require.Contains(w, again.body, "action=", "the question is asked again")
		}
		w.Settle(time.Minute)
		require.Empty(w, w.acts())
		frozen, err := w.gate.Frozen(context.Background())
		require.NoError(w, err)
		require.Len(w, frozen, 1)
		require.Equal(w, stage.Analysis, w.Task("item-1").State.Stage)
	})
}

// A client that guesses is made to wait, whichever form it uses, and others are not.
func TestGuesses(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		paths := []string{"/session", "/tasks/1/retry", "/tasks/1/stop", "/session", "/tasks/1/retry"}
		for _, path := range paths {
			require.Equal(w, http.StatusUnauthorized, w.post(path, url.Values{"token": {"guess"}}).status, path)
		}
		for _, path := range paths {
			a := w.post(path, url.Values{"token": {"guess"}})
			require.Equal(w, http.StatusTooManyRequests, a.status, path)
			require.Equal(w, "12", a.header.Get("Retry-After"))
			require.Contains(w, a.body, "Too many wrong tokens")
		}
		require.Empty(w, w.acts())
		require.Equal(w, http.StatusSeeOther, w.post("/session", right()).status)
	})
}

func TestRetry(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		before := len(w.Place.Runs())
		a := w.post("/tasks/1/retry", right())
		require.Equal(w, http.StatusSeeOther, a.status)
		require.Equal(w, "../../tasks/1?said=retry", a.header.Get("Location"))
		w.has("/tasks/1?said=retry", "The retry is queued.")
		require.NotContains(w, w.get("/tasks/1?said="+url.QueryEscape(evil)).body, "said\"")
		w.Settle(time.Minute)
		require.Len(w, w.Place.Runs(), before+1)
		require.Equal(w, []task.Act{{Act: task.ActRetry, By: admin.OperatorBy(stage.ViaDashboard)}}, w.acts())
		w.shows("/tasks/1", "asked for: retry by admin (dashboard, token)")
	})
}

func TestStop(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		w.has("/tasks/1", `href="../tasks/1/stop"`)
		w.shows("/tasks/1/stop", "Stop APP-1?")
		require.Equal(w, http.StatusSeeOther, w.post("/tasks/1/stop", right()).status)
		w.Settle(time.Minute)
		w.shows("/tasks/1", "cancelled The task is cancelled.")
		require.Equal(w, []task.Act{{Act: task.ActStop, By: admin.OperatorBy(stage.ViaDashboard)}}, w.acts())
		require.NotContains(w, w.get("/tasks/1").body, `href="../tasks/1/stop"`, "a task that has ended cannot be stopped")
		a := w.post("/tasks/1/stop", right())
		require.Equal(w, http.StatusConflict, a.status)
		require.Contains(w, a.body, "Not taken: stop moves nothing: the task is cancelled.")
	})
	inWorld(t, func(o *dashboard.Options) { o.Stop = false }, func(w *world) {
		w.card(project, "x")
		require.NotContains(w, w.get("/tasks/1").body, `href="../tasks/1/stop"`)
		a := w.post("/tasks/1/stop", right())
		require.Equal(w, http.StatusNotFound, a.status)
		require.Contains(w, a.body, "ORCH_STOP_STATUS_ENABLED")
	})
}

func TestUnfreeze(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.freeze(0, "task 7 is degraded")
		w.shows("/repos", "frozen task 7 is degraded for")
		require.Contains(w, w.get("/repos/unfreeze?repo="+repo).body, `<a href="../tasks/7">task 7</a> is degraded`)
		seen := regexp.MustCompile(`name="cause" value="(\w+)"`).FindStringSubmatch(w.get("/repos/unfreeze?repo=" + repo).body)
		require.NotNil(w, seen)
		w.freeze(0, "task 8 is degraded")
		a := w.post("/repos/unfreeze", right("repo", repo, "cause", seen[1]))
		require.Equal(w, http.StatusConflict, a.status, "of that nobody has spoken")
		require.Contains(w, a.body, "task 8 is degraded")
		w.freeze(0, "task 7 is degraded")
		a = w.post("/repos/unfreeze", right("repo", repo, "cause", seen[1]))
		require.Equal(w, "../repos?said=unfrozen", a.header.Get("Location"))
		require.NotContains(w, w.get("/repos").body, "is degraded")
		require.Equal(w, "../repos?said=not-frozen", w.post("/repos/unfreeze", right("repo", repo)).header.Get("Location"))
		require.Equal(w, http.StatusNotFound, w.post("/repos/unfreeze", right("repo", "no/such")).status)
		require.Len(w, w.acts(), 2, "what was asked for in vain was asked for")
		require.Equal(w, task.Act{Act: task.ActUnfreeze, By: admin.OperatorBy(stage.ViaDashboard), Repo: repo}, w.acts()[0])
		w.shows("/journal", "asked for: unfreeze acme/app by admin (dashboard, token)")
	})
	inWorld(t, func(o *dashboard.Options) { o.Unfreeze = nil }, func(w *world) {
		a := w.post("/repos/unfreeze", right("repo", repo))
		require.Equal(w, http.StatusNotFound, a.status)
		require.Contains(w, a.body, "ORCH_SERIAL_GATE_ENABLED")
	})
}

func TestResume(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		now := time.Now()
		pause := task.Pause{Agent: "claude", Model: "opus", Kind: work.TroubleModel, Reason: "no <model>", Since: now, Next: now.Add(time.Hour)}
		require.NoError(w, w.Store.Commit(context.Background(), task.Commit{Pauses: []task.Pause{pause}}))
		require.Regexp(w, `Paused agents 1 .* claude opus paused its vendor has no such model\. Name another model under agents in the registry and reload it\. no <model> .* is tried .* 0 Resume…`, plain(w.get("/queue").body))
		w.has("/queue", `href="./agents/resume?agent=claude"`)
		w.shows("/agents/resume?agent=claude", "Resume claude?")
		require.Equal(w, "../queue?said=resumed", w.post("/agents/resume", right("agent", "claude")).header.Get("Location"))
		require.NotContains(w, w.get("/queue").body, "Paused agents")
		require.Equal(w, "../queue?said=not-paused", w.post("/agents/resume", right("agent", "claude")).header.Get("Location"))
		require.Equal(w, task.Act{Act: task.ActResume, By: admin.OperatorBy(stage.ViaDashboard), Use: "claude"}, w.acts()[0])
		w.shows("/journal", "asked for: resume claude by admin (dashboard, token)")
	})
	inWorld(t, func(o *dashboard.Options) { o.Resume = nil }, func(w *world) {
		require.Equal(w, http.StatusNotFound, w.get("/agents/resume?agent=claude").status)
		require.Contains(w, w.post("/agents/resume", right("agent", "claude")).body, "ORCH_AGENT_PAUSE_ENABLED")
	})
}

// A session stands for the token, at the dashboard's own addresses, until it is signed out or the
// token is another one; its cookie holds no secret.
func TestSession(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		c := w.signIn()
		require.True(w, c.HttpOnly)
		require.Equal(w, http.SameSiteStrictMode, c.SameSite)
		require.Equal(w, "/dash/", c.Path)
		require.NotContains(w, c.Value, token)
		header := []string{"Cookie", "signalbox_session=" + c.Value}
		require.NotContains(w, w.request(http.MethodGet, "/dash", "/tasks/1/retry", nil, header...).body, "password", "nobody is asked twice")
		require.Equal(w, http.StatusSeeOther, w.post("/tasks/1/retry", nil, header...).status)
		require.Contains(w, w.post("/session/end", nil, header...).header.Get("Set-Cookie"), "Max-Age=0")
		require.Equal(w, http.StatusUnauthorized, w.post("/tasks/1/retry", nil, header...).status, "a copy of the cookie has ended too")
		require.Len(w, w.acts(), 1)
		// Another token ends all sessions.
		c = w.signIn()
		w.opt.Access = access.New(access.Options{AdminToken: "another", Store: w.opt.Access.Store, PublicRead: true})
		pages := handler(w, w.opt)
		w.pages = pages
		require.Equal(w, http.StatusUnauthorized, w.post("/tasks/1/retry", nil, "Cookie", "signalbox_session="+c.Value).status)
	})
}

func TestSignInLeadsOn(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for next, want := range map[string]string{
			"": "./?said=in", "tasks/1": "./tasks/1", "https://evil.example.org/": "./?said=in", "//evil.example.org/": "./?said=in", `\\evil`: "./?said=in",
			"../../x": "./?said=in", "javascript:alert(1)": "./?said=in",
		} {
			require.Equal(w, want, w.post("/session", right("next", next)).header.Get("Location"), next)
		}
		a := w.post("/session", url.Values{"token": {"guess"}, "next": {"tasks/1"}})
		require.Equal(w, http.StatusUnauthorized, a.status)
		require.Contains(w, a.body, `value="tasks/1"`)
		require.Empty(w, a.header.Get("Set-Cookie"))
		require.Contains(w, w.post("/session", right(), "X-Forwarded-Proto", "https").header.Get("Set-Cookie"), "Secure")
	})
}

// broken is a store that does not answer.
type broken struct{ task.History }

func (broken) Ended(context.Context, time.Time, int) ([]task.Task, error) {
	return nil, context.DeadlineExceeded
}

func TestStoreFails(t *testing.T) {
	inWorld(t, func(o *dashboard.Options) { o.History = broken{o.History} }, func(w *world) {
		a := w.get("/")
		require.Equal(w, http.StatusServiceUnavailable, a.status)
		require.Contains(w, a.body, "The store does not answer.")
		require.NotContains(w, a.body, "deadline", "the inside stays inside")
	})
}

// A task for whose deployment its repository is frozen is none of those that are simply done.
func TestDegradedIsNotDone(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		for range 2 {
			id := w.card(project, "a deployment")
			w.move(project, id, stage.StatusApproved)
			w.Settle(time.Minute)
		}
		require.Equal(w, 2, strings.Count(w.get("/").body, `<article class="card done"`))
		w.freeze(1, "APP-1 (task 1) is degraded after its deployment: 500")
		body := w.get("/").body
		require.Equal(w, 1, strings.Count(body, `<article class="card done"`))
		require.Contains(w, body, `<article class="card blocked" id="t1">`)
		w.has("/tasks/1", `<section class="now blocked"`)
		w.has("/tasks/2", `<section class="now done"`)
	})
}
