package postgres

import (
	"context"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgtype"

	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// A level's features are in tiers, as tile.TierMax says. What regroup puts
// together at a time:
const (
	regroupBlocks = 256
	regroupSize   = 16 << 20 // bytes
)

// strip is how far the areas of a level lie east of those of the one before it.
const strip = 1 << 28

// area is where a window of a level lies among those of all levels.
func area(level int, w tile.Window) pgtype.Box {
	east := float64(level) * strip
	return pgtype.Box{
		P:     [2]pgtype.Vec2{{X: east + float64(w.MaxX), Y: float64(w.MaxY)}, {X: east + float64(w.MinX), Y: float64(w.MinY)}},
		Valid: true,
	}
}

// block is a block with its row.
type block struct {
	id int64
	tile.Block
}

const blockColumns = "select id, level, tier, features, data from ~track_blocks "

func scanBlock(row pgx.CollectableRow) (b block, err error) {
	return b, row.Scan(&b.id, &b.Level, &b.Tier, &b.Features, &b.Data)
}

func (t *trackTx) addBlocks(blocks []tile.Block) error {
	if err := t.copyBlocks(blocks); err != nil {
		return err
	}
	return t.count(blocks, 1)
}

// copyBlocks keeps blocks without counting them.
func (t *trackTx) copyBlocks(blocks []tile.Block) error {
	return t.copy("track_blocks", []string{"level", "tier", "place", "features", "area", "data"}, len(blocks), func(i int) ([]any, error) {
		b := &blocks[i]
		return []any{int32(b.Level), int32(b.Tier), int64(b.Place), int32(b.Features), area(b.Level, b.Window), b.Data}, nil
	})
}

func (t *trackTx) deleteBlocks(blocks []block) error {
	ids, gone := make([]int64, len(blocks)), make([]tile.Block, len(blocks))
	for i := range blocks {
		ids[i], gone[i] = blocks[i].id, blocks[i].Block
	}
	if err := t.exec("delete from ~track_blocks where id = any($1)", ids); err != nil {
		return err
	}
	return t.count(gone, -1)
}

// count keeps how many features each tier holds.
func (t *trackTx) count(blocks []tile.Block, sign int64) error {
	sums := map[[2]int32]int64{}
	for _, b := range blocks {
		sums[[2]int32{int32(b.Level), int32(b.Tier)}] += sign * int64(b.Features)
	}
	if len(sums) == 0 {
		return nil
	}
	var levels, tiers []int32
	var features []int64
	for k, n := range sums {
		levels, tiers, features = append(levels, k[0]), append(tiers, k[1]), append(features, n)
	}
	return t.exec(`insert into ~track_tiers (level, tier, features) select * from unnest($1::integer[], $2::integer[], $3::bigint[])
		on conflict (level, tier) do update set features = track_tiers.features + excluded.features`, levels, tiers, features)
}

// dropFeatures takes tracks out of the blocks. features are those of the tracks,
// whose bounds tell where the blocks are.
func (t *trackTx) dropFeatures(gone map[int64]bool, features []tile.Feature) error {
	if len(features) == 0 {
		return nil
	}
	areas := make([]pgtype.Box, len(features))
	for i, f := range features {
		areas[i] = area(f.Level, f.Bounds)
	}
	found, err := rowsOf(t, scanBlock, blockColumns+"where id in (select b.id from unnest($1::box[]) w(area) join ~track_blocks b on b.area && w.area)", areas)
	if err != nil {
		return err
	}
	var old []block
	var anew []tile.Block
	for _, b := range found {
		features, err := tile.BlockFeatures(b.Data)
		if err != nil {
			return err
		}
		rest := slices.DeleteFunc(slices.Clone(features), func(f tile.Feature) bool { return gone[f.ID] })
		if len(rest) == len(features) {
			continue
		}
		old, anew = append(old, b), append(anew, tile.Blocks(b.Level, b.Tier, rest)...)
	}
	if len(old) == 0 {
		return nil
	}
	if err := t.deleteBlocks(old); err != nil {
		return err
	}
	return t.addBlocks(anew)
}

// tier is one that holds some features of a level.
type tier struct {
	level, tier int
	features    int64
}

const fullestFirst = "select level, tier, features from ~track_tiers order by tier, level"

func scanTier(row pgx.CollectableRow) (v tier, err error) {
	return v, row.Scan(&v.level, &v.tier, &v.features)
}

// full finds a tier that holds more than it may.
func full(tiers []tier) (tier, bool) {
	i := slices.IndexFunc(tiers, func(v tier) bool { return v.features > int64(tile.TierMax(v.tier)) })
	if i < 0 {
		return tier{}, false
	}
	return tiers[i], true
}

// settle puts the blocks of full tiers together, in transactions of their own, so
// that others who write wait for none of them long.
func (s *Tracks) settle(ctx context.Context) error {
	for {
		tiers, err := ask(ctx, s, scanTier, fullestFirst)
		if err != nil {
			return err
		}
		v, found := full(tiers)
		if !found {
			return nil
		}
		for more := true; more; {
			if err := s.write(ctx, func(t *trackTx) (err error) { more, err = t.regroup(v); return err }); err != nil {
				return err
			}
		}
	}
}

// regroup moves the first blocks of a full tier to one above it, and reports whether
// there are more. Any division of the features into blocks is right, so a break
// between two calls costs nothing.
func (t *trackTx) regroup(v tier) (more bool, err error) {
	found, err := rowsOf(t, scanBlock, blockColumns+"where level = $1 and tier = $2 order by place, id limit $3", v.level, v.tier, regroupBlocks)
	if err != nil || len(found) == 0 {
		return false, err
	}
	var features []tile.Feature
	size, n := 0, 0
	for size < regroupSize && n < len(found) {
		own, err := tile.BlockFeatures(found[n].Data)
		if err != nil {
			return false, err
		}
		features, size, n = append(features, own...), size+len(found[n].Data), n+1
	}
	if err := t.deleteBlocks(found[:n]); err != nil {
		return false, err
	}
	return true, t.addBlocks(tile.Blocks(v.level, tile.TierAbove(v.tier, v.features), features))
}
