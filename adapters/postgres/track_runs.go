package postgres

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// SaveRun implements gpstracks.RunStore.
func (s *Tracks) SaveRun(ctx context.Context, r gpstracks.Run) (id int64, err error) {
	row := []any{
		r.Source, r.Region, r.DryRun, when(r.StartedAt), when(r.FinishedAt), string(r.Status), r.Requests, r.Fetched, r.Inserted,
		r.Updated, r.Duplicates, r.Rejected, r.Bytes, r.Error, r.Cursor, r.RejectedFor, r.ChangedFor,
	}
	query := `insert into ~pipeline_runs (source, region, dry_run, started_at, finished_at, status, requests, fetched, inserted,
		updated, duplicates, rejected, bytes, error, cursor, rejected_for, changed_for)
		values ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17) returning id`
	if r.ID != 0 {
		row = append(row, r.ID)
		query = `update ~pipeline_runs set source = $1, region = $2, dry_run = $3, started_at = $4, finished_at = $5, status = $6, requests = $7,
			fetched = $8, inserted = $9, updated = $10, duplicates = $11, rejected = $12, bytes = $13, error = $14, cursor = $15,
			rejected_for = $16, changed_for = $17 where id = $18 returning id`
	}
	err = s.write(ctx, func(t *trackTx) error {
		ids, err := rowsOf(t, pgx.RowTo[int64], query, row...)
		if err == nil && len(ids) == 0 {
			err = &gpstracks.InvalidError{Field: "run id", Reason: "is of no run: save a new run with id 0"}
		}
		if err != nil {
			return err
		}
		id = ids[0]
		return nil
	})
	return id, err
}

func (s *Tracks) runs(ctx context.Context, query string, args ...any) ([]gpstracks.Run, error) {
	return ask(ctx, s, func(row pgx.CollectableRow) (v gpstracks.Run, err error) {
		at := make([]*time.Time, 2)
		err = row.Scan(&v.ID, &v.Source, &v.Region, &v.DryRun, &at[0], &at[1], &v.Status, &v.Requests, &v.Fetched, &v.Inserted,
			&v.Updated, &v.Duplicates, &v.Rejected, &v.Bytes, &v.Error, &v.Cursor, &v.RejectedFor, &v.ChangedFor)
		times(at, &v.StartedAt, &v.FinishedAt)
		return v, err
	}, `select id, source, region, dry_run, started_at, finished_at, status, requests, fetched, inserted,
		updated, duplicates, rejected, bytes, error, cursor, rejected_for, changed_for from ~pipeline_runs `+query, args...)
}

// LastRuns implements gpstracks.RunStore.
func (s *Tracks) LastRuns(ctx context.Context) ([]gpstracks.Run, error) {
	return s.runs(ctx, `where id in (select max(id) from ~pipeline_runs group by source) order by source collate "C"`)
}

// Runs implements gpstracks.RunStore.
func (s *Tracks) Runs(ctx context.Context, f gpstracks.RunFilter) ([]gpstracks.Run, error) {
	return s.runs(ctx, "where ($1 = '' or source = $1) and ($2 = '' or region = $2) and ($3 = '' or status = $3) order by id desc limit nullif($4::bigint, 0)",
		f.Source, f.Region, string(f.Status), f.Limit)
}

// Alone makes the caller the only collector of the schema, in any process, until
// it calls unlock or its connection ends: runs that are taken up would get in each
// other's way. Another one at work is a *BusyError.
func (s *Tracks) Alone(ctx context.Context) (unlock func() error, err error) {
	conn, err := s.db.pool.Acquire(ctx)
	if err != nil {
		return nil, ended(ctx, err)
	}
	var ok bool
	if err := conn.QueryRow(ctx, "select pg_try_advisory_lock(hashtextextended($1, 0))", "signalbox collector of "+s.db.schema).Scan(&ok); err != nil || !ok {
		conn.Release()
		if err == nil {
			err = &BusyError{s.db.schema}
		}
		return nil, ended(ctx, err)
	}
	return func() error {
		late, cancel := context.WithTimeout(context.WithoutCancel(ctx), time.Second)
		defer cancel()
		_, err := conn.Exec(late, "select pg_advisory_unlock(hashtextextended($1, 0))", "signalbox collector of "+s.db.schema)
		if err != nil { // the lock ends with its connection
			return conn.Hijack().Close(late)
		}
		conn.Release()
		return nil
	}, nil
}

// BusyError says that another collector is at work.
type BusyError struct{ Schema string }

// Error names the schema.
func (e *BusyError) Error() string {
	return "postgres: another collector is at work in schema " + e.Schema + ": wait until it has ended"
}

// keptChanges is how many changes are remembered for other processes.
const keptChanges = 10_000

// noteChanges counts a change of tracks, and remembers where maps look different
// now.
func (t *trackTx) noteChanges(changed []orb.Bound) error {
	var west, south, east, north []float64
	for _, b := range gpstracks.ByDegree(changed) {
		west, south, east, north = append(west, b.Min[0]), append(south, b.Min[1]), append(east, b.Max[0]), append(north, b.Max[1])
	}
	var all pgx.Batch
	all.Queue(t.db.q("update ~track_turn set version = version + 1"))
	if len(west) > 0 {
		all.Queue(t.db.q(`insert into ~track_changes (min_lon, min_lat, max_lon, max_lat)
			select * from unnest($1::float8[], $2::float8[], $3::float8[], $4::float8[])`), west, south, east, north)
		all.Queue(t.db.q("delete from ~track_changes where id <= (select max(id) from ~track_changes) - $1::bigint"), keptChanges)
	}
	return t.tx.SendBatch(t.ctx, &all).Close()
}

// Changes are where maps look different because of changes after the one with
// the number after, made by any process: for a tile cache. last is the number to
// ask with next time; a negative one asks for it only. When too much has changed
// to be remembered, the answer is the whole world.
func (s *Tracks) Changes(ctx context.Context, after int64) (changed []orb.Bound, last int64, err error) {
	ends, err := ask(ctx, s, func(row pgx.CollectableRow) (v [2]int64, err error) { return v, row.Scan(&v[0], &v[1]) },
		"select coalesce(max(id), 0), coalesce(min(id), 0) from ~track_changes")
	if err != nil {
		return nil, 0, err
	}
	last = ends[0][0]
	switch oldest := ends[0][1]; {
	case after < 0 || after >= last:
		return nil, last, nil
	case oldest > after+1:
		return []orb.Bound{{Min: orb.Point{-180, -90}, Max: orb.Point{180, 90}}}, last, nil
	}
	changed, err = ask(ctx, s, func(row pgx.CollectableRow) (b orb.Bound, err error) {
		return b, row.Scan(&b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1])
	}, "select min_lon, min_lat, max_lon, max_lat from ~track_changes where id > $1 and id <= $2 order by id", after, last)
	return changed, last, err
}
