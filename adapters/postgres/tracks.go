package postgres

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Tracks is the part of a DB that keeps tracks. It is safe for concurrent use.
// Its transactions are its own: they run on connections of the pool, end with the
// context of their caller, and take turns with those of other processes, but not
// with the queue's.
type Tracks struct {
	db   *DB
	me   string        // its name among the writers
	turn chan struct{} // held by the call that writes
	seq  int64         // of the last transaction that was begun
	hint chan struct{} // there is something to build
	busy atomic.Int64  // calls that keep tracks
	last atomic.Int64  // when the last of them ended, in nanoseconds since 1970
}

var (
	_ gpstracks.Store    = (*Tracks)(nil)
	_ gpstracks.RunStore = (*Tracks)(nil)
	_ tile.Source        = (*Tracks)(nil)
)

// Tracks gives the tracks of the database, and builds blocks beside them until the
// DB is closed. Blocks of another version's layout are built again from the tracks,
// which takes a while.
func (d *DB) Tracks(ctx context.Context) (*Tracks, error) {
	s := &Tracks{db: d, turn: make(chan struct{}, 1), hint: make(chan struct{}, 1)}
	var err error
	if s.me, err = writerName(); err != nil {
		return nil, err
	}
	version, err := ask(ctx, s, pgx.RowTo[int64], "select blocks_version from ~track_turn")
	if err != nil {
		return nil, err
	}
	if len(version) != 1 || version[0] != tile.Version {
		if err := s.write(ctx, (*trackTx).discard); err != nil {
			return nil, err
		}
		if err := s.Build(ctx); err != nil {
			return nil, err
		}
	}
	d.group.Go("build blocks of tracks", s.builder)
	s.toBuild() // what a process left that died
	return s, nil
}

// Upsert implements gpstracks.Store. The call keeps the tracks and a mark that their
// blocks are to be built; see Build.
func (s *Tracks) Upsert(ctx context.Context, tracks []gpstracks.Track) (gpstracks.Upserted, error) {
	tracks, keys, err := keyed(tracks)
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	known, version, err := s.known(ctx, keys)
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	plan := gpstracks.PlanUpsert(tracks, known)
	if plan.Empty() {
		return plan.Upserted, nil
	}
	s.busy.Add(1)
	defer func() {
		s.last.Store(time.Now().UnixNano())
		s.busy.Add(-1)
	}()
	var left tile.Backlog
	err = s.write(ctx, func(t *trackTx) (err error) {
		if t.version != version { // somebody else has changed tracks meanwhile
			if known, err = rowsOf(t, scanKnownTrack, knownTracks, keys); err != nil {
				return err
			}
			version, plan = t.version, gpstracks.PlanUpsert(tracks, known)
		}
		if len(plan.Told) > 0 {
			if err := t.complete(known, plan.Told); err != nil {
				return err
			}
			version, plan = -1, gpstracks.PlanUpsert(tracks, known) // -1: known is of no version any more
		}
		left, err = t.carryOut(&plan)
		return err
	})
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	s.stored(ctx, left)
	return plan.Upserted, nil
}

// keyed makes keys that PostgreSQL can hold, and refuses a track without one.
func keyed(tracks []gpstracks.Track) (same []gpstracks.Track, keys []string, err error) {
	keys = make([]string, len(tracks))
	for i := range tracks {
		if keys[i] = text(tracks[i].Key); keys[i] == "" {
			return nil, nil, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		}
		if keys[i] != tracks[i].Key {
			if same == nil {
				same = slices.Clone(tracks)
			}
			same[i].Key = keys[i]
		}
	}
	if same == nil {
		same = tracks
	}
	return same, keys, nil
}

// fresh makes the server plan a statement each time, for the values that it is given
// and the tables as they are now: one that was planned when a table was empty reads
// all of it when it is full.
const fresh = pgx.QueryExecModeCacheDescribe

// known reads what is known of keys, before the turn: it is still true if the
// version is the same then.
func (s *Tracks) known(ctx context.Context, keys []string) (known []gpstracks.Track, version int64, err error) {
	// The version first: what is read afterwards is at least as new.
	versions, err := ask(ctx, s, pgx.RowTo[int64], "select version from ~track_turn")
	if err != nil {
		return nil, 0, err
	}
	known, err = ask(ctx, s, scanKnownTrack, knownTracks, fresh, keys)
	return known, versions[0], err
}

// complete reads all of the known tracks that are told something.
func (t *trackTx) complete(known, told []gpstracks.Track) error {
	ids := make([]int64, len(told))
	for i := range told {
		ids[i] = told[i].ID
	}
	full, err := rowsOf(t, scanTrack, fullTracks, ids)
	if err != nil {
		return err
	}
	if len(full) != len(ids) {
		return errors.New("postgres: a track has no geometry: remove it and collect it again")
	}
	byID := make(map[int64]*gpstracks.Track, len(full))
	for i := range full {
		byID[full[i].ID] = &full[i]
	}
	for i := range known {
		if k := byID[known[i].ID]; k != nil {
			known[i] = *k
		}
	}
	return nil
}

// carryOut does what an upsert has planned.
func (t *trackTx) carryOut(p *gpstracks.Plan) (left tile.Backlog, err error) {
	if err := t.touch(p.Seen); err != nil {
		return left, err
	}
	marks, err := t.tell(p.Told)
	if err != nil {
		return left, err
	}
	if len(p.New) > 0 {
		ids, err := rowsOf(t, pgx.RowTo[int64], "select setval('~track_ids', nextval('~track_ids') + $1 - 1)", len(p.New))
		if err != nil {
			return left, err
		}
		first := ids[0] - int64(len(p.New)) + 1
		for i := range p.New {
			p.New[i].ID = first + int64(i)
		}
		if err := t.insertTracks(p.New); err != nil {
			return left, err
		}
		marks = append(marks, tile.MarksOf(p.New)...)
	}
	if err := t.mark(marks); err != nil {
		return left, err
	}
	if err := t.noteChanges(p.Changed); err != nil {
		return left, err
	}
	return t.backlog()
}

// removeAtOnce is how many tracks are removed in one transaction.
const removeAtOnce = 200

// Remove implements gpstracks.Store. Many tracks are removed in several
// transactions.
func (s *Tracks) Remove(ctx context.Context, ids ...int64) ([]orb.Bound, error) {
	changed, err := []orb.Bound(nil), ctx.Err()
	for len(ids) > 0 && err == nil {
		part := ids[:min(len(ids), removeAtOnce)]
		ids = ids[len(part):]
		var gone []orb.Bound
		err = s.write(ctx, func(t *trackTx) (err error) { gone, err = t.removeTracks(part); return err })
		if err == nil {
			changed = append(changed, gone...)
		}
	}
	return changed, err
}
