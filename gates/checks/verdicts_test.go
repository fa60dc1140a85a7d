package checks_test

import (
	"fmt"
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What follows from each of the verdicts of CI, as docs/registry.md says it. That a host's word is such a state is the matter of its adapter.
func TestVerdictTable(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)
	follows := func(s githost.CheckState, optional bool, reran stage.Reran) string {
		list := []githost.Check{{Name: "build", State: githost.CheckPassed, Kind: "check_run"}, {Name: "x", ID: "1", State: s, Kind: "check_run", Optional: optional}}
		if s == "" {
			list = nil
		}
		facts := gates.Facts{At: now, SHA: "5f1e7c0a9b", CI: gates.StaticCI{"5f1e7c0a9b": list}, Reran: reran, Tree: fstest.MapFS{}}
		v := registry(t).Judge(t.Context(), facts, checks.CIGreen)
		switch {
		case len(v.Again) > 0:
			require.Equal(t, gates.Defer, v.Outcome)
			return "run again once, then "
		case v.Outcome == gates.Defer:
			return "waits"
		case v.Passed():
			return "passes"
		case v.Person:
			return "a person"
		default:
			require.Equal(t, gates.Red, v.Outcome)
			return "the developer"
		}
	}
	table := "| verdict | state | where it is demanded | where it is not |\n|---|---|---|---|\n"
	for _, c := range []struct {
		verdict string
		state   githost.CheckState
	}{
		{"success", githost.CheckPassed}, {"neutral", githost.CheckPassed}, {"skipped", githost.CheckPassed}, {"failure", githost.CheckFailed},
		{"timed_out", githost.CheckTimedOut}, {"cancelled", githost.CheckCancelled}, {"stale", githost.CheckCancelled}, {"startup_failure", githost.CheckCancelled},
		{"action_required", githost.CheckHeld}, {"pending", githost.CheckPending}, {"queued", githost.CheckPending}, {"waiting", githost.CheckPending},
		{"expected", githost.CheckExpected}, {"no CI at all", ""},
	} {
		demanded := follows(c.state, false, stage.Reran{})
		if demanded == "run again once, then " {
			demanded += follows(c.state, false, stage.Reran{SHA: "5f1e7c0a9b", Checks: []string{"x"}, At: now.Add(-time.Hour)})
		}
		table += fmt.Sprintf("| %s | %s | %s | %s |\n", c.verdict, c.state, demanded, follows(c.state, true, stage.Reran{}))
	}
	body, err := os.ReadFile("../../docs/registry.md")
	require.NoError(t, err)
	require.Contains(t, string(body), table)
}
