package collect

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// Sweep holds the tracks to remove, by reason.
type Sweep struct {
	Reasons []SweepReason // the most tracks first
	Total   int
	ids     []int64
}

// SweepReason is a reason and the number of tracks that it holds for.
type SweepReason struct {
	Reason string
	Tracks int
}

// stale returns why a track is to be removed, and nothing if it stays: its source is
// not configured, switched off or without an accepted licence record, it lies in
// no region that is switched on, or it was not seen for as long as its source
// keeps tracks. Tracks from files have no region.
func stale(t *gpstracks.Track, c Config, l Licences, now time.Time) string {
	s, ok := c.Source(t.Source)
	switch {
	case !ok:
		return fmt.Sprintf("source %s is not configured", t.Source)
	case !s.Enabled:
		return fmt.Sprintf("source %s is switched off", s.Name)
	case l.Status(s.Name) != accepted:
		return fmt.Sprintf("the licence record of source %s is %s", s.Name, l.Status(s.Name))
	case s.Kind != Files && !inRegion(t, c):
		return fmt.Sprintf("in no region that is switched on (source %s)", s.Name)
	case s.KeepFor > 0 && t.LastSeenAt.Before(now.Add(-s.KeepFor)):
		return fmt.Sprintf("not seen for %d days (source %s)", int(s.KeepFor.Hours()/24), s.Name)
	}
	return ""
}

func inRegion(t *gpstracks.Track, c Config) bool {
	touched := func(a Area) bool { return gpstracks.Filter{Bounds: []orb.Bound{a.Bounds}}.Match(t) }
	return slices.ContainsFunc(c.Regions, func(r Region) bool { return r.Enabled && slices.ContainsFunc(r.Areas, touched) })
}

// PlanSweep looks which tracks are stale. It removes nothing.
func (c *Collector) PlanSweep(ctx context.Context, conf Config) (Sweep, error) {
	var s Sweep
	counts := map[string]int{}
	now := c.o.Now()
	for t, err := range c.o.Store.List(ctx, gpstracks.Filter{}) {
		if err != nil {
			return Sweep{}, err
		}
		if reason := stale(&t, conf, c.o.Licences, now); reason != "" {
			counts[reason]++
			s.ids = append(s.ids, t.ID)
		}
	}
	for _, reason := range slices.Sorted(maps.Keys(counts)) {
		s.Reasons = append(s.Reasons, SweepReason{reason, counts[reason]})
	}
	slices.SortStableFunc(s.Reasons, func(a, b SweepReason) int { return b.Tracks - a.Tracks })
	s.Total = len(s.ids)
	return s, nil
}

// Sweep removes what PlanSweep found, unless this is a dry run, and returns the
// number of tracks that are gone.
func (c *Collector) Sweep(ctx context.Context, s Sweep) (removed int, err error) {
	if c.o.DryRun {
		return 0, nil
	}
	for part := range slices.Chunk(s.ids, batch) {
		changed, err := c.o.Store.Remove(ctx, part...)
		removed += len(changed)
		if len(changed) > 0 {
			c.o.Changed(changed...)
		}
		if err != nil {
			return removed, fmt.Errorf("the sweep broke off: %w", err)
		}
	}
	return removed, nil
}
