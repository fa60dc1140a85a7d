package sqlite

import (
	"context"
	"database/sql"
	"errors"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Blocks are built after their tracks were kept. The transaction that keeps tracks,
// or takes one out of its blocks, marks their ids; the one that brings their blocks
// takes the marks away. A tile reads both in one statement, and draws marked tracks
// from their rows: it shows each once, at any moment, whoever died in between. The
// R*Tree of the list is brought up to date with the blocks, and a list looks at marked
// tracks too.

const allMarks = "select first_id, last_id, points, changed from track_unbuilt order by first_id"

func scanMark(r *sql.Rows) (m tile.Mark, err error) {
	return m, r.Scan(&m.First, &m.Last, &m.Points, &m.Changed)
}

func (t *tx) mark(marks []tile.Mark) error {
	return t.insertAll("track_unbuilt (first_id, last_id, points)", 3, len(marks), func(i int, to []any) []any {
		return append(to, marks[i].First, marks[i].Last, marks[i].Points)
	})
}

const howMuch = "select coalesce(sum(last_id - first_id + 1), 0), coalesce(sum(points), 0) from track_unbuilt"

func (t *tx) backlog() (b tile.Backlog, err error) {
	_, err = t.one([]any{&b.Tracks, &b.Points}, howMuch)
	return b, err
}

func (s *Tracks) backlog(ctx context.Context) (b tile.Backlog, err error) {
	err = s.whileOpen(func() error { return s.db.read.QueryRowContext(ctx, howMuch).Scan(&b.Tracks, &b.Points) })
	return b, ended(ctx, err)
}

// whileOpen runs f, which does not write, unless the DB is closed; Close waits for it.
func (s *Tracks) whileOpen(f func() error) error {
	s.db.closing.RLock()
	defer s.db.closing.RUnlock()
	if s.db.closed {
		return ErrClosed
	}
	return f()
}

// buildAfter is how long the builder waits after the last call: a set that is larger
// is built with less work.
const buildAfter = 250 * time.Millisecond

// stored is told what is to be built after a call.
func (s *Tracks) stored(ctx context.Context, left tile.Backlog) {
	s.last.Store(time.Now().UnixNano())
	if left.Tracks > 0 {
		s.toBuild()
	}
	for left.Much() {
		err := s.buildSome(ctx)
		if err == nil {
			left, err = s.backlog(ctx)
		}
		if err != nil {
			s.warn(ctx, err)
			return
		}
	}
}

func (s *Tracks) warn(ctx context.Context, err error) {
	if ctx.Err() == nil && !errors.Is(err, ErrClosed) {
		s.db.log.Warn("blocks of tracks are not built yet: tiles are slower meanwhile", "err", err)
	}
}

// toBuild starts the builder, or hints the one that is at work.
func (s *Tracks) toBuild() {
	s.hint.Store(true)
	if s.building.CompareAndSwap(false, true) {
		s.group.Go("build blocks of tracks", s.builder)
	}
}

// builder builds what is hinted, and ends when nothing is.
func (s *Tracks) builder(ctx context.Context) {
	for s.hint.Swap(false) {
		for wait := buildAfter; wait > 0; wait = buildAfter - time.Since(time.Unix(0, s.last.Load())) {
			time.Sleep(min(wait, buildAfter))
		}
		if err := s.Build(ctx); err != nil {
			s.warn(ctx, err)
			if errors.Is(err, ErrClosed) {
				break
			}
			s.hint.Store(true) // again, after the wait
		}
	}
	s.building.Store(false)
	if s.hint.Load() && s.building.CompareAndSwap(false, true) { // a hint came in between
		s.group.Go("build blocks of tracks", s.builder)
	}
}

// Build builds the blocks of tracks that are in none yet, and returns when none is
// left. Nobody has to call it: it is done a moment after tracks were kept, by this
// process or, if it dies, by the next that opens the tracks or reads tiles of them.
func (s *Tracks) Build(ctx context.Context) error {
	for {
		left, err := s.backlog(ctx)
		if err != nil {
			return err
		}
		if left.Tracks == 0 {
			return s.settle(ctx)
		}
		if err := s.buildSome(ctx); err != nil {
			return err
		}
	}
}

// atOnce is what is built in one transaction, which others who write may wait for: so
// much that its blocks need not be put together anew with those of the next few.
var atOnce = tile.Backlog{Tracks: 10 << 10, Points: 2 << 20}

// readAtOnce is what is read at a time: of long tracks, lines take much more memory than
// what is made of them.
var readAtOnce = tile.Backlog{Tracks: 10 << 10, Points: 512 << 10}

// errChanged undoes the building of tracks that have changed meanwhile.
var errChanged = errors.New("sqlite: tracks have changed while they were built")

// buildSome builds some of what is to be built. The writer is asked for its last part
// only. Nothing is built if tracks of it have changed meanwhile.
func (s *Tracks) buildSome(ctx context.Context) error {
	select {
	case s.turn <- struct{}{}:
		defer func() { <-s.turn }()
	case <-ctx.Done():
		return ctx.Err()
	}
	var marks []tile.Mark
	var blocks []tile.Block
	err := s.whileOpen(func() (err error) { marks, blocks, err = s.built(ctx); return err })
	if err != nil || len(marks) == 0 {
		return ended(ctx, err)
	}
	err = s.db.write(ctx, func(t *tx) error {
		for _, m := range marks {
			n, err := t.changes("delete from track_unbuilt where first_id = ? and changed = ?", m.First, m.Changed)
			if err == nil && n == 0 {
				err = errChanged
			}
			if err == nil {
				err = t.exec(`insert or replace into track_bounds (id, min_lon, max_lon, min_lat, max_lat)
					select id, min_lon, max_lon, min_lat, max_lat from tracks where id between ? and ?`, m.First, m.Last)
			}
			if err != nil {
				return err
			}
		}
		return t.addBlocks(blocks)
	})
	if errors.Is(err, errChanged) {
		return nil
	}
	return err
}

// built makes the blocks of the next marked tracks.
func (s *Tracks) built(ctx context.Context) (marks []tile.Mark, blocks []tile.Block, err error) {
	rows, err := s.db.read.QueryContext(ctx, allMarks)
	if marks, err = collect(rows, err, scanMark); err != nil {
		return nil, nil, err
	}
	marks = tile.NextMarks(marks, atOnce)
	blocks, err = tile.Build(ctx, s.db.log, func(yield func([]gpstracks.Track, error) bool) {
		for rest := marks; len(rest) > 0; {
			var tracks []gpstracks.Track
			next := tile.NextMarks(rest, readAtOnce)
			rest = rest[len(next):]
			for _, m := range next {
				rows, err := s.db.read.QueryContext(ctx, fullTracks+"where k.id between ? and ?", m.First, m.Last)
				more, err := collect(rows, err, func(r *sql.Rows) (gpstracks.Track, error) { return scanFull(r) })
				if err != nil {
					_ = yield(nil, err)
					return
				}
				tracks = append(tracks, more...)
			}
			if !yield(tracks, nil) {
				return
			}
		}
	})
	return marks, blocks, err
}

// discard marks all tracks and drops their blocks, unless those are of this layout.
func (t *tx) discard() error {
	version, err := t.counter(blocksVersion)
	if err != nil || version == tile.Version {
		return err
	}
	for _, query := range []string{
		"delete from track_blocks", "delete from track_block_bounds", "delete from track_unbuilt",
		`insert into track_unbuilt (first_id, last_id, points) select min(id), max(id), sum(points)
			from (select id, points, (row_number() over (order by id) - 1) / 256 as part from tracks) group by part`,
	} {
		if err := t.exec(query); err != nil {
			return err
		}
	}
	left, err := t.backlog()
	if left.Tracks > 0 {
		t.db.log.Info("building the blocks of all tracks again: the layout of tiles has changed")
	}
	if err != nil {
		return err
	}
	return t.setCounter(blocksVersion, tile.Version)
}
