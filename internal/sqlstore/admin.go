package sqlstore

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

const (
	// openOfTask reads the unfinished jobs of a task, except one.
	openOfTask = "select " + jobColumns + " from ~jobs where task_id = $1 and id <> $2 and " + isOpen +
		" and ($3 = 0::bigint or pool = any($4)) order by id"

	// overdueJobs reads the claims whose time to live has passed, in the order of their index.
	overdueJobs = "select " + jobColumns + " from ~jobs where status = 'running' and lease_until <= $1 order by lease_until"

	// failedJob reads a job that has failed.
	failedJob = "select " + jobColumns + " from ~jobs where id = $1 and status = 'failed'"

	// repeatedJob writes that a failed job was put again.
	repeatedJob = "update ~jobs set status = 'cancelled', error = $2 where id = $1"

	// hastenJobs makes jobs due that wait since an attempt failed: they are the first of their keys.
	hastenJobs = `update ~jobs set place = 'ready', available_at = $1 where place = 'delayed' and available_at > $1 and error <> ''
		and ($2 = ''::text or pool = $2) and ($3 = 0::bigint or task_id = $3) returning pool`

	// holdSubject holds a subject under a name.
	holdSubject = `insert into ~holds (subject, name, reason, since) values ($1, $2, $3, $4)
		on conflict (subject, name) do update set reason = excluded.reason`

	// freeSubject ends one hold.
	freeSubject = "delete from ~holds where subject = $1 and name = $2"

	// openPools are the pools that may have become claimable.
	openPools = "select pool from ~depth where n > 0"

	// freeJobs lets the jobs that a subject has kept back into the ready queue, unless it is held still.
	freeJobs = `update ~jobs set place = 'ready' where place = $1 and ` + isHeld +
		` and not exists (select 1 from ~holds where subject = $2)`
)

func (s *Store) Cancel(ctx context.Context, taskID int64, pools ...string) (jobs []queue.Job, err error) {
	err = s.Alone(ctx, func(t *Tx) error { jobs, err = t.cancel(taskID, 0, pools, true); return err })
	return jobs, err
}

// cancel cancels unfinished jobs of a task, except one; running ones only if running is set.
func (t *Tx) cancel(taskID, except int64, pools []string, running bool) (out []queue.Job, err error) {
	jobs, err := ask(t, scanJob, openOfTask, taskID, except, int64(len(pools)), append([]string{}, pools...))
	if err != nil {
		return nil, err
	}
	for _, j := range jobs {
		if j.Status == queue.Running && !running {
			continue
		}
		j.Status, j.FinishedAt, j.Worker = queue.Cancelled, t.Now, ""
		j.HeartbeatAt, j.LeaseUntil = time.Time{}, time.Time{}
		out = append(out, j)
	}
	return out, t.endAll(out)
}

func (s *Store) Reap(ctx context.Context) (out []queue.Job, err error) {
	err = s.Alone(ctx, func(t *Tx) error {
		jobs, err := ask(t, scanJob, overdueJobs, t.Now)
		if err != nil {
			return err
		}
		slices.SortFunc(jobs, func(a, b queue.Job) int { return cmp.Compare(a.ID, b.ID) })
		out = nil
		for _, j := range jobs {
			out = append(out, queue.ApplyOutcome(j, queue.Outcome{Kind: queue.OutcomeRetry, At: t.Now, Error: queue.LostHeartbeat}, t.Now))
		}
		return t.endAll(out)
	})
	return out, err
}

func (s *Store) Hasten(ctx context.Context, pool string, taskID int64) (n int, err error) {
	err = s.Alone(ctx, func(t *Tx) error {
		pools, err := ask(t, scanOne[string], hastenJobs, t.Now, pool, taskID)
		for _, p := range pools {
			t.wake[p] = true
		}
		n = len(pools)
		return err
	})
	return n, err
}

func (s *Store) Repeat(ctx context.Context, id int64) (next int64, err error) {
	err = s.Alone(ctx, func(t *Tx) error {
		jobs, err := ask(t, scanJob, failedJob, id)
		if err != nil {
			return err
		}
		if len(jobs) == 0 {
			return queue.ErrNotFailed
		}
		ids, err := t.Put([]queue.Job{queue.Anew(jobs[0])})
		if err != nil {
			return err
		}
		next = ids[0]
		t.Queue(nil, repeatedJob, id, queue.Repeated(jobs[0], next))
		return nil
	})
	return next, err
}

func (s *Store) Hold(ctx context.Context, holds ...queue.Hold) error {
	return s.Alone(ctx, func(t *Tx) error { t.hold(holds); return nil })
}

// hold holds subjects. Their jobs stay in the ready queue: the claim that reads one sets it aside.
func (t *Tx) hold(holds []queue.Hold) {
	for _, h := range holds {
		t.Queue(nil, holdSubject, h.Subject, h.Name, h.Reason, t.Now)
	}
}

func (s *Store) Free(ctx context.Context, holds ...queue.Hold) error {
	return s.Alone(ctx, func(t *Tx) error { t.free(holds); return nil })
}

func (t *Tx) free(holds []queue.Hold) {
	for _, h := range holds {
		t.Queue(nil, freeSubject, h.Subject, h.Name)
		t.Queue(nil, freeJobs, heldBy+h.Subject, h.Subject)
	}
	if len(holds) > 0 { // a job that no claim has set aside yet is not found by what holds it
		t.Queue(t.waking, openPools)
	}
}
