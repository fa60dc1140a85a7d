package postgres

import (
	"context"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
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
}

var (
	_ gpstracks.Store    = (*Tracks)(nil)
	_ gpstracks.RunStore = (*Tracks)(nil)
	_ tile.Source        = (*Tracks)(nil)
)

// Tracks gives the tracks of the database. Blocks of another version's layout are
// built again from the tracks, which takes a while.
func (d *DB) Tracks(ctx context.Context) (*Tracks, error) {
	s := &Tracks{db: d, turn: make(chan struct{}, 1)}
	var err error
	if s.me, err = writerName(); err != nil {
		return nil, err
	}
	version, err := ask(ctx, s, pgx.RowTo[int64], "select blocks_version from ~track_turn")
	if err != nil || len(version) == 1 && version[0] == tile.Version {
		return s, err
	}
	return s, s.write(ctx, (*trackTx).rebuild)
}

// prepared is a new track with its id and features.
type prepared struct {
	id       int64
	features []tile.Feature
	geometry []byte
}

func (r *prepared) pack(p *tile.Packer, t gpstracks.Track) {
	t.ID = r.id
	r.features, r.geometry = p.Pack(&t), gpstracks.AppendLines(nil, t.Lines)
}

// Upsert implements gpstracks.Store.
func (s *Tracks) Upsert(ctx context.Context, tracks []gpstracks.Track) (u gpstracks.Upserted, err error) {
	keys := make([]string, len(tracks))
	for i := range tracks {
		if keys[i] = text(tracks[i].Key); keys[i] == "" {
			return u, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		}
	}
	known, err := ask(ctx, s, scanKnownTrack, knownTracks, keys)
	if err != nil {
		return u, err
	}
	if nothing(tracks, known) {
		return gpstracks.Upserted{Duplicates: len(tracks)}, nil
	}
	ready, err := s.prepare(ctx, tracks, known)
	if err != nil {
		return u, err
	}
	err = s.write(ctx, func(t *trackTx) error {
		b := bringing{t: t, ready: ready, byKey: map[string]*gpstracks.Track{}, seen: map[int64]*gpstracks.Track{}, brought: map[int64]bool{}}
		err := b.all(tracks, keys)
		u = b.u
		return err
	})
	if err != nil {
		return gpstracks.Upserted{}, err
	}
	if err := s.settle(ctx); err != nil && ctx.Err() == nil {
		s.db.log.Warn("blocks of tracks could not be put together: tiles are slower until the next upsert", "err", err)
	}
	return u, nil
}

// nothing reports that all tracks are known, and tell nothing.
func nothing(tracks []gpstracks.Track, known []gpstracks.Track) bool {
	byKey := make(map[string]*gpstracks.Track, len(known))
	for i := range known {
		byKey[known[i].Key] = &known[i]
	}
	for i := range tracks {
		k := byKey[text(tracks[i].Key)]
		if k == nil {
			return false
		}
		if merged, told := gpstracks.Merge(*k, tracks[i]); told || seenLater(merged, *k) {
			return false
		}
	}
	return true
}

// seenLater reports a track that was seen after what is known of it.
func seenLater(merged, known gpstracks.Track) bool {
	return !sameTime(merged.LastSeenAt, known.LastSeenAt) || merged.RunID != known.RunID
}

