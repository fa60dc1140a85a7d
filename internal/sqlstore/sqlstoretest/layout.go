// Package sqlstoretest checks that nothing is lost of what a store held before its tables were
// laid out anew: one of everything, written by the build of before (SQLite layout 2, PostgreSQL
// step 8). That database, and what that build read of it, lie in the adapters' testdata.
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
	"github.com/signalbox-dev/signalbox/queue"
)

// Store lists the ports that are filled and read.
type Store = storetest.Store

// Begun is when the fixtures were filled, by their store's clock.
func Begun() time.Time { return time.Date(2031, 5, 4, 8, 0, 0, 123_000, time.UTC) }

// Rows that have names of their own in JSON by now, as that build read them.
type (
	depths struct {
		Pool   string
		Status queue.Status
		Count  int64
	}
	result struct {
		ID      int64
		TaskID  int64
		Stage   stage.Stage
		At      time.Time
		Verdict gates.Verdict
	}
)

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
	counts := make([]depths, len(depth))
	for i, d := range depth {
		counts[i] = depths(d)
	}
	note("depth", counts, err)
	tasks, err := s.Tasks(ctx, task.Filter{})
	note("tasks", tasks, err)
	alive, err := s.Tasks(ctx, task.Filter{Live: true})
	note("live", alive, err)
	journal, err := s.JournalSince(ctx, 0, 1000)
	note("journal", journal, err)
	for _, k := range tasks {
		verdicts, err := s.GateResults(ctx, k.ID)
		results := make([]result, len(verdicts))
		for i, v := range verdicts {
			results[i] = result(v)
		}
		note(fmt.Sprint("gates of ", k.ID), results, err)
	}
	runs, err := s.AgentRuns(ctx)
	note("runs", runs, err)
	deps, err := s.Dependencies(ctx, 0)
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
		again := task.Delivery{Source: "plane", ID: "1", BodyHash: "other", ReceivedAt: Begun()}
		known, err := s.Receive(ctx, again, queue.Job{Pool: "events"})
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
