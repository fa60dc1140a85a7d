package storetest

import (
	"fmt"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// costs checks the sums over agent runs.
func costs(k *kit) {
	begin := k.clock.Now().UTC().Truncate(24 * time.Hour).Add(24 * time.Hour)
	job := int64(0)
	run := func(row task.Task, after time.Duration, s stage.Stage, role stage.Role, agent, model string) task.AgentRun {
		job++
		return task.AgentRun{
			TaskID: row.ID, JobID: job, Attempt: 1, Stage: s, Role: role, Agent: agent,
			Status: "ok", Started: begin.Add(after - time.Minute), Finished: begin.Add(after),
			Usage: work.Usage{Model: model, Input: 1, Output: 20, CacheRead: 300, CacheCreate: 4000, MicroUSD: 50_000},
		}
	}
	a, b := k.newTask(1), k.newTask(2)
	b.Repo = "acme/other"
	k.commit(task.Commit{Task: &a, Runs: []task.AgentRun{
		run(a, -time.Microsecond, stage.Testing, stage.Tester, "", "m"),
		run(a, 0, stage.Testing, stage.Tester, "", "m"),
		run(a, time.Hour, stage.Testing, stage.Tester, "", "m"),
		run(a, time.Hour, stage.Testing, stage.Tester, "", "n"),
		run(a, time.Hour, stage.Review, stage.Tester, "", "m"),
		run(a, 0, stage.Review, stage.Reviewer, "codex", "m"),
		run(a, 0, stage.Review, stage.Reviewer, "claude", "m"),
		run(a, 0, stage.Review, stage.Developer, "codex", "m"),
	}})
	k.commit(task.Commit{Task: &b, Runs: []task.AgentRun{run(b, 25*time.Hour, stage.Testing, stage.Tester, "", "m")}})
	sum := func(n int64) (c task.Cost) {
		for range n {
			c.Add(task.CostOf(run(a, 0, "", "", "", "m")))
		}
		return c
	}
	for want, of := range map[int64][]int64{9: {a.ID, b.ID, 99}, 8: {a.ID}, 0: {99}} {
		got, err := k.s.AgentRuns(k.Context(), of...)
		require.NoError(k, err)
		require.Equal(k, sum(want), task.CostOf(got...))
		require.Equal(k, time.Duration(want)*time.Minute, sum(want).Worked)
	}

	days, err := k.s.DayCosts(k.Context(), begin)
	require.NoError(k, err)
	day := func(s stage.Stage, role stage.Role, agent, model string, n int64) task.DayCost {
		return task.DayCost{Day: begin, Repo: a.Repo, Stage: s, Role: role, Agent: agent, Model: model, Cost: sum(n)}
	}
	last := day(stage.Testing, stage.Tester, "", "m", 1)
	last.Day, last.Repo = begin.Add(24*time.Hour), b.Repo
	require.Equal(k, []task.DayCost{
		day(stage.Review, stage.Developer, "codex", "m", 1),
		day(stage.Review, stage.Reviewer, "claude", "m", 1),
		day(stage.Review, stage.Reviewer, "codex", "m", 1),
		day(stage.Review, stage.Tester, "", "m", 1),
		day(stage.Testing, stage.Tester, "", "m", 2),
		day(stage.Testing, stage.Tester, "", "n", 1),
		last,
	}, days)
}

// ended checks which tasks count as ended, and their order.
func ended(k *kit) {
	for n, s := range []stage.Stage{stage.Done, stage.Review, stage.Cancelled, stage.Done} {
		t := k.newTask(n)
		t.State.Stage, t.UpdatedAt = s, k.clock.Now().Add(-time.Duration(n%3)*time.Hour)
		k.commit(task.Commit{Task: &t})
	}
	list := func(since time.Time, limit int) (out []string) {
		tasks, err := k.s.Ended(k.Context(), since, limit)
		require.NoError(k, err)
		for _, t := range tasks {
			out = append(out, t.WorkItemID)
		}
		return out
	}
	require.Equal(k, []string{"APP-3", "APP-0", "APP-2"}, list(time.Time{}, 10))
	require.Equal(k, []string{"APP-3", "APP-0"}, list(time.Time{}, 2))
	require.Equal(k, []string{"APP-3", "APP-0"}, list(k.clock.Now().Add(-time.Hour), 10))
}

// past checks the journal read backwards, and the moment of an entry.
func past(k *kit) {
	a, b := k.newTask(1), k.newTask(2)
	entry := func(row task.Task, kind string, n int) {
		k.commit(task.Commit{Journal: []task.JournalEntry{
			{TaskID: row.ID, Seq: int64(n), At: k.clock.Now(), Kind: kind, Payload: []byte(fmt.Sprintf(`{"n":%d}`, n))},
		}})
	}
	k.commit(task.Commit{Task: &a})
	k.commit(task.Commit{Task: &b})
	entry(a, task.KindDecision, 1)
	entry(b, task.KindDecision, 2)
	entry(a, task.KindOperator, 3)
	entry(task.Task{}, task.KindOperator, 4)
	entry(a, task.KindDecision, 5)
	all, err := k.s.JournalBefore(k.Context(), 0, 0, 10)
	require.NoError(k, err)
	seqs := func(list []task.JournalEntry) (out []int64) {
		for _, e := range list {
			out = append(out, e.Seq)
		}
		return out
	}
	require.Equal(k, []int64{5, 4, 3, 2, 1}, seqs(all))
	some, err := k.s.JournalBefore(k.Context(), a.ID, all[0].ID, 1)
	require.NoError(k, err)
	require.Equal(k, []int64{3}, seqs(some))
	for i, want := range [][]int64{{5, 2}, {1, 2}, {1, 2}, {1, 2}, {1}} {
		at, err := k.s.DecisionsAt(k.Context(), all[i].ID)
		require.NoError(k, err)
		require.Equal(k, want, seqs(at), "after entry %d", all[i].Seq)
	}
	none, err := k.s.DecisionsAt(k.Context(), 0)
	require.NoError(k, err)
	require.Empty(k, none)
}
