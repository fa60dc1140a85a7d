package memstore

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// DayCosts implements task.History.
func (s *Store) DayCosts(_ context.Context, since time.Time) ([]task.DayCost, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	sums := task.DayCosts{}
	for _, r := range s.runs {
		if r.Finished.Before(since) {
			continue
		}
		repo := ""
		if i := s.index(r.TaskID); i >= 0 {
			repo = s.tasks[i].Repo
		}
		sums.Add(repo, r)
	}
	return sums.List(), nil
}

// Ended implements task.History.
func (s *Store) Ended(_ context.Context, since time.Time, limit int) ([]task.Task, error) {
	out, _ := pick(s, &s.tasks, func(t task.Task) bool { return t.State.Stage.Terminal() && !t.UpdatedAt.Before(since) })
	slices.SortFunc(out, func(a, b task.Task) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.ID, a.ID))
	})
	return out[:min(len(out), limit)], nil
}

// JournalBefore implements task.History.
func (s *Store) JournalBefore(_ context.Context, taskID, before int64, limit int) ([]task.JournalEntry, error) {
	out, _ := pick(s, &s.journal, func(e task.JournalEntry) bool {
		return (before == 0 || e.ID < before) && (taskID == 0 || e.TaskID == taskID)
	})
	slices.Reverse(out)
	return out[:min(len(out), limit)], nil
}

// DecisionsAt implements task.History.
func (s *Store) DecisionsAt(_ context.Context, id int64) ([]task.JournalEntry, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	newest := map[int64]task.JournalEntry{}
	for _, e := range s.journal {
		if e.ID <= id && e.Kind == task.KindDecision {
			newest[e.TaskID] = e
		}
	}
	byTask := func(a, b task.JournalEntry) int { return cmp.Compare(a.TaskID, b.TaskID) }
	return slices.SortedFunc(maps.Values(newest), byTask), nil
}
