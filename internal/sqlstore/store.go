// Package sqlstore is the engine of the SQL stores: the queue, the tasks with their story,
// costs and deliveries, and leases. Its statements are written once, in PostgreSQL's
// words; a Driver carries them out and translates what its database calls otherwise.
//
// All writes of a Store go through one goroutine. Requests that wait while a transaction is
// under way share the next one (group commit), so that the number of commits does not grow
// with the number of callers. A transaction holds the database's writer lock: what it has
// read stays true until it commits, and ids rise in the order of commits.
//
// A group is loaded, decided in Go and then written: see round. Nothing is remembered
// between transactions.
//
// # The ready queue
//
// jobs.place says where a queued job stands: 'ready', 'delayed' until available_at,
// 'behind' an unfinished job of its key, or 'held:<subject>'. It is ” for a job that is
// running or has ended. The transaction that changes what a job waits for changes its place.
// A claim reads the first rows of one partial index, so that jobs that cannot run cost it
// nothing; a job that has come to be held since is set aside by the first claim that reads it.
package sqlstore

import (
	"context"
	"errors"
	"log/slog"
	"reflect"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/queue"
)

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("sqlstore: the store is closed")

// Rows are the rows of an answer. Scan reads times, texts and arrays as Go has them.
type Rows interface {
	Next() bool
	Scan(dest ...any) error
}

// Conn carries out statements inside a transaction or a snapshot.
//
// A statement is PostgreSQL's, with ~ before the names of tables. "unnest($1::bigint[], …)"
// has one row for each element of its arguments, and "= any($1)" is a list. Arguments are
// int64, string, bool, time.Time (the zero time is stored as none), []byte, slices of these,
// and []List.
type Conn interface {
	// Queue adds a statement. Its rows are read at the latest when Flush is called; a nil
	// read discards them.
	Queue(read func(Rows) error, query string, args ...any)
	// Flush carries out what was queued and returns the first error.
	Flush() error
}

// List is one row's value of a column that is an array of texts.
type List []string

// Driver holds what differs between the databases.
type Driver interface {
	// Write runs f in a transaction that holds the writer lock, and commits what it has
	// queued, if anything of it writes. A transaction that may go through later is tried
	// again, with f run again; one whose answer was lost is looked up, never doubled.
	Write(f func(Conn) error) error
	// Read runs f on a connection of a reader: on one snapshot, or statement by statement.
	Read(ctx context.Context, snapshot bool, f func(Conn) error) error
	// Taken reports that a unique index of tasks refuses a row.
	Taken(err error) bool
	// Away reports an error that the requests of a group share: trying them one by one
	// would not help.
	Away(err error) bool
}

// Options of a Store.
type Options struct {
	Driver    Driver
	Now       func() time.Time
	Log       *slog.Logger
	Bounds    map[string]int // how many jobs of a pool may run in all stores of the database together
	LastJob   string         // query for the highest id of a job that was ever drawn
	NewTaskID string         // statement that draws the next id of a task
	Committed func(pools []string)
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	Options

	reqs   chan *request
	untold []*request // the writer's: see carryOut
	writer *run.Group
	wakers wakers

	closing sync.RWMutex // held for reading while a request is handed in
	closed  bool
}

// New starts the writer.
func New(ctx context.Context, o Options) *Store {
	bounds := map[string]int{}
	for pool, n := range o.Bounds {
		bounds[Clean(pool)] = n
	}
	o.Bounds = bounds
	s := &Store{Options: o, reqs: make(chan *request, 2*groupMax), wakers: wakers{byPool: map[string]chan struct{}{}}}
	s.writer = run.New(context.WithoutCancel(ctx), o.Log)
	s.writer.Go("store writer", s.writing)
	return s
}

// Close waits for what has been handed in. It reports false when the store was closed before.
func (s *Store) Close() bool {
	s.closing.Lock()
	if s.closed {
		s.closing.Unlock()
		return false
	}
	s.closed = true
	close(s.reqs)
	s.closing.Unlock()
	s.writer.Wait()
	s.writer.Stop()
	return true
}

