package postgres

import (
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// inRow is up to how many bytes a geometry lies in the row of its track.
const inRow = 512

// insertTracks keeps new tracks and their lines.
func (t *trackTx) insertTracks(tracks []gpstracks.Track) error {
	columns := []string{
		"id", "source", "external_id", "name", "activity", "url", "attribution", "min_lon", "min_lat", "max_lon", "max_lat", "length_m", "metres",
		"recorded_on", "dedupe_key", "points", "first_seen_at", "last_seen_at", "run_id", "geometry",
	}
	lines, err := t.lines(tracks)
	if err != nil {
		return err
	}
	var long []int // tracks whose lines lie apart
	err = t.copy("tracks", columns, len(tracks), func(i int) ([]any, error) {
		k := &tracks[i]
		if lines[i] == nil {
			lines[i] = gpstracks.AppendLines(nil, k.Lines)
		}
		b, geometry := k.Bounds, lines[i]
		if len(geometry) > inRow {
			long, geometry = append(long, i), nil
		}
		return clean([]any{
			k.ID, k.Source, k.ExternalID, k.Name, string(k.Activity), k.URL, k.Attribution, b.Min[0], b.Min[1], b.Max[0], b.Max[1], k.LengthM,
			k.Cursor().Metres, when(k.RecordedOn), k.Key, int64(k.Points), when(k.FirstSeenAt), when(k.LastSeenAt), k.RunID, geometry,
		}), nil
	})
	if err != nil {
		return err
	}
	return t.copy("track_geometries", []string{"track_id", "geometry"}, len(long), func(i int) ([]any, error) {
		return []any{tracks[long[i]].ID, lines[long[i]]}, nil
	})
}

// manyPoints are worth a second processor. Fewer are written while the server takes those
// before them.
const manyPoints = 1 << 16

// lines are those of tracks as they are kept, if they are many; else none.
func (t *trackTx) lines(tracks []gpstracks.Track) ([][]byte, error) {
	out, points := make([][]byte, len(tracks)), 0
	for i := range tracks {
		points += tracks[i].Points
	}
	if points <= manyPoints {
		return out, nil
	}
	size := max(len(tracks)/64, 1) // of a part
	parts := (len(tracks) + size - 1) / size
	return out, run.Start(t.ctx, t.db.log, "write lines of tracks", parts, func(part int) {
		for i := part * size; i < min(len(tracks), (part+1)*size); i++ {
			out[i] = gpstracks.AppendLines(nil, tracks[i].Lines)
		}
	})()
}

// fewTimes is up to how many statements are faster than one that joins.
const fewTimes = 16

// touch keeps when known tracks were seen last. Those of a call are mostly of one run
// and one time.
func (t *trackTx) touch(seen []gpstracks.Track) error {
	type sight struct {
		at  time.Time
		run int64
	}
	bySight := map[sight][]int64{}
	var ids, runs []int64
	var at []*time.Time
	for i := range seen {
		k := &seen[i]
		ids, at, runs = append(ids, k.ID), append(at, when(k.LastSeenAt)), append(runs, k.RunID)
		if len(bySight) <= fewTimes {
			s := sight{k.LastSeenAt.UTC(), k.RunID}
			bySight[s] = append(bySight[s], k.ID)
		}
	}
	if len(bySight) > fewTimes {
		return t.exec(`update ~tracks k set last_seen_at = u.at, run_id = u.run from unnest($1::bigint[], $2::timestamptz[], $3::bigint[]) u(id, at, run)
			where k.id = u.id`, ids, at, runs)
	}
	for s, ids := range bySight {
		if err := t.exec("update ~tracks set last_seen_at = $2, run_id = $3 where id = any($1)", ids, when(s.at), s.run); err != nil {
			return err
		}
	}
	return nil
}

// tell keeps what known tracks lacked, takes them out of their blocks and returns
// the marks that they are to be built again.
func (t *trackTx) tell(told []gpstracks.Track) ([]tile.Mark, error) {
	if len(told) == 0 {
		return nil, nil
	}
	for i := range told {
		k := &told[i]
		err := t.exec("update ~tracks set name = $2, url = $3, attribution = $4, activity = $5, last_seen_at = $6, run_id = $7 where id = $1",
			k.ID, k.Name, k.URL, k.Attribution, string(k.Activity), when(k.LastSeenAt), k.RunID)
		if err != nil {
			return nil, err
		}
	}
	built, err := t.takeOut(told)
	return tile.MarksOf(built), err
}

// takeOut takes tracks out of the blocks that they are in, and returns those that
// were in some. Bounds tell where their blocks are, whatever else has changed.
func (t *trackTx) takeOut(tracks []gpstracks.Track) (built []gpstracks.Track, err error) {
	marks, err := rowsOf(t, scanMark, allMarks)
	if err != nil {
		return nil, err
	}
	var packer tile.Packer
	var features []tile.Feature
	var changed []int64
	gone := map[int64]bool{}
	for i := range tracks {
		k := &tracks[i]
		if m, ok := tile.Marked(marks, k.ID); ok {
			changed = append(changed, m.First)
			continue
		}
		built, gone[k.ID] = append(built, *k), true
		features = append(features, packer.Pack(k)...)
	}
	if err := t.exec("update ~track_unbuilt set changed = changed + 1 where first_id = any($1)", changed); err != nil {
		return nil, err
	}
	return built, t.dropFeatures(gone, features)
}

func (t *trackTx) removeTracks(ids []int64) (changed []orb.Bound, err error) {
	all, err := rowsOf(t, scanTrack, fullTracks, ids)
	if err != nil {
		return nil, err
	}
	byID := make(map[int64]*gpstracks.Track, len(all))
	for i := range all {
		byID[all[i].ID] = &all[i]
	}
	for _, id := range ids { // in the order of the call
		if k := byID[id]; k != nil {
			changed = append(changed, k.Bounds)
			delete(byID, id)
		}
	}
	if _, err := t.takeOut(all); err != nil {
		return nil, err
	}
	for _, query := range []string{"delete from ~tracks where id = any($1)", "delete from ~track_geometries where track_id = any($1)"} {
		if err := t.exec(query, ids); err != nil {
			return nil, err
		}
	}
	return changed, t.noteChanges(changed)
}
