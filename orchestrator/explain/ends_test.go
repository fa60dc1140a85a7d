package explain

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// What ends a hold is what ends this one: the cap that holds, and a card that nobody has begun.
func TestEndOfHold(t *testing.T) {
	const task, day = "GPX-1 has cost 5 USD: together more than the cap of 5 USD for a task", "acme/gpx has cost 9 USD: together more than the cap of 9 USD for a repository and day, until tomorrow"
	for _, c := range []struct {
		hold, reason string
		who          Who
		do           string
	}{
		{"budget", task, WhoYou, "Raise ORCH_BUDGET_TASK_USD and restart the service"},
		{"budget", day, WhoYou, "Raise ORCH_BUDGET_REPO_DAY_USD and restart the service; the cap of a day ends with the day (UTC)"},
		{"budget", task + "; " + day, WhoYou, "Raise ORCH_BUDGET_TASK_USD and ORCH_BUDGET_REPO_DAY_USD and restart the service; the cap of a day ends with the day (UTC)"},
		{"task_deps", `waits for the card "D"`, WhoYou, `Set To Analyse on the card "D", which nobody has begun, or remove the relation`},
		{"task_deps", "waits for GPX-1 (task 1)", WhoTask, "Wait for the end of GPX-1 (task 1) (done or stopped), or remove the relation"},
		{"task_deps", `waits for the card "D", GPX-1 (task 1)`, WhoYou, `Set To Analyse on the card "D", which nobody has begun, and wait for the end of GPX-1 (task 1); or remove the relations`},
	} {
		who, do := endOfHold(queue.Reason{Name: c.hold, Text: c.reason})
		require.Equal(t, []any{c.who, c.do}, []any{who, do}, c.reason)
	}
}
