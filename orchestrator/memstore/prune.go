package memstore

import (
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue/memqueue"
)

// PruneJobs implements task.Pruner.
func (s *Store) PruneJobs(_ context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	err = s.Atomically(func(q *memqueue.Tx) error {
		jobs := q.Window(after, limit)
		for _, j := range jobs {
			if j.Status.Terminal() && j.FinishedAt.Before(before) && !s.needed(j.ID, j.TaskID) {
				q.Remove(j.ID)
				removed++
			}
		}
		if len(jobs) == limit && jobs[limit-1].CreatedAt.Before(before) {
			next = jobs[limit-1].ID
		}
		return nil
	})
	return removed, next, err
}

// needed reports whether the task of a job lives, or a reservation names the job.
func (s *Store) needed(id, taskID int64) bool {
	i := s.index(taskID)
	return i >= 0 && !s.tasks[i].State.Stage.Terminal() ||
		slices.ContainsFunc(s.reserved, func(r task.Reservation) bool { return r.JobID == id })
}

// PruneDeliveries implements task.Pruner.
func (s *Store) PruneDeliveries(_ context.Context, before time.Time, limit int) (removed int, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	oldest := s.deliveries[:min(limit, len(s.deliveries))]
	young := slices.DeleteFunc(slices.Clone(oldest), func(d task.Delivery) bool { return d.ReceivedAt.Before(before) })
	removed = len(oldest) - len(young)
	s.deliveries = append(young, s.deliveries[len(oldest):]...)
	return removed, nil
}
