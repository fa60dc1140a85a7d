package sqlite

import (
	"context"
	"database/sql"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// What regroup puts together in one transaction.
const (
	regroupMax  = 4096    // features
	regroupSize = 8 << 20 // bytes
)

func (t *tx) addBlocks(blocks []tile.Block) error {
	var last int64
	if _, err := t.one([]any{&last}, "select coalesce(max(id), 0) from track_blocks"); err != nil {
		return err
	}
	err := t.insertAll("track_blocks (id, level, tier, place, features, data)", 6, len(blocks), func(i int, to []any) []any {
		b := &blocks[i]
		return append(to, last+1+int64(i), b.Level, b.Tier, b.Place, b.Features, b.Data)
	})
	if err != nil {
		return err
	}
	return t.insertAll("track_block_bounds (id, min_level, max_level, min_x, max_x, min_y, max_y)", 7, len(blocks), func(i int, to []any) []any {
		b := &blocks[i]
		return append(to, last+1+int64(i), b.Level, b.Level, b.Window.MinX, b.Window.MaxX, b.Window.MinY, b.Window.MaxY)
	})
}

// stored is a block with its id.
type stored struct {
	id, tier int64
	data     []byte
}

func (t *tx) blocks(query string, args ...any) ([]stored, error) {
	s, err := t.stmt(query)
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, args...)
	return collect(rows, err, func(r *sql.Rows) (b stored, err error) { return b, r.Scan(&b.id, &b.tier, &b.data) })
}

func (t *tx) deleteBlock(id int64) error {
	if err := t.exec("delete from track_blocks where id = ?", id); err != nil {
		return err
	}
	return t.exec("delete from track_block_bounds where id = ?", id)
}

// dropFeatures takes tracks out of the blocks. features are those of the tracks,
// whose bounds tell where the blocks are.
func (t *tx) dropFeatures(gone map[int64]bool, features []tile.Feature) error {
	found := map[int64]int{}
	for _, f := range features {
		ids, err := t.ids(`select id from track_block_bounds where min_level = ?1 and max_level = ?1
			and min_x <= ?2 and max_x >= ?3 and min_y <= ?4 and max_y >= ?5`,
			f.Level, f.Bounds.MinX, f.Bounds.MaxX, f.Bounds.MinY, f.Bounds.MaxY)
		if err != nil {
			return err
		}
		for _, id := range ids {
			found[id] = f.Level
		}
	}
	for id, level := range found {
		if err := t.dropFrom(id, level, gone); err != nil {
			return err
		}
	}
	return nil
}

func (t *tx) dropFrom(id int64, level int, gone map[int64]bool) error {
	all, err := t.blocks("select id, tier, data from track_blocks where id = ?", id)
	if err != nil {
		return err
	}
	for _, b := range all {
		features, err := tile.BlockFeatures(b.data)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(features), func(f tile.Feature) bool { return gone[f.ID] })
		if len(rest) == len(features) {
			continue
		}
		if err := t.deleteBlock(b.id); err != nil {
			return err
		}
		if err := t.addBlocks(tile.Blocks(level, int(b.tier), rest)); err != nil {
			return err
		}
	}
	return nil
}

// settle puts the blocks of full tiers together, in transactions of their own, so
// that others who write wait for none of them long.
func (s *Tracks) settle(ctx context.Context) error {
	for {
		level, tier, to, err := s.fullTier(ctx)
		if err != nil || to == tier {
			return err
		}
		for more := true; more; {
			if err := s.db.write(ctx, func(t *tx) (err error) { more, err = t.regroup(level, tier, to); return err }); err != nil {
				return err
			}
		}
	}
}

// fullTier finds a tier that holds more than it may, and the one where that goes. It is
// the same one if there is none.
func (s *Tracks) fullTier(ctx context.Context) (level, tier, to int, err error) {
	rows, err := s.db.read.QueryContext(ctx, "select level, tier, sum(features) from track_blocks group by level, tier order by tier, level")
	if err != nil {
		return 0, 0, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var n int64
		if err := rows.Scan(&level, &tier, &n); err != nil {
			return 0, 0, 0, err
		}
		if n > int64(tile.TierMax(tier)) {
			return level, tier, tile.TierAbove(tier, n), rows.Close()
		}
	}
	return 0, 0, 0, rows.Err()
}

