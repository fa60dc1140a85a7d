package trackstore

import (
	"cmp"
	"context"
	"database/sql"
	"errors"
	"slices"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Each feature of a track is in one block. Blocks come in tier 0, and those of a tier that is
// full are put together anew in one above it (tile.TierMax). So a call writes few blocks, a
// feature is written again a few times only, and a tile reads a few blocks of each tier.

// block is one as it is stored.
type block struct {
	id int64
	tile.Block
}

const blockColumns = "select id, level, tier, place, features, data from ~track_blocks where "

func scanBlock(r *sql.Rows) (b block, err error) {
	return b, r.Scan(&b.id, &b.Level, &b.Tier, &b.Place, &b.Features, &b.Data)
}

// Blocks implements tile.Source. It yields blocks in their order along the curve.
func (s *Store) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	if level < 0 || level >= tile.Levels {
		return &gpstracks.InvalidError{Field: "level", Reason: "is not one that tiles have"}
	}
	blocks, err := read(ctx, s, scanBlock, blockColumns+s.Dialect.Near,
		append(slices.Clone(s.Dialect.Planned), s.Dialect.Areas([]Area{{level, w}}))...)
	if err != nil {
		return err
	}
	slices.SortFunc(blocks, func(a, b block) int { return cmp.Or(cmp.Compare(a.Place, b.Place), cmp.Compare(a.id, b.id)) })
	for i := range blocks {
		if err := yield(blocks[i].Data); err != nil {
			return err
		}
	}
	return nil
}

// replaceBlocks drops blocks, which must all be there, and adds others.
func (t *tx) replaceBlocks(drop []int64, blocks []tile.Block) error {
	if err := t.must(len(drop), "delete from ~track_blocks where id in @1", drop); err != nil {
		return err
	}
	columns := append([]string{"level", "tier", "place", "features", "data"}, t.s.Dialect.AreaColumns...)
	return t.insert("track_blocks", columns, len(blocks), func(i int) []any {
		b := &blocks[i]
		return append([]any{int32(b.Level), int32(b.Tier), int64(b.Place), int32(b.Features), b.Data},
			t.s.Dialect.AreaCells(Area{b.Level, b.Window})...)
	})
}

// redraw adds to a change the blocks of tracks that are drawn, and those that lose tracks, given as they were,
// which are drawn otherwise or no more.
func (s *Store) redraw(ctx context.Context, c *change, erased, drawn []gpstracks.Track) error {
	var err error
	if c.blocks, err = tile.Build(ctx, s.Log, drawn, erased); err != nil || len(erased) == 0 {
		return err
	}
	marked := &change{version: c.version}
	if more, err := s.someMarked(ctx, marked); err != nil {
		return err
	} else if more { // first every track comes in its blocks
		return errors.Join(s.apply(ctx, marked), errConflict)
	}
	var areas []Area
	var packer tile.Packer
	gone := map[int64]bool{}
	for i := range erased { // the bounds of features say where they are, whatever else has changed
		gone[erased[i].ID] = true
		for _, f := range packer.Pack(&erased[i]) {
			areas = append(areas, Area{f.Shelf(), f.Bounds})
		}
	}
	found, err := read(ctx, s, scanBlock, blockColumns+s.Dialect.Near, s.Dialect.Areas(areas))
	if err != nil {
		return err
	}
	for _, b := range found {
		features, err := tile.BlockFeatures(b.Data)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(features), func(f tile.Feature) bool { return gone[f.ID] })
		if len(rest) < len(features) {
			c.drop, c.blocks = append(c.drop, b.id), append(c.blocks, tile.Blocks(b.Level, b.Tier, rest)...)
		}
	}
	return nil
}

// settler puts blocks together until the store is closed.
func (s *Store) settler(ctx context.Context) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-s.hint:
		}
		if err := s.settle(ctx); err != nil && ctx.Err() == nil {
			s.Log.Warn("blocks of tracks are not put together: tiles are slower meanwhile", "err", err)
		}
	}
}

// Build builds the blocks that are missing and puts blocks of full tiers together. Nobody has
// to call it: that is done by Open and beside the calls.
func (s *Store) Build(ctx context.Context) error {
	if err := s.buildMarked(ctx); err != nil {
		return err
	}
	return s.settle(ctx)
}

