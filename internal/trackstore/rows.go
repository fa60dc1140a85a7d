package trackstore

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// when scans a time: null and 0 are none, numbers are microseconds since 1970.
type when struct{ to *time.Time }

func (w when) Scan(v any) error {
	*w.to = time.Time{}
	switch v := v.(type) {
	case int64:
		if v != 0 {
			*w.to = time.UnixMicro(v).UTC()
		}
	case time.Time:
		*w.to = v.UTC()
	}
	return nil
}

// columns are those of a track but for its line, in the order of scanTrack.
const columns = "id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m, " +
	"recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id, cells, " + measures

// measures are the columns that came after the others.
const measures = "activity_from, started_at, ended_at, moving_s, ascent_m, descent_m, min_ele_m, max_ele_m, profile"

// measured are the values of measures.
func measured(k *gpstracks.Track) []any {
	values := []any{string(k.ActivityFrom), k.StartedAt, k.EndedAt, int64(k.Moving / time.Second)}
	if e := k.Elevation; e != nil {
		return append(values, e.AscentM, e.DescentM, e.MinM, e.MaxM, gpstracks.AppendProfile(nil, e.Profile))
	}
	return append(values, nil, nil, nil, nil, nil)
}

// elevation scans the last five of measures.
type elevation struct {
	ascent, descent, low, high sql.NullFloat64
	profile                    []byte
}

// of is the elevation that was scanned; nil if none is known.
func (e *elevation) of() (*gpstracks.Elevation, error) {
	if e.profile == nil {
		return nil, nil
	}
	profile, err := gpstracks.ParseProfile(e.profile)
	return &gpstracks.Elevation{AscentM: e.ascent.Float64, DescentM: e.descent.Float64, MinM: e.low.Float64, MaxM: e.high.Float64,
		Profile: profile}, err
}

// seconds scans a number of them.
type seconds struct{ to *time.Duration }

func (s seconds) Scan(v any) error {
	n, _ := v.(int64)
	*s.to = time.Duration(n) * time.Second
	return nil
}

// fullTracks reads tracks with their lines; one of which the line is lost is left out.
const fullTracks = "select " + columns + `, coalesce(k.geometry, g.geometry) from ~tracks k left join ~track_geometries g on ` +
	`track_id = id and k.geometry is null
	where (k.geometry is not null or g.geometry is not null) and `

func scanTrack(r *sql.Rows) (k gpstracks.Track, err error) {
	b := &k.Bounds
	var lines, cells []byte
	var e elevation
	err = r.Scan(&k.ID, &k.Source, &k.ExternalID, &k.Name, &k.Activity, &k.URL, &k.Attribution, &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1],
		&k.LengthM,
		when{&k.RecordedOn}, &k.Key, &k.Points, when{&k.FirstSeenAt}, when{&k.LastSeenAt}, &k.RunID,
		&cells, &k.ActivityFrom, when{&k.StartedAt}, when{&k.EndedAt}, seconds{&k.Moving},
		&e.ascent, &e.descent, &e.low, &e.high, &e.profile,
		&lines)
	if err == nil && lines != nil {
		k.Lines, err = gpstracks.ParseLines(lines)
	}
	if err == nil {
		k.Elevation, err = e.of()
	}
	if err == nil {
		k.Cells, err = gpstracks.ParseCells(cells)
	}
	return k, err
}

// knownTracks reads what PlanUpsert looks at: all but the lines.
const knownTracks = "select " + columns + ", null from ~tracks where "

// inRow is up to how many bytes a line lies in the row of its track. A longer one lies apart,
// so that a row which only was seen again is written without its line.
const inRow = 512

// insertTracks keeps tracks and their lines.
func (t *tx) insertTracks(tracks []gpstracks.Track) error {
	var long [][]any // rows of lines that lie apart
	err := t.insert("tracks", append(strings.Split(columns, ", "), "geometry", "metres"), len(tracks), func(i int) []any {
		k, b, line := &tracks[i], tracks[i].Bounds, gpstracks.AppendLines(nil, tracks[i].Lines)
		if len(line) > inRow {
			long, line = append(long, []any{k.ID, line}), nil
		}
		return slices.Concat([]any{
			k.ID, k.Source, k.ExternalID, k.Name, string(k.Activity), k.URL, k.Attribution, b.Min[0], b.Min[1], b.Max[0], b.Max[1],
			k.LengthM,
			k.RecordedOn, k.Key, int64(k.Points), k.FirstSeenAt, k.LastSeenAt, k.RunID,
			gpstracks.AppendCells(nil, k.Cells),
		}, measured(k), []any{line, k.Cursor().Metres})
	})
	if err != nil {
		return err
	}
	err = t.insert("track_geometries", []string{"track_id", "geometry"}, len(long), func(i int) []any { return long[i] })
	return errors.Join(err, t.insertMarks(tracks))
}

// insertMarks lets tracks be found by their cells.
func (t *tx) insertMarks(tracks []gpstracks.Track) error {
	var marks [][]any
	for i := range tracks {
		for _, m := range tracks[i].Cells.Marks() {
			marks = append(marks, []any{m, tracks[i].ID})
		}
	}
	return t.insert("track_marks", []string{"mark", "track_id"}, len(marks), func(i int) []any { return marks[i] })
}

// touch keeps when known tracks were seen last. Those of a call are mostly of one run and one
// time.
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
		if _, err := t.exec("update ~tracks set last_seen_at = $1, run_id = $2 where id in @3", s.at, s.run, ids); err != nil {
			return err
		}
	}
	return nil
}