// prepare gives ids and features to the tracks whose keys are new, before the turn
// is taken: packing takes most of the time. The result is by index.
func (s *Tracks) prepare(ctx context.Context, tracks, known []gpstracks.Track) (map[int]*prepared, error) {
	seen := make(map[string]bool, len(tracks))
	for i := range known {
		seen[known[i].Key] = true
	}
	var fresh []int
	for i := range tracks {
		if k := text(tracks[i].Key); !seen[k] {
			seen[k] = true
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	ids, err := ask(ctx, s, pgx.RowTo[int64], "select nextval('~track_ids') from generate_series(1, $1)", len(fresh))
	if err != nil {
		return nil, err
	}
	ready := make(map[int]*prepared, len(fresh))
	for n, i := range fresh {
		ready[i] = &prepared{id: ids[n]}
	}
	var next atomic.Int64
	g := run.New(ctx, s.db.log)
	for range min(runtime.GOMAXPROCS(0), len(fresh)) {
		g.Go("pack tracks", func(ctx context.Context) {
			var p tile.Packer
			for n := next.Add(1) - 1; n < int64(len(fresh)) && ctx.Err() == nil; n = next.Add(1) - 1 {
				i := fresh[n]
				ready[i].pack(&p, tracks[i])
			}
		})
	}
	g.Wait()
	g.Stop()
	return ready, ctx.Err()
}

// bringing is an upsert inside its transaction.
type bringing struct {
	t        *trackTx
	u        gpstracks.Upserted
	ready    map[int]*prepared
	packer   tile.Packer
	byKey    map[string]*gpstracks.Track // known ones without what is not merged, and new ones
	seen     map[int64]*gpstracks.Track  // stored ones of byKey whose last time changes
	fresh    []*gpstracks.Track
	lines    [][]byte       // of fresh
	brought  map[int64]bool // ids of fresh
	features []tile.Feature
}

func (b *bringing) all(tracks []gpstracks.Track, keys []string) error {
	known, err := rowsOf(b.t, scanKnownTrack, knownTracks, keys)
	if err != nil {
		return err
	}
	for i := range known {
		b.byKey[known[i].Key] = &known[i]
	}
	for i := range tracks {
		known := b.byKey[keys[i]]
		if known == nil {
			err = b.bring(tracks[i], keys[i], b.ready[i])
		} else {
			err = b.again(known, tracks[i])
		}
		if err != nil {
			return err
		}
	}
	if err := b.t.touch(b.seen); err != nil {
		return err
	}
	if err := b.t.insertTracks(b.fresh, b.lines); err != nil {
		return err
	}
	if err := b.t.addFeatures(b.features); err != nil {
		return err
	}
	return b.t.noteChanges(b.u.Changed)
}

// bring takes a new track.
func (b *bringing) bring(track gpstracks.Track, key string, r *prepared) error {
	if r == nil || r.geometry == nil { // the one of this key was removed a moment ago, or the call is late
		ids, err := rowsOf(b.t, pgx.RowTo[int64], "select nextval('~track_ids')")
		if err != nil {
			return err
		}
		r = &prepared{id: ids[0]}
		r.pack(&b.packer, track)
	}
	track.ID, track.Key, track.FirstSeenAt = r.id, key, track.LastSeenAt
	b.byKey[key], b.brought[track.ID] = &track, true
	b.fresh, b.lines = append(b.fresh, &track), append(b.lines, r.geometry)
	b.features = append(b.features, r.features...)
	b.u.Inserted++
	b.u.Changed = append(b.u.Changed, track.Bounds)
	return nil
}

// again merges a track with the known one of its key.
func (b *bringing) again(known *gpstracks.Track, track gpstracks.Track) error {
	merged, told := gpstracks.Merge(*known, track)
	if !told {
		b.u.Duplicates++
		if seenLater(merged, *known) && !b.brought[known.ID] {
			b.seen[known.ID] = known
		}
		*known = merged
		return nil
	}
	if !b.brought[known.ID] {
		full, err := b.t.track(known.ID)
		if err != nil {
			return err
		}
		if err := b.t.dropFeatures(map[int64]bool{known.ID: true}, b.packer.Pack(&full)); err != nil {
			return err
		}
		full.LastSeenAt, full.RunID = known.LastSeenAt, known.RunID // as this call may have brought them
		merged, _ = gpstracks.Merge(full, track)
		if err := b.t.tell(merged); err != nil {
			return err
		}
		delete(b.seen, known.ID)
	}
	*known = merged
	// In place of what this call brought of it before.
	b.features = slices.DeleteFunc(b.features, func(f tile.Feature) bool { return f.ID == known.ID })
	b.features = append(b.features, b.packer.Pack(known)...)
	b.u.Updated++
	b.u.Changed = append(b.u.Changed, known.Bounds)
	return nil
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
