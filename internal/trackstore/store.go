// Package trackstore keeps the tracks of package gpstracks, and the blocks of features that
// tiles are made of, in a database: one engine for adapters/tracksqlite and
// adapters/trackpostgres, which differ by a Dialect.
//
// What a change needs is read and computed first, outside of a transaction: which tracks are
// new, their lines, their blocks, and the blocks that others leave. Then a short transaction
// compares the version of the tracks and writes. If somebody else has changed them meanwhile,
// it is all done anew; nobody waits for more than the writing of one part.
package trackstore

import (
	"context"
	"crypto/rand"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"sync"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Options of a Store.
type Options struct {
	Dialect  Dialect
	DB       *sql.DB
	Prepare  func(context.Context, *sql.Conn) error // brings the tables up to date
	Patience time.Duration                          // how long a call waits for a server that is away
	Log      *slog.Logger
}

// Store is an open store. It is safe for concurrent use.
type Store struct {
	Options

	turn     chan struct{} // held by the transaction that writes
	changing chan struct{} // held by the call that changes tracks
	writer   string        // its name among the writers, "" if no answer to a commit can be lost
	seq      int64         // of its last transaction
	hint     chan struct{} // blocks may be to be put together
	group    *run.Group
	closing  sync.RWMutex // held for reading by calls
	closed   atomic.Bool
}

var (
	_ gpstracks.Store     = (*Store)(nil)
	_ gpstracks.RunStore  = (*Store)(nil)
	_ gpstracks.Counter   = (*Store)(nil)
	_ gpstracks.Versioned = (*Store)(nil)
	_ tile.Source         = (*Store)(nil)
)

// Open takes up a database. Blocks of another version's layout are built again from the
// tracks before it returns, which takes a while; what an earlier program has left in full tiers is put together
// afterwards. The database is the Store's from then on.
func Open(ctx context.Context, o Options) (*Store, error) {
	s := &Store{Options: o, turn: make(chan struct{}, 1), changing: make(chan struct{}, 1), hint: make(chan struct{}, 1)}
	s.group = run.New(context.WithoutCancel(ctx), o.Log)
	err := s.prepare(ctx)
	if err != nil {
		return nil, errors.Join(err, s.Close())
	}
	s.group.Go("put blocks of tracks together", s.settler)
	run.Hint(s.hint)
	return s, nil
}

func (s *Store) prepare(ctx context.Context) error {
	err := s.retry(ctx, nil, func() error {
		conn, err := s.DB.Conn(ctx)
		if err != nil {
			return err
		}
		return errors.Join(s.Prepare(ctx, conn), conn.Close())
	})
	if err != nil {
		return err
	}
	if s.Dialect.Lost != nil {
		name := rand.Text()
		if err := s.write(ctx, func(t *tx) error { return t.sign(name, 0) }); err != nil {
			return err
		}
		s.writer = name
	}
	if err := errors.Join(s.discard(ctx), s.sketch(ctx)); err != nil {
		return err
	}
	return s.buildMarked(ctx)
}

// ErrClosed is the error of every call after Close.
var ErrClosed = errors.New("the store of tracks is closed")

// Close waits for what is under way and closes the database.
func (s *Store) Close() error {
	if s.closed.Swap(true) {
		return nil
	}
	s.group.Stop()
	s.closing.Lock()
	defer s.closing.Unlock()
	return s.DB.Close()
}

// The counters of track_state.
const (
	stateVersion = "version"        // how often tracks were changed
	stateTrack   = "track"          // the last id of a track: none is used twice
	stateBlocks  = "blocks version" // for which layout the blocks are
)

// state returns the number of changes of tracks, their last id, and for which layout the blocks are.
func (s *Store) state(ctx context.Context) (version, last, layout int64, err error) {
	_, err = read(ctx, s, func(r *sql.Rows) (none struct{}, err error) { return none, r.Scan(&version, &last, &layout) },
		"select v.value, t.value, b.value from ~track_state v, ~track_state t, ~track_state b "+
			"where v.name = $1 and t.name = $2 and b.name = $3", stateVersion, stateTrack, stateBlocks)
	return version, last, layout, err
}

func (s *Store) Version(ctx context.Context) (string, error) {
	version, last, _, err := s.state(ctx)
	return fmt.Sprintf("%d-%d", version, last), err
}
