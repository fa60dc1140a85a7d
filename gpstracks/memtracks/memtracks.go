// Package memtracks is a store of tracks in memory: the double of package
// gpstracks, and a source of tiles. It passes the suite in
// gpstracks/storetest, and serves examples and demos with as many tracks as
// memory holds; nothing is kept when the program ends.
package memtracks

import (
	"context"
	"crypto/rand"
	"fmt"
	"iter"
	"slices"
	"sync"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Store implements gpstracks.Store, gpstracks.RunStore and tile.Source.
type Store struct {
	mu     sync.Mutex
	packer tile.Packer
	byKey  map[string]int64
	tracks map[int64]*gpstracks.Track // what one points to is never changed
	packed map[int64][]tile.Feature
	last   int64
	list   []*gpstracks.Track // all, in the order of a list; nil after a change
	name   string             // of this store among others
	change int64              // number of calls that may have changed tracks
	levels [tile.Levels][]block
	runs   []gpstracks.Run
	fail   error

	zones    []gpstracks.Zone // by name
	removals []gpstracks.Removal
	removed  int64 // id of the last one
}

var (
	_ gpstracks.Store     = (*Store)(nil)
	_ gpstracks.RunStore  = (*Store)(nil)
	_ gpstracks.Counter   = (*Store)(nil)
	_ gpstracks.Versioned = (*Store)(nil)
	_ tile.Source         = (*Store)(nil)
)

type block struct {
	window tile.Window
	around tile.Window // of the first of neighbours: the windows of all of them
	data   []byte
}

// neighbours is how many blocks that follow each other are passed over with one look.
const neighbours = 16

// New makes an empty store.
func New() *Store {
	return &Store{name: rand.Text(), byKey: map[string]int64{}, tracks: map[int64]*gpstracks.Track{}, packed: map[int64][]tile.Feature{}}
}

// Fail makes every later call fail with err; nil ends that.
func (s *Store) Fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail = err
}

// begin takes the lock, unless the call has to fail.
func (s *Store) begin(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	s.mu.Lock()
	if err := s.fail; err != nil {
		s.mu.Unlock()
		return err
	}
	return nil
}

// Upsert implements gpstracks.Store.
func (s *Store) Upsert(ctx context.Context, tracks []gpstracks.Track) (gpstracks.Upserted, error) {
	var u gpstracks.Upserted
	for i := range tracks {
		if tracks[i].Key == "" {
			return u, &gpstracks.InvalidError{Field: "key", Reason: "is empty: pass the track through Prepare first"}
		}
	}
	if err := s.begin(ctx); err != nil {
		return u, err
	}
	defer s.mu.Unlock()
	s.change++
	tracks, u.Screened = gpstracks.Screen(tracks, s.zones, s.removals)
	for _, t := range tracks {
		id, known := s.byKey[t.Key]
		if !known {
			s.last++
			t.ID, t.FirstSeenAt = s.last, t.LastSeenAt
			s.byKey[t.Key] = t.ID
			s.put(t)
			u.Inserted++
			u.Changed = append(u.Changed, t.Bounds)
			continue
		}
		merged, told := gpstracks.Merge(*s.tracks[id], t)
		if !told {
			s.tracks[id] = &merged
			s.list = nil
			u.Duplicates++
			continue
		}
		s.put(merged)
		u.Updated++
		u.Changed = append(u.Changed, merged.Bounds)
	}
	return u, nil
}

func (s *Store) put(t gpstracks.Track) {
	s.tracks[t.ID], s.packed[t.ID] = &t, s.packer.Pack(&t)
	s.forget()
}

// forget drops what is built from the tracks.
func (s *Store) forget() { s.list, s.levels = nil, [tile.Levels][]block{} }

// List implements gpstracks.Store. What it yields is the state at its start.
func (s *Store) List(ctx context.Context, f gpstracks.Filter) iter.Seq2[gpstracks.Track, error] {
	return func(yield func(gpstracks.Track, error) bool) {
		all, err := s.ordered(ctx)
		if err != nil {
			yield(gpstracks.Track{}, err)
			return
		}
		n := 0
		for _, t := range all {
			if err := ctx.Err(); err != nil {
				yield(gpstracks.Track{}, err)
				return
			}
			if !f.Match(t) {
				continue
			}
			if n++; !yield(*t, nil) || n == f.Limit {
				return
			}
		}
	}
}

