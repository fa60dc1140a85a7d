package sqlite

import (
	"slices"

	"github.com/signalbox-dev/signalbox/queue"
)

// change is what becomes of a job that was running or queued.
type change struct{ before, after queue.Job }

// change stores what became of jobs, and gives the next of their keys their places.
func (t *tx) change(all []change) error {
	if len(all) == 0 {
		return nil
	}
	t.wrote = true
	next, ask, err := t.follow(all)
	if err != nil {
		return err
	}
	var ran, left []int64
	var again []*queue.Job
	for i := range all {
		before, after := &all[i].before, &all[i].after
		t.mem.ended(before.ID)
		if before.Status == queue.Running {
			ran = append(ran, before.ID)
		} else if err := t.displace(before); err != nil {
			return err
		}
		if !after.Status.Terminal() {
			again = append(again, after)
			if err := t.giveBack(after); err != nil {
				return err
			}
			continue
		}
		left = append(left, after.ID)
		t.depth[after.Pool]--
	}
	if err := t.remove("delete from running where job_id ", ran); err != nil {
		return err
	}
	if err := t.end(all, left); err != nil {
		return err
	}
	first, err := t.firsts(ask)
	if err != nil {
		return err
	}
	for _, id := range first {
		next = append(next, id)
	}
	jobs, err := t.jobs(next)
	if err != nil {
		return err
	}
	return t.place(append(again, jobs...))
}

// follow tells which jobs become the first of their keys when others end, and the
// keys that must be asked for it when those have left. A job that runs is the first
// of its key; of others it is asked now.
func (t *tx) follow(all []change) (next []int64, ask []string, err error) {
	var queued []string
	ends := map[int64]bool{}
	for i := range all {
		j := &all[i].after
		if j.Key != "" && j.Status.Terminal() && all[i].before.Status != queue.Running {
			queued, ends[j.ID] = append(queued, j.Key), true
			t.mem.chain = newChain() // a gap in the middle of a key
		}
	}
	first, err := t.firsts(queued)
	for key, id := range first {
		if ends[id] {
			ask = append(ask, key)
		}
	}
	for i := range all {
		j := &all[i].after
		if j.Key == "" || !j.Status.Terminal() || all[i].before.Status != queue.Running {
			continue
		}
		if id, known := t.mem.chain.end(j.Key, j.ID); !known {
			ask = append(ask, j.Key)
		} else if id != 0 {
			next = append(next, id)
		}
	}
	return next, ask, err
}

// displace takes a queued job out of its place, wherever it is.
func (t *tx) displace(j *queue.Job) error {
	if err := t.exec("delete from ready where pool = ? and priority = ? and job_id = ?", j.Pool, j.Priority, j.ID); err != nil {
		return err
	}
	if err := t.exec("delete from delayed where available_at = ? and job_id = ?", micros(j.AvailableAt), j.ID); err != nil {
		return err
	}
	for _, subject := range j.Holds {
		if err := t.exec("delete from parked where subject = ? and job_id = ?", subject, j.ID); err != nil {
			return err
		}
	}
	return nil
}

// giveBack writes the row of a job that is queued again.
func (t *tx) giveBack(j *queue.Job) error {
	return t.exec("update jobs set attempt = ?, started_at = ?, error = ?, available_at = ?, max_attempts = ? where id = ?",
		j.Attempt, micros(j.StartedAt), j.Error, micros(j.AvailableAt), j.MaxAttempts, j.ID)
}

// fate is what many jobs that end together have in common.
type fate struct {
	status  queue.Status
	attempt int
	started int64
	err     string
}

// end writes down how jobs have ended, those that have ended alike in one
// statement, and takes them out of the unfinished ones.
func (t *tx) end(all []change, left []int64) error {
	ends := map[fate][]int64{}
	for i := range all {
		j := &all[i].after
		if !j.Status.Terminal() {
			continue
		}
		f := fate{j.Status, j.Attempt, micros(j.StartedAt), j.Error}
		ends[f] = append(ends[f], j.ID)
		if j.DedupeKey != "" {
			if err := t.exec("delete from dedupe where key = ?", j.DedupeKey); err != nil {
				return err
			}
		}
	}
	for f, ids := range ends {
		err := t.exec("insert into ended (job_id, status, attempt, started_at, finished_at, error) select value, ?2, ?3, ?4, ?5, ?6 from json_each(?1)",
			list(ids), string(f.status), f.attempt, f.started, micros(t.now), f.err)
		if err != nil {
			return err
		}
	}
	return t.remove("delete from open_jobs where job_id ", left)
}

// remove deletes rows by id. Jobs that were claimed together often end together:
// then their ids follow each other, and a range costs less than a list.
func (t *tx) remove(query string, ids []int64) error {
	if len(ids) == 0 {
		return nil
	}
	slices.Sort(ids)
	runs := 1
	for i := 1; i < len(ids); i++ {
		if ids[i] != ids[i-1]+1 {
			runs++
		}
	}
	if runs > 1+len(ids)/16 {
		return t.exec(query+"in (select value from json_each(?))", list(ids))
	}
	for from, i := 0, 1; i <= len(ids); i++ {
		if i < len(ids) && ids[i] == ids[i-1]+1 {
			continue
		}
		if err := t.exec(query+"between ? and ?", ids[from], ids[i-1]); err != nil {
			return err
		}
		from = i
	}
	return nil
}
