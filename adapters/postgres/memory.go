package postgres

import (
	"math"
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// memory is what the writer knows without asking. It is true as long as nobody
// else has held the turn; a transaction that relies on it ends at the server when
// somebody has (see begin). It changes while a transaction is made, so one that
// fails takes all of it away.
type memory struct {
	// jobs are unfinished ones that this store has put or claimed; first to last
	// are ids of which it has every unfinished one.
	jobs        map[int64]kept
	first, last int64
	bytes       int  // of what they say
	crowded     bool // a claim did not fit

	newest map[string]int64 // by key: the last job that was put, while it is in jobs
	named  map[string]int64 // by dedupe key: the unfinished job that this store has put

	tasks map[int64]names // as they were stored

	of    map[int64]batch // which row of claims a claim is in
	left  map[batch]int   // how many claims of a row are held
	spent []batch         // rows of which none is

	ids    int64 // the last id of a job
	hold   int64 // the number of the newest hold; none, or unknown
	due    time.Time
	dueSet bool             // due is known: nothing delayed is due before
	floors map[string]token // no token of the pool lies before
}

// What memory.hold is when it is no number: nothing is held, or it is not known.
const (
	none    int64 = 0
	unknown int64 = -1
)

// token is a place in the order of a pool.
type token struct{ priority, job int64 }

func (a token) before(b token) bool {
	return a.priority < b.priority || a.priority == b.priority && a.job < b.job
}

var firstToken = token{math.MinInt64, 0}

// What is remembered is bounded: rememberMax jobs, and rememberBytes of what they
// say.
const (
	rememberMax   = 100_000
	rememberBytes = 32 << 20
)

func newMemory() *memory {
	return &memory{jobs: map[int64]kept{}, newest: map[string]int64{}, named: map[string]int64{}, tasks: map[int64]names{}, floors: map[string]token{}, hold: unknown, of: map[int64]batch{}, left: map[batch]int{}, first: 1}
}

// doubt forgets what others may have changed: everything but which rows of claims
// are this store's.
func (m *memory) doubt() {
	m.hold, m.dueSet = unknown, false
	clear(m.floors)
	clear(m.tasks)
	m.dropAll()
}

// dropAll forgets the jobs.
func (m *memory) dropAll() {
	m.first, m.last, m.bytes, m.crowded = 1, 0, 0, false
	clear(m.jobs)
	clear(m.newest)
	clear(m.named)
}

// forget forgets everything.
func (m *memory) forget() {
	m.doubt()
	clear(m.of)
	clear(m.left)
	m.spent = nil
}

// batch is a row of claims of this store.
type batch struct{ seq, slot int64 }

// claimedBy remembers the row that a claim is in.
func (m *memory) claimedBy(job int64, b batch) {
	m.released(job)
	m.of[job] = b
	m.left[b]++
}

// released forgets the row that a claim was in.
func (m *memory) released(job int64) {
	b, ok := m.of[job]
	if !ok {
		return
	}
	delete(m.of, job)
	if m.left[b]--; m.left[b] == 0 {
		delete(m.left, b)
		m.spent = append(m.spent, b)
	}
}

func (m *memory) keep(j queue.Job) {
	k := pack(j)
	m.bytes += len(k.texts) - len(m.jobs[j.ID].texts)
	m.jobs[j.ID] = k
}

func (m *memory) drop(id int64) {
	k, ok := m.jobs[id]
	if !ok {
		return
	}
	m.bytes -= len(k.texts)
	if key, _ := k.names(); m.newest[key] == id {
		delete(m.newest, key)
	}
	delete(m.jobs, id)
}

// full reports whether no more should be remembered.
func (m *memory) full(more int) bool {
	return len(m.jobs)+more > rememberMax || m.bytes > rememberBytes
}

// put remembers new jobs, whose ids rise.
func (m *memory) put(jobs []queue.Job) {
	if len(jobs) == 0 {
		return
	}
	if m.full(len(jobs)) {
		m.dropAll()
	}
	if m.full(len(jobs)) {
		return
	}
	if from := jobs[0].ID; m.last < m.first || from != m.last+1 {
		m.first = from
	}
	m.last = jobs[len(jobs)-1].ID
	for _, j := range jobs {
		m.keep(j)
		if j.Key != "" {
			m.newest[j.Key] = j.ID
		}
		if j.DedupeKey != "" {
			m.named[j.DedupeKey] = j.ID
		}
	}
}

// behind reports whether an unfinished job of the key is known. That none is known
// means nothing.
func (m *memory) behind(key string) bool {
	_, known := m.jobs[m.newest[key]]
	return known
}

// change remembers what became of a job, whose holds and payload stay what they are.
func (m *memory) change(j queue.Job) {
	k, known := m.jobs[j.ID]
	switch {
	case j.Status.Terminal():
		m.drop(j.ID)
	case known:
		was := k.job(j.ID, true)
		j.Holds, j.Payload = was.Holds, was.Payload
		m.keep(j)
	case m.complete(j.ID):
		m.keep(j)
	}
}

// complete reports whether the job is remembered if it is unfinished.
func (m *memory) complete(id int64) bool { return m.first <= id && id <= m.last }

// claim remembers a job that was handed out, if there is room: see makeRoom.
func (m *memory) claim(j queue.Job) {
	if k, known := m.jobs[j.ID]; known {
		k.runs(j)
		m.jobs[j.ID] = k
	} else if !m.full(1) || m.complete(j.ID) {
		m.keep(j)
	} else {
		m.crowded = true
	}
}

// makeRoom forgets the jobs when claims did not fit beside many that wait: what is at
// work is asked for soon. Nothing may be on its way that relies on them.
func (m *memory) makeRoom() {
	if m.crowded {
		m.dropAll()
	}
}

// runs reports whether a claim is remembered to be held.
func (m *memory) runs(c queue.Claim) bool {
	k, ok := m.jobs[c.Job.ID]
	return ok && k.running && k.attempt == int64(c.Job.Attempt)
}

// claimed is the running job of a claim without its holds and payload, as far as it
// is remembered.
func (m *memory) claimed(c queue.Claim) (queue.Job, bool) {
	k, ok := m.jobs[c.Job.ID]
	if !ok || !k.running || k.attempt != int64(c.Job.Attempt) {
		return queue.Job{}, false
	}
	return k.job(c.Job.ID, false), true
}

// placed lowers the floor to a token.
func (m *memory) placed(pool string, t token) {
	if floor, ok := m.floors[pool]; ok && t.before(floor) {
		m.floors[pool] = t
	}
}

// floor is where to begin to look for tokens.
func (m *memory) floor(pool string) token {
	if t, ok := m.floors[pool]; ok {
		return t
	}
	return firstToken
}

// delayed makes sure that nobody comes late for a moment.
func (m *memory) delayed(at time.Time) {
	if m.dueSet && at.Before(m.due) {
		m.due = at
	}
}
