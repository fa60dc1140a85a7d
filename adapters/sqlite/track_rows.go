package sqlite

import (
	"database/sql"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// knownTracks finds the tracks of keys: the place of the key in the list, the id, when
// it was seen last, and which of the texts that Merge looks at it has.
const knownTracks = `select j.key, k.id, k.last_seen_at, k.run_id, (name <> '') | ((url <> '') << 1) | ((attribution <> '') << 2) | ((activity <> 'unknown') << 3)
	from json_each(?) j cross join tracks k on k.dedupe_key = j.value`

func (t *tx) knownTracks(keys []string) ([]gpstracks.Track, error) {
	s, err := t.stmt(knownTracks)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, jsonList(keys))
	return scanKnown(rows, err, keys)
}

// scanKnown reads what is known of keys. A text that is there stands for itself: what
// it says decides nothing.
func scanKnown(rows *sql.Rows, err error, keys []string) ([]gpstracks.Track, error) {
	return collect(rows, err, func(r *sql.Rows) (k gpstracks.Track, err error) {
		var at, has int64
		var key int
		err = r.Scan(&key, &k.ID, &at, &k.RunID, &has)
		const there = "there"
		k.Key, k.LastSeenAt, k.Activity = keys[key], timeOf(at), gpstracks.Unknown
		for i, text := range [...]*string{&k.Name, &k.URL, &k.Attribution, (*string)(&k.Activity)} {
			if has&(1<<i) != 0 {
				*text = there
			}
		}
		return k, err
	})
}

// inRow is up to how many bytes a geometry lies in the row of its track.
const inRow = 512

// rowsAtOnce is how many rows one statement inserts.
const rowsAtOnce = 32

// insertAll inserts n rows of some columns.
func (t *tx) insertAll(into string, columns, n int, row func(i int, to []any) []any) error {
	one := "(" + strings.Repeat("?, ", columns-1) + "?)"
	for from := 0; from < n; {
		size := 1
		if n-from >= rowsAtOnce {
			size = rowsAtOnce
		}
		args := make([]any, 0, size*columns)
		for i := from; i < from+size; i++ {
			args = row(i, args)
		}
		if err := t.exec("insert into "+into+" values "+strings.Repeat(one+", ", size-1)+one, args...); err != nil {
			return err
		}
		from += size
	}
	return nil
}

// insertTracks keeps new tracks and their lines. Where they are is noted when their
// blocks are built.
func (t *tx) insertTracks(tracks []gpstracks.Track) error {
	lines := make([][]byte, len(tracks))
	var long []int // tracks whose lines lie apart
	err := t.insertAll(`tracks (id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m, metres,
		recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id, geometry)`, 20, len(tracks), func(i int, to []any) []any {
		k := &tracks[i]
		b := k.Bounds
		var inline any
		if lines[i] = gpstracks.AppendLines(nil, k.Lines); len(lines[i]) > inRow {
			long = append(long, i)
		} else {
			inline = lines[i]
		}
		return append(to, k.ID, k.Source, k.ExternalID, k.Name, string(k.Activity), k.URL, k.Attribution, b.Min[0], b.Min[1], b.Max[0], b.Max[1], k.LengthM,
			k.Cursor().Metres, micros(k.RecordedOn), k.Key, k.Points, micros(k.FirstSeenAt), micros(k.LastSeenAt), k.RunID, inline)
	})
	if err != nil {
		return err
	}
	for _, i := range long {
		if err := t.exec("insert into track_geometries (track_id, geometry) values (?, ?)", tracks[i].ID, lines[i]); err != nil {
			return err
		}
	}
	return nil
}

// touch keeps when known tracks were seen last. Those of a call are mostly of one run
// and one time.
func (t *tx) touch(seen []gpstracks.Track) error {
	type sight struct {
		at  time.Time
		run int64
	}
	bySight := map[sight][]int64{}
	for i := range seen {
		s := sight{seen[i].LastSeenAt.UTC(), seen[i].RunID}
		bySight[s] = append(bySight[s], seen[i].ID)
	}
	for s, ids := range bySight {
		err := t.exec("update tracks set last_seen_at = ?, run_id = ? where id in (select value from json_each(?))", micros(s.at), s.run, jsonList(ids))
		if err != nil {
			return err
		}
	}
	return nil
}

// tell keeps what known tracks lacked, takes them out of their blocks and returns
// the marks that they are to be built again.
func (t *tx) tell(told []gpstracks.Track) ([]tile.Mark, error) {
	if len(told) == 0 {
		return nil, nil
	}
	for i := range told {
		k := &told[i]
		err := t.exec("update tracks set name = ?, url = ?, attribution = ?, activity = ?, last_seen_at = ?, run_id = ? where id = ?",
			k.Name, k.URL, k.Attribution, string(k.Activity), micros(k.LastSeenAt), k.RunID, k.ID)
		if err != nil {
			return nil, err
		}
	}
	built, err := t.takeOut(told)
	return tile.MarksOf(built), err
}

// takeOut takes tracks out of the blocks that they are in, and returns those that
// were in some. Bounds tell where their blocks are, whatever else has changed.
func (t *tx) takeOut(tracks []gpstracks.Track) (built []gpstracks.Track, err error) {
	s, err := t.stmt(allMarks)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx)
	marks, err := collect(rows, err, scanMark)
	if err != nil {
		return nil, err
	}
	var packer tile.Packer
	var features []tile.Feature
	gone := map[int64]bool{}
	for i := range tracks {
		k := &tracks[i]
		if m, ok := tile.Marked(marks, k.ID); ok {
			if err := t.exec("update track_unbuilt set changed = changed + 1 where first_id = ?", m.First); err != nil {
				return nil, err
			}
			continue
		}
		built, gone[k.ID] = append(built, *k), true
		features = append(features, packer.Pack(k)...)
	}
	return built, t.dropFeatures(gone, features)
}

func (t *tx) removeTracks(ids []int64) (changed []orb.Bound, err error) {
	var all []gpstracks.Track
	for _, id := range ids {
		known, ok, err := t.fullTrack(id)
		if err != nil {
			return nil, err
		}
		if !ok {
			continue
		}
		all, changed = append(all, known), append(changed, known.Bounds)
		for _, query := range []string{"delete from tracks where id = ?", "delete from track_geometries where track_id = ?", "delete from track_bounds where id = ?"} {
			if err := t.exec(query, id); err != nil {
				return nil, err
			}
		}
	}
	if _, err := t.takeOut(all); err != nil {
		return nil, err
	}
	return changed, t.noteChanges(changed)
}
