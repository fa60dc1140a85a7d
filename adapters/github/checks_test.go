package github_test

import (
	"fmt"
	"net/http"
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// states are the checks of a commit that is to go into main.
func (k *kit) states(sha string) (out []string) {
	k.Helper()
	list, err := k.client.Checks(k.Context(), repo, "main", sha)
	require.NoError(k, err)
	for _, c := range list {
		out = append(out, fmt.Sprintf("%s %s %s (%s)", c.Kind, c.Name, c.State, c.App))
	}
	return out
}

// What a workflow has begun is expected from the beginning to the end, between its jobs too.
// The suite of an app that has run nothing says nothing.
func TestSuites(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	k.Server.SetSuite(repo, sha, "vercel", "queued", "")
	k.Server.SetStatus(repo, sha, "Vercel", "success")
	require.Equal(t, []string{"status Vercel passed ()"}, k.states(sha))
	k.Server.SetSuite(repo, sha, forgetest.Actions, "queued", "")
	require.Equal(t, []string{"status Vercel passed ()", "check_suite GitHub Actions expected (actions)"}, k.states(sha))
	k.Server.SetCheckRun(repo, sha, "build", "in_progress", "")
	require.Equal(t, []string{"status Vercel passed ()", "check_run build pending (actions)"}, k.states(sha))
	k.Server.SetCheckRun(repo, sha, "build", "completed", "success")
	require.Equal(t, []string{"status Vercel passed ()", "check_run build passed (actions)", "check_suite GitHub Actions expected (actions)"}, k.states(sha), "the next job has no run yet")
	k.Server.SetSuite(repo, sha, forgetest.Actions, "completed", "success")
	require.Equal(t, []string{"status Vercel passed ()", "check_run build passed (actions)"}, k.states(sha))
	broken := k.Commit("feature/b")
	k.Server.SetSuite(repo, broken, forgetest.Actions, "completed", "startup_failure")
	require.Equal(t, []string{"check_suite GitHub Actions cancelled (actions)"}, k.states(broken), "a workflow file with a mistake has no job")
}

// A queued suite without runs counts when a rule names its app.
func TestSuiteOfADemandedApp(t *testing.T) {
	t.Parallel()
	c := answering(t, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/statuses"):
			fmt.Fprint(w, `[]`)
		case strings.HasSuffix(r.URL.Path, "/check-runs"):
			fmt.Fprint(w, `{"check_runs":[]}`)
		case strings.HasSuffix(r.URL.Path, "/check-suites"):
			fmt.Fprint(w, `{"check_suites":[{"id":1,"status":"queued","app":{"id":7,"slug":"circle","name":"Circle"}},{"id":2,"status":"queued","app":{"id":8,"slug":"vercel","name":"Vercel"}}]}`)
		case strings.HasSuffix(r.URL.Path, "/rules/branches/main"):
			fmt.Fprint(w, `[{"type":"required_status_checks","ruleset_source":"acme","ruleset_id":3,"parameters":{"required_status_checks":[{"context":"unit","integration_id":7}]}}]`)
		default: // the protection is not for the token
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, `{"message":"Resource not accessible by personal access token"}`)
		}
	})
	list, err := c.Checks(t.Context(), repo, "main", head40)
	require.NoError(t, err)
	require.Equal(t, []githost.Check{
		{Name: "Circle", State: githost.CheckExpected, Kind: "check_suite", App: "circle", Note: "its check suite is queued"},
		{Name: "unit", State: githost.CheckExpected, Kind: "required", Note: "demanded by the ruleset 3 of acme"},
	}, list)
}

// The status of a preview comes at once, and the workflow fails a moment later: CI does not pass
// at any moment between.
func TestEarlyStatusDoesNotPass(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	r, err := gates.NewRegistry(checks.All(nil)...)
	require.NoError(t, err)
	outcome := func(settled bool) gates.Outcome {
		return r.Judge(t.Context(), gates.Facts{
			Task: gates.Task{Repo: repo, Main: "main"}, SHA: sha, Stage: stage.Development, CI: k.client, Settled: settled,
			Tree: fstest.MapFS{".github/workflows/ci.yml": {Data: []byte("on: push")}},
		}, checks.CIGreen).Outcome
	}
	k.Server.SetStatus(repo, sha, "Vercel", "success")
	require.Equal(t, gates.Defer, outcome(false))
	k.Server.SetSuite(repo, sha, forgetest.Actions, "queued", "")
	require.Equal(t, gates.Defer, outcome(true), "what has begun is waited for to its end")
	k.Server.SetCheckRun(repo, sha, "build", "in_progress", "")
	require.Equal(t, gates.Defer, outcome(true))
	k.Server.SetCheckRun(repo, sha, "build", "completed", "failure")
	require.Equal(t, gates.Red, outcome(false))
}

