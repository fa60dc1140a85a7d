package sqlstore

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// Where a queued job stands: see the package's comment.
const (
	ready   = "ready"
	delayed = "delayed"
	heldBy  = "held:" // and the subject
)

func scanJob(rows Rows) (j queue.Job, err error) { return j, rows.Scan(jobInto(&j)...) }

// jobInto are the places of jobColumns.
func jobInto(j *queue.Job) []any {
	return []any{
		&j.ID, &j.Pool, &j.Kind, &j.Key, &j.TaskID, &j.Lane, &j.Role, &j.Holds, &j.Payload,
		&j.Priority, &j.AvailableAt, &j.MaxAttempts, &j.DedupeKey,
		(*string)(&j.Status), &j.Attempt, &j.Worker, &j.HeartbeatAt, &j.LeaseUntil, &j.CreatedAt, &j.StartedAt, &j.FinishedAt, &j.Error,
	}
}

// claimed is the job of a claim, and the next one of its key: id, pool and priority, or nothing.
type claimed struct{ job, next queue.Job }

func scanClaimed(rows Rows) (c claimed, err error) {
	j, n := &c.job, &c.next
	return c, rows.Scan(
		&j.ID, (*string)(&j.Status), &j.Pool, &j.Key, &j.Priority, &j.DedupeKey, &j.Attempt, &j.MaxAttempts,
		&j.AvailableAt, &j.Worker, &j.StartedAt,
		&n.ID, &n.Pool, &n.Priority,
	)
}

// end writes jobs that have ended, or are queued again, and those that come next of their
// keys. One that is queued again was running, or was delayed: it is the first of its key.
func (t *Tx) end(jobs []queue.Job, next []int64) {
	if len(jobs) == 0 {
		return
	}
	places := make([]string, len(jobs))
	for i, j := range jobs {
		if _, bounded := t.store.Bounds[j.Pool]; bounded {
			t.wake[j.Pool] = true // somebody may wait for room
		}
		if !j.Status.Terminal() {
			places[i] = t.due(j.AvailableAt)
			t.add(j)
			continue
		}
		t.depth[j.Pool]--
		if j.DedupeKey != "" {
			t.deduped[j.DedupeKey] = 0
		}
	}
	t.Queue(nil, endJobs, columns(len(jobs), func(i int) []any {
		j := jobs[i]
		return []any{j.ID, string(j.Status), places[i], int64(j.MaxAttempts), j.AvailableAt, j.FinishedAt, j.Error}
	}, time.Time{})...)
	if len(next) > 0 {
		t.Queue(t.waking, openJobs, t.Now, next)
	}
}

// endAll is end for jobs whose keys may have any job next.
func (t *Tx) endAll(jobs []queue.Job) error {
	t.end(jobs, nil)
	var keys []string
	for _, j := range jobs {
		if j.Key != "" {
			keys = append(keys, j.Key)
		}
	}
	if len(keys) == 0 {
		return nil
	}
	firsts := map[string]int64{}
	t.Queue(intoMap(firsts), firstOfKeys, keys)
	err := t.Flush()
	t.Queue(t.waking, openJobs, t.Now, slices.Collect(maps.Values(firsts)))
	return err
}

// add notes a job that may have come to stand in the ready queue.
func (t *Tx) add(j queue.Job) {
	pool := Clean(j.Pool)
	if first, ok := t.added[pool]; !ok || before(j, first) {
		t.added[pool] = j
	}
	t.wake[pool] = true
}

// before reports that a job is claimed before another of its pool.
func before(a, b queue.Job) bool {
	return cmp.Or(cmp.Compare(a.Priority, b.Priority), cmp.Compare(a.ID, b.ID)) < 0
}

// due is the place of a job that is the first of its key.
func (t *Tx) due(at time.Time) string {
	if Stamp(at).After(t.Now) {
		return delayed
	}
	return ready
}

// waking hints the pools that a statement returns.
func (t *Tx) waking(rows Rows) error {
	return each(scanOne[string], func(pool string) { t.wake[pool] = true })(rows)
}

func (t *Tx) extend(jobs []queue.Job) {
	if len(jobs) > 0 {
		t.Queue(nil, extendJobs, columns(len(jobs), func(i int) []any { return []any{jobs[i].ID, jobs[i].LeaseUntil} }, t.Now)...)
	}
}

// Put adds jobs and returns their ids; for one whose dedupe key an unfinished job has, that
// job's id.
func (t *Tx) Put(jobs []queue.Job) ([]int64, error) {
	if len(jobs) == 0 {
		return nil, nil
	}
	if t.lookUp(jobs) {
		if err := t.Flush(); err != nil {
			return nil, err
		}
	}
	ids := make([]int64, len(jobs))
	added, behind, seen := make([]queue.Job, 0, len(jobs)), make([]bool, 0, len(jobs)), map[string]bool{}
	for i, j := range jobs {
		dedupe := Clean(j.DedupeKey)
		if id := t.deduped[dedupe]; id != 0 {
			ids[i] = id
			continue
		}
		*t.last++
		j.ID, ids[i] = *t.last, *t.last
		if dedupe != "" {
			t.deduped[dedupe] = j.ID
		}
		key := Clean(j.Key)
		behind = append(behind, seen[key])
		seen[key] = true
		t.add(j)
		t.depth[Clean(j.Pool)]++
		added = append(added, j)
	}
	if len(added) > 0 {
		t.insert(added, behind)
	}
	return ids, nil
}

