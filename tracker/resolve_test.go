package tracker_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A status is served by its own column, else along the chain of fallbacks, and by nothing else.
func TestResolve(t *testing.T) {
	t.Parallel()
	board := func(columns ...stage.Status) func(stage.Status) bool {
		return func(s stage.Status) bool {
			for _, c := range columns {
				if c == s {
					return true
				}
			}
			return false
		}
	}
	for _, c := range []struct {
		of, want stage.Status
		columns  []stage.Status
	}{
		{stage.StatusCodeReview, stage.StatusCodeReview, []stage.Status{stage.StatusInProgress, stage.StatusInReview, stage.StatusCodeReview}},
		{stage.StatusCodeReview, stage.StatusInReview, []stage.Status{stage.StatusInProgress, stage.StatusInReview}},
		{stage.StatusCodeReview, stage.StatusInProgress, []stage.Status{stage.StatusInProgress}},
		{stage.StatusCodeReview, "", []stage.Status{stage.StatusDone}},
		{stage.StatusConfirmDeploy, "", []stage.Status{stage.StatusAwaitingDeploy, stage.StatusInProgress}},
		{"lunch", "", []stage.Status{"lunch"}},
		{"", "", []stage.Status{""}},
	} {
		got, ok := tracker.Resolve(c.of, board(c.columns...))
		require.Equal(t, c.want, got, "%+v", c)
		require.Equal(t, c.want != "", ok, "%+v", c)
	}
}

func TestStatusCalled(t *testing.T) {
	t.Parallel()
	for _, info := range stage.Statuses() {
		require.Equal(t, info.Key, tracker.StatusCalled(" "+strings.ToUpper(info.Name)+" "))
	}
	for _, name := range []string{"", "Backlog", "Confirm  Deploy", "to_analyse"} {
		require.Equal(t, stage.StatusUnknown, tracker.StatusCalled(name), name)
	}
}
