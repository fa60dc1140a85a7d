package postgres

import (
	"context"
	"errors"
	"math"
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

// blocksAndRest reads the blocks that touch an area and, after them, the marked tracks
// that touch a box: one statement sees one state.
const blocksAndRest = `select place, id, data, null::text[] as words, null::float8[] as numbers, null::date as day from ~track_blocks where area && $1
	union all select $3, k.* from ~track_unbuilt u cross join lateral (
		select id, coalesce(k.geometry, g.geometry), array[name, activity, source, url, attribution], array[min_lon, min_lat, max_lon, max_lat, length_m], recorded_on
		from ~tracks k left join ~track_geometries g on track_id = id and k.geometry is null
		where id between u.first_id and u.last_id and box(point(min_lon, min_lat), point(max_lon, max_lat)) && $2 offset 0) k
	order by 1, 2`

// behind is the place of what is not in blocks: after all blocks.
const behind = math.MaxInt64

// Blocks implements tile.Source. It asks again only as long as it has yielded
// nothing.
func (s *Tracks) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	if level < 0 || level > tile.MaxLevel {
		return &gpstracks.InvalidError{Field: "level", Reason: "is not one that tiles have"}
	}
	begun, broken := false, error(nil)
	var rest tile.Rest
	err := s.db.retry(ctx, func(ctx context.Context) error {
		rest.Reset()
		rows, err := s.db.pool.Query(ctx, s.db.q(blocksAndRest), area(level, w), boxes([]orb.Bound{w.Bounds(level)})[0], int64(behind))
		if err != nil {
			return err
		}
		defer rows.Close()
		for rows.Next() {
			var data []byte
			if data, broken = scanRest(rows, level, &rest); broken == nil && data != nil {
				begun, broken = true, yield(data)
			}
			if broken != nil {
				return nil
			}
		}
		if begun {
			broken = rows.Err()
			return nil
		}
		return rows.Err()
	})
	if err = errors.Join(err, broken); err == nil && rest.Some {
		s.toBuild()
		err = rest.Blocks(level, yield)
	}
	return ended(ctx, err)
}

// scanRest reads a row of blocksAndRest: a block, or a track that rest takes.
func scanRest(rows pgx.Rows, level int, rest *tile.Rest) (block []byte, err error) {
	var place, id int64
	var words []string
	var numbers []float64
	var day *time.Time
	if err := rows.Scan(&place, &id, &block, &words, &numbers, &day); err != nil || place != behind {
		return block, err
	}
	k := gpstracks.Track{
		ID: id, Name: words[0], Activity: gpstracks.Activity(words[1]), Source: words[2], URL: words[3], Attribution: words[4],
		Bounds: orb.Bound{Min: orb.Point{numbers[0], numbers[1]}, Max: orb.Point{numbers[2], numbers[3]}}, LengthM: numbers[4],
	}
	times([]*time.Time{day}, &k.RecordedOn)
	if k.Lines, err = gpstracks.ParseLines(block); err == nil {
		rest.Add(&k, level)
	}
	return nil, err
}
