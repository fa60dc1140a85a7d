package trackstore

import (
	"cmp"
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// runColumns are those of a run, after its id; runValues are its parameters.
const (
	runColumns = `source, region, dry_run, started_at, finished_at, status, requests, fetched, inserted, updated, duplicates, rejected,
	bytes, error, cursor, rejected_for, changed_for`
	runValues = "$1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17"
)

func (s *Store) SaveRun(ctx context.Context, r gpstracks.Run) (id int64, err error) {
	row := []any{
		r.Source, r.Region, r.DryRun, r.StartedAt, r.FinishedAt, string(r.Status), r.Requests, r.Fetched, r.Inserted,
		r.Updated, r.Duplicates, r.Rejected, r.Bytes, r.Error, r.Cursor, tally(r.RejectedFor), tally(r.ChangedFor),
	}
	query := "insert into ~pipeline_runs (" + runColumns + ") values (" + runValues + ") returning id"
	if r.ID != 0 {
		row, query = append(row, r.ID), "update ~pipeline_runs set ("+runColumns+") = ("+runValues+") where id = $18 returning id"
	}
	err = s.write(ctx, func(t *tx) error {
		err := t.tx.QueryRowContext(ctx, s.q(query), s.args(slices.Clone(row))...).Scan(&id)
		if errors.Is(err, sql.ErrNoRows) {
			err = &gpstracks.InvalidError{Field: "run id", Reason: "is of no run: save a new run with id 0"}
		}
		return err
	})
	return id, err
}

// tally is one in a column: JSON, or null if it is empty.
func tally(t gpstracks.Tally) any {
	b, err := json.Marshal(t)
	if len(t) == 0 || err != nil { // numbers always encode
		return nil
	}
	return string(b)
}

func (s *Store) runs(ctx context.Context, query string, args ...any) ([]gpstracks.Run, error) {
	return read(ctx, s, func(r *sql.Rows) (v gpstracks.Run, err error) {
		var rejected, changed sql.NullString
		err = r.Scan(&v.ID, &v.Source, &v.Region, &v.DryRun, when{&v.StartedAt}, when{&v.FinishedAt}, &v.Status, &v.Requests, &v.Fetched,
			&v.Inserted,
			&v.Updated, &v.Duplicates, &v.Rejected, &v.Bytes, &v.Error, &v.Cursor, &rejected, &changed)
		if rejected.Valid {
			err = errors.Join(err, json.Unmarshal([]byte(rejected.String), &v.RejectedFor))
		}
		if changed.Valid {
			err = errors.Join(err, json.Unmarshal([]byte(changed.String), &v.ChangedFor))
		}
		return v, err
	}, "select id, "+runColumns+" from ~pipeline_runs "+query, args...)
}

func (s *Store) LastRuns(ctx context.Context) ([]gpstracks.Run, error) {
	all, err := s.runs(ctx, "where id in (select max(id) from ~pipeline_runs group by source)")
	slices.SortFunc(all, func(a, b gpstracks.Run) int { return cmp.Compare(a.Source, b.Source) })
	return all, err
}

func (s *Store) Runs(ctx context.Context, f gpstracks.RunFilter) ([]gpstracks.Run, error) {
	return s.runs(ctx, "where ($1 = '' or source = $1) and ($2 = '' or region = $2) and ($3 = '' or status = $3) order by id desc limit $4",
		f.Source, f.Region, string(f.Status), cmp.Or(int64(f.Limit), 1<<40))
}
