package sqlite

import (
	"github.com/signalbox-dev/signalbox/queue"
)

// change is what becomes of a job that was running or queued.
type change struct{ before, after queue.Job }

// finishAll ends claims, and puts the jobs that follow them.
func (t *tx) finishAll(batch []*request) error {
	all := wanting(batch, func(r *request) bool { return r.finish != nil })
	if len(all) == 0 {
		return nil
	}
	ids := make([]int64, len(all))
	for i, r := range all {
		ids[i] = r.finish.claim.Job.ID
	}
	running, err := t.running(ids)
	if err != nil {
		return err
	}
	changes := make([]change, 0, len(all))
	var then []queue.Job
	for _, r := range all {
		j := running[r.finish.claim.Job.ID]
		if j == nil || j.Attempt != r.finish.claim.Job.Attempt {
			r.err = queue.ErrLost
			continue
		}
		delete(running, j.ID) // a second end of one claim is too late
		changes = append(changes, change{*j, queue.After(*j, r.finish.outcome, t.now)})
		then = append(then, r.finish.outcome.Then...)
	}
	if err := t.change(changes); err != nil {
		return err
	}
	_, err = t.put(then)
	return err
}

// running are those of some jobs that run: as they are remembered, or from the
// file. Their payloads may be missing.
func (t *tx) running(ids []int64) (map[int64]*queue.Job, error) {
	out := make(map[int64]*queue.Job, len(ids))
	var missing []int64
	for _, id := range ids {
		if j := t.mem.claims[id]; j != nil {
			out[id] = j
		} else {
			missing = append(missing, id)
		}
	}
	if len(missing) == 0 {
		return out, nil
	}
	read, err := t.read("where j.id in (select value from json_each(?)) and r.job_id is not null", list(missing))
	for i := range read {
		out[read[i].ID] = &read[i]
	}
	return out, err
}

// held is the job of a claim, or ErrLost.
func (t *tx) heldClaim(c queue.Claim) (queue.Job, error) {
	running, err := t.running([]int64{c.Job.ID})
	if err != nil {
		return queue.Job{}, err
	}
	j := running[c.Job.ID]
	if j == nil || j.Attempt != c.Job.Attempt {
		return queue.Job{}, queue.ErrLost
	}
	return *j, nil
}

// change stores what became of jobs, and gives the next of their keys their places.
func (t *tx) change(all []change) error {
	if len(all) == 0 {
		return nil
	}
	keys, err := t.leftKeys(all)
	if err != nil {
		return err
	}
	if err := t.store(all); err != nil {
		return err
	}
	var ran []int64
	var again []*queue.Job
	for i := range all {
		before, after := &all[i].before, &all[i].after
		t.mem.ended(before.ID)
		if before.Status == queue.Running {
			ran = append(ran, before.ID)
		} else if err := t.displace(*before); err != nil {
			return err
		}
		if after.Status.Terminal() {
			t.depth[after.Pool]--
		} else {
			again = append(again, after)
		}
	}
	if len(ran) > 0 {
		if err := t.exec("delete from running where job_id in (select value from json_each(?))", list(ran)); err != nil {
			return err
		}
	}
	next, err := t.nexts(keys)
	if err != nil {
		return err
	}
	return t.place(append(again, next...))
}

// leftKeys are the keys whose first job ends here. A job that runs is the first of
// its key; of others it is asked.
func (t *tx) leftKeys(all []change) (keys []string, err error) {
	var asked []string
	ends := map[int64]bool{}
	for _, c := range all {
		if c.after.Key == "" || !c.after.Status.Terminal() {
			continue
		}
		if c.before.Status == queue.Running {
			keys = append(keys, c.after.Key)
		} else {
			asked, ends[c.after.ID] = append(asked, c.after.Key), true
		}
	}
	firsts, err := t.firsts(asked)
	for key, id := range firsts {
		if ends[id] {
			keys = append(keys, key)
		}
	}
	return keys, err
}

// nexts are the jobs that are first of their keys now.
func (t *tx) nexts(keys []string) ([]*queue.Job, error) {
	firsts, err := t.firsts(keys)
	if err != nil || len(firsts) == 0 {
		return nil, err
	}
	ids := make([]int64, 0, len(firsts))
	for _, key := range keys {
		if id, ok := firsts[key]; ok {
			ids = append(ids, id)
		}
	}
	return t.jobs(ids)
}

// fate is what many jobs that end together have in common.
type fate struct {
	status  queue.Status
	attempt int
	started int64
	err     string
}

// store writes the rows of jobs: of those that have ended alike in one statement.
func (t *tx) store(all []change) error {
	ends := map[fate][]int64{}
	for i := range all {
		j := &all[i].after
		if j.Status.Terminal() {
			f := fate{j.Status, j.Attempt, micros(j.StartedAt), j.Error}
			ends[f] = append(ends[f], j.ID)
			continue
		}
		err := t.exec("update jobs set attempt = ?, started_at = ?, error = ?, available_at = ?, max_attempts = ? where id = ?",
			j.Attempt, micros(j.StartedAt), j.Error, micros(j.AvailableAt), j.MaxAttempts, j.ID)
		if err != nil {
			return err
		}
	}
	for f, ids := range ends {
		err := t.exec("update jobs set status = ?, attempt = ?, started_at = ?, error = ?, finished_at = ? where id in (select value from json_each(?))",
			string(f.status), f.attempt, f.started, f.err, micros(t.now), list(ids))
		if err != nil {
			return err
		}
	}
	return nil
}
