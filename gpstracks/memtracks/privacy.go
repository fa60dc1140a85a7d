package memtracks

import (
	"cmp"
	"context"
	"crypto/rand"
	"slices"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

var _ gpstracks.PrivateStore = (*Store)(nil)

// Hide implements gpstracks.ZoneStore.
func (s *Store) Hide(ctx context.Context, z gpstracks.Zone) ([]orb.Bound, error) {
	if err := z.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	i, known := slices.BinarySearchFunc(s.zones, z.Name, func(o gpstracks.Zone, name string) int { return strings.Compare(o.Name, name) })
	s.zones = slices.Clone(s.zones) // what Zones has returned stays
	if z.Secret = rand.Text(); known {
		z.Secret, z.MadeAt = s.zones[i].Secret, s.zones[i].MadeAt
		s.zones[i] = z
	} else {
		s.zones = slices.Insert(s.zones, i, z)
	}
	var gone []int64
	var left []gpstracks.Track
	for id, t := range s.tracks {
		cut, changed := gpstracks.Cut(*t, s.zones)
		if !changed {
			continue
		}
		if gone = append(gone, id); len(cut.Lines) > 0 {
			left = append(left, cut)
		}
	}
	changed := s.drop(gone)
	slices.SortFunc(left, func(a, b gpstracks.Track) int { return cmp.Compare(a.ID, b.ID) })
	for _, t := range left {
		if _, taken := s.byKey[t.Key]; !taken {
			s.last++
			t.ID = s.last
			s.byKey[t.Key] = t.ID
			s.put(t)
		}
	}
	return changed, nil
}

// Unhide implements gpstracks.ZoneStore.
func (s *Store) Unhide(ctx context.Context, name string) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	n := len(s.zones)
	s.zones = slices.DeleteFunc(slices.Clone(s.zones), func(z gpstracks.Zone) bool { return z.Name == name })
	return len(s.zones) < n, nil
}

// Zones implements gpstracks.ZoneStore.
func (s *Store) Zones(ctx context.Context) ([]gpstracks.Zone, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.zones, nil
}

// Withhold implements gpstracks.RemovalStore.
func (s *Store) Withhold(ctx context.Context, r gpstracks.Removal) ([]orb.Bound, error) {
	if err := r.Check(); err != nil {
		return nil, err
	}
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	if !slices.ContainsFunc(s.removals, func(o gpstracks.Removal) bool {
		return o.Key == r.Key && o.Source == r.Source && o.ExternalID == r.ExternalID
	}) {
		s.removed++
		r.ID = s.removed
		s.removals = append(slices.Clone(s.removals), r)
	}
	var gone []int64
	for id, t := range s.tracks {
		if r.Matches(t) {
			gone = append(gone, id)
		}
	}
	return s.drop(gone), nil
}

// Readmit implements gpstracks.RemovalStore.
func (s *Store) Readmit(ctx context.Context, id int64) (bool, error) {
	if err := s.begin(ctx); err != nil {
		return false, err
	}
	defer s.mu.Unlock()
	n := len(s.removals)
	s.removals = slices.DeleteFunc(slices.Clone(s.removals), func(r gpstracks.Removal) bool { return r.ID == id })
	return len(s.removals) < n, nil
}

// Removals implements gpstracks.RemovalStore.
func (s *Store) Removals(ctx context.Context) ([]gpstracks.Removal, error) {
	if err := s.begin(ctx); err != nil {
		return nil, err
	}
	defer s.mu.Unlock()
	return s.removals, nil
}
