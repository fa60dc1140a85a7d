package sqlite

import (
	"context"
	"database/sql"

	"github.com/signalbox-dev/signalbox/queue"
)

// Hold implements queue.Keeper.
func (d *DB) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.write(ctx, func(t *tx) error { return t.hold(holds) })
}

// hold holds subjects. The tokens of their jobs stay: whoever takes them looks.
func (t *tx) hold(holds []queue.Hold) error {
	for _, h := range holds {
		subject := text(h.Subject)
		err := t.exec(`insert into holds (subject, name, reason, since) values (?, ?, ?, ?)
			on conflict (subject, name) do update set reason = excluded.reason`, subject, text(h.Name), h.Reason, micros(t.now))
		if err != nil {
			return err
		}
		t.mem.held[subject], t.mem.holding = true, 1
	}
	return nil
}

// Free implements queue.Keeper.
func (d *DB) Free(ctx context.Context, holds ...queue.Hold) error {
	return d.write(ctx, func(t *tx) error { return t.free(holds) })
}

// free gives the jobs that are parked under a subject their tokens, when it was the
// last hold. Whoever takes one looks whether another subject is held.
func (t *tx) free(holds []queue.Hold) error {
	for _, h := range holds {
		subject := text(h.Subject)
		if err := t.exec("delete from holds where subject = ? and name = ?", subject, text(h.Name)); err != nil {
			return err
		}
		var one int
		held, err := t.one([]any{&one}, "select 1 from holds where subject = ? limit 1", subject)
		if err != nil {
			return err
		}
		t.mem.held[subject], t.mem.holding = held, -1
		if held {
			continue
		}
		if err := t.unpark(subject); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) unpark(subject string) error {
	s, err := t.stmt("select distinct j.pool from parked p join jobs j on j.id = p.job_id where p.subject = ?")
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, subject)
	pools, err := collect(rows, err, func(r *sql.Rows) (pool string, err error) { return pool, r.Scan(&pool) })
	if err != nil || len(pools) == 0 {
		return err
	}
	for _, pool := range pools {
		t.wake[pool] = true
	}
	err = t.exec(`insert or ignore into ready (pool, priority, job_id)
		select j.pool, j.priority, j.id from parked p join jobs j on j.id = p.job_id where p.subject = ?`, subject)
	if err != nil {
		return err
	}
	return t.exec("delete from parked where subject = ?", subject)
}

// learnHolds asks what is not known yet of the subjects of some jobs.
func (t *tx) learnHolds(jobs []*queue.Job) error {
	var ask []string
	for _, j := range jobs {
		for _, subject := range j.Holds {
			if t.mem.holding == 0 {
				return nil
			}
			if t.mem.holding < 0 {
				if _, err := t.one([]any{&t.mem.holding}, "select exists (select 1 from holds)"); err != nil {
					return err
				}
			}
			if _, known := t.mem.held[subject]; !known {
				ask = append(ask, subject)
			}
		}
	}
	if len(ask) == 0 || t.mem.holding == 0 {
		return nil
	}
	return t.askHolds(ask)
}

func (t *tx) askHolds(subjects []string) error {
	if len(t.mem.held)+len(subjects) > heldMax {
		clear(t.mem.held)
	}
	s, err := t.stmt("select value from json_each(?) where exists (select 1 from holds where subject = value)")
	if err != nil {
		return err
	}
	rows, err := s.QueryContext(t.ctx, encode(subjects))
	held, err := collect(rows, err, func(r *sql.Rows) (subject string, err error) { return subject, r.Scan(&subject) })
	for _, subject := range subjects {
		t.mem.held[subject] = false
	}
	for _, subject := range held {
		t.mem.held[subject] = true
	}
	return err
}

// heldBy is the first subject of a job that is held. learnHolds was asked before.
func (t *tx) heldBy(j *queue.Job) (subject string, held bool) {
	if t.mem.holding == 0 {
		return "", false
	}
	for _, s := range j.Holds {
		if t.mem.held[s] {
			return s, true
		}
	}
	return "", false
}