// regroup moves the first blocks of a tier to one above it, and reports whether
// there are more. Any division of the features into blocks is right, so a break
// between two calls costs nothing.
func (t *tx) regroup(level, tier, to int) (more bool, err error) {
	rows, err := t.firstBlocks(level, tier)
	if err != nil || len(rows) == 0 {
		return false, err
	}
	var features []tile.Feature
	for _, b := range rows {
		own, err := tile.BlockFeatures(b.data)
		if err != nil {
			return false, err
		}
		features = append(features, own...)
		if err := t.deleteBlock(b.id); err != nil {
			return false, err
		}
	}
	return true, t.addBlocks(tile.Blocks(level, to, features))
}

// firstBlocks reads as many blocks of a tier as are put together at a time.
func (t *tx) firstBlocks(level, tier int) (out []stored, err error) {
	s, err := t.stmt("select id, features, data from track_blocks where level = ? and tier = ? order by place, id")
	if err != nil {
		return nil, err
	}
	rows, err := s.QueryContext(t.ctx, level, tier)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	for size, features := 0, 0; size < regroupSize && features < regroupMax && rows.Next(); {
		var b stored
		var n int
		if err := rows.Scan(&b.id, &n, &b.data); err != nil {
			return nil, err
		}
		out, size, features = append(out, b), size+len(b.data), features+n
	}
	return out, rows.Err()
}

// Blocks implements tile.Source. One statement sees one state of blocks and marks. The
// blocks are found first and read in their order along the curve: nearly that of the
// tile. It need not be exact.
func (s *Tracks) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	if level < 0 || level > tile.MaxLevel {
		return &gpstracks.InvalidError{Field: "level", Reason: "is not one that tiles have"}
	}
	ground := w.Bounds(level)
	rows, err := s.db.read.QueryContext(ctx, `with found as materialized (
			select r.id from track_block_bounds r cross join track_blocks b on b.id = r.id
			where r.min_level <= ?1 and r.max_level >= ?1 and r.min_x <= ?2 and r.max_x >= ?3 and r.min_y <= ?4 and r.max_y >= ?5
			order by b.place, b.id)
		select b.data, 0, '', '', '', '', '', 0, 0.0, 0.0, 0.0, 0.0, 0.0 from found cross join track_blocks b on b.id = found.id
		union all select coalesce(k.geometry, g.geometry), k.id, k.name, k.activity, k.source, k.url, k.attribution, k.recorded_on, k.min_lon, k.min_lat, k.max_lon, k.max_lat, k.length_m
		from track_unbuilt u cross join tracks k on k.id between u.first_id and u.last_id left join track_geometries g on g.track_id = k.id and k.geometry is null
		where k.min_lon <= ?6 and k.max_lon >= ?7 and k.min_lat <= ?8 and k.max_lat >= ?9`,
		level, w.MaxX, w.MinX, w.MaxY, w.MinY, ground.Max[0], ground.Min[0], ground.Max[1], ground.Min[1])
	if err != nil {
		return ended(ctx, err)
	}
	defer rows.Close()
	var rest tile.Rest
	for rows.Next() {
		data, err := scanRest(rows, level, &rest)
		if err != nil {
			return ended(ctx, err)
		}
		if data == nil {
			continue
		}
		if err := yield(data); err != nil {
			return err
		}
	}
	if err := rows.Err(); err != nil || !rest.Some {
		return ended(ctx, err)
	}
	s.toBuild()
	return rest.Blocks(level, yield)
}

// scanRest reads a row of Blocks: a block, or a track that rest takes.
func scanRest(rows *sql.Rows, level int, rest *tile.Rest) (block []byte, err error) {
	var k gpstracks.Track
	var day int64
	b := &k.Bounds
	err = rows.Scan(&block, &k.ID, &k.Name, &k.Activity, &k.Source, &k.URL, &k.Attribution, &day, &b.Min[0], &b.Min[1], &b.Max[0], &b.Max[1], &k.LengthM)
	if err != nil || k.ID == 0 {
		return block, err
	}
	k.RecordedOn = timeOf(day)
	if k.Lines, err = gpstracks.ParseLines(block); err == nil {
		rest.Add(&k, level)
	}
	return nil, err
}

// ended is the error of a query: that of ctx if it ended the query.
func ended(ctx context.Context, err error) error {
	if err != nil && ctx.Err() != nil {
		return ctx.Err()
	}
	return err
}
