package follow_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// A run is there while it works, and once when it has ended; what it does is counted as it
// comes, at most every two seconds.
func TestRunAtWork(t *testing.T) {
	var end chan struct{}
	Run(t, func(r *Rig) {
		end = make(chan struct{}) // of the bubble
		r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			<-end
			return GoodAgent(ctx, c, files)
		}))
	}, func(r *Rig) {
		ctx := context.Background()
		r.ToDone(App, r.Card(App, "x"))
		_, list, err := follow.Of(ctx, r.Engine, 1, 0)
		require.NoError(r, err)
		require.True(r, list[0].Live, "the newest is first")
		require.Equal(r, stage.Developer, list[0].Role)
		require.False(r, list[1].Live)
		live := list[0]

		logs := new(memwork.Logs)
		w := follow.Watch{Logs: logs}
		read := func() follow.Progress {
			r.Helper()
			p, err := w.Progress(ctx, live)
			require.NoError(r, err)
			return p
		}
		require.Zero(r, read())
		for i := range 3 {
			logs.Step(live.Log(work.StreamSteps), work.Step{Kind: work.StepTool, Tool: "Edit", Text: fmt.Sprint(i)})
			logs.Step(live.Log(work.StreamSteps), work.Step{Kind: work.StepFile, Path: fmt.Sprint(i / 2)})
		}
		logs.Step(live.Log(work.StreamSteps), work.Step{Kind: work.StepUsage, Usage: &work.Usage{MicroUSD: 410_000}})
		require.Zero(r, read(), "it was read a moment ago")
		time.Sleep(2 * time.Second)
		p := read()
		require.Equal(r, []int{3, 2}, []int{p.Tools, p.Files})
		require.EqualValues(r, 410_000, p.Usage.MicroUSD)
		require.Equal(r, work.StepFile, p.Last.Kind)

		close(end)
		r.Settle(time.Minute)
		_, list, err = follow.Of(ctx, r.Engine, 1, live.Run)
		require.NoError(r, err)
		require.Len(r, list, 1)
		require.Equal(r, work.ResultOK, list[0].Status)
		logs.Step(live.Log(work.StreamSteps), work.Step{Kind: work.StepText, Text: "done"})
		live = list[0]
		require.Equal(r, "done", read().Last.Text, "of one that has ended the last word counts")
		_, _, err = follow.Of(ctx, r.Engine, 9, 0)
		require.ErrorIs(r, err, task.ErrNotFound)
	})
}
