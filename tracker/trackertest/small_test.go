package trackertest_test

import (
	"os"
	"os/exec"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/trackertest"
)

// small is a tracker with what is required, and nothing besides.
type small struct {
	tracker.Tracker
	tracker.Accounts
	tracker.Board
}

// A tracker without log, people, editor, relations and webhooks passes; each is skipped by its name.
func TestSmallTracker(t *testing.T) {
	trackertest.Run(t, func(t *testing.T) trackertest.Fixture {
		f := open(t)
		f.Tracker = small{f.Tracker, f.Tracker, f.Tracker}
		if os.Getenv("SIGNALBOX_NO_FAIL") != "" {
			f.Fail = nil
		}
		return f
	})
}

// What is missing is said in words.
func TestSmallTrackerSays(t *testing.T) {
	for set, want := range map[string][]string{
		"":  {"the tracker is no tracker.Log", "the tracker is no tracker.People", "the tracker is no tracker.Editor", "the tracker has no relations", "the tracker sends no webhooks", "PASS"},
		"1": {"Fixture.Fail is nil: the suite needs a way to have one call of the tracker fail", "FAIL"},
	} {
		cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.run=^TestSmallTracker$")
		cmd.Env = append(os.Environ(), "SIGNALBOX_NO_FAIL="+set)
		out, err := cmd.CombinedOutput()
		require.Equal(t, set != "", err != nil, "%s", out)
		for _, part := range want {
			require.Contains(t, string(out), part)
		}
		require.NotContains(t, string(out), "SIGSEGV")
	}
}
