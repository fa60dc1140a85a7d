package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// simulated runs the program and returns what it prints and its exit code.
func simulated(args ...string) (out, errs string, code int) {
	var o, e bytes.Buffer
	code = run(args, &o, &e)
	return o.String(), e.String(), code
}

// The same seed prints the same, with one dash or two.
func TestSimIsDeterministic(t *testing.T) {
	first, errs, code := simulated("-seed", "7", "-trace")
	require.Zero(t, code, errs)
	require.Contains(t, first, "trace sha-256 ")
	again, _, _ := simulated("--seed", "7", "--trace")
	require.Equal(t, first, again)
}

// A world that breaks an invariant is printed as a story, and can be run from a file.
func TestSimTellsAStory(t *testing.T) {
	file := filepath.Join(t.TempDir(), "world.json")
	known, err := os.ReadFile("../testdata/known/feature-switched.txtar")
	require.NoError(t, err)
	_, w, _ := bytes.Cut(known, []byte("-- world.json --\n"))
	require.NoError(t, os.WriteFile(file, w, 0o600))
	out, errs, code := simulated("-world", file)
	require.Equal(t, 1, code)
	require.Contains(t, errs, "an invariant is broken")
	require.Contains(t, out, "BROKEN: replays")
	_, world, found := bytes.Cut([]byte(out), []byte("for -world:\n"))
	require.True(t, found)
	require.NoError(t, os.WriteFile(file, world, 0o600))
	again, _, code := simulated("-world", file, "-shrink=false")
	require.Equal(t, 1, code)
	_, story, _ := strings.Cut(out, "BROKEN: ")
	story, _, _ = strings.Cut(story, "\n")
	require.Contains(t, again, "broken: "+story, "the world in the file, and nothing of another seed's")
}

func TestSimRanges(t *testing.T) {
	out, _, code := simulated("-seeds", "0..20")
	require.Zero(t, code)
	require.Contains(t, out, "20 seeds, ")
	for _, bad := range [][]string{
		{"-seeds", "20..0"}, {"-seeds", "x"}, {"-world", "/nowhere"},
	} {
		_, errs, code := simulated(bad...)
		require.NotZero(t, code, bad)
		require.Contains(t, errs, bad[0][1:], bad)
	}
}
