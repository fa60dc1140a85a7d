package orchestratortest

import (
	"context"
	"slices"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Task is the newest task of a card. A card without one fails the test.
func (r *Rig) Task(item string) task.Task {
	r.Helper()
	list, err := r.Store.Tasks(context.Background(), task.Filter{TrackerIssueID: item})
	require.NoError(r, err)
	require.NotEmpty(r, list, "the card has no task")
	return list[len(list)-1]
}

// Stands requires that the newest task of a card is at a stage.
func (r *Rig) Stands(item string, at stage.Stage) {
	r.Helper()
	state := r.Task(item).State
	require.Equal(r, at, state.Stage, state.HoldReason)
}

// Waits requires that the newest task of a card is held in a way.
func (r *Rig) Waits(item string, on stage.Hold) {
	r.Helper()
	require.Equal(r, on, r.Task(item).State.Hold)
}

// Cancelled is the cancelled task of a card. A card without one fails the test.
func (r *Rig) Cancelled(item string) task.Task {
	r.Helper()
	list, err := r.Store.Tasks(context.Background(), task.Filter{Stage: stage.Cancelled})
	require.NoError(r, err)
	for _, t := range list {
		if original, ok := task.ParseTombstone(t.TrackerIssueID); ok && original == item {
			return t
		}
	}
	require.Fail(r, "the card has no cancelled task")
	return task.Task{}
}

// Explain returns the engine's explanation of a card's newest task, which must be the same
// as the one among other tasks.
func (r *Rig) Explain(item string) explain.Explanation {
	r.Helper()
	t := r.Task(item)
	x, err := explain.One(context.Background(), r.Engine, t.ID)
	require.NoError(r, err)
	all, err := explain.All(context.Background(), r.Engine, []task.Task{t})
	require.NoError(r, err)
	require.Equal(r, x.Blockers, all[0].Blockers)
	require.Equal(r, x.Owed, all[0].Owed)
	return x
}

// Status is the column of a card.
func (r *Rig) Status(project, item string) stage.Status {
	r.Helper()
	i, err := r.Board.Item(context.Background(), project, item)
	require.NoError(r, err)
	return i.Status
}

// Comments are the texts of a card's comments, oldest first.
func (r *Rig) Comments(project, item string) []string {
	r.Helper()
	list, err := r.Board.Comments(context.Background(), project, item)
	require.NoError(r, err)
	var out []string
	for _, c := range list {
		out = append(out, c.Body)
	}
	return out
}

// Commented reports whether a card has a comment with this text in it.
func (r *Rig) Commented(project, item, part string) bool {
	r.Helper()
	return slices.ContainsFunc(r.Comments(project, item), func(s string) bool { return strings.Contains(s, part) })
}

// Notices are the messages in the chat, oldest first, one a line: "title | text".
func (r *Rig) Notices() string {
	var b strings.Builder
	for _, m := range r.Chat.Messages() {
		b.WriteString(m.Shown.Title + " | " + strings.Join(m.Shown.Lines, " ") + "\n")
	}
	return b.String()
}

// Silent are the messages in the chat that make no sound: the live ones of the cards.
func (r *Rig) Silent() []memmessenger.Sent {
	return slices.DeleteFunc(r.Chat.Messages(), func(m memmessenger.Sent) bool { return !m.Shown.Silent })
}

// Roles are the roles of the agents that were run, in order.
func (r *Rig) Roles() []stage.Role {
	var out []stage.Role
	for _, c := range r.Place.Runs() {
		out = append(out, c.Role)
	}
	return out
}

// Ran counts how often agents of a role were run.
func (r *Rig) Ran(role stage.Role) int {
	n := 0
	for _, ran := range r.Roles() {
		if ran == role {
			n++
		}
	}
	return n
}

// Open are the jobs that are not finished.
func (r *Rig) Open() []queue.Job {
	r.Helper()
	jobs, err := r.Store.Jobs(context.Background(), queue.Filter{Open: true})
	require.NoError(r, err)
	return jobs
}

// Replays decides every task's journal again, which must give the same decisions, and
// returns how many those were.
func (r *Rig) Replays() (decisions int) {
	r.Helper()
	list, err := r.Store.Tasks(context.Background(), task.Filter{Limit: 1000})
	require.NoError(r, err)
	for _, t := range list {
		again, err := admin.Replay(context.Background(), r.Engine, t.ID)
		require.NoError(r, err)
		require.Empty(r, again.First(), "task %d, %s", t.ID, t.WorkItemID)
		decisions += again.Decisions
	}
	return decisions
}
