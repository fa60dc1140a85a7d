package trackstore

import (
	"context"
	"errors"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// What one transaction keeps at most: others who write wait for it.
const (
	partTracks = 2048
	partPoints = 512 << 10 // but for a single track
)

// change holds the work of a transaction on tracks and their blocks, computed before it begins.
type change struct {
	version int64 // of the tracks that it was computed for

	fresh, told, seen []gpstracks.Track
	sketched          []gpstracks.Track // old ones, with cells
	gone              []int64
	goneMarks         []int64

	drop    []int64 // blocks
	blocks  []tile.Block
	marks   []int64 // of track_unbuilt, that are done
	changed []orb.Bound
}

// erase takes a track away.
func (c *change) erase(k gpstracks.Track) {
	c.gone, c.goneMarks = append(c.gone, k.ID), append(c.goneMarks, k.Cells.Marks()...)
	c.changed = append(c.changed, k.Bounds)
}

// errConflict says that somebody else was quicker.
var errConflict = errors.New("tracks: somebody else has changed what was computed for")

// change computes a change, for the version and after the last id of the tracks, and writes it;
// again if somebody else was quicker. Those of this process take turns. One that holds nothing
// is not written.
func (s *Store) change(ctx context.Context, compute func(c *change, last int64) error) error {
	release, err := hold(ctx, s.changing)
	if err != nil {
		return err
	}
	defer release()
	for {
		version, last, layout, err := s.state(ctx) // before what depends on it is read
		if err == nil && layout != tile.Version {
			err = errors.New("tracks: another program has laid their blocks out anew: end this one, or start it again if it is the newer")
		}
		if err != nil {
			return err
		}
		c := &change{version: version}
		err = compute(c, last)
		if err == nil && len(c.fresh)+len(c.told)+len(c.seen)+len(c.sketched)+len(c.gone)+len(c.marks) > 0 {
			err = s.apply(ctx, c)
		}
		if !errors.Is(err, errConflict) {
			return err
		}
	}
}

// hold takes what one at a time has.
func hold(ctx context.Context, turn chan struct{}) (release func(), err error) {
	select {
	case turn <- struct{}{}:
		return func() { <-turn }, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// apply writes a change, unless it was computed for what is no longer so.
func (s *Store) apply(ctx context.Context, c *change) error {
	err := s.write(ctx, func(t *tx) error {
		if err := t.must(1, "update ~track_state set value = value + 1 where name = $1 and value = $2", stateVersion,
			c.version); err != nil {
			return err
		}
		if err := t.applyTracks(c); err != nil {
			return err
		}
		if err := t.must(len(c.marks), "delete from ~track_unbuilt where first_id in @1", c.marks); err != nil {
			return err
		}
		if err := t.replaceBlocks(c.drop, c.blocks); err != nil {
			return err
		}
		return t.noteChanges(c.changed)
	})
	if err == nil && len(c.blocks) > 0 {
		run.Hint(s.hint)
	}
	return err
}

// must is exec of a statement that changes n rows, or else somebody was quicker.
func (t *tx) must(n int, query string, args ...any) error {
	if n == 0 {
		return nil
	}
	done, err := t.exec(query, args...)
	if err == nil && done != int64(n) {
		err = errConflict
	}
	return err
}

func (t *tx) applyTracks(c *change) error {
	if err := t.must(len(c.gone), "delete from ~tracks where id in @1", c.gone); err != nil { // first: their keys may be taken again
		return err
	}
	if len(c.gone) > 0 {
		_, err := t.exec("delete from ~track_geometries where track_id in @1", c.gone)
		if err == nil {
			_, err = t.exec("delete from ~track_marks where mark in @1 and track_id in @2", c.goneMarks, c.gone)
		}
		if err != nil {
			return err
		}
	}
	if n := len(c.fresh); n > 0 {
		if _, err := t.exec("update ~track_state set value = $1 where name = $2", c.fresh[n-1].ID, stateTrack); err != nil {
			return err
		}
	}
	for i := range c.sketched {
		if err := t.must(1, "update ~tracks set cells = $1 where id = $2", gpstracks.AppendCells(nil, c.sketched[i].Cells),
			c.sketched[i].ID); err != nil {
			return err
		}
	}
	return errors.Join(t.insertTracks(slices.Concat(c.fresh, c.told)), t.insertMarks(c.sketched), t.touch(c.seen))
}

// changes makes changes for as long as there are more to compute.
func (s *Store) changes(ctx context.Context, compute func(c *change) (more bool, err error)) (err error) {
	for more := true; more && err == nil; {
		err = s.change(ctx, func(c *change, _ int64) (err error) { more, err = compute(c); return err })
	}
	return err
}

// sketch gives tracks of an earlier version their cells.
func (s *Store) sketch(ctx context.Context) error {
	return s.changes(ctx, func(c *change) (more bool, err error) {
		c.sketched, err = read(ctx, s, scanTrack, fullTracks+"cells is null order by id limit 256")
		for i := range c.sketched {
			c.sketched[i].Cells = gpstracks.CellsOf(c.sketched[i].Lines)
		}
		return len(c.sketched) > 0, err
	})
}

// Upsert implements gpstracks.Store. What is more than a transaction keeps is kept in several,
// in order; with an error comes what those before it did.
func (s *Store) Upsert(ctx context.Context, tracks []gpstracks.Track) (total gpstracks.Upserted, err error) {
	for i := range tracks {
		switch key := tracks[i].Key; {
		case key == "":
			return total, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		case !utf8.ValidString(key) || strings.Contains(key, "\x00"):
			return total, &gpstracks.InvalidError{Field: "key", Reason: "is not text: pass the track through Prepare first"}
		}
	}
	for len(tracks) > 0 {
		n, points := 1, tracks[0].Points
		for n < min(len(tracks), partTracks) && points+tracks[n].Points <= partPoints {
			points, n = points+tracks[n].Points, n+1
		}
		u, err := s.upsert(ctx, tracks[:n])
		if err != nil {
			return total, err
		}
		total.Inserted, total.Updated, total.Duplicates = total.Inserted+u.Inserted, total.Updated+u.Updated, total.Duplicates+u.Duplicates
		total.Removed, total.Hidden, total.Cut = total.Removed+u.Removed, total.Hidden+u.Hidden, total.Cut+u.Cut
		total.Changed, tracks = append(total.Changed, u.Changed...), tracks[n:]
	}
	return total, ctx.Err()
}

// upsert keeps one part.
func (s *Store) upsert(ctx context.Context, brought []gpstracks.Track) (done gpstracks.Upserted, err error) {
	return done, s.change(ctx, func(c *change, last int64) error {
		tracks, screened, err := s.screen(ctx, brought)
		if err != nil {
			return err
		}
		known, err := s.Known(ctx, tracks...)
		if err != nil {
			return err
		}
		plan := gpstracks.PlanUpsert(tracks, known)
		done = plan.Upserted
		done.Screened = screened
		if plan.Empty() {
			return nil
		}
		c.fresh, c.told, c.seen, c.changed = plan.New, plan.Told, plan.Seen, plan.Changed
		ids := make([]int64, len(c.told))
		for i := range ids {
			ids[i] = c.told[i].ID
		}
		full, err := read(ctx, s, scanTrack, fullTracks+"id in @1 order by id", ids)
		if err == nil && len(full) < len(ids) {
			err = errors.New("tracks: a track has no geometry: remove it and collect it again")
		}
		if err != nil {
			return err
		}
		for i := range full { // they are written anew, as a whole; Known has them by id
			if c.erase(full[i]); c.told[i].Lines == nil {
				c.told[i].Lines = full[i].Lines
			}
		}
		for i := range c.fresh {
			c.fresh[i].ID = last + 1 + int64(i)
		}
		return s.redraw(ctx, c, full, slices.Concat(c.fresh, c.told))
	})
}

// removeAtOnce bounds the tracks that are removed in one transaction.
const removeAtOnce = 200

// Remove implements gpstracks.Store. Many tracks are removed in several transactions; with an
// error comes what those before it changed.
func (s *Store) Remove(ctx context.Context, ids ...int64) (changed []orb.Bound, err error) {
	for part := range slices.Chunk(ids, removeAtOnce) {
		gone, err := s.remove(ctx, part)
		if err != nil {
			return changed, err
		}
		changed = append(changed, gone...)
	}
	return changed, ctx.Err()
}

func (s *Store) remove(ctx context.Context, ids []int64) (changed []orb.Bound, err error) {
	return changed, s.change(ctx, func(c *change, _ int64) error {
		tracks, err := read(ctx, s, scanTrack, fullTracks+"id in @1", ids)
		if err != nil || len(tracks) == 0 {
			return err
		}
		place := func(k gpstracks.Track) int { return slices.Index(ids, k.ID) } // in the order of the call
		slices.SortFunc(tracks, func(a, b gpstracks.Track) int { return place(a) - place(b) })
		for i := range tracks {
			c.erase(tracks[i])
		}
		changed = c.changed
		return s.redraw(ctx, c, tracks, nil)
	})
}