func (s *Store) Wake(pool string) <-chan struct{} { return s.wakers.channel(Clean(pool)) }

// Hint hints that a pool may have become claimable by another process.
func (s *Store) Hint(pool string) { s.wakers.hint(pool) }

// HintAll hints every pool that somebody waits for.
func (s *Store) HintAll() {
	s.wakers.mu.Lock()
	defer s.wakers.mu.Unlock()
	for _, c := range s.wakers.byPool {
		run.Hint(c)
	}
}

// wakers are the hints that a pool may have become claimable.
type wakers struct {
	mu     sync.Mutex
	byPool map[string]chan struct{}
}

func (w *wakers) channel(pool string) chan struct{} {
	w.mu.Lock()
	defer w.mu.Unlock()
	if w.byPool[pool] == nil {
		w.byPool[pool] = make(chan struct{}, 1)
	}
	return w.byPool[pool]
}

func (w *wakers) hint(pool string) { run.Hint(w.channel(pool)) }

// Clean makes a text that both databases hold and compare alike: UTF-8 without NUL.
func Clean(s string) string {
	return strings.ReplaceAll(strings.ToValidUTF8(s, "\uFFFD"), "\x00", "\uFFFD")
}

// Stamp is a time as it is read back: UTC, whole microseconds.
func Stamp(t time.Time) time.Time {
	if t.IsZero() {
		return time.Time{}
	}
	return t.UTC().Truncate(time.Microsecond)
}

// list reads all rows of a query, outside of a transaction.
func list[T any](ctx context.Context, s *Store, scan func(Rows) (T, error), query string, args ...any) (out []T, err error) {
	err = s.Driver.Read(ctx, false, func(c Conn) error {
		out = nil
		c.Queue(into(&out, scan), query, args...)
		return c.Flush()
	})
	return out, err
}

// ask reads all rows of a query within a transaction.
func ask[T any](t *Tx, scan func(Rows) (T, error), query string, args ...any) (out []T, err error) {
	t.Queue(into(&out, scan), query, args...)
	err = t.Flush()
	return out, err
}

// into appends what scan reads of each row.
func into[T any](out *[]T, scan func(Rows) (T, error)) func(Rows) error {
	return each(scan, func(v T) { *out = append(*out, v) })
}

// each takes what scan reads of each row.
func each[T any](scan func(Rows) (T, error), take func(T)) func(Rows) error {
	return func(rows Rows) error {
		for rows.Next() {
			v, err := scan(rows)
			if err != nil {
				return err
			}
			take(v)
		}
		return nil
	}
}

// intoMap reads rows of a key and its value.
func intoMap[K comparable, V any](out map[K]V) func(Rows) error {
	return func(rows Rows) error {
		for rows.Next() {
			var key K
			var value V
			if err := rows.Scan(&key, &value); err != nil {
				return err
			}
			out[key] = value
		}
		return nil
	}
}

// scanOne scans rows of one column.
func scanOne[T any](rows Rows) (v T, err error) { return v, rows.Scan(&v) }

// columns are arguments of a statement: first, and then the values of n rows, column by column, in lists of their types.
func columns(n int, row func(i int) []any, first ...any) []any {
	var lists []reflect.Value
	for i := range n {
		for at, v := range row(i) {
			if i == 0 {
				lists = append(lists, reflect.MakeSlice(reflect.SliceOf(reflect.TypeOf(v)), n, n))
			}
			lists[at].Index(i).Set(reflect.ValueOf(v))
		}
	}
	for _, l := range lists {
		first = append(first, l.Interface())
	}
	return first
}

var (
	_ queue.Queue      = (*Store)(nil)
	_ queue.Admin      = (*Store)(nil)
	_ queue.Restarter  = (*Store)(nil)
	_ queue.Inspector  = (*Store)(nil)
	_ queue.HoldFinder = (*Store)(nil)
)
