package orchestrator_test

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// forger is a story in which somebody has altered entries of journals.
type forger struct {
	task.Records
	alter func([]task.JournalEntry) []task.JournalEntry
}

func (f forger) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	entries, err := f.Records.Journal(ctx, taskID)
	return f.alter(entries), err
}

// finish makes a task that is done, with events on its way that changed nothing, and the
// journal of it.
func finish(t *testing.T, f func(r *Rig, row task.Task, journal []task.JournalEntry)) {
	t.Helper()
	Run(t, nil, func(r *Rig) {
		item := r.Card(App, "x")
		r.SetCI("")
		r.ToDone(App, item)
		task := r.Task(item)
		for range 3 {
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: task.State.Head, Branch: task.Branch})
			r.Settle(time.Second)
		}
		r.Host.SetChecks(task.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.SetCI(githost.CheckPassed)
		r.Settle(10 * time.Minute)
		_, err := admin.HastenTask(context.Background(), r.Engine, task.ID, admin.OperatorBy(stage.ViaAPI)) // an entry that is no decision
		require.NoError(r, err)
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		journal := read(r, r.Store.Journal, task.ID)
		f(r, task, journal)
	})
}

// recordsIn counts decisions.
func recordsIn(journal []task.JournalEntry) (n int) {
	for _, e := range journal {
		if e.Kind == task.KindDecision {
			n++
		}
	}
	return n
}

func recordedIn(t *testing.T, e task.JournalEntry) task.Recorded {
	t.Helper()
	rec, err := e.Recorded()
	require.NoError(t, err)
	return rec
}

// rerecord replaces what an entry has recorded.
func rerecord(t *testing.T, e *task.JournalEntry, change func(*task.Recorded)) {
	t.Helper()
	rec := recordedIn(t, *e)
	change(&rec)
	body, err := json.Marshal(rec)
	require.NoError(t, err)
	e.Payload = body
}

// A decision whose record was altered is found and named, by its entry: others have
// the same version. What follows is decided on what was recorded, so that the
// difference stays the only one.
func TestReplayNamesADifference(t *testing.T) {
	finish(t, func(r *Rig, row task.Task, journal []task.JournalEntry) {
		nothing := slices.IndexFunc(journal, func(e task.JournalEntry) bool {
			return e.Kind == task.KindDecision && !recordedIn(r.T, e).Decision.Moved
		})
		require.Positive(r, nothing, "an event that changed nothing")
		planted := journal[nothing]
		require.Equal(r, planted.Seq, journal[nothing-1].Seq, "entries share a version")
		r.Engine.Records = forger{r.Store, func(entries []task.JournalEntry) []task.JournalEntry {
			rerecord(r.T, &entries[nothing], func(rec *task.Recorded) { rec.Decision.Notes = []string{"Forged."} })
			return entries
		}}
		again, err := admin.Replay(context.Background(), r.Engine, row.ID)
		require.NoError(r, err)
		require.Len(r, again.Differ, 1)
		require.Contains(r, again.First(), "ci at 2000-01-01T00:")
		for _, want := range []string{"recorded: stays at development: Forged.", `notes.0: "Forged." was recorded, `, " is decided now"} {
			require.Contains(r, again.First(), want)
		}
		d, found := again.At(planted.ID)
		require.True(r, found)
		require.Equal(r, stage.OnCI, d.Event.On)
		_, found = again.At(journal[nothing-1].ID)
		require.False(r, found)
	})
}

