package main

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

func gatecheck(args ...string) (int, string) {
	var out bytes.Buffer
	return run(args, &out, &out), out.String()
}

func TestJudge(t *testing.T) {
	dir := t.TempDir()
	report := func(verdict string) string {
		name := filepath.Join(t.TempDir(), "report.md")
		require.NoError(t, os.WriteFile(name, []byte("---\nverdict: "+verdict+"\nsha: 0123456789\n---\n"), 0o600))
		return "--report=tester=" + name
	}
	base := []string{"--dir", dir, "--work-item", "GPX-1", "--sha", "0123456789"}
	code, out := gatecheck(append(base, "check_tests_passed")...)
	require.Equal(t, exitUndecided, code, out)
	code, out = gatecheck(append(base, report("passed"), "check_tests_passed")...)
	require.Equal(t, exitGreen, code, out)
	code, out = gatecheck(append(base, report("failed"), "check_tests_passed")...)
	require.Equal(t, exitRed, code, out)
	code, out = gatecheck(append(base, "--approved-by", "kim", "check_analysis_approved")...)
	require.Equal(t, exitRed, code, out)
	require.Contains(t, out, "requirements.md does not exist")
	code, out = gatecheck(append(base, "check_what")...)
	require.Equal(t, exitUndecided, code, out)
	code, out = gatecheck("--title", "t", "--description", "d", "--sha", "x", "qg0")
	require.Equal(t, exitGreen, code, out)
}

func TestFixtures(t *testing.T) {
	for _, file := range []string{"qg0.json", "documents.json", "ci.json", "reports.json", "review.json"} {
		code, out := gatecheck("--fixtures", filepath.Join("../../gates/checks/testdata", file))
		require.Equal(t, exitGreen, code, out)
	}
	code, out := gatecheck("--fixtures", "../../gates/checks/testdata/command.json") // its gate is not built in
	require.Equal(t, exitRed, code, out)
	code, out = gatecheck("--fixtures", "nothing/*.json")
	require.Equal(t, exitUse, code, out)
}

func TestWrongUse(t *testing.T) {
	for _, args := range [][]string{nil, {"--no-such-flag"}, {"--dir", "/no/such/dir", "qg0"}, {"--dir", t.TempDir(), "qg0"}, {"--sha", "x", "--report", "tester", "qg0"}} {
		code, out := gatecheck(args...)
		require.Equal(t, exitUse, code, out)
	}
	code, out := gatecheck("--help")
	require.Zero(t, code)
	require.Contains(t, out, "Judge a checkout")
}
