package postgres

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Blocks are built after their tracks were kept. The transaction that keeps tracks,
// or takes one out of its blocks, marks their ids; the one that brings their blocks
// takes the marks away. A tile reads blocks and marks in one statement, and draws
// marked tracks from their rows: it shows each once, at any moment, whoever died in
// between.

const allMarks = "select first_id, last_id, points, changed from ~track_unbuilt order by first_id"

func scanMark(row pgx.CollectableRow) (m tile.Mark, err error) {
	return m, row.Scan(&m.First, &m.Last, &m.Points, &m.Changed)
}

func (t *trackTx) mark(marks []tile.Mark) error {
	if len(marks) == 0 {
		return nil
	}
	var first, last, points []int64
	for _, m := range marks {
		first, last, points = append(first, m.First), append(last, m.Last), append(points, m.Points)
	}
	return t.exec("insert into ~track_unbuilt (first_id, last_id, points) select * from unnest($1::bigint[], $2::bigint[], $3::bigint[])", first, last, points)
}

const howMuch = "select coalesce(sum(last_id - first_id + 1), 0)::bigint, coalesce(sum(points), 0)::bigint from ~track_unbuilt"

func scanBacklog(row pgx.CollectableRow) (b tile.Backlog, err error) {
	return b, row.Scan(&b.Tracks, &b.Points)
}

func (t *trackTx) backlog() (tile.Backlog, error) {
	all, err := rowsOf(t, scanBacklog, howMuch)
	if err != nil {
		return tile.Backlog{}, err
	}
	return all[0], nil
}

// buildAfter is how long the builder waits after the last call: a set that is larger
// is built with less work.
const buildAfter = 250 * time.Millisecond

// toBuild hints the builder.
func (s *Tracks) toBuild() {
	select {
	case s.hint <- struct{}{}:
	default:
	}
}

// stored is told what is to be built after a call.
func (s *Tracks) stored(ctx context.Context, left tile.Backlog) {
	s.toBuild()
	for left.Much() {
		all, err := []tile.Backlog(nil), s.buildSome(ctx, inCall)
		if err == nil {
			all, err = ask(ctx, s, scanBacklog, howMuch)
		}
		if err != nil {
			if ctx.Err() == nil {
				s.db.log.Warn("blocks of tracks are not built yet: tiles are slower meanwhile", "err", err)
			}
			return
		}
		left = all[0]
	}
}

// builder builds what is hinted, until the DB is closed.
func (s *Tracks) builder(ctx context.Context) {
	for n := 0; ; {
		select {
		case <-ctx.Done():
			return
		case <-s.hint:
		}
		if !s.quiet(ctx) {
			return
		}
		err := s.Build(ctx)
		if err == nil {
			n = 0
			continue
		}
		if ctx.Err() == nil {
			s.db.log.Warn("blocks of tracks are not built yet: tiles are slower meanwhile", "err", err)
		}
		if n++; pause(ctx, n) != nil {
			return
		}
		s.toBuild()
	}
}

// quiet waits until no call has kept tracks for a moment; false = ctx ended. A call
// that has to build has both processors for it.
func (s *Tracks) quiet(ctx context.Context) bool {
	for {
		wait := buildAfter - time.Since(time.Unix(0, s.last.Load()))
		if s.busy.Load() > 0 { // it builds itself what is too much
			wait = buildAfter
		}
		if wait <= 0 {
			return true
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return false
		case <-timer.C:
		}
	}
}

// Build builds the blocks of tracks that are in none yet, and returns when none is
// left. Nobody has to call it: it is done a moment after tracks were kept, by this
// process or, if it dies, by the next that opens the tracks or reads tiles of them.
func (s *Tracks) Build(ctx context.Context) error {
	for {
		left, err := ask(ctx, s, scanBacklog, howMuch)
		if err != nil {
			return ended(ctx, err)
		}
		if left[0].Tracks == 0 {
			return s.settle(ctx)
		}
		if err := s.buildSome(ctx, atOnce); err != nil {
			return ended(ctx, err)
		}
	}
}

