package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// The journal of a real life has what a report divides into what people and the machine took, with who approved.
func TestReport(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(time.Hour) // the requirements wait
		r.Set(item, stage.StatusRejected)
		r.Settle(2 * time.Hour)
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		c := explain.Choice{Since: time.Now().Add(-48 * time.Hour), Reads: func(string) bool { return true }}
		got, err := explain.Remember(r.Store).Report(context.Background(), r.Engine, c)
		require.NoError(r, err)
		past := got.Tasks[0]
		require.Equal(r, []any{1, []string{"kim"}, r.Task(item).State.MergeSHA}, []any{past.SentBack, past.Approved, past.MergeSHA})
		require.InDelta(r, (3 * time.Hour).Seconds(), past.People, 120)
		require.Less(r, past.Machine, int64(600))
		require.InDelta(r, past.Lead, past.Stages[0].Seconds, 600)
		require.Equal(r, stage.Analysis, past.Stages[0].Stage)
	})
}
