package features_test

import (
	"context"
	"fmt"
	"log/slog"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/intercept"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/budget"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
)

// What it costs to claim an agent, and to let the next one go, does not grow with the tasks that wait: by all rules
// together, in a line and for places, calls of the store and rows that are read.
func TestCostOfAdmissionDoesNotGrow(t *testing.T) {
	for _, serial := range []string{"*", "acme/other"} {
		few, many := admission(t, serial, 100), admission(t, serial, 1000)
		for i := range few {
			require.LessOrEqual(t, float64(many[i]), 1.1*float64(few[i]))
		}
	}
}

// admission returns what a claim costs, and the look when a task has ended, where so many wait.
func admission(t *testing.T, repo string, tasks int64) (cost [2]int) {
	ctx, s, n := t.Context(), memstore.New(nil), 0
	counted := intercept.Store(s, func(_ context.Context, c *intercept.Call, next func() error) error {
		err := next()
		if n++; c.Out != nil && reflect.TypeOf(c.Out).Kind() == reflect.Slice {
			n += reflect.ValueOf(c.Out).Len()
		}
		return err
	})
	projects, err := task.NewProjects(task.Project{TrackerProject: "a", Repo: "acme/app", CloneURL: "u", Prefix: "APP", WIP: 2})
	require.NoError(t, err)
	of := func(f interface{ Feature() orchestrator.Feature }, err error) []admit.Rule {
		require.NoError(t, err)
		return f.Feature().Admission
	}
	gate, err := serialgate.New(serialgate.Options{Parts: orchestrator.Parts{Store: counted, Projects: &task.Projects{}}, Repos: []string{repo}})
	rules := slices.Concat(
		of(agentpause.New(orchestrator.Parts{Store: counted, Projects: projects, Agents: memwork.New(nil)})),
		of(gate, err),
		of(wip.New(wip.Options{Parts: orchestrator.Parts{Store: counted, Projects: projects}, Except: gate.Covers})),
		of(deps.New(deps.Options{Parts: orchestrator.Parts{Store: counted, Projects: &task.Projects{}}, Line: serialgate.Name})),
		of(budget.New(budget.Options{Parts: orchestrator.Parts{Store: counted, Projects: projects}, Caps: budget.Caps{Task: 9e6, RepoDay: 9e9}})),
	)
	desk := admit.NewDesk(admit.Options{
		Store: counted, Jobs: counted, Rules: rules, Begins: func(task.Task) bool { return true }, Scheduler: run.Real{}, Log: slog.New(slog.DiscardHandler),
	})
	for id := int64(1); id <= tasks; id++ {
		row := task.Task{ID: id, Repo: "acme/app", TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint("APP-", id), Branch: fmt.Sprint(id)}
		row.State = stage.State{Stage: stage.Analysis, Active: stage.Analyst, Run: 1}
		job := queue.Job{Pool: queue.PoolAgents, TaskID: id, Holds: admit.Subjects(row.Repo, id)}
		require.NoError(t, s.Commit(ctx, task.Commit{Task: &row, Jobs: []queue.Job{job}}))
	}
	for id := int64(1); id <= tasks; id++ {
		row, err := s.Task(ctx, id)
		require.NoError(t, err)
		n = 0
		why, _ := desk.Claim(ctx, admit.Start{Task: row, JobID: id, Attempt: 1})
		require.Equal(t, repo == "*" && id > 1 || id > 2, why != "", id)
		cost[0] = n
	}
	_, _, err = desk.Review(ctx) // the first one looks at all tasks
	require.NoError(t, err)
	first, err := s.Task(ctx, 1)
	require.NoError(t, err)
	first.State = stage.State{Stage: stage.Done}
	require.NoError(t, s.Commit(ctx, task.Commit{Task: &first}))
	n = 0
	desk.Mark("acme/app")
	_, _, err = desk.Review(ctx)
	require.NoError(t, err)
	cost[1] = n
	return cost
}