// What is built in one transaction: the more, the less is put together anew later. A
// call waits for little only.
var (
	atOnce = tile.Backlog{Tracks: 16 << 10, Points: 4 << 20}
	inCall = tile.Backlog{Tracks: 16 << 10, Points: 1 << 20}
)

// takeBuilding makes this process the one that builds.
const takeBuilding = "select " + ownWay + ", pg_advisory_xact_lock(hashtextextended($1, 0))"

// buildSome builds some of what is to be built in one transaction. It takes the turn
// for its last statements only. Nothing is built if tracks of it have changed
// meanwhile.
func (s *Tracks) buildSome(ctx context.Context, most tile.Backlog) error {
	return s.db.retry(ctx, func(ctx context.Context) error {
		err := pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
			t := &trackTx{ctx: ctx, db: s.db, tx: tx}
			if err := t.exec(takeBuilding, "signalbox builder of "+s.db.schema); err != nil {
				return err
			}
			marks, err := rowsOf(t, scanMark, allMarks)
			if marks = tile.NextMarks(marks, most); err != nil || len(marks) == 0 {
				return err
			}
			blocks, err := s.built(t, marks)
			if err != nil {
				return err
			}
			if err := t.copyBlocks(blocks); err != nil {
				return err
			}
			return t.unmark(marks, blocks)
		})
		if errors.Is(err, errChanged) {
			return nil
		}
		return err
	})
}

var errChanged = errors.New("postgres: tracks have changed while they were built")

// unmark takes the turn and the marks of what was built. If one has changed, the
// transaction is undone.
func (t *trackTx) unmark(marks []tile.Mark, blocks []tile.Block) error {
	if err := t.exec("select from ~track_turn for no key update"); err != nil {
		return err
	}
	var first, changed []int64
	for _, m := range marks {
		first, changed = append(first, m.First), append(changed, m.Changed)
	}
	gone, err := t.tx.Exec(t.ctx, t.db.q(`delete from ~track_unbuilt u using unnest($1::bigint[], $2::bigint[]) m(first, changed)
		where u.first_id = m.first and u.changed = m.changed`), first, changed)
	if err != nil {
		return err
	}
	if gone.RowsAffected() != int64(len(marks)) {
		return errChanged
	}
	return t.count(blocks, 1)
}

// readAtOnce is what is read in one statement: of long tracks, lines take much more
// memory than what is made of them.
var readAtOnce = tile.Backlog{Tracks: 16 << 10, Points: 1 << 20}

// built makes the blocks of marked tracks.
func (s *Tracks) built(t *trackTx, marks []tile.Mark) ([]tile.Block, error) {
	return tile.Build(t.ctx, s.db.log, func(yield func([]gpstracks.Track, error) bool) {
		for len(marks) > 0 {
			var first, last []int64
			next := tile.NextMarks(marks, readAtOnce)
			marks = marks[len(next):]
			for _, m := range next {
				first, last = append(first, m.First), append(last, m.Last)
			}
			if !yield(rowsOf(t, scanTrack, tracksBetween, first, last)) {
				return
			}
		}
	})
}

// discard marks all tracks and drops their blocks, unless those are of this layout.
func (t *trackTx) discard() error {
	version, err := rowsOf(t, pgx.RowTo[int64], "select blocks_version from ~track_turn")
	if err != nil || len(version) == 1 && version[0] == tile.Version {
		return err
	}
	for _, query := range []string{"delete from ~track_blocks", "delete from ~track_tiers", "delete from ~track_unbuilt"} {
		if err := t.exec(query); err != nil {
			return err
		}
	}
	if err := t.exec(`insert into ~track_unbuilt (first_id, last_id, points) select min(id), max(id), sum(points)
		from (select id, points, (row_number() over (order by id) - 1) / 256 as part from ~tracks) k group by part`); err != nil {
		return err
	}
	left, err := t.backlog()
	if left.Tracks > 0 {
		t.db.log.Info("building the blocks of all tracks again: the layout of tiles has changed")
	}
	if err != nil {
		return err
	}
	return t.exec("update ~track_turn set blocks_version = $1", int64(tile.Version))
}
