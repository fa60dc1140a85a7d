package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// tracksCmd keeps the track layer, in the server's database, while it runs or not.
type tracksCmd struct {
	Hide    tracksHideCmd    `cmd:"" help:"Hide what lies around a point, in present and future tracks; without a name: regions' zones."`
	Hidden  tracksHiddenCmd  `cmd:"" help:"List the zones that are hidden."`
	Unhide  tracksUnhideCmd  `cmd:"" help:"Forget a zone; what was cut comes back when it is collected again."`
	Remove  tracksRemoveCmd  `cmd:"" help:"Show which tracks a removal takes; with --yes take them away, and keep them away."`
	Removed tracksRemovedCmd `cmd:"" help:"List what was taken away."`
	Export  tracksExportCmd  `cmd:"" help:"Write the tracks to a file that needs no server: PMTiles, MBTiles or GeoJSON."`
	Readmit tracksReadmitCmd `cmd:"" help:"Forget a removal; its tracks come back when they are collected again."`
}

// inTracks runs f with the store of the tracks, after the act, if any, is in the journal.
func inTracks(act, name string, f func(context.Context, app.TrackStore, app.Settings) error) error {
	settings, err := load()
	if err != nil {
		return err
	}
	if act != "" {
		if err := inStore(func(ctx context.Context, db app.Database) error { return audit(ctx, db, act, name) }); err != nil {
			return err
		}
	}
	ctx := context.Background()
	store, err := app.OpenTracks(ctx, settings, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	return errors.Join(f(ctx, store, settings), store.Close())
}

type tracksHideCmd struct {
	Name   string  `arg:"" optional:"" help:"Of the zone: letters a-z, digits, - and _."`
	Lat    float64 `help:"Latitude of the point, in degrees."`
	Lon    float64 `help:"Longitude."`
	Radius float64 `help:"In metres, 50 to 10000; what is cut reaches up to 2.4 times as far." default:"500"`
	output
}

// Run hides a zone, or those of the regions.
func (c tracksHideCmd) Run(s *streams) error {
	zone := gpstracks.Zone{Name: c.Name, Center: orb.Point{c.Lon, c.Lat}, RadiusM: c.Radius, MadeAt: time.Now().UTC()}
	if err := zone.Check(); err != nil && c.Name != "" {
		return err
	}
	return inTracks(task.ActTracksHide, c.Name, func(ctx context.Context, store app.TrackStore, settings app.Settings) error {
		if c.Name == "" {
			config, _, err := gpsfile.Load(settings.GPSFiles)
			if err == nil {
				err = collect.HideZones(ctx, store, config, zone.MadeAt)
			}
			return err
		}
		changed, err := store.Hide(ctx, zone)
		if err != nil {
			return err
		}
		cut := map[string]any{"zone": c.Name, "tracks_cut": len(changed)}
		return c.say(s.out, cut, "zone %s is hidden; tracks cut: %d\n", c.Name, len(changed))
	})
}

// zoneView is a zone as JSON has it.
type zoneView struct {
	Name   string    `json:"name"`
	Lat    float64   `json:"lat"`
	Lon    float64   `json:"lon"`
	Radius float64   `json:"radius_m"`
	Since  time.Time `json:"since"`
}

type tracksHiddenCmd struct{ output }

// Run lists zones.
func (c tracksHiddenCmd) Run(s *streams) error {
	return inTracks("", "", func(ctx context.Context, store app.TrackStore, _ app.Settings) error {
		zones, err := store.Zones(ctx)
		return printList(c.output, s, "zones", zones, err, func(z gpstracks.Zone) zoneView {
			return zoneView{z.Name, z.Center[1], z.Center[0], z.RadiusM, z.MadeAt}
		}, "ZONE\tLAT\tLON\tRADIUS\tSINCE", func(z gpstracks.Zone) []any {
			return []any{z.Name, z.Center[1], z.Center[0], fmt.Sprint(z.RadiusM, " m"), z.MadeAt.UTC().Format(time.DateOnly)}
		})
	})
}

type tracksUnhideCmd struct {
	Name string `arg:"" help:"Of the zone, as signalbox tracks hidden shows it."`
}

// Run forgets a zone.
func (c tracksUnhideCmd) Run(*streams) error {
	return inTracks(task.ActTracksUnhide, c.Name, func(ctx context.Context, store app.TrackStore, _ app.Settings) error {
		done, err := store.Unhide(ctx, c.Name)
		return orMissing(done, err, "there is no zone %q (signalbox tracks hidden)", c.Name)
	})
}

type tracksRemoveCmd struct {
	Tracks []string `arg:"" help:"Their ids, or references of a source of kind osm, such as osm/4711."`
	Reason string   `required:"" help:"Why, for those who list removals."`
	Yes    bool     `help:"Remove what is shown without it."`
	output
}

// takenView is a track that a removal takes, as JSON has it.
type takenView struct {
	ID     int64   `json:"id"`
	Source string  `json:"source"`
	Day    string  `json:"recorded_on"`
	Metres float64 `json:"length_m"`
	Name   string  `json:"name"`
}

// Run shows which tracks it takes, and takes them.
func (c tracksRemoveCmd) Run(s *streams) error {
	act := ""
	if c.Yes {
		act = task.ActTracksRemove
	}
	return inTracks(act, strings.Join(c.Tracks, " ")+": "+c.Reason, func(ctx context.Context, store app.TrackStore,
		settings app.Settings) error {
		config, _, err := gpsfile.Load(settings.GPSFiles)
		if err != nil {
			return err
		}
		taken := map[int64]takenView{}
		var wishes []gpstracks.Removal
		for _, named := range c.Tracks {
			wish, err := removal(ctx, store, config, named)
			if err != nil {
				return err
			}
			wish.Reason, wish.By, wish.At = c.Reason, account(), time.Now().UTC()
			tracks, err := store.Withheld(ctx, wish)
			if err != nil {
				return err
			}
			for _, t := range tracks {
				day := ""
				if !t.RecordedOn.IsZero() {
					day = t.RecordedOn.Format(time.DateOnly)
				}
				taken[t.ID] = takenView{t.ID, t.Source, day, math.Round(t.LengthM), t.Name}
			}
			wishes = append(wishes, wish)
		}
		removed, rows := 0, make([]takenView, 0, len(taken))
		for _, id := range slices.Sorted(maps.Keys(taken)) {
			rows = append(rows, taken[id])
		}
		for i := 0; i < len(wishes) && c.Yes; i++ {
			changed, err := store.Withhold(ctx, wishes[i])
			if removed += len(changed); err != nil {
				return err
			}
		}
		return c.print(s.out, map[string]any{"tracks": rows, "tracks_removed": removed}, func(w io.Writer) error {
			err := table(w, "ID\tSOURCE\tDAY\tKM\tNAME", func(row func(...any)) {
				for _, t := range rows {
					row(t.ID, t.Source, t.Day, fmt.Sprintf("%.1f", t.Metres/1000), oneLine(t.Name, 60))
				}
			})
			said := "nothing was removed: these go with --yes"
			if c.Yes {
				said = fmt.Sprint("tracks removed: ", removed)
			}
			fmt.Fprintln(w, said)
			return err
		})
	})
}

// removal is the wish that a track goes, named by its id or its reference. Only numbers that a source of
// kind osm gives are references: the end of an address may be that of many tracks.
func removal(ctx context.Context, store app.TrackStore, config collect.Config, named string) (wish gpstracks.Removal, err error) {
	referable := func(source string) bool {
		s, ok := config.Source(source)
		return ok && s.Kind == collect.OSM
	}
	id, notNumber := strconv.ParseInt(named, 10, 64)
	if notNumber != nil {
		if wish.Source, wish.ExternalID, _ = strings.Cut(named, "/"); !referable(wish.Source) {
			err = fmt.Errorf("%q is neither an id nor a reference of a source of kind osm: name the track by its id", named)
		}
		return wish, err
	}
	err = orMissing(false, nil, "there is no track %d", id)
	for t, unread := range store.List(ctx, gpstracks.Filter{IDs: []int64{id}, Limit: 1}) {
		if err = unread; err == nil {
			wish.Source, wish.Cells, wish.RecordedOn, wish.LengthM = t.Source, t.Cells, t.RecordedOn, t.LengthM
		}
		if referable(t.Source) {
			wish.ExternalID = t.ExternalID
		}
	}
	return wish, err
}

// removalView is a removal as JSON has it.
type removalView struct {
	ID        int64     `json:"removal"`
	Source    string    `json:"source"`
	Reference string    `json:"reference"`
	By        string    `json:"by"`
	At        time.Time `json:"at"`
	Reason    string    `json:"reason"`
}

// reference says of which track a removal is.
func reference(r gpstracks.Removal) string {
	switch {
	case r.ExternalID != "" || r.Cells.N == 0:
		return r.ExternalID
	case r.RecordedOn.IsZero():
		return fmt.Sprintf("%.1f km", r.LengthM/1000)
	}
	return fmt.Sprintf("%.1f km of %s", r.LengthM/1000, r.RecordedOn.Format(time.DateOnly))
}

type tracksRemovedCmd struct{ output }

// Run lists removals.
func (c tracksRemovedCmd) Run(s *streams) error {
	return inTracks("", "", func(ctx context.Context, store app.TrackStore, _ app.Settings) error {
		all, err := store.Removals(ctx)
		return printList(c.output, s, "removals", all, err, func(r gpstracks.Removal) removalView {
			return removalView{r.ID, r.Source, reference(r), r.By, r.At, r.Reason}
		}, "REMOVAL\tSOURCE\tREFERENCE\tBY\tAT\tREASON", func(r gpstracks.Removal) []any {
			return []any{r.ID, r.Source, reference(r), r.By, moment(r.At), r.Reason}
		})
	})
}

type tracksReadmitCmd struct {
	Removal int64 `arg:"" help:"Its number, as signalbox tracks removed shows it."`
}

// Run forgets a removal.
func (c tracksReadmitCmd) Run(*streams) error {
	return inTracks(task.ActTracksReadmit, strconv.FormatInt(c.Removal, 10),
		func(ctx context.Context, store app.TrackStore, _ app.Settings) error {
			done, err := store.Readmit(ctx, c.Removal)
			return orMissing(done, err, "there is no removal %d (signalbox tracks removed)", c.Removal)
		})
}
