package orchestrator_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/intercept"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// hang is a git host that hangs in each call about a repository of the second host.
func hang(ctx context.Context, c *intercept.Call, next func() error) error {
	if !strings.Contains(fmt.Sprint(c.In), "forge/") {
		return next()
	}
	select {
	case <-ctx.Done():
	case <-time.After(20 * time.Second):
	}
	return context.DeadlineExceeded
}

// A git host that hangs holds up the repositories that are there, and none of another host's.
func TestOneHostHangs(t *testing.T) {
	const forges = 6
	Run(t, func(r *Rig) {
		for n := range forges {
			r.Projects = append(r.Projects, task.Project{TrackerProject: fmt.Sprint("f", n), Host: "forge", Repo: fmt.Sprint("forge/r", n), CloneURL: "u", Prefix: fmt.Sprint("F", n)})
			r.Board.AddProject(fmt.Sprint("f", n))
		}
		host := intercept.Host(r.Host, hang)
		r.Options.MaxConcurrency, r.Options.Places = 20, orchestrator.Places{Hosts: []string{"forge"}}
		r.Deps = func(d *orchestrator.Deps) { d.Host = host }
		r.Effects = func(d *effects.Deps) { d.Host = host }
	}, func(r *Rig) {
		items := map[string]string{}
		for n := range forges {
			p := fmt.Sprint("f", n)
			items[p] = r.Card(p, "x")
			r.Move(p, items[p], stage.StatusToAnalyse)
		}
		r.Settle(time.Minute)
		for p, item := range items {
			r.Move(p, item, stage.StatusApproved)
		}
		r.Settle(10 * time.Minute)
		require.NotNil(r, lane(r, "host events@forge").Sick, "its CI is looked at, and hangs")
		require.Nil(r, lane(r, "host events").Sick)

		item := r.Finish("x")
		r.Stands(item, stage.Done)
		for p, item := range items {
			require.Equal(r, stage.Development, r.Task(item).State.Stage, p)
		}
	})
}

// What was put for a host that the registry has no more is worked on all the same.
func TestFormerPlace(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Shutdown()
		j := queue.Job{Pool: orchestrator.LaneHost.PoolOf(task.Project{Host: "gone", Repo: "acme/app"}), Kind: orchestrator.KindEffect + string(stage.EffectPull), Payload: []byte(`{"repo":"acme/none"}`)}
		require.Contains(r, j.Pool, "@gone")
		_, err := r.Store.Put(context.Background(), j)
		require.NoError(r, err)
		r.Start()
		r.Settle(time.Minute)
		jobs := read(r, r.Store.Jobs, queue.Filter{Pool: j.Pool})
		require.Len(r, jobs, 1)
		require.Positive(r, jobs[0].Attempt, "it was claimed")
	})
}
