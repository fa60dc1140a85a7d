package sqlite

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Tracks is the part of a DB that keeps tracks. It is safe for concurrent use.
type Tracks struct {
	db       *DB
	group    *run.Group
	turn     chan struct{} // held by whoever builds
	building atomic.Bool   // there is a builder
	hint     atomic.Bool   // there is something to build
	last     atomic.Int64  // when tracks were kept last, in nanoseconds since 1970
}

var (
	_ gpstracks.Store    = (*Tracks)(nil)
	_ gpstracks.RunStore = (*Tracks)(nil)
	_ tile.Source        = (*Tracks)(nil)
)

// Counters of the track layer.
const (
	blocksVersion = "track blocks version" // for which layout the blocks are
	tracksVersion = "tracks version"       // how often tracks were changed
)

// Tracks gives the tracks of the file, and builds blocks beside them until the DB is
// closed. Blocks of another version's layout are built again from the tracks, which
// takes a while.
func (d *DB) Tracks(ctx context.Context) (*Tracks, error) {
	s := &Tracks{db: d, group: run.New(context.WithoutCancel(ctx), d.log), turn: make(chan struct{}, 1)}
	version, err := s.counter(ctx, blocksVersion)
	if err != nil {
		return nil, fmt.Errorf("sqlite: tracks: %w", err)
	}
	if version != tile.Version {
		if err := d.write(ctx, (*tx).discard); err != nil {
			return nil, err
		}
		if err := s.Build(ctx); err != nil {
			return nil, err
		}
	}
	if left, err := s.backlog(ctx); err != nil || left.Tracks == 0 {
		return s, err
	}
	s.toBuild() // what a process left that died
	return s, nil
}

const readCounter = "select coalesce((select value from counters where name = ?), 0)"

func (s *Tracks) counter(ctx context.Context, name string) (value int64, err error) {
	err = s.db.read.QueryRowContext(ctx, readCounter, name).Scan(&value)
	return value, ended(ctx, err)
}

func (t *tx) counter(name string) (value int64, err error) {
	_, err = t.one([]any{&value}, readCounter, name)
	return value, err
}

func (t *tx) setCounter(name string, value int64) error {
	return t.exec("insert into counters (name, value) values (?, ?) on conflict (name) do update set value = excluded.value", name, value)
}

// reserve takes n ids of tracks and returns the first. An id is not used twice.
func (t *tx) reserve(n int) (first int64, err error) {
	_, err = t.one([]any{&first}, `insert into counters (name, value) values ('track', ?1) on conflict (name) do update set value = value + ?1
		returning value - ?1 + 1`, n)
	return first, err
}

// Upsert implements gpstracks.Store. The call keeps the tracks and a mark that their
// blocks are to be built; see Build.
func (s *Tracks) Upsert(ctx context.Context, tracks []gpstracks.Track) (gpstracks.Upserted, error) {
	keys := make([]string, len(tracks))
	for i := range tracks {
		if keys[i] = tracks[i].Key; keys[i] == "" {
			return gpstracks.Upserted{}, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		}
	}
	// The version first: what is read afterwards is at least as new.
	version, err := s.counter(ctx, tracksVersion)
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	rows, err := s.db.read.QueryContext(ctx, knownTracks, jsonList(keys))
	known, err := scanKnown(rows, err, keys)
	if err != nil {
		return gpstracks.Upserted{}, ended(ctx, err)
	}
	plan := gpstracks.PlanUpsert(tracks, known)
	if plan.Empty() {
		return plan.Upserted, nil
	}
	var left tile.Backlog
	err = s.db.write(ctx, func(t *tx) error {
		now, err := t.counter(tracksVersion)
		if err != nil {
			return err
		}
		if now != version { // somebody else has changed tracks meanwhile
			if known, err = t.knownTracks(keys); err != nil {
				return err
			}
			version, plan = now, gpstracks.PlanUpsert(tracks, known)
		}
		if len(plan.Told) > 0 {
			if err := t.complete(known, plan.Told); err != nil {
				return err
			}
			version, plan = -1, gpstracks.PlanUpsert(tracks, known) // -1: known is of no version any more
		}
		if err := t.carryOut(&plan); err != nil {
			return err
		}
		left, err = t.backlog()
		return err
	})
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	s.stored(ctx, left)
	return plan.Upserted, nil
}

// complete reads all of the known tracks that are told something.
func (t *tx) complete(known, told []gpstracks.Track) error {
	full := make(map[int64]gpstracks.Track, len(told))
	for i := range told {
		k, ok, err := t.fullTrack(told[i].ID)
		if err == nil && !ok {
			err = errors.New("sqlite: a track has no geometry: remove it and collect it again")
		}
		if err != nil {
			return err
		}
		full[k.ID] = k
	}
	for i := range known {
		if k, ok := full[known[i].ID]; ok {
			known[i] = k
		}
	}
	return nil
}

// carryOut does what an upsert has planned.
func (t *tx) carryOut(p *gpstracks.Plan) error {
	if err := t.touch(p.Seen); err != nil {
		return err
	}
	marks, err := t.tell(p.Told)
	if err != nil {
		return err
	}
	if len(p.New) > 0 {
		first, err := t.reserve(len(p.New))
		if err != nil {
			return err
		}
		for i := range p.New {
			p.New[i].ID = first + int64(i)
		}
		if err := t.insertTracks(p.New); err != nil {
			return err
		}
		marks = append(marks, tile.MarksOf(p.New)...)
	}
	if err := t.mark(marks); err != nil {
		return err
	}
	return t.noteChanges(p.Changed)
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
		err = s.db.write(ctx, func(t *tx) (err error) { gone, err = t.removeTracks(part); return err })
		if err == nil {
			changed = append(changed, gone...)
		}
	}
	return changed, err
}

// jsonList is a list as SQLite's json_each reads it.
func jsonList[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil || list == nil { // numbers and strings always encode
		return "[]"
	}
	return string(b)
}
