package collect

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// HideZones keeps the zones of all regions in a store and cuts what is stored. Zones that are
// there already stay as they are; one that a region names no more stays until it is forgotten.
func HideZones(ctx context.Context, store gpstracks.Store, c Config, now time.Time) error {
	for _, r := range c.Regions {
		for _, z := range r.Hidden {
			zones, ok := store.(gpstracks.ZoneStore)
			if !ok {
				return errors.New("collect: the store keeps no zones: leave the hidden ones of the regions away")
			}
			z.MadeAt = now
			if _, err := zones.Hide(ctx, z); err != nil {
				return fmt.Errorf("zone %s cannot be hidden: %w", z.Name, err)
			}
		}
	}
	return nil
}

// screened counts what privacy has changed.
func (j *job) screened(s gpstracks.Screened) {
	j.run.Rejected += s.Removed + s.Hidden
	j.run.RejectedFor = j.run.RejectedFor.AddN(s.Removed, gpstracks.ReasonRemoved).AddN(s.Hidden, gpstracks.ReasonHidden)
	j.run.ChangedFor = j.run.ChangedFor.AddN(s.Cut, gpstracks.ReasonHidden)
}

// screen returns the tracks that a store would keep.
func (j *job) screen(ctx context.Context, tracks []gpstracks.Track) ([]gpstracks.Track, gpstracks.Screened, error) {
	var zones []gpstracks.Zone
	var removals []gpstracks.Removal
	var err error
	if s, ok := j.o.Store.(gpstracks.ZoneStore); ok {
		zones, err = s.Zones(ctx)
	}
	if s, ok := j.o.Store.(gpstracks.RemovalStore); ok && err == nil {
		removals, err = s.Removals(ctx)
	}
	kept, s := gpstracks.Screen(tracks, zones, removals)
	return kept, s, err
}
