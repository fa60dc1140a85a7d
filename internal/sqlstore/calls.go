package sqlstore

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func (s *Store) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return []int64{}, nil
	}
	r := &request{ctx: ctx, put: jobs}
	err := s.hand(r)
	return r.ids, err
}

func (s *Store) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	r := &request{ctx: ctx, take: &taking{pool, worker, n, ttl}}
	err := s.hand(r)
	return r.claims, err
}

func (s *Store) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return s.hand(&request{ctx: ctx, extend: &extending{c, ttl}})
}

func (s *Store) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return s.hand(&request{ctx: ctx, finish: &finishing{claim: c, outcome: o}})
}

func (s *Store) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	r := &request{ctx: ctx, finish: &finishing{claim: c, outcome: o}, take: &taking{pool, worker, n, ttl}}
	err := s.hand(r)
	return r.claims, err
}

func (s *Store) Commit(ctx context.Context, c task.Commit) error {
	return s.hand(&request{ctx: ctx, commit: &c})
}

func (s *Store) Receive(ctx context.Context, d task.Delivery, job queue.Job) (duplicate bool, err error) {
	d.Source, d.ID, d.BodyHash = Clean(d.Source), Clean(d.ID), Clean(d.BodyHash)
	r := &request{ctx: ctx, receive: &receiving{d, job}}
	err = s.hand(r)
	return err == nil && r.duplicate, err
}