// A state that was altered differs where it was recorded and where it was gone on
// from, and nowhere else.
func TestReplayGoesOnFromWhatWasRecorded(t *testing.T) {
	finish(t, func(r *Rig, row task.Task, journal []task.JournalEntry) {
		first := slices.IndexFunc(journal, func(e task.JournalEntry) bool {
			return e.Kind == task.KindDecision && recordedIn(r.T, e).Decision.State.Stage == stage.Review
		})
		require.Positive(r, first)
		r.Engine.Records = forger{r.Store, func(entries []task.JournalEntry) []task.JournalEntry {
			rerecord(r.T, &entries[first], func(rec *task.Recorded) { rec.Decision.State.Retries = 2 })
			return entries
		}}
		again, err := admin.Replay(context.Background(), r.Engine, row.ID)
		require.NoError(r, err)
		var ids []int64
		for _, d := range again.Differ {
			ids = append(ids, d.EntryID)
		}
		require.Equal(r, []int64{journal[first].ID, journal[first+1].ID}, ids)
		require.Equal(r, []string{"state.retries: 2 was recorded, nothing is decided now"}, again.Differ[0].What)
	})
}

// Entries of other kinds are no decisions; one that says that it is, and cannot be
// read, is named, and nothing behind it is trusted.
func TestReplayOfDamagedEntries(t *testing.T) {
	finish(t, func(r *Rig, row task.Task, journal []task.JournalEntry) {
		decisions, before := recordsIn(journal), 0
		require.Less(r, decisions, len(journal))
		require.Equal(r, decisions, r.Replays())
		r.Engine.Records = forger{r.Store, func(entries []task.JournalEntry) []task.JournalEntry {
			damaged := slices.IndexFunc(entries[4:], func(e task.JournalEntry) bool { return e.Kind == task.KindDecision }) + 4
			before = recordsIn(entries[:damaged])
			entries[damaged].Payload = []byte("{")
			return entries
		}}
		again, err := admin.Replay(context.Background(), r.Engine, row.ID)
		require.NoError(r, err)
		require.Equal(r, before, again.Decisions)
		require.Empty(r, again.Differ)
		require.Contains(r, again.First(), "is no record of a decision")
	})
}

// An event that changes nothing is in the journal, and leaves the task's row as it is.
func TestNothingLeavesTheRow(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		task := r.Task(item)
		before := read(r, r.Store.Journal, task.ID)
		r.HostHook(githost.Hook{Kind: githost.HookReview, Repo: AppRepo, Branch: task.Branch})
		r.Settle(time.Second)
		after := read(r, r.Store.Journal, task.ID)
		require.Len(r, after, len(before)+1)
		require.False(r, recordedIn(r.T, after[len(before)]).Decision.Moved)
		require.Equal(r, task, r.Task(item))
	})
}

// Journals from before principals and facts are read and replay as they were: an event's "by"
// was an id, no state has a starter, and what was concluded stood in the event.
func TestOldJournalsReplay(t *testing.T) {
	reconciled(t, func(r *Rig, _ *reconcile.Reconciler) {
		item := waiting(r)
		moveAs(r, "kim", item, stage.StatusApproved)
		r.Settle(time.Minute)
		row := r.Task(item)
		require.Equal(r, stage.Done, row.State.Stage)
		old := func(entries []task.JournalEntry) []task.JournalEntry {
			for i, e := range slices.DeleteFunc(entries, func(e task.JournalEntry) bool { return e.Kind != task.KindDecision }) {
				var now map[string]any
				require.NoError(r, json.Unmarshal(e.Payload, &now))
				event, decision := now["event"].(map[string]any), now["decision"].(map[string]any)
				maps.Copy(event, now["derived"].(map[string]any))
				if by, ok := event["by"].(map[string]any); ok {
					event["by"] = by["id"]
				}
				for _, field := range []string{"starter", "heard_at", "asked_after"} {
					delete(decision["state"].(map[string]any), field)
				}
				all := map[string]any{"event": event, "decision": decision}
				body, err := json.Marshal(all)
				require.NoError(r, err)
				entries[i].Payload = body
			}
			return entries
		}
		r.Engine.Records = forger{r.Store, old}
		again, err := admin.Replay(context.Background(), r.Engine, row.ID)
		require.NoError(r, err)
		require.Empty(r, again.First())
		entries, err := r.Engine.Records.Journal(context.Background(), row.ID)
		require.NoError(r, err)
		require.Equal(r, stage.Principal{ID: "kim"}, recordedIn(r.T, entries[0]).Event.By)
	})
}
