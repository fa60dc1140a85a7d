package sqlite

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"encoding/json"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// SaveRun implements gpstracks.RunStore.
func (s *Tracks) SaveRun(ctx context.Context, r gpstracks.Run) (id int64, err error) {
	row := []any{
		r.Source, r.Region, r.DryRun, micros(r.StartedAt), micros(r.FinishedAt), string(r.Status), r.Requests, r.Fetched, r.Inserted,
		r.Updated, r.Duplicates, r.Rejected, r.Bytes, r.Error, r.Cursor, tally{&r.RejectedFor}, tally{&r.ChangedFor},
	}
	err = s.db.write(ctx, func(t *tx) error {
		if r.ID == 0 {
			_, err := t.one([]any{&id}, `insert into pipeline_runs (source, region, dry_run, started_at, finished_at, status, requests, fetched, inserted,
				updated, duplicates, rejected, bytes, error, cursor, rejected_for, changed_for)
				values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?) returning id`, row...)
			return err
		}
		id = r.ID
		n, err := t.changes(`update pipeline_runs set source = ?, region = ?, dry_run = ?, started_at = ?, finished_at = ?, status = ?, requests = ?,
			fetched = ?, inserted = ?, updated = ?, duplicates = ?, rejected = ?, bytes = ?, error = ?, cursor = ?,
			rejected_for = ?, changed_for = ? where id = ?`, append(row, r.ID)...)
		if err == nil && n == 0 {
			err = &gpstracks.InvalidError{Field: "run id", Reason: "is of no run: save a new run with id 0"}
		}
		return err
	})
	return id, err
}

// tally is a gpstracks.Tally in a column: JSON, or null if it is empty.
type tally struct{ *gpstracks.Tally }

// Value implements driver.Valuer.
func (t tally) Value() (driver.Value, error) {
	if len(*t.Tally) == 0 {
		return nil, nil
	}
	text, err := json.Marshal(*t.Tally)
	return string(text), err
}

// Scan implements sql.Scanner.
func (t tally) Scan(column any) error {
	text, ok := column.(string)
	if !ok {
		return nil
	}
	return json.Unmarshal([]byte(text), t.Tally)
}

const trackRunColumns = `select id, source, region, dry_run, started_at, finished_at, status, requests, fetched, inserted,
	updated, duplicates, rejected, bytes, error, cursor, rejected_for, changed_for from pipeline_runs `

func (s *Tracks) runs(ctx context.Context, query string, args ...any) ([]gpstracks.Run, error) {
	rows, err := s.db.read.QueryContext(ctx, trackRunColumns+query, args...)
	out, err := collect(rows, err, func(r *sql.Rows) (v gpstracks.Run, err error) {
		us := make([]int64, 2)
		err = r.Scan(&v.ID, &v.Source, &v.Region, &v.DryRun, &us[0], &us[1], &v.Status, &v.Requests, &v.Fetched, &v.Inserted,
			&v.Updated, &v.Duplicates, &v.Rejected, &v.Bytes, &v.Error, &v.Cursor, tally{&v.RejectedFor}, tally{&v.ChangedFor})
		times(us, &v.StartedAt, &v.FinishedAt)
		return v, err
	})
	return out, ended(ctx, err)
}

// LastRuns implements gpstracks.RunStore.
func (s *Tracks) LastRuns(ctx context.Context) ([]gpstracks.Run, error) {
	return s.runs(ctx, "where id in (select max(id) from pipeline_runs group by source) order by source")
}

// Runs implements gpstracks.RunStore.
func (s *Tracks) Runs(ctx context.Context, f gpstracks.RunFilter) ([]gpstracks.Run, error) {
	limit := f.Limit
	if limit == 0 {
		limit = -1
	}
	return s.runs(ctx, "where (?1 = '' or source = ?1) and (?2 = '' or region = ?2) and (?3 = '' or status = ?3) order by id desc limit ?4",
		f.Source, f.Region, string(f.Status), limit)
}

// keptChanges is how many changes are remembered for other processes.
const keptChanges = 10_000

// noteChanges counts a change of tracks, and remembers where maps look different
// now.
func (t *tx) noteChanges(changed []orb.Bound) error {
	err := t.exec("insert into counters (name, value) values (?, 1) on conflict (name) do update set value = value + 1", tracksVersion)
	if err != nil || len(changed) == 0 {
		return err
	}
	for _, b := range gpstracks.ByDegree(changed) {
		if err := t.exec("insert into track_changes (min_lon, min_lat, max_lon, max_lat) values (?, ?, ?, ?)", b.Min[0], b.Min[1], b.Max[0], b.Max[1]); err != nil {
			return err
		}
	}
	return t.exec("delete from track_changes where id <= (select max(id) from track_changes) - ?", keptChanges)
}

// Changes are where maps look different because of changes after the one with
// the number after, made by any process: for a tile cache. last is the number to
// ask with next time; a negative one asks for it only. When too much has changed
// to be remembered, the answer is the whole world.
func (s *Tracks) Changes(ctx context.Context, after int64) (changed []orb.Bound, last int64, err error) {
	var oldest int64
	err = s.db.read.QueryRowContext(ctx, "select coalesce(max(id), 0), coalesce(min(id), 0) from track_changes").Scan(&last, &oldest)
	if err != nil || after < 0 || after >= last {
		return nil, last, ended(ctx, err)
	}
	if oldest > after+1 {
		return []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, last, nil
	}
	rows, err := s.db.read.QueryContext(ctx, "select min_lon, min_lat, max_lon, max_lat from track_changes where id > ? and id <= ? order by id", after, last)
	changed, err = collect(rows, err, func(r *sql.Rows) (b orb.Bound, err error) {
		return b, r.Scan(&b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1])
	})
	return changed, last, ended(ctx, err)
}
