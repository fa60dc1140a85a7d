// Package sqlstoretest keeps what a store held before its tables were laid out anew, and
// checks that nothing of it is lost. Fill was run with the build of before (SQLite layout 2,
// PostgreSQL step 8); its database and what that build read of it lie in the adapters' testdata.
package sqlstoretest

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/storetest"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Store is what is filled and read.
type Store = storetest.Store

// Begun is when the fixtures were filled, by their store's clock.
func Begun() time.Time { return time.Date(2031, 5, 4, 8, 0, 0, 123_000, time.UTC) }

// Fill gives an empty store one of everything.
func Fill(ctx context.Context, s Store) error {
	var errs []error
	check := func(err error) { errs = append(errs, err) }
	newTask := func(n int, st stage.Stage) task.Task {
		id, err := s.NewTaskID(ctx)
		check(err)
		return task.Task{
			ID: id, WorkItemID: fmt.Sprint("APP-", n), TrackerProjectID: "p", TrackerIssueID: fmt.Sprint("issue-", n), Repo: "acme/app", Branch: fmt.Sprint("b", n),
			Slug: "slug", Title: "títle <&>", Description: "text", State: stage.State{Stage: st, Seq: 3}, CreatedAt: Begun(), UpdatedAt: Begun(), StageEnteredAt: Begun(),
			ApprovedBy: "ann", ApprovedAt: Begun(),
		}
	}
	live, done, cancelled := newTask(1, stage.Analysis), newTask(2, stage.Done), newTask(3, stage.Cancelled)
	for _, k := range []*task.Task{&live, &done, &cancelled} {
		check(s.Commit(ctx, task.Commit{
			Task: k, Journal: []task.JournalEntry{{TaskID: k.ID, Seq: 1, At: Begun(), Kind: task.KindDecision, Payload: []byte(`{"a":1}`)}},
			Gates: []task.GateResult{{TaskID: k.ID, Stage: stage.Analysis, At: Begun(), Verdict: gates.Verdict{Check: "ci", Reason: "green", SHA: "abc"}}},
			Runs: []task.AgentRun{{
				TaskID: k.ID, JobID: 900 + k.ID, Attempt: 1, Run: 1, Stage: stage.Analysis, Role: "analyst", Usage: work.Usage{Model: "m", Input: 5, MicroUSD: 70},
				Status: "ok", Started: Begun(), Finished: Begun().Add(time.Minute), LogPath: "/log", Summary: "done",
			}},
			Jobs: []queue.Job{{Pool: "effects", Kind: "comment", Key: fmt.Sprint(k.ID, "/tracker"), TaskID: k.ID, DedupeKey: fmt.Sprint("d", k.ID), Payload: []byte("{}")}},
		}))
	}
	live.Version, live.State.Seq = 1, 4
	check(s.Commit(ctx, task.Commit{Task: &live, Journal: []task.JournalEntry{{TaskID: live.ID, Seq: 4, Kind: "note", Payload: []byte("{}")}}}))

	agent := func(j queue.Job) queue.Job {
		j.Pool, j.Kind, j.Lane, j.Role = "agents", "agent", "acme/app", "developer"
		return j
	}
	_, err := s.Put(ctx,
		agent(queue.Job{Key: "ends", TaskID: done.ID, MaxAttempts: 3}), agent(queue.Job{Key: "fails", MaxAttempts: 1}), agent(queue.Job{Key: "retries", TaskID: live.ID, MaxAttempts: 4}),
		agent(queue.Job{Key: "stays", TaskID: live.ID, Holds: []string{"task/1", "repo/é\"{"}, Priority: -2}), agent(queue.Job{Key: "retries", Priority: -9}),
		agent(queue.Job{Key: "stays", Payload: []byte{0, 255, 1}, DedupeKey: "behind"}), agent(queue.Job{Key: "repeats"}), agent(queue.Job{TaskID: 77, Key: "goes"}))
	check(err)
	claims, err := s.Take(ctx, "agents", "worker-1", 6, time.Hour)
	check(err)
	for _, c := range claims {
		switch c.Job.Key {
		case "ends":
			check(s.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{{Pool: "events", Kind: "then", Key: "then"}}}))
		case "fails":
			check(s.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeRetry, At: Begun(), Error: "used up"}))
		case "retries":
			check(s.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeRetry, At: Begun().Add(2 * time.Hour), Error: "busy"}))
		case "repeats":
			check(s.Finish(ctx, c, queue.Outcome{Kind: queue.OutcomeDead, Error: "refused"}))
			_, err := s.Repeat(ctx, c.Job.ID)
			check(err)
		case "stays":
			check(s.Extend(ctx, c, 3*time.Hour))
		}
	}
	_, err = s.Cancel(ctx, 77)
	check(err)
	check(s.Hold(ctx, queue.Hold{Subject: "repo/x", Name: "freeze", Reason: "degraded"}, queue.Hold{Subject: "repo/x", Name: "gate", Reason: "other"}, queue.Hold{Subject: "lone", Name: "gate"}))
	_, err = s.Put(ctx,
		queue.Job{Pool: "held", Holds: []string{"free", "repo/x"}, Key: "h"}, queue.Job{Pool: "held", Holds: []string{"repo/x"}}, queue.Job{Pool: "held", Holds: []string{"lone", "repo/x"}},
		queue.Job{Pool: "held", AvailableAt: Begun().Add(time.Hour), Holds: []string{"lone"}}, queue.Job{Pool: "later", AvailableAt: Begun().Add(30 * time.Minute), Key: "l"}, queue.Job{Pool: "later", Key: "l"},
		queue.Job{Pool: "held", Key: "h"}, queue.Job{Pool: "held", Kind: "free"})
	check(err)
	_, err = s.Take(ctx, "held", "worker-2", 1, time.Minute) // sets the held ones aside
	check(err)
	check(s.Hold(ctx, queue.Hold{Subject: "late", Name: "gate"}))
	for i := range 2 {
		_, err := s.Receive(ctx, task.Delivery{Source: "plane", ID: fmt.Sprint(i), BodyHash: fmt.Sprint("h", i), Event: "e", ReceivedAt: Begun(), Outcome: "queued"},
			queue.Job{Pool: "events", Kind: "webhook", Holds: []string{"late"}})
		check(err)
	}
	check(s.SetDependencies(ctx, live.ID, "db", []int64{done.ID, cancelled.ID}))
	check(s.Reserve(ctx, task.Reservation{TaskID: live.ID, JobID: claims[0].Job.ID, Attempt: 1, Repo: "acme/app", MicroUSD: 500, At: Begun()}))
	return errors.Join(errs...)
}

