package sqlite

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync/atomic"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// Tracks is the part of a DB that keeps tracks. It is safe for concurrent use.
type Tracks struct{ db *DB }

var (
	_ gpstracks.Store    = (*Tracks)(nil)
	_ gpstracks.RunStore = (*Tracks)(nil)
	_ tile.Source        = (*Tracks)(nil)
)

// blocksVersion is the counter that says for which layout the blocks are.
const blocksVersion = "track blocks version"

// Tracks gives the tracks of the file. Blocks of another version's layout are
// built again from the tracks, which takes a while.
func (d *DB) Tracks(ctx context.Context) (*Tracks, error) {
	t := &Tracks{d}
	var version, some int
	err := d.read.QueryRowContext(ctx, "select coalesce((select value from counters where name = ?), 0), exists (select 1 from tracks)", blocksVersion).Scan(&version, &some)
	switch {
	case err != nil:
		return nil, fmt.Errorf("sqlite: tracks: %w", err)
	case version == tile.Version:
		return t, nil
	case some == 0:
		return t, d.write(ctx, func(t *tx) error { return t.setCounter(blocksVersion, tile.Version) })
	default:
		d.log.Info("building the blocks of all tracks again: the layout of tiles has changed")
		return t, t.rebuild(ctx)
	}
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

// prepared is a new track with its id and features.
type prepared struct {
	id       int64
	features []tile.Feature
	geometry []byte
}

// Upsert implements gpstracks.Store.
func (s *Tracks) Upsert(ctx context.Context, tracks []gpstracks.Track) (u gpstracks.Upserted, err error) {
	keys := make([]string, len(tracks))
	for i := range tracks {
		if keys[i] = tracks[i].Key; keys[i] == "" {
			return u, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		}
	}
	ready, err := s.prepare(ctx, tracks, keys)
	if err != nil {
		return u, err
	}
	var again gpstracks.Upserted
	err = s.db.write(ctx, func(t *tx) error {
		again = gpstracks.Upserted{}
		return t.upsertTracks(tracks, ready, &again)
	})
	if err != nil {
		return u, err
	}
	if err := s.settle(ctx); err != nil && ctx.Err() == nil {
		s.db.log.Warn("blocks of tracks could not be put together: tiles are slower until the next upsert", "err", err)
	}
	return again, nil
}

// prepare gives ids and features to the tracks whose keys are new, before the
// writer is asked for: packing takes most of the time. The result is by index.
func (s *Tracks) prepare(ctx context.Context, tracks []gpstracks.Track, keys []string) (map[int]*prepared, error) {
	found, err := s.Known(ctx, keys...)
	if err != nil {
		return nil, err
	}
	seen := make(map[string]bool, len(keys))
	for _, k := range found {
		seen[k] = true
	}
	var fresh []int
	for i, k := range keys {
		if !seen[k] {
			seen[k] = true
			fresh = append(fresh, i)
		}
	}
	if len(fresh) == 0 {
		return nil, nil
	}
	var first int64
	if err := s.db.write(ctx, func(t *tx) (err error) { first, err = t.reserve(len(fresh)); return err }); err != nil {
		return nil, err
	}
	ready := make(map[int]*prepared, len(fresh))
	for n, i := range fresh {
		ready[i] = &prepared{id: first + int64(n)}
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

func (r *prepared) pack(p *tile.Packer, t gpstracks.Track) {
	t.ID = r.id
	r.features, r.geometry = p.Pack(&t), gpstracks.AppendLines(nil, t.Lines)
}

func (t *tx) upsertTracks(tracks []gpstracks.Track, ready map[int]*prepared, u *gpstracks.Upserted) error {
	var features []tile.Feature
	var packer tile.Packer
	for i := range tracks {
		track := tracks[i]
		known, ok, err := t.trackByKey(track.Key)
		if err != nil {
			return err
		}
		if ok {
			told, err := t.mergeTrack(known, track, u, &packer)
			if err != nil {
				return err
			}
			if len(told) > 0 { // in place of what this call brought of it before
				features = slices.DeleteFunc(features, func(f tile.Feature) bool { return f.ID == known.ID })
			}
			features = append(features, told...)
			continue
		}
		r := ready[i]
		if r == nil || r.geometry == nil { // the one of this key was removed a moment ago, or the call is late
			r = &prepared{}
			if r.id, err = t.reserve(1); err != nil {
				return err
			}
			r.pack(&packer, track)
		}
		track.ID, track.FirstSeenAt = r.id, track.LastSeenAt
		if err := t.insertTrack(track, r.geometry); err != nil {
			return err
		}
		features = append(features, r.features...)
		u.Inserted++
		u.Changed = append(u.Changed, track.Bounds)
	}
	if err := t.addFeatures(features); err != nil {
		return err
	}
	return t.noteChanges(u.Changed)
}

// mergeTrack keeps what a known track is told, and returns its features if they
// are to be drawn anew.
func (t *tx) mergeTrack(known, again gpstracks.Track, u *gpstracks.Upserted, p *tile.Packer) ([]tile.Feature, error) {
	merged, told := gpstracks.Merge(known, again)
	if !told {
		u.Duplicates++
		if merged.LastSeenAt.Equal(known.LastSeenAt) && merged.RunID == known.RunID {
			return nil, nil
		}
		return nil, t.exec("update tracks set last_seen_at = ?, run_id = ? where id = ?", micros(merged.LastSeenAt), merged.RunID, merged.ID)
	}
	u.Updated++
	u.Changed = append(u.Changed, merged.Bounds)
	var err error
	if known.Lines, err = t.lines(known.ID); err != nil {
		return nil, err
	}
	merged.Lines = known.Lines
	if err := t.dropFeatures(map[int64]bool{known.ID: true}, p.Pack(&known)); err != nil {
		return nil, err
	}
	err = t.exec("update tracks set name = ?, url = ?, attribution = ?, activity = ?, last_seen_at = ?, run_id = ? where id = ?",
		merged.Name, merged.URL, merged.Attribution, string(merged.Activity), micros(merged.LastSeenAt), merged.RunID, merged.ID)
	return p.Pack(&merged), err
}

func (t *tx) insertTrack(k gpstracks.Track, geometry []byte) error {
	b := k.Bounds
	err := t.exec(`insert into tracks (id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m, metres,
		recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id) values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		k.ID, k.Source, k.ExternalID, k.Name, string(k.Activity), k.URL, k.Attribution, b.Min[0], b.Min[1], b.Max[0], b.Max[1], k.LengthM,
		k.Cursor().Metres, micros(k.RecordedOn), k.Key, k.Points, micros(k.FirstSeenAt), micros(k.LastSeenAt), k.RunID)
	if err != nil {
		return err
	}
	if err := t.exec("insert into track_geometries (track_id, geometry) values (?, ?)", k.ID, geometry); err != nil {
		return err
	}
	return t.exec("insert into track_bounds (id, min_lon, max_lon, min_lat, max_lat) values (?, ?, ?, ?, ?)", k.ID, b.Min[0], b.Max[0], b.Min[1], b.Max[1])
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

func (t *tx) removeTracks(ids []int64) (changed []orb.Bound, err error) {
	var packer tile.Packer
	var features []tile.Feature
	gone := map[int64]bool{}
	for _, id := range ids {
		known, ok, err := t.trackByID(id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		if known.Lines, err = t.lines(id); err != nil {
			return nil, err
		}
		features, gone[id] = append(features, packer.Pack(&known)...), true
		changed = append(changed, known.Bounds)
		for _, query := range []string{"delete from tracks where id = ?", "delete from track_geometries where track_id = ?", "delete from track_bounds where id = ?"} {
			if err := t.exec(query, id); err != nil {
				return nil, err
			}
		}
	}
	if err := t.dropFeatures(gone, features); err != nil {
		return nil, err
	}
	return changed, t.noteChanges(changed)
}

// jsonList is a list as SQLite's json_each reads it.
func jsonList[T any](list []T) string {
	b, err := json.Marshal(list)
	if err != nil || list == nil { // numbers and strings always encode
		return "[]"
	}
	return string(b)
}
