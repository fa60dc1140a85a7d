package sqlite

import (
	"slices"

	"github.com/signalbox-dev/signalbox/queue"
)

// memory is what the writer knows of the file without reading it. It is true as
// long as nobody else has committed: SQLite counts the commits of other
// connections (data_version), and the writer asks at the begin of every
// transaction. After another's commit, and after a rollback, all is forgotten:
// knowing nothing is always right, only slower.
type memory struct {
	version int64 // of the file, as of the last transaction; 0 = none
	lastID  int64 // highest id of a job; -1 = not known
	due     int64 // when the first delayed job is due, never later; -1 = not known
	holds   knowledge

	held   map[string]bool      // subjects: whether they are held
	claims map[int64]*queue.Job // running jobs, without payload
	queued recent               // unfinished jobs that do not run
	chain  chain
}

// knowledge is what a memory has of the holds.
type knowledge int

const (
	holdsUnknown knowledge = iota
	holdsNone              // nothing is held
	holdsFew               // every subject that is held is remembered
	holdsMany              // subjects that were asked for are remembered
)

func newMemory() *memory {
	m := &memory{}
	m.forget()
	return m
}

func (m *memory) forget() {
	*m = memory{version: m.version, lastID: -1, due: -1, held: map[string]bool{}, claims: map[int64]*queue.Job{}, queued: recent{young: map[int64]*queue.Job{}}, chain: newChain()}
}

// trust forgets everything when another connection has changed the file.
func (t *tx) trust() error {
	var version int64
	if _, err := t.one([]any{&version}, "pragma data_version"); err != nil {
		return err
	}
	if version != t.mem.version {
		t.mem.forget()
		t.mem.version = version
	}
	return nil
}

const (
	recentJobs  = 50_000   // of each generation
	recentBytes = 32 << 20 // about, of each generation
	claimsMax   = 100_000
	heldMax     = 100_000
)

// recent keeps jobs that were put or read last, in two generations: the older one
// goes when the younger is full.
type recent struct {
	young, old map[int64]*queue.Job
	bytes      int
}

func (r *recent) add(j *queue.Job) {
	size := 500 + len(j.Payload) + len(j.Key) + len(j.DedupeKey) + len(j.Error)
	for _, h := range j.Holds {
		size += len(h)
	}
	if r.bytes += size; r.bytes > recentBytes || len(r.young) >= recentJobs {
		r.old, r.young, r.bytes = r.young, make(map[int64]*queue.Job, 1024), size
	}
	r.young[j.ID] = j
}

func (r *recent) get(id int64) *queue.Job {
	if j := r.young[id]; j != nil {
		return j
	}
	return r.old[id]
}

func (r *recent) drop(id int64) {
	delete(r.young, id)
	delete(r.old, id)
}

// remember keeps a queued job that was written here. What belongs to the caller
// is copied: he may change it.
func (m *memory) remember(j queue.Job) *queue.Job {
	j.Payload, j.Holds = slices.Clone(j.Payload), slices.Clone(j.Holds)
	m.queued.add(&j)
	return &j
}

// claimed keeps a claim that was handed out. The payload is the taker's now.
func (m *memory) claimed(j queue.Job) {
	m.queued.drop(j.ID)
	if len(m.claims) >= claimsMax {
		clear(m.claims)
	}
	j.Payload, j.Holds = nil, slices.Clone(j.Holds)
	m.claims[j.ID] = &j
}

// ended forgets a job that has ended or waits again.
func (m *memory) ended(id int64) {
	delete(m.claims, id)
	m.queued.drop(id)
}