// Seen is all that can be read of a store, as JSON.
func Seen(ctx context.Context, s Store) ([]byte, error) {
	seen, errs := map[string]any{}, []error(nil)
	note := func(name string, v any, err error) { seen[name], errs = v, append(errs, err) }
	jobs, err := s.Jobs(ctx, queue.Filter{})
	note("jobs", jobs, err)
	failed, err := s.Jobs(ctx, queue.Filter{Failed: true})
	note("failed", failed, err)
	waits, err := s.Waiting(ctx, queue.Filter{})
	note("waiting", waits, err)
	holds, err := s.Holds(ctx)
	note("holds", holds, err)
	depth, err := s.Depth(ctx)
	note("depth", depth, err)
	tasks, err := s.Tasks(ctx, task.Filter{})
	note("tasks", tasks, err)
	alive, err := s.Tasks(ctx, task.Filter{Live: true})
	note("live", alive, err)
	journal, err := s.JournalSince(ctx, 0, 1000)
	note("journal", journal, err)
	for _, k := range tasks {
		verdicts, err := s.GateResults(ctx, k.ID)
		note(fmt.Sprint("gates of ", k.ID), verdicts, err)
	}
	runs, err := s.AgentRuns(ctx, 0)
	note("runs", runs, err)
	deps, err := s.Dependencies(ctx)
	note("dependencies", deps, err)
	reserved, err := s.Reservations(ctx, "")
	note("reservations", reserved, err)
	last, err := s.LastDelivery(ctx, "plane")
	note("delivery", last, err)
	if err := errors.Join(errs...); err != nil {
		return nil, err
	}
	return json.MarshalIndent(seen, "", " ")
}