// lookUp queues what must be read before jobs are put, unless this transaction has read it:
// the last id that was drawn, and the unfinished jobs that have a dedupe key of theirs.
func (t *Tx) lookUp(jobs []queue.Job) (queued bool) {
	var keys []string
	for i := range jobs {
		key := Clean(jobs[i].DedupeKey)
		if _, known := t.deduped[key]; key != "" && !known {
			t.deduped[key], keys = 0, append(keys, key)
		}
	}
	if len(keys) > 0 {
		t.Queue(intoMap(t.deduped), dedupedJobs, keys)
	}
	if len(jobs) == 0 || t.last != nil {
		return len(keys) > 0
	}
	t.last = new(int64)
	t.Queue(each(scanOne[int64], func(id int64) { *t.last = id }), t.store.LastJob)
	return true
}

func (t *Tx) insert(jobs []queue.Job, behind []bool) {
	t.Queue(nil, putJobs, columns(len(jobs), func(i int) []any {
		j := &jobs[i]
		return []any{
			j.ID, j.Pool, j.Kind, j.Key, j.TaskID, j.Lane, j.Role, List(j.Holds), j.Payload, int64(j.Priority), j.AvailableAt,
			int64(j.MaxAttempts), j.DedupeKey, behind[i],
		}
	}, t.Now)...)
}

// claimMax bounds how much of the ready queue is read at once.
const claimMax = 5000

// dueMax bounds how many delayed jobs one transaction lets into the ready queue.
const dueMax = 1000

// room is how many jobs of a pool may be claimed.
func (t *Tx) room(pool string, want int) (int, error) {
	bound, bounded := t.store.Bounds[pool]
	if !bounded {
		return want, nil
	}
	running, err := ask(t, scanOne[int64], countRunning, pool)
	if err != nil {
		return 0, err
	}
	return max(0, min(want, bound-int(running[0]))), nil
}

// takers are the requests of a group that take from one pool, in the order in which they came.
type takers struct {
	pool string
	reqs []*request
	want int
	head []head // of the pool's ready queue
	read bool   // head is set
}

func takersOf(group []*request) (out []*takers) {
	byPool := map[string]*takers{}
	for _, r := range group {
		if r.take == nil || r.take.n <= 0 || r.err != nil {
			continue
		}
		pool := Clean(r.take.pool)
		k := byPool[pool]
		if k == nil {
			k = &takers{pool: pool}
			byPool[pool], out = k, append(out, k)
		}
		k.reqs, k.want = append(k.reqs, r), min(k.want+r.take.n, 1<<30)
	}
	return out
}

func (t *Tx) readHead(k *takers, limit int) {
	k.head, k.read = nil, true
	t.Queue(into(&k.head, scanHead), readyJobs, k.pool, int64(limit))
}

// ahead reports whether the head that was read ahead is still what claims are made of:
// what the group has added since stands behind it.
func (t *Tx) ahead(k *takers) bool {
	first, added := t.added[k.pool]
	return k.read && (!added || len(k.head) >= k.want && before(k.head[len(k.head)-1].job, first))
}

// takeFrom hands the head of a pool's ready queue to those who take. What has come to be
// held since is set aside, once.
func (t *Tx) takeFrom(k *takers) error {
	want, err := t.room(k.pool, k.want)
	if err != nil {
		return err
	}
	for limit := min(want, claimMax); want > 0; limit = min(2*max(limit, want), claimMax) {
		if !t.ahead(k) {
			t.readHead(k, limit)
			if err := t.Flush(); err != nil {
				return err
			}
		}
		read := len(k.head)
		want = t.hand(k, want)
		if read < limit {
			if want > 0 { // nothing is left that somebody else could be woken for
				delete(t.wake, k.pool)
			}
			return nil
		}
	}
	return nil
}

// hand makes claims of the head that was read, and returns how many more are wanted.
func (t *Tx) hand(k *takers, want int) int {
	var aside []int64
	var held []string
	var claims []queue.Job
	for _, h := range k.head {
		if h.held != "" {
			aside, held = append(aside, h.job.ID), append(held, heldBy+h.held)
			continue
		}
		if want == 0 {
			break
		}
		for len(k.reqs[0].claims) == k.reqs[0].take.n {
			k.reqs = k.reqs[1:]
		}
		c := t.claim(h.job, k.reqs[0].take)
		k.reqs[0].claims = append(k.reqs[0].claims, queue.Claim{Job: c})
		claims, want = append(claims, c), want-1
	}
	if k.read = false; len(aside) > 0 {
		t.Queue(nil, placeJobs, aside, held)
	}
	if len(claims) > 0 {
		t.Queue(nil, claimJobs, columns(len(claims), func(i int) []any {
			return []any{claims[i].ID, claims[i].Worker, claims[i].LeaseUntil}
		}, t.Now)...)
	}
	return want
}

func (t *Tx) claim(j queue.Job, k *taking) queue.Job {
	j.Status, j.Worker, j.StartedAt, j.HeartbeatAt, j.LeaseUntil = queue.Running, Clean(k.worker), t.Now, t.Now, Stamp(t.Now.Add(k.ttl))
	j.Attempt++
	return j
}

// head is a job of the ready queue with the subject that holds it, if one does.
type head struct {
	job  queue.Job
	held string
}

func scanHead(rows Rows) (h head, err error) {
	return h, rows.Scan(append(jobInto(&h.job), &h.held)...)
}
