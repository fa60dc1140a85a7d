package sqlite

import (
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// takeAll claims for every request, in the order in which they came.
func (t *tx) takeAll(batch []*request) error {
	byPool := map[string][]*request{}
	for _, r := range batch {
		if r.take != nil && r.take.n > 0 && (r.err == nil || errors.Is(r.err, queue.ErrLost)) {
			pool := text(r.take.pool)
			byPool[pool] = append(byPool[pool], r)
		}
	}
	if len(byPool) == 0 {
		return nil
	}
	if err := t.promote(); err != nil {
		return err
	}
	for pool, takers := range byPool {
		if err := t.takeFrom(pool, takers); err != nil {
			return err
		}
	}
	return nil
}

// lease is what many claims that begin together have in common.
type lease struct {
	worker  string
	attempt int
	ttl     time.Duration
}

const (
	tokensMax = 5000 // how many tokens are read in one go
	tokensFew = 200  // and at least, when jobs are found that are held; then more and more
)

// takeFrom takes the first tokens of a pool. Jobs that are held by now are parked
// on the way: each once for each time that its subject is held.
func (t *tx) takeFrom(pool string, takers []*request) error {
	leases, parked := map[lease][]int64{}, map[string][]int64{}
	want := 0
	for _, r := range takers {
		want += r.take.n // each is bounded
	}
	room, few := takers[0].take.n, 0
	for want > 0 {
		limit := min(max(want, few), tokensMax)
		tokens, err := t.tokens(pool, limit)
		if err != nil {
			return err
		}
		seen, before := 0, want
		for ; seen < len(tokens) && want > 0; seen++ {
			j := tokens[seen]
			if subject, held := t.heldBy(j); held {
				parked[subject] = append(parked[subject], j.ID)
				continue
			}
			r := takers[0]
			claim := t.claim(*j, r.take)
			r.claims = append(r.claims, queue.Claim{Job: claim})
			l := lease{claim.Worker, claim.Attempt, r.take.ttl}
			leases[l] = append(leases[l], claim.ID)
			if room, want = room-1, want-1; room == 0 && want > 0 {
				takers = takers[1:]
				room = takers[0].take.n
			}
		}
		if before-want < seen {
			few = max(tokensFew, 2*few)
		}
		if seen > 0 {
			last := tokens[seen-1]
			if err := t.exec("delete from ready where pool = ? and (priority, job_id) <= (?, ?)", pool, last.Priority, last.ID); err != nil {
				return err
			}
		}
		if len(tokens) < limit {
			break
		}
	}
	if err := t.park(parked); err != nil {
		return err
	}
	return t.run(pool, leases)
}

// tokens reads the jobs of the first tokens of a pool, and what is held of them.
func (t *tx) tokens(pool string, n int) ([]*queue.Job, error) {
	ids, err := t.ids("select job_id from ready where pool = ? order by priority, job_id limit +?", pool, n)
	if err != nil {
		return nil, err
	}
	jobs, err := t.jobs(ids)
	if err != nil {
		return nil, err
	}
	return jobs, t.learnHolds(jobs)
}

func (t *tx) claim(j queue.Job, k *taking) queue.Job {
	j.Status, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Running, text(k.worker), t.now, t.now, t.now.Add(k.ttl)
	j.Attempt++
	t.mem.claimed(j)
	return j
}

// run writes claims down.
func (t *tx) run(pool string, leases map[lease][]int64) error {
	for l, ids := range leases {
		err := t.exec(`insert into running (job_id, pool, attempt, worker, started_at, heartbeat_at, lease_until)
			select value, ?2, ?3, ?4, ?5, ?5, ?6 from json_each(?1)`, list(ids), pool, l.attempt, l.worker, micros(t.now), micros(t.now.Add(l.ttl)))
		if err != nil {
			return err
		}
	}
	return nil
}