// Check reads a store that was carried over, compares it with what was read before, and
// takes it on from there. The store's clock stands at now.
func Check(t *testing.T, s Store, before []byte, clock func(time.Duration)) {
	t.Helper()
	ctx := t.Context()
	after, err := Seen(ctx, s)
	require.NoError(t, err)
	require.JSONEq(t, string(before), string(after))

	take := func(pool string) (claims []queue.Claim) {
		claims, err := s.Take(ctx, pool, "w", 99, 24*time.Hour)
		require.NoError(t, err)
		return claims
	}
	kinds := func(claims []queue.Claim) (out []string) {
		for _, c := range claims {
			out = append(out, c.Job.Kind+"/"+c.Job.Key)
		}
		return out
	}
	jobs, err := s.Jobs(ctx, queue.Filter{Key: "stays", Open: true})
	require.NoError(t, err)
	require.Equal(t, []queue.Status{queue.Running, queue.Queued}, []queue.Status{jobs[0].Status, jobs[1].Status})
	for range 2 { // a delivery that was acknowledged is known
		known, err := s.Receive(ctx, task.Delivery{Source: "plane", ID: "1", BodyHash: "other", ReceivedAt: Begun()}, queue.Job{Pool: "events"})
		require.NoError(t, err)
		require.True(t, known)
	}
	ids, err := s.Put(ctx, queue.Job{Pool: "agents", DedupeKey: "behind"}, queue.Job{Pool: "fresh"})
	require.NoError(t, err)
	require.Equal(t, jobs[1].ID, ids[0], "an unfinished job has the dedupe key")
	all, err := s.Jobs(ctx, queue.Filter{})
	require.NoError(t, err)
	require.Equal(t, all[len(all)-1].ID, ids[1])
	var held []string
	for _, c := range take("held") {
		held = append(held, c.Job.Kind)
	}
	require.Empty(t, held)
	require.NoError(t, s.Free(ctx, queue.Hold{Subject: "repo/x", Name: "freeze"}))
	require.Empty(t, take("held"), "it is held under another name")
	require.NoError(t, s.Free(ctx, queue.Hold{Subject: "repo/x", Name: "gate"}))
	require.Len(t, take("held"), 2)
	require.Equal(t, []string{"then/then"}, kinds(take("events")))
	require.NoError(t, s.Free(ctx, queue.Hold{Subject: "late", Name: "gate"}))
	require.Len(t, take("events"), 2)
	require.Equal(t, []string{"agent/repeats"}, kinds(take("agents"))[:1])
	require.Empty(t, take("later"))
	clock(31 * time.Minute)
	require.Equal(t, []string{"/l"}, kinds(take("later")))
	// The claim that ran before goes on by its id and attempt.
	running := queue.Claim{Job: queue.Job{ID: jobs[0].ID, Attempt: jobs[0].Attempt}}
	require.NoError(t, s.Extend(ctx, running, 5*time.Hour))
	require.NoError(t, s.Finish(ctx, running, queue.Outcome{Kind: queue.OutcomeDone}))
	require.Equal(t, []string{"agent/stays"}, kinds(take("agents")))
	reaped, err := s.Reap(ctx)
	require.NoError(t, err)
	require.Len(t, reaped, 1, "the claim of a minute")
	clock(2 * time.Hour)
	require.Equal(t, []string{"agent/retries"}, kinds(take("agents")))
	live, err := s.Task(ctx, 1)
	require.NoError(t, err)
	require.ErrorIs(t, s.Commit(ctx, task.Commit{Task: &task.Task{ID: 1, Version: 1, WorkItemID: "APP-1"}}), task.ErrConflict)
	live.State.Stage, live.UpdatedAt = stage.Done, Begun().Add(time.Hour)
	require.NoError(t, s.Commit(ctx, task.Commit{Task: &live, Line: &task.Line{}}))
	id, err := s.NewTaskID(ctx)
	require.NoError(t, err)
	require.EqualValues(t, 4, id)
}
