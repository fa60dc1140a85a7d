package command

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/adapters/mbtiles"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/export"
	"github.com/signalbox-dev/signalbox/internal/app"
)

type tracksExportCmd struct {
	Format string   `required:"" enum:"pmtiles,mbtiles,geojson" help:"pmtiles, mbtiles or geojson."`
	Out    string   `required:"" help:"File to write; one that is there is replaced when the new one is complete."`
	Zoom   string   `default:"0-14" help:"Zooms of the tiles, 0-15."`
	Region []string `help:"Only what touches this region (repeatable)."`
	output
}

// Run exports the tracks of sources whose licence record is accepted.
func (c tracksExportCmd) Run(s *streams) error {
	return inTracks("", "", func(ctx context.Context, store app.TrackStore, settings app.Settings) error {
		config, licences, err := gpsfile.Load(settings.GPSFiles)
		if err != nil {
			return err
		}
		o := export.Options{Store: store, Tiles: store, Sources: allowed(config, licences)}
		if o.Bounds, err = bounds(config, c.Region); err != nil {
			return err
		}
		if o.MinZoom, o.MaxZoom, err = zooms(c.Zoom); err != nil {
			return err
		}
		n, err := c.write(ctx, o)
		if err != nil {
			return err
		}
		return c.say(s.out, map[string]any{"tracks": n, "file": c.Out}, "%d tracks are in %s\n", n, c.Out)
	})
}

// allowed are the sources whose licence record is accepted.
func allowed(config collect.Config, licences collect.Licences) (names []string) {
	for _, s := range config.Sources {
		if _, err := licences.Allow(s.Name); err == nil {
			names = append(names, s.Name)
		}
	}
	return names
}

// bounds are the areas of regions.
func bounds(config collect.Config, names []string) (out []orb.Bound, err error) {
	for _, name := range names {
		r, ok := config.Region(name)
		if !ok {
			return nil, fmt.Errorf("there is no region %q: gps_regions.yaml names them", name)
		}
		if !r.Enabled {
			return nil, &collect.OffError{What: "region", Name: name}
		}
		for _, a := range r.Areas {
			out = append(out, a.Bounds)
		}
	}
	return out, nil
}

// zooms reads 0-14, or a single one.
func zooms(text string) (least, most int, err error) {
	from, to, isRange := strings.Cut(text, "-")
	if !isRange {
		to = from
	}
	least, err = strconv.Atoi(from)
	if err == nil {
		most, err = strconv.Atoi(to)
	}
	if err != nil {
		err = fmt.Errorf("--zoom is %q: write it like 0-14", text)
	}
	return least, most, err
}

// write writes the file beside its place, and then puts it there.
func (c tracksExportCmd) write(ctx context.Context, o export.Options) (n int, err error) {
	part := c.Out + ".part"
	if err := os.Remove(part); err != nil && !errors.Is(err, os.ErrNotExist) {
		return 0, err
	}
	defer func() {
		if err == nil {
			err = os.Rename(part, c.Out)
		} else {
			_ = os.Remove(part) // it may not be there
		}
	}()
	if c.Format == "geojson" {
		return geoJSON(ctx, o, part)
	}
	plan, err := export.NewPlan(ctx, o)
	if err != nil {
		return 0, err
	}
	if c.Format == "mbtiles" {
		return plan.Summary.Tracks, mbtiles.Write(ctx, plan, part)
	}
	f, err := os.Create(part)
	if err != nil {
		return 0, err
	}
	return plan.Summary.Tracks, errors.Join(plan.WritePMTiles(ctx, f), f.Close())
}

func geoJSON(ctx context.Context, o export.Options, path string) (n int, err error) {
	f, err := os.Create(path)
	if err != nil {
		return 0, err
	}
	w := bufio.NewWriter(f)
	n, err = export.GeoJSON(ctx, w, o)
	return n, errors.Join(err, w.Flush(), f.Close())
}
