package postgres

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/queue"
)

// Hold implements queue.Keeper.
func (d *DB) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.alone(ctx, func(t *tx) error { t.hold(holds); return nil })
}

// hold notes what is held. The tokens of jobs that name it are parked when they
// come up.
func (t *tx) hold(holds []queue.Hold) {
	for _, h := range holds {
		t.memory.hold, t.holding = unknown, true
		t.exec(`insert into ~holds (subject, name, reason, since) values ($1, $2, $3, $4)
			on conflict (subject, name) do update set reason = excluded.reason`, h.Subject, h.Name, h.Reason, t.now)
	}
}

// Free implements queue.Keeper.
func (d *DB) Free(ctx context.Context, holds ...queue.Hold) error {
	return d.alone(ctx, func(t *tx) error { t.free(holds); return nil })
}

// free gives the jobs that are parked under a subject their place, when it was
// the last hold.
func (t *tx) free(holds []queue.Hold) {
	for _, h := range holds {
		t.exec("delete from ~holds where subject = $1 and name = $2", h.Subject, h.Name)
		t.memory.hold = unknown
		t.placeFrom(`freed as (delete from ~parked p where p.subject = $3 and not exists (select from ~holds h where h.subject = $3) returning p.key, p.job_id),`,
			"select key, job_id from freed", h.Subject)
	}
}

// Waiting implements queue.Keeper. It reads one snapshot.
func (d *DB) Waiting(ctx context.Context, f queue.Filter) (out []queue.Wait, err error) {
	err = d.read(ctx, func(snap pgx.Tx) error {
		out, err = d.waiting(ctx, snap, f)
		return err
	})
	return out, err
}

func (d *DB) waiting(ctx context.Context, snap pgx.Tx, f queue.Filter) ([]queue.Wait, error) {
	f.Open = true
	where, args := filter(f)
	jobs, err := collect(ctx, d, snap, scanJob, "select "+jobColumns+" from ~job_states j where "+where+" order by pool, priority, id limit $1", args...)
	if err != nil {
		return nil, err
	}
	firsts, err := d.firsts(ctx, snap, jobs)
	if err != nil {
		return nil, err
	}
	held, err := collect(ctx, d, snap, scanHold, heldQuery, texts(queue.Subjects(jobs))) // of all that is held, jobs name little
	if err != nil {
		return nil, err
	}
	bySubject := map[string][]queue.Hold{}
	for _, h := range held {
		bySubject[h.Subject] = append(bySubject[h.Subject], h)
	}
	out, now := make([]queue.Wait, 0, len(jobs)), d.now()
	for _, j := range jobs {
		out = append(out, queue.Wait{Job: j, Reasons: reasons(j, firsts, bySubject, now)})
	}
	return out, nil
}

// firsts reads the first unfinished job of every key.
func (d *DB) firsts(ctx context.Context, snap pgx.Tx, jobs []queue.Job) (map[string]int64, error) {
	var keys []string
	for _, j := range jobs {
		if j.Key != "" {
			keys = append(keys, j.Key)
		}
	}
	list, err := collect(ctx, d, snap, scanNamed, "select key, min(job_id) from ~open_jobs where key = any($1::text[]) group by key", texts(keys))
	out := map[string]int64{}
	for _, k := range list {
		out[k.key] = k.id
	}
	return out, err
}

func reasons(j queue.Job, firsts map[string]int64, held map[string][]queue.Hold, now time.Time) (out []queue.Reason) {
	if j.Status == queue.Running {
		return []queue.Reason{queue.AtWork(j)}
	}
	if first := firsts[j.Key]; j.Key != "" && first != j.ID {
		out = append(out, queue.Behind(first))
	}
	if j.AvailableAt.After(now) {
		out = append(out, queue.Delayed(j.AvailableAt))
	}
	for _, subject := range j.Holds {
		for _, h := range held[subject] {
			out = append(out, queue.Held(h))
		}
	}
	return out
}

const (
	holdQuery = "select subject, name, reason, since from ~holds order by since, subject, name"
	heldQuery = "select subject, name, reason, since from ~holds where subject = any($1::text[]) order by since, subject, name"
)

func scanHold(row pgx.CollectableRow) (h queue.Hold, err error) {
	err = row.Scan(&h.Subject, &h.Name, &h.Reason, &h.Since)
	h.Since = h.Since.UTC()
	return h, err
}

// Holds implements queue.Lister.
func (d *DB) Holds(ctx context.Context) ([]queue.Hold, error) {
	return list(ctx, d, scanHold, holdQuery)
}

// HoldsIn implements queue.HoldFinder.
func (d *DB) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	return list(ctx, d, scanHold, "select subject, name, reason, since from ~holds where subject >= $1 and subject < $2 order by subject, name limit $3", text(from), text(before), limit)
}

// Jobs implements queue.Lister.
func (d *DB) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	where, args := filter(f)
	if f.Failed { // what has failed does not run
		return list(ctx, d, scanJob, "select "+storedColumns+" from ~jobs j join (select job_id, finished_at as ended from ~failed_jobs) f on job_id = id where "+
			where+" order by ended desc, job_id desc limit $1", args...)
	}
	return list(ctx, d, scanJob, "select "+jobColumns+" from ~job_states j where "+where+" order by id limit $1", args...)
}

// isOpen looks a job up among the unfinished ones, whose key begins with its key.
const isOpen = "(select true from ~open_jobs o where o.key = j.key and o.job_id = j.id)"

// filter is a condition on jobs j whose $1 is the limit.
func filter(f queue.Filter) (where string, args []any) {
	if f.Limit <= 0 {
		f.Limit = 1000
	}
	conds, args := []string{"true"}, []any{f.Limit}
	switch {
	case f.Key != "":
		args = append(args, text(f.Key))
		conds = append(conds, fmt.Sprintf("key = $%d", len(args)))
		if f.Open {
			conds = append(conds, fmt.Sprintf("id in (select job_id from ~open_jobs where key = $%d)", len(args)))
		}
	case f.Open && (f.TaskID != 0 || f.ID != 0): // these are few
		conds = append(conds, isOpen)
	case f.Open:
		conds = append(conds, "id in (select job_id from ~open_jobs)")
	}
	if f.ID != 0 {
		args = append(args, f.ID)
		conds = append(conds, fmt.Sprintf("id = $%d", len(args)))
	}
	if f.Pool != "" {
		args = append(args, f.Pool)
		conds = append(conds, fmt.Sprintf("pool = $%d", len(args)))
	}
	if f.TaskID != 0 {
		args = append(args, f.TaskID)
		conds = append(conds, fmt.Sprintf("task_id = $%d", len(args)))
	}
	return strings.Join(conds, " and "), args
}

// Depth implements queue.Lister.
func (d *DB) Depth(ctx context.Context) ([]queue.Depth, error) {
	return list(ctx, d, pgx.RowToStructByPos[queue.Depth], `with r as materialized (select pool, count(*) as n from ~running group by pool)
		select pool, status, n from (
			select d.pool, 'queued' as status, d.n - coalesce(r.n, 0) as n from ~depth d left join r on r.pool = d.pool
			union all select pool, 'running', n from r) q where n > 0 order by pool, status`)
}

// Wake implements queue.Lister.
func (d *DB) Wake(pool string) <-chan struct{} { return d.wakers.channel(text(pool)) }
