package sqlite

import (
	"github.com/signalbox-dev/signalbox/queue"
)

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

// heldClaim is the job of a claim, or ErrLost.
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
