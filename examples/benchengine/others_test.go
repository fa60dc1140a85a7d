package benchengine

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Of the other tasks, one in so many is in a repository where lives are measured,
// and one in so many owes the board a comment that waits for its next attempt.
const (
	besideEach = 10
	owesEach   = 10
)

// fillers is how many other tasks are put at the same time: they share commits.
const fillers = 64

// fill puts n other live tasks into the store, as they would be had the engine
// brought them there: with the features on, half of them wait behind the oldest
// task of their repository, in the serial gate; the rest wait for a person's
// approval.
func (w *world) fill(ctx context.Context, n int) error {
	if n == 0 {
		return nil
	}
	oldest := map[string]task.Task{}
	first := min(n, quietRepos*2)
	for i := range first { // one after the other: the oldest of each repository has the smallest id
		t, err := w.other(ctx, i, oldest)
		if err != nil {
			return err
		}
		if _, has := oldest[t.Repo]; !has {
			oldest[t.Repo] = t
		}
	}
	var mu sync.Mutex
	var failed error
	wait := run.Start(ctx, w.log, "filler", fillers, func(k int) {
		for i := first + k; i < n && ctx.Err() == nil; i += fillers {
			if _, err := w.other(ctx, i, oldest); err != nil {
				mu.Lock()
				defer mu.Unlock()
				failed = errors.Join(failed, err)
				return
			}
		}
	})
	return errors.Join(wait(), failed)
}

// other puts the i-th of the other tasks into the store.
func (w *world) other(ctx context.Context, i int, oldest map[string]task.Task) (task.Task, error) {
	repo := quietRepo(i)
	if i%besideEach == 0 {
		repo = slotRepo(i / besideEach % ((w.inflight + 1) / 2) * 2)
	}
	p, _ := w.projects.ByRepo(repo)
	id, err := w.store.NewTaskID(ctx)
	if err != nil {
		return task.Task{}, err
	}
	now, name := time.Now().UTC(), fmt.Sprintf("%s-%d", p.Prefix, 1_000_000+i)
	t := task.Task{
		ID: id, WorkItemID: name, TrackerProjectID: repo, TrackerIssueID: fmt.Sprint("other-", i), TrackerMessageID: fmt.Sprint("m", i),
		Repo: repo, Branch: "feature/" + name, Slug: "another",
		Title:       fmt.Sprintf("Another card with a title of usual length, number %d", i),
		Description: "What is wanted, in a sentence or two, as people write it.",
		CreatedAt:   now, UpdatedAt: now, StageEnteredAt: now,
	}
	if first, has := oldest[repo]; has && w.isGated(repo) {
		return t, w.putBehind(ctx, p, t, first)
	}
	return t, w.putWaiting(ctx, p, t, i%owesEach == 2)
}

// decide is one decision of the machine, which must move the task, with its
// journal entry.
func (w *world) decide(t *task.Task, ev stage.Event) (stage.Decision, task.JournalEntry, error) {
	ev.At, ev.Verdict = t.CreatedAt, stage.Verdict{Outcome: stage.Green}
	d := w.engine.Machine().Decide(t.State, ev)
	if !d.Moved {
		return d, task.JournalEntry{}, fmt.Errorf("%s does not move a task at %q: %v", ev.On, t.State.Stage, d.Notes)
	}
	t.State = d.State
	payload, err := json.Marshal(task.Recorded{Event: ev, Decision: d})
	return d, task.JournalEntry{TaskID: t.ID, Seq: d.State.Seq, At: ev.At, Kind: task.KindDecision, Payload: payload}, err
}

// toAnalyse is a person's move of a card to To Analyse.
func toAnalyse() stage.Event {
	return stage.Event{
		On: stage.OnToAnalyse,
		By: stage.Principal{Kind: stage.KindPerson, ID: "kim", Via: stage.ViaWebhook, Proof: stage.ProofSignature},
	}
}

// put shows the card of a task on its board.
func (w *world) put(p task.Project, t task.Task, status stage.Status) {
	w.boards.board.Put(tracker.Item{
		ID: t.TrackerIssueID, ProjectID: p.TrackerProject, Sequence: t.ID, Title: t.Title, Status: status,
	})
}

// putBehind stores a task that waits behind another in the serial gate.
func (w *world) putBehind(ctx context.Context, p task.Project, t, first task.Task) error {
	moved := toAnalyse()
	moved.BranchLater = true
	d, entry, err := w.decide(&t, moved)
	if err != nil {
		return err
	}
	payload, err := json.Marshal(map[string]any{"task_id": t.ID, "launch": d.Launch})
	if err != nil {
		return err
	}
	w.put(p, t, stage.StatusAnalysis)
	return w.store.Commit(ctx, task.Commit{
		Task: &t, Journal: []task.JournalEntry{entry},
		Jobs: []queue.Job{{
			Pool: queue.PoolAgents, Kind: orchestrator.KindAgent, Key: fmt.Sprint("task/", t.ID), TaskID: t.ID,
			Lane: t.Repo, Role: string(d.Launch.Role), Holds: orchestrator.AgentSubjects(t.Repo, t.ID, d.Launch.Role),
			Payload: payload, MaxAttempts: 40, DedupeKey: fmt.Sprintf("agent/%d/%d", t.ID, d.Launch.Run),
		}},
		Hold: []queue.Hold{{
			Subject: admit.Subjects(t.Repo, t.ID)[1], Name: serialgate.Name,
			Reason: fmt.Sprintf("waits for a place: one task at a time in %s, and %s (task %d) is before it",
				t.Repo, first.WorkItemID, first.ID),
		}},
	})
}

// putWaiting stores a task that waits for a person's approval.
func (w *world) putWaiting(ctx context.Context, p task.Project, t task.Task, owes bool) error {
	begun, began, err := w.decide(&t, toAnalyse())
	if err != nil {
		return err
	}
	_, analysed, err := w.decide(&t, stage.Event{
		On: stage.OnAgentFinished, Run: begun.State.Run, SHA: fmt.Sprintf("%040d", t.ID),
		Agent: &stage.Report{Role: stage.Analyst, Model: "m", Input: 10, Output: 20},
	})
	if err != nil {
		return err
	}
	t.BRDReviewStartedAt = t.CreatedAt
	c := task.Commit{
		Task: &t, Journal: []task.JournalEntry{began, analysed},
		Runs: []task.AgentRun{{
			TaskID: t.ID, JobID: -t.ID, Attempt: 1, Run: begun.State.Run, Stage: stage.Analysis, Role: stage.Analyst,
			Started: t.CreatedAt, Finished: t.CreatedAt.Add(time.Minute),
			Status: "ok", Summary: "fine", Usage: memwork.Usage(),
		}},
	}
	if owes {
		comment := stage.Effect{
			Kind: stage.EffectComment, Author: stage.Stream, Text: "a comment that the board has not taken yet",
		}
		owed := orchestrator.EffectJob(t, p, comment, fmt.Sprintf("owed/%d", t.ID))
		owed.AvailableAt = time.Now().Add(time.Hour)
		c.Jobs = append(c.Jobs, owed)
	}
	w.put(p, t, stage.StatusInReview)
	return w.store.Commit(ctx, c)
}