func (s *Store) ordered(ctx context.Context) ([]*gpstracks.Track, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if s.list == nil {
		s.list = make([]*gpstracks.Track, 0, len(s.tracks))
		for _, t := range s.tracks {
			s.list = append(s.list, t)
		}
		slices.SortFunc(s.list, func(a, b *gpstracks.Track) int { return gpstracks.CompareCursors(a.Cursor(), b.Cursor()) })
	}
	return s.list, nil
}

// Known implements gpstracks.Store.
func (s *Store) Known(ctx context.Context, keys ...string) ([]string, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	var known []string
	for _, k := range keys {
		if _, ok := s.byKey[k]; ok {
			known = append(known, k)
		}
	}
	return known, nil
}

// Count implements gpstracks.Store.
func (s *Store) Count(ctx context.Context) (int, error) {
	if err := s.begin(ctx); err != nil {
		return 0, err
	}
	defer s.mu.Unlock()
	return len(s.tracks), nil
}

// Version implements gpstracks.Versioned.
func (s *Store) Version(ctx context.Context) (string, error) {
	if err := s.begin(ctx); err != nil {
		return "", err
	}
	defer s.mu.Unlock()
	return fmt.Sprintf("%s-%d", s.name, s.change), nil
}

// CountMatching implements gpstracks.Counter.
func (s *Store) CountMatching(ctx context.Context, f gpstracks.Filter) (int, error) {
	all, err := s.ordered(ctx)
	n := 0
	f.After = gpstracks.Cursor{}
	for _, t := range all {
		if f.Match(t) {
			n++
		}
	}
	return n, err
}

// Remove implements gpstracks.Store.
func (s *Store) Remove(ctx context.Context, ids ...int64) ([]orb.Bound, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.drop(ids), nil
}

// drop removes tracks.
func (s *Store) drop(ids []int64) (changed []orb.Bound) {
	s.change++
	for _, id := range ids {
		t, ok := s.tracks[id]
		if !ok {
			continue
		}
		changed = append(changed, t.Bounds)
		delete(s.byKey, t.Key)
		delete(s.tracks, id)
		delete(s.packed, id)
	}
	s.forget()
	return changed
}

// Blocks implements tile.Source. The first call after a change builds the blocks
// of its level.
func (s *Store) Blocks(ctx context.Context, level int, w tile.Window, yield func([]byte) error) error {
	blocks, err := s.level(ctx, level)
	if err != nil {
		return err
	}
	for i := 0; i < len(blocks); i++ {
		if i%neighbours == 0 && !blocks[i].around.Touches(w) {
			i += neighbours - 1
			continue
		}
		if !blocks[i].window.Touches(w) {
			continue
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if err := yield(blocks[i].data); err != nil {
			return err
		}
	}
	return nil
}

func (s *Store) level(ctx context.Context, level int) ([]block, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if level < 0 || level >= tile.Levels {
		return nil, &gpstracks.InvalidError{Field: "level", Reason: "is not one that tiles have"}
	}
	if s.levels[level] != nil {
		return s.levels[level], nil
	}
	var features []tile.Feature
	for _, packed := range s.packed {
		for _, f := range packed {
			if f.Level == level {
				features = append(features, f)
			}
		}
	}
	built := []block{}
	for _, b := range tile.Blocks(level, 0, features) {
		built = append(built, block{b.Window, b.Window, b.Data})
	}
	for i := range built {
		first, w := &built[i-i%neighbours].around, built[i].window
		first.MinX, first.MinY, first.MaxX, first.MaxY = min(first.MinX, w.MinX), min(first.MinY, w.MinY), max(first.MaxX, w.MaxX), max(first.MaxY, w.MaxY)
	}
	s.levels[level] = built
	return built, nil
}
