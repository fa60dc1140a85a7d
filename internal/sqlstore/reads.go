package sqlstore

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

const (
	// firstOfKeys finds the first unfinished job of each key.
	firstOfKeys = "select key, min(id) from ~jobs where key = any($1) and " + isOpen + " group by key"

	allHolds = "select subject, name, reason, since from ~holds order by since, subject, name"
	holdsOf  = "select subject, name, reason, since from ~holds where subject = any($1) order by since, subject, name"
	holdsIn  = "select subject, name, reason, since from ~holds where subject >= $1 and subject < $2 order by subject, name limit $3"

	// unfinished and running are small: one row for each pool, and one for each claim.
	unfinished = "select pool, n from ~depth where n > 0"
	running    = "select pool, count(*) from ~jobs where status = 'running' group by pool"
)

func (s *Store) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	order := "id"
	switch {
	case f.Failed:
		order = "finished_at desc, id desc"
	case f.Open:
		order = "+id" // or the primary key would be read, with all jobs that have ended, to save a sort of the few that have not
	}
	query, args := selection(f, order)
	return list(ctx, s, scanJob, query, args...)
}

// selection is the query for the first jobs of a filter in an order.
func selection(f queue.Filter, order string) (query string, args []any) {
	conds := []string{"true"}
	add := func(cond string, arg any) {
		args = append(args, arg)
		conds = append(conds, fmt.Sprintf(cond, len(args)))
	}
	if f.ID != 0 {
		add("id = $%d", f.ID)
	}
	if f.Pool != "" {
		add("pool = $%d", f.Pool)
	}
	if f.Key != "" {
		add("key = $%d", f.Key)
	}
	if f.TaskID != 0 {
		add("task_id = $%d", f.TaskID)
	}
	if f.Open {
		conds = append(conds, isOpen)
	}
	if f.Failed {
		conds = append(conds, "status = 'failed'")
	}
	args = append(args, int64(cmp.Or(max(f.Limit, 0), 1000)))
	query = "select " + jobColumns + " from ~jobs where " + strings.Join(conds, " and ") + " order by " + order
	return query + fmt.Sprintf(" limit $%d", len(args)), args
}

// Waiting implements queue.Inspector. It reads one snapshot.
func (s *Store) Waiting(ctx context.Context, f queue.Filter) (out []queue.Wait, err error) {
	f.Open = true
	query, args := selection(f, "pool, priority, id")
	err = s.Driver.Read(ctx, true, func(c Conn) error {
		var jobs []queue.Job
		c.Queue(into(&jobs, scanJob), query, args...)
		if err := c.Flush(); err != nil {
			return err
		}
		var keys []string
		for _, j := range jobs {
			if j.Key != "" && j.Status == queue.Queued {
				keys = append(keys, j.Key)
			}
		}
		firsts, held := map[string]int64{}, []queue.Hold(nil)
		if len(keys) > 0 {
			c.Queue(intoMap(firsts), firstOfKeys, keys)
		}
		if subjects := queue.Subjects(jobs); len(subjects) > 0 {
			c.Queue(into(&held, scanHold), holdsOf, subjects)
		}
		if err := c.Flush(); err != nil {
			return err
		}
		now, bySubject := s.Now(), map[string][]queue.Hold{}
		for _, h := range held {
			bySubject[h.Subject] = append(bySubject[h.Subject], h)
		}
		out = make([]queue.Wait, 0, len(jobs))
		for _, j := range jobs {
			out = append(out, queue.Wait{Job: j, Reasons: reasons(j, firsts, bySubject, now)})
		}
		return nil
	})
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

func scanHold(rows Rows) (h queue.Hold, err error) {
	return h, rows.Scan(&h.Subject, &h.Name, &h.Reason, &h.Since)
}

func (s *Store) Holds(ctx context.Context) ([]queue.Hold, error) {
	return list(ctx, s, scanHold, allHolds)
}

// HoldsIn implements queue.HoldFinder. No subject has NUL, which no database takes: a bound with it stays where it is.
func (s *Store) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	bound := strings.NewReplacer("\x00", "\x01")
	return list(ctx, s, scanHold, holdsIn, bound.Replace(from), bound.Replace(before), int64(limit))
}

// Depth implements queue.Inspector. It reads one snapshot.
func (s *Store) Depth(ctx context.Context) (out []queue.Depth, err error) {
	scan := func(rows Rows) (d queue.Depth, err error) { return d, rows.Scan(&d.Pool, &d.Count) }
	err = s.Driver.Read(ctx, true, func(c Conn) error {
		var all, busy []queue.Depth
		c.Queue(into(&all, scan), unfinished)
		c.Queue(into(&busy, scan), running)
		if err := c.Flush(); err != nil {
			return err
		}
		out = nil
		for _, d := range all {
			d.Status = queue.Queued
			for i := range busy {
				if busy[i].Pool == d.Pool {
					busy[i].Status = queue.Running
					out = append(out, busy[i])
					d.Count -= busy[i].Count
				}
			}
			if d.Count > 0 {
				out = append(out, d)
			}
		}
		slices.SortFunc(out, func(a, b queue.Depth) int {
			return cmp.Or(cmp.Compare(a.Pool, b.Pool), cmp.Compare(a.Status, b.Status))
		})
		return nil
	})
	return out, err
}
