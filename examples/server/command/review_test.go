package command

import (
	"bytes"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"os/user"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What is shown is what the word is of, and nothing in it steers the terminal.
func TestReviewBindsTheWord(t *testing.T) {
	shown := documents.Decision{
		TaskID: 7, Item: "GPX-7", Title: "Tiles \x1b[31m", Repo: "acme/gps", Stage: stage.Development, Asked: "Waits for a human: of the workflow",
		Words: []stage.Status{stage.StatusApproved, stage.StatusRejected}, Commit: "c0ffee", CostUSD: 0.25,
		Seen: &documents.Seen{By: "Kim", Word: stage.StatusApproved, Commit: "0ddba11"},
		Diff: &documents.Diff{Main: "main", Files: []documents.File{
			{FileDiff: work.FileDiff{Path: "a.go", Text: "--- a\n+++ b\n@@ -1 +1,2 @@\n-x\n+y\n+z\n"}}, {FileDiff: work.FileDiff{Path: "ci.yml"}, Protected: true},
		}},
		Since:    &documents.Diff{Files: []documents.File{{FileDiff: work.FileDiff{Path: "ci.yml", Text: "only this\n"}, Protected: true}}},
		Evidence: []gates.Verdict{{Check: "all", Outcome: gates.Red, Children: []gates.Verdict{{Check: "check_ci_green", Outcome: gates.Red, Reason: "CI is red", Evidence: []gates.Evidence{{Kind: "check", Name: "lint"}}}}}},
		Next:     &documents.Decision{Item: "GPX-9"},
	}
	var sent map[string]string
	mux := http.NewServeMux()
	for pattern, v := range map[string]any{
		"GET /tasks/7/explain":  explain.Explanation{Title: "Tiles \x1b[2J\u202e", Summary: "Waits: \u009b2J", LastNote: "a\rb"},
		"POST /tasks/7/retry":   web.Problem{Detail: "it is at \x1b]0;x\a"},
		"GET /tasks/7/decision": &shown,
		"GET /decisions":        web.DecisionList{Decisions: []documents.Decision{shown}},
	} {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, _ *http.Request) {
			if _, wrong := v.(web.Problem); wrong {
				w.WriteHeader(http.StatusConflict)
			}
			_ = json.NewEncoder(w).Encode(v)
		})
	}
	mux.HandleFunc("GET /tasks/7", func(w http.ResponseWriter, _ *http.Request) { _ = json.NewEncoder(w).Encode(web.TaskDetail{}) })
	mux.HandleFunc("POST /tasks/7/reject", func(w http.ResponseWriter, r *http.Request) {
		_ = json.NewDecoder(r.Body).Decode(&sent)
		_ = json.NewEncoder(w).Encode(web.Queued{Status: "queued", At: time.Now()})
	})
	s := httptest.NewServer(mux)
	defer s.Close()
	run := func(args ...string) (int, string) { return server(append(args, "--server", s.URL)...) }
	types := func(args ...string) (int, string) { return run(append([]string{"review"}, args...)...) }
	for _, args := range [][]string{{"why", "7"}, {"retry", "7"}} {
		_, said := run(args...)
		require.NotRegexp(t, "[\x1b\r\a\u009b\u202e]", said, args)
	}
	code, said := types("7", "--reject", "--why", "too wide", "--wait", "0s", "--diff")
	require.Zero(t, code, said)
	require.Equal(t, map[string]string{"why": "too wide", "commit": "c0ffee"}, sent)
	for _, line := range []string{
		"Waits for a human: of the workflow\n", "cost so far $0.25", "last verdict: approved by Kim on 0ddba11\n", "changed since main (): 2 files\n  ci.yml +0 -0  protected: a person has to see it\n  a.go +2 -1\n",
		"  red check_ci_green: CI is red\n      not ok check lint\n", "\nonly this\n", "say: signalbox review GPX-7 --approve --commit c0ffee\n", "next: GPX-9",
	} {
		require.Contains(t, said, line)
	}
	require.NotContains(t, said, "\x1b")
	_, _ = types("7", "--reject", "--why", "x", "--commit", "0ddba11", "--wait", "0s")
	require.Equal(t, "0ddba11", sent["commit"], "what was read before")
	_, said = types()
	require.Regexp(t, `GPX-7 +acme/gps +development`, said)
	for _, wrong := range [][]string{{"--approve"}, {"7", "--approve", "--reject"}, {"7", "--approve", "--json"}} {
		code, _ = types(wrong...)
		require.Equal(t, exitUsage, code, wrong)
	}
}

// The server is told who types beside a token that several may have.
func TestPersonIsNamed(t *testing.T) {
	var typed string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		typed = access.TypedName(r)
		_ = json.NewEncoder(w).Encode(web.DecisionList{})
	}))
	defer s.Close()
	t.Setenv(tokenVariable, "t")
	account, err := user.Current()
	require.NoError(t, err)
	for name, want := range map[string]string{"Kim Lee, Ørsta; QA": "Kim Lee, Ørsta; QA", "": account.Username} {
		t.Setenv(nameVariable, name)
		var out bytes.Buffer
		require.Zero(t, Run([]string{"review", "--server", s.URL}, &out, &out), out.String())
		require.Equal(t, want, typed)
	}
}