// settle puts the blocks of full tiers together, a few in each transaction. Any division of the
// features into blocks is right, so a break between two costs nothing.
func (s *Store) settle(ctx context.Context) error {
	type tier struct {
		level, tier int
		features    int64
	}
	for {
		tiers, err := read(ctx, s, func(r *sql.Rows) (v tier, err error) { return v, r.Scan(&v.level, &v.tier, &v.features) },
			"select level, tier, sum(features) from ~track_blocks group by level, tier order by tier, level")
		if err != nil {
			return err
		}
		i := slices.IndexFunc(tiers, func(v tier) bool { return v.features > int64(tile.TierMax(v.level, v.tier)) })
		if i < 0 {
			return nil
		}
		full := tiers[i]
		for more := true; more; {
			if more, err = s.regroup(ctx, full.level, full.tier, tile.TierAbove(full.level, full.tier, full.features)); err != nil {
				return err
			}
		}
	}
}

// What regroup puts together at a time.
const (
	regroupBlocks = 256
	regroupSize   = 8 << 20 // bytes
)

// regroup moves the first blocks of a tier to one above it, and reports whether there are more.
func (s *Store) regroup(ctx context.Context, level, tier, to int) (more bool, err error) {
	found, err := read(ctx, s, scanBlock, blockColumns+"level = $1 and tier = $2 order by place, id limit $3", level, tier, regroupBlocks)
	if err != nil || len(found) == 0 {
		return false, err
	}
	var features []tile.Feature
	var drop []int64
	for size := 0; size < regroupSize && len(drop) < len(found); {
		b := &found[len(drop)]
		own, err := tile.BlockFeatures(b.Data)
		if err != nil {
			return false, err
		}
		features, drop, size = append(features, own...), append(drop, b.id), size+len(b.Data)
	}
	blocks := tile.Blocks(level, to, features)
	err = s.write(ctx, func(t *tx) error { return t.replaceBlocks(drop, blocks) })
	if errors.Is(err, errConflict) { // some of them have changed: look again
		err = nil
	}
	return true, err
}

// discard drops the blocks of another layout and marks all tracks: those of a mark are in no
// block.
func (s *Store) discard(ctx context.Context) error {
	return s.write(ctx, func(t *tx) error {
		n, err := t.exec("update ~track_state set value = $1 where name = $2 and value <> $1", int64(tile.Version), stateBlocks)
		if err != nil || n == 0 {
			return err
		}
		// what others have computed for the blocks of before is not written
		if err := t.must(1, "update ~track_state set value = value + 1 where name = $1", stateVersion); err != nil {
			return err
		}
		for _, query := range []string{
			"delete from ~track_blocks", "delete from ~track_unbuilt",
			`insert into ~track_unbuilt (first_id, last_id, points) select min(id), max(id), sum(points)
				from (select id, points, (row_number() over (order by id) - 1) / 256 as part from ~tracks) k group by part`,
		} {
			if n, err = t.exec(query); err != nil {
				return err
			}
		}
		if n > 0 {
			s.Log.Info("building the blocks of all tracks again: the layout of tiles has changed")
		}
		return nil
	})
}

// buildMarked builds the blocks of tracks that are marked: after a change of the layout, or by
// an earlier program that died.
func (s *Store) buildMarked(ctx context.Context) error {
	return s.changes(ctx, func(c *change) (bool, error) { return s.someMarked(ctx, c) })
}

func (s *Store) someMarked(ctx context.Context, c *change) (more bool, err error) {
	type mark struct{ first, last, points int64 }
	marks, err := read(ctx, s, func(r *sql.Rows) (m mark, err error) { return m, r.Scan(&m.first, &m.last, &m.points) },
		"select first_id, last_id, points from ~track_unbuilt order by first_id limit 16")
	var tracks []gpstracks.Track
	for points := int64(0); err == nil && len(c.marks) < len(marks) && points < partPoints; {
		m := marks[len(c.marks)]
		var own []gpstracks.Track
		own, err = read(ctx, s, scanTrack, fullTracks+"id between $1 and $2", m.first, m.last)
		tracks, points, c.marks = append(tracks, own...), points+m.points, append(c.marks, m.first)
	}
	if err == nil {
		c.blocks, err = tile.Build(ctx, s.Log, tracks, nil)
	}
	return len(marks) > 0, err
}
