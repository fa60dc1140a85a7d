package sqlite

import (
	"context"

	"github.com/signalbox-dev/signalbox/queue"
)

// Hold implements queue.Keeper.
func (d *DB) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.write(ctx, func(t *tx) error { return t.hold(holds) })
}

// hold holds subjects. The tokens of their jobs stay: whoever takes them looks.
func (t *tx) hold(holds []queue.Hold) error {
	for _, h := range holds {
		t.wrote = true
		subject := text(h.Subject)
		err := t.exec(`insert into holds (subject, name, reason, since) values (?, ?, ?, ?)
			on conflict (subject, name) do update set reason = excluded.reason`, subject, text(h.Name), h.Reason, micros(t.now))
		if err != nil {
			return err
		}
		t.mem.hold(subject)
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
		t.wrote = true
		subject := text(h.Subject)
		if err := t.exec("delete from holds where subject = ? and name = ?", subject, text(h.Name)); err != nil {
			return err
		}
		var one int
		held, err := t.one([]any{&one}, "select 1 from holds where subject = ? limit 1", subject)
		if err != nil {
			return err
		}
		if held {
			continue
		}
		t.mem.free(subject)
		if err := t.unpark(subject); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) unpark(subject string) error {
	pools, err := t.texts("select distinct j.pool from parked p join jobs j on j.id = p.job_id where p.subject = ?", subject)
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

// hold remembers that a subject is held.
func (m *memory) hold(subject string) {
	if m.holds == holdsNone {
		m.holds = holdsFew
	}
	m.held[subject] = true
}

// free remembers that a subject is held no more.
func (m *memory) free(subject string) {
	delete(m.held, subject)
	if m.holds == holdsFew && len(m.held) == 0 {
		m.holds = holdsNone
	}
}

// holdsListed is up to how many subjects that are held are remembered together.
const holdsListed = 1000

// learnHolds asks what is not known yet of the subjects of some jobs.
func (t *tx) learnHolds(jobs []*queue.Job) error {
	var ask []string
	if t.mem.holds == holdsMany && len(t.mem.held) > heldMax {
		clear(t.mem.held) // before, so that all that these jobs name is asked for
	}
	for _, j := range jobs {
		if len(j.Holds) == 0 {
			continue
		}
		if t.mem.holds == holdsUnknown {
			if err := t.listHolds(); err != nil {
				return err
			}
		}
		if t.mem.holds != holdsMany {
			return nil
		}
		for _, subject := range j.Holds {
			if _, known := t.mem.held[subject]; !known {
				ask = append(ask, subject)
			}
		}
	}
	if len(ask) == 0 {
		return nil
	}
	return t.askHolds(ask)
}

// listHolds learns what is held, if it is not much.
func (t *tx) listHolds() error {
	subjects, err := t.texts("select distinct subject from holds limit +?", holdsListed+1)
	if err != nil {
		return err
	}
	clear(t.mem.held)
	switch {
	case len(subjects) == 0:
		t.mem.holds = holdsNone
	case len(subjects) > holdsListed:
		t.mem.holds = holdsMany
	default:
		t.mem.holds = holdsFew
	}
	for _, subject := range subjects {
		t.mem.held[subject] = true
	}
	return nil
}

// askHolds learns whether subjects are held.
func (t *tx) askHolds(subjects []string) error {
	held, err := t.texts("select value from json_each(?) where exists (select 1 from holds where subject = value)", encode(subjects))
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
	if t.mem.holds == holdsNone {
		return "", false
	}
	for _, s := range j.Holds {
		if t.mem.held[s] {
			return s, true
		}
	}
	return "", false
}
