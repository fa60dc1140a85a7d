package deps

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// A task waits for what is not finished, and whoever can end that is named.
func TestJudge(t *testing.T) {
	one := []task.Task{{ID: 1, WorkItemID: "GPX-1"}}
	for _, c := range []struct {
		facts    prerequisites
		text, do string
		who      admit.Who
	}{
		{prerequisites{cards: []string{`the card "D"`}}, `waits for the card "D"`, `Set To Analyse on the card "D", which nobody has begun, or remove the relation`, admit.WhoYou},
		{prerequisites{tasks: one}, "waits for GPX-1 (task 1)", "Wait for the end of GPX-1 (task 1) (done or stopped), or remove the relation", admit.WhoTask},
		{
			prerequisites{cards: []string{`the card "D"`}, tasks: one}, `waits for the card "D", GPX-1 (task 1)`,
			`Set To Analyse on the card "D", which nobody has begun, and wait for the end of GPX-1 (task 1); or remove the relations`, admit.WhoYou,
		},
	} {
		r, waits := c.facts.Judge(admit.Start{})
		require.Equal(t, []any{true, c.text, c.do, c.who}, []any{waits, r.Text, r.Do, r.Who})
	}
}
