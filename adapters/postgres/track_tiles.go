package postgres

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// tracksBetween reads the tracks of ranges of ids.
const tracksBetween = `select k.* from unnest($1::bigint[], $2::bigint[]) r(first_id, last_id) cross join lateral (
		select id, source, external_id, name, activity, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m,
			recorded_on, dedupe_key, points, first_seen_at, last_seen_at, run_id, coalesce(k.geometry, g.geometry)
		from ~tracks k left join ~track_geometries g on track_id = id and k.geometry is null
		where id between r.first_id and r.last_id offset 0) k`

// blocksAndMarks reads the blocks that touch an area, and all marks: one statement sees
// one state. Rows of tracks are not part of it, since a plan for many of them would be
// dear even if there are none; nor is an order, since blocks are large to be sorted.
const blocksAndMarks = `select place, id, data, 0::bigint as last_id from ~track_blocks where area && $1
	union all select -1, first_id, null, last_id from ~track_unbuilt`

// restOf reads what tiles show of the tracks of ranges of ids that touch a box.
const restOf = `select k.* from unnest($1::bigint[], $2::bigint[]) r(first_id, last_id) cross join lateral (
		select id, coalesce(k.geometry, g.geometry), name, activity, source, url, attribution, min_lon, min_lat, max_lon, max_lat, length_m, recorded_on
		from ~tracks k left join ~track_geometries g on track_id = id and k.geometry is null
		where id between r.first_id and r.last_id and box(point(min_lon, min_lat), point(max_lon, max_lat)) && $3 offset 0) k`

// placed is a block of a tile.
type placed struct {
	place, id int64
	data      []byte
}

// Blocks implements tile.Source. It yields blocks in their order along the curve.
func (s *Tracks) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	if level < 0 || level > tile.MaxLevel {
		return &gpstracks.InvalidError{Field: "level", Reason: "is not one that tiles have"}
	}
	var blocks []placed
	var first, last []int64 // of marks
	err := s.db.retry(ctx, func(ctx context.Context) error {
		blocks, first, last = nil, nil, nil
		rows, err := s.db.pool.Query(ctx, s.db.q(blocksAndMarks), area(level, w))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var b placed
			var end int64
			if err := rows.Scan(&b.place, &b.id, &b.data, &end); err != nil {
				return err
			}
			if b.data == nil {
				first, last = append(first, b.id), append(last, end)
			} else {
				blocks = append(blocks, b)
			}
		}
		return rows.Err()
	})
	if err != nil {
		return ended(ctx, err)
	}
	slices.SortFunc(blocks, func(a, b placed) int { return cmp.Or(cmp.Compare(a.place, b.place), cmp.Compare(a.id, b.id)) })
	for i := range blocks {
		if err := yield(blocks[i].data); err != nil {
			return err
		}
	}
	if len(first) == 0 {
		return nil
	}
	s.toBuild()
	return ended(ctx, s.rest(ctx, level, w, first, last, yield))
}

// rest yields blocks of marked tracks. They are read a moment after their marks: those
// that are built meanwhile are not in the blocks that were read, and those that are
// told something or removed are as they are now.
func (s *Tracks) rest(ctx context.Context, level int, w tile.Window, first, last []int64, yield func([]byte) error) error {
	var rest tile.Rest
	err := s.db.retry(ctx, func(ctx context.Context) error {
		rest.Reset()
		return pgx.BeginFunc(ctx, s.db.pool, func(tx pgx.Tx) error {
			t := &trackTx{ctx: ctx, db: s.db, tx: tx}
			if err := t.exec("select " + ownWay); err != nil {
				return err
			}
			tracks, err := rowsOf(t, scanRest, restOf, first, last, boxes([]orb.Bound{w.Bounds(level)})[0])
			for i := range tracks {
				rest.Add(&tracks[i], level)
			}
			return err
		})
	})
	if err != nil {
		return err
	}
	return rest.Blocks(level, yield)
}

func scanRest(row pgx.CollectableRow) (k gpstracks.Track, err error) {
	var geometry []byte
	at := make([]*time.Time, 1)
	b := &k.Bounds
	err = row.Scan(&k.ID, &geometry, &k.Name, &k.Activity, &k.Source, &k.URL, &k.Attribution, &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1], &k.LengthM, &at[0])
	if err != nil {
		return k, err
	}
	times(at, &k.RecordedOn)
	k.Lines, err = gpstracks.ParseLines(geometry)
	return k, err
}
