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

// A report divides each life into what people and the machine took, counts what was sent back, names who approved,
// and leaves out what ended before and what may not be read.
func TestReport(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		report := func(since time.Duration, reads string) explain.Report {
			c := explain.Choice{Since: time.Now().Add(-since), Reads: func(repo string) bool { return repo == reads }}
			out, err := explain.Remember(r.Store).Report(context.Background(), r.Engine, c)
			require.NoError(r, err)
			return out
		}
		first := r.Begin("first")
		r.Settle(time.Hour) // the requirements wait
		r.Set(first, stage.StatusRejected)
		r.Settle(2 * time.Hour)
		r.Set(first, stage.StatusApproved)
		r.Settle(10 * time.Minute)
		r.Stands(first, stage.Done)
		r.Settle(24 * time.Hour)
		second := r.Begin("second")
		r.Settle(time.Minute)
		r.ToDone(App, second)
		r.Settle(10 * time.Minute)

		got := report(48*time.Hour, AppRepo)
		require.Len(r, got.Tasks, 2)
		last, past := got.Tasks[0], got.Tasks[1]
		require.Equal(r, []any{"second", 0, []string{"kim"}}, []any{last.Title, last.SentBack, last.Approved})
		require.Equal(r, []any{"first", 1, []string{"kim"}, r.Task(first).State.MergeSHA}, []any{past.Title, past.SentBack, past.Approved, past.MergeSHA})
		require.InDelta(r, (3 * time.Hour).Seconds(), past.People, 120)
		require.Less(r, past.Machine, int64(600))
		require.Equal(r, past.Lead, past.People+past.Machine)
		require.InDelta(r, past.Lead, past.Stages[0].Seconds, 600)
		require.Equal(r, stage.Analysis, past.Stages[0].Stage)
		require.Equal(r, []any{2, 1, 0, past.People + last.People}, []any{got.Sum.Merged, got.Sum.FirstPass, got.Sum.Others, got.Sum.People})
		require.Contains(r, got.Text(), AppRepo+"\n- "+last.Item+" second ("+last.MergeSHA[:12])
		require.Contains(r, got.Text(), ", approved by kim)")

		require.Len(r, report(12*time.Hour, AppRepo).Tasks, 1)
		require.Empty(r, report(48*time.Hour, "acme/self").Tasks)
	})
}