// Rules are read now and then, and not for every look.
func TestRulesAreCached(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	require.Empty(t, k.states(sha))
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Rules["main"] = []string{"build"} })
	require.Empty(t, k.states(sha))
	k.Clock.Store(int64(6 * time.Minute))
	require.Equal(t, []string{"required build expected ()"}, k.states(sha))
}

// What GitHub concludes is the state that docs/registry.md names for it.
func TestConclusionsOfTheDocs(t *testing.T) {
	t.Parallel()
	c := answering(t, func(http.ResponseWriter, *http.Request) {})
	body, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	for _, verdict := range []string{"success", "neutral", "skipped", "failure", "timed_out", "cancelled", "stale", "startup_failure", "action_required", "pending", "queued", "waiting"} {
		status, conclusion := "completed", verdict
		if slices.Contains([]string{"pending", "queued", "waiting"}, verdict) {
			status, conclusion = verdict, ""
		}
		h := decode(t, c, "check_run", fmt.Appendf(nil, `{"check_run":{"head_sha":"a","status":%q,"conclusion":%q},"repository":{"full_name":"acme/shop"}}`, status, conclusion))
		require.Contains(t, string(body), fmt.Sprintf("\n| %s | %s |", verdict, h.State))
	}
}

// A job of the workflows is run again; what another app reports is that app's, and what has no number is nobody's.
func TestRerun(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.Commit("feature/a")
	k.Server.SetCheckRun(repo, sha, "build", "completed", "cancelled")
	state := func() githost.Check {
		list, err := k.client.Checks(t.Context(), repo, "main", sha)
		require.NoError(t, err)
		return list[0]
	}
	require.Equal(t, githost.CheckCancelled, state().State)
	require.NoError(t, k.client.Rerun(t.Context(), repo, state()))
	require.Equal(t, githost.CheckPending, state().State)
	gone := state()
	gone.ID = "999"
	require.ErrorIs(t, k.client.Rerun(t.Context(), repo, gone), githost.ErrNotFound)
	gone.ID = ""
	require.ErrorIs(t, k.client.Rerun(t.Context(), repo, gone), githost.ErrLacking)
}

// A name is no proof: who reports a check on main first is who reports it, a status replaces none of another account,
// and what a rule takes from one app is not taken from another.
func TestIssuers(t *testing.T) {
	t.Parallel()
	k := setup(t)
	main := k.Server.Heads(repo)["main"]
	k.Server.SetStatus(repo, main, "e2e", "success")
	k.Server.SetStatusAs("mallory", repo, main, "later", "success")
	sha := k.Commit("feature/a")
	k.Server.SetStatus(repo, sha, "e2e", "failure")
	k.Server.SetStatusAs("mallory", repo, sha, "e2e", "success")
	k.Server.SetStatusAs("mallory", repo, sha, "new", "success")
	k.Server.SetCheckRun(repo, sha, "build", "completed", "success")
	list := func() map[string]string {
		got, err := k.client.Checks(t.Context(), repo, "main", sha)
		require.NoError(t, err)
		out := map[string]string{}
		for _, c := range got {
			out[c.Name+" by "+c.Issuer] = string(c.State) + " " + c.Foreign
		}
		return out
	}
	want := map[string]string{
		"e2e by user/ci-bot": "failed ", "e2e by user/mallory": "passed on main it comes from user/ci-bot",
		"new by user/mallory": "passed ", "build by app/github-actions": "passed ",
	}
	require.Equal(t, want, list())
	k.Server.SetStatusAs("mallory", repo, main, "e2e", "success") // who may write can do that, too
	k.Clock.Add(int64(10 * time.Minute))
	require.Equal(t, want, list())
}
