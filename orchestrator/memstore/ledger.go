package memstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Reserve implements task.CostStore.
func (s *Store) Reserve(_ context.Context, r task.Reservation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.unreserve(r.JobID, r.Attempt)
	s.reserved = append(s.reserved, r)
	slices.SortFunc(s.reserved, func(a, b task.Reservation) int {
		return cmp.Or(cmp.Compare(a.JobID, b.JobID), cmp.Compare(a.Attempt, b.Attempt))
	})
	return nil
}

// unreserve removes the reservation of an attempt, if there is one.
func (s *Store) unreserve(jobID int64, attempt int) {
	s.reserved = slices.DeleteFunc(s.reserved, func(r task.Reservation) bool { return r.JobID == jobID && r.Attempt == attempt })
}

// Reservations implements task.CostStore.
func (s *Store) Reservations(_ context.Context, repo string) ([]task.Reservation, error) {
	return pick(s, &s.reserved, func(r task.Reservation) bool { return repo == "" || r.Repo == repo })
}

// Forget implements task.CostStore.
func (s *Store) Forget(_ context.Context, rs ...task.Reservation) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, r := range rs {
		s.unreserve(r.JobID, r.Attempt)
	}
	return nil
}

// RunsSince implements task.CostStore.
func (s *Store) RunsSince(_ context.Context, repo string, since time.Time) ([]task.AgentRun, error) {
	s.mu.Lock()
	of := map[int64]bool{}
	for _, t := range s.tasks {
		of[t.ID] = t.Repo == repo
	}
	s.mu.Unlock()
	return pick(s, &s.runs, func(r task.AgentRun) bool { return of[r.TaskID] && !r.Finished.Before(since) })
}
