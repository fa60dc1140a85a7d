package sqlite_test

import (
	"database/sql"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/sqlite"
	"github.com/signalbox-dev/signalbox/queue"
)

// yard is a store with a connection of its own beside it.
type yard struct {
	*testing.T
	db   *sqlite.DB
	raw  *sql.DB
	path string
}

func newYard(t *testing.T) *yard {
	t.Helper()
	y := &yard{T: t, path: place(t)}
	y.db = openAt(t, y.path)
	y.raw = openRaw(t, dsn(y.path)+"?_pragma=busy_timeout(10000)")
	t.Cleanup(func() { agree(t, y.path) })
	return y
}

// ready counts the jobs of the ready queue, and held those that were set aside.
func (y *yard) ready() int { return y.count("place = 'ready'") }
func (y *yard) held() int  { return y.count("place like 'held:%'") }

func (y *yard) count(where string) (n int) {
	y.Helper()
	require.NoError(y, y.raw.QueryRowContext(y.Context(), "select count(*) from jobs where "+where).Scan(&n))
	return n
}

func (y *yard) put(jobs ...queue.Job) []int64 {
	y.Helper()
	return put(y.T, y.db, jobs...)
}

func (y *yard) take(n int) (ids []int64) {
	y.Helper()
	for _, c := range take(y.T, y.db, "p", n) {
		ids = append(ids, c.Job.ID)
	}
	return ids
}

func (y *yard) hold(subject string) {
	y.Helper()
	require.NoError(y, y.db.Hold(y.Context(), queue.Hold{Subject: subject, Name: "n"}))
}

func (y *yard) free(subject string) {
	y.Helper()
	require.NoError(y, y.db.Free(y.Context(), queue.Hold{Subject: subject, Name: "n"}))
}

func same(n int, j queue.Job) []queue.Job {
	jobs := make([]queue.Job, n)
	for i := range jobs {
		jobs[i] = j
	}
	return jobs
}

// A claim that reads jobs which are held by now sets them aside, each once; one that is not
// held is claimed though thousands are before it.
func TestSetAside(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	const many = 30_000 // the ready queue is read several times
	held := y.put(same(many, queue.Job{Pool: "p", TaskID: 1, Holds: []string{"s"}})...)
	both := y.put(queue.Job{Pool: "p", TaskID: 2, Holds: []string{"s", "t"}})
	free := y.put(queue.Job{Pool: "p", Holds: []string{"u"}})
	require.Equal(t, many+2, y.ready())
	y.hold("s")
	require.Equal(t, many+2, y.ready(), "holding costs the same, however many it holds")
	require.Equal(t, free, y.take(1))
	require.Equal(t, []int{0, many + 1}, []int{y.ready(), y.held()})
	later := y.put(queue.Job{Pool: "p", Holds: []string{"s"}})
	require.Empty(t, y.take(1))
	require.Equal(t, many+2, y.held())
	y.hold("t")
	_, err := y.db.Cancel(t.Context(), 1)
	require.NoError(t, err)
	require.Equal(t, 2, y.held())
	agree(t, y.path)
	y.free("s")
	require.Equal(t, later, y.take(10), "%d are cancelled, %d is held by the other subject", len(held), both[0])
	require.Equal(t, 1, y.held())
	y.free("t")
	require.Equal(t, both, y.take(10))
}

// Texts that are not UTF-8, or have a NUL, are distinguished and found again.
func TestOddTexts(t *testing.T) {
	t.Parallel()
	y := newYard(t)
	odd := "a\x00\xff<&>\u2028\"'\\"
	id := y.put(same(2, queue.Job{Pool: "p", Key: odd, Holds: []string{odd}, TaskID: 1})...)
	other := y.put(queue.Job{Pool: odd, DedupeKey: odd}, queue.Job{Pool: odd, DedupeKey: odd})
	require.Equal(t, other[0], other[1])
	y.hold(odd)
	require.Empty(t, y.take(9))
	y.free(odd)
	require.Equal(t, id[:1], y.take(9), "the other one is behind it")
	_, err := y.db.Cancel(t.Context(), 1)
	require.NoError(t, err)
	claims, err := y.db.Take(t.Context(), odd, odd, math.MaxInt, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 1)
}
