package app

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"path/filepath"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/mappage"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
	"github.com/signalbox-dev/signalbox/gpstracks/trackhttp"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// tracksPath is where the layer is served, and mapPath its page.
const tracksPath, mapPath = "/api/gps-tracks", "/map"

// TrackSettings are those of the track layer, beside its options.
type TrackSettings struct {
	GPSTracks     bool          `env:"GPS_TRACKS_ENABLED" envDefault:"true" doc:"public GPS tracks are served below /api/gps-tracks"`
	GPSContact    string        `env:"GPS_CONTACT" doc:"how sources can reach you; the collector sends it with every request"`
	GPSMapBase    string        `env:"GPS_MAP_BASE" envDefault:"none" doc:"what /map/ draws tracks on: none, https://…/{z}/{x}/{y}.png, https://…/style.json or a file.pmtiles"`
	GPSMapImagery string        `env:"GPS_MAP_IMAGERY" doc:"imagery that people may choose, as https://…/{z}/{x}/{y}.jpg"`
	GPSMapCredit  string        `env:"GPS_MAP_ATTRIBUTION" doc:"whom the licences of these want named on the map, as HTML"`
	GPSRefresh    time.Duration `env:"GPS_REFRESH" envDefault:"5s" doc:"how often the server looks for tracks that a collector has brought"`
}

// TrackStore keeps tracks, runs and blocks, and says what other processes have
// changed.
type TrackStore interface {
	gpstracks.PrivateStore
	gpstracks.RunStore
	tile.Source
	Changes(ctx context.Context, after int64) (changed []orb.Bound, last int64, err error)
	// Close waits for what is under way.
	Close() error
}

// OpenTracks opens the tracks that go with a server's database: a file of their own
// beside an SQLite file, to which tracks that an earlier version kept in that file are
// copied once, or the tables of their own in a PostgreSQL. Its connections are its own, so
// that an import holds up no task.
func OpenTracks(ctx context.Context, s Settings, log *slog.Logger) (TrackStore, error) {
	if !s.Shared() {
		return tracksqlite.Open(ctx, tracksqlite.Options{Path: filepath.Join(s.DataDir, "tracks.db"), From: s.file(), Log: log})
	}
	if err := s.checkDatabase(); err != nil {
		return nil, fmt.Errorf("%sDATABASE_URL %w", Prefix, err)
	}
	store, err := trackpostgres.Open(ctx, trackpostgres.Options{URL: s.DatabaseURL.Reveal(), Schema: s.DatabaseSchema, Log: log})
	if err != nil {
		return nil, fmt.Errorf("%sDATABASE_URL: %w", Prefix, err)
	}
	return store, nil
}

// Layer is the track layer of a service.
type Layer struct {
	Handler *trackhttp.Handler
	Sources []trackhttp.Source

	files  gpsfile.Paths
	config collect.Config // the last one without a mistake
	store  TrackStore
	kept   []string // the sources of the store's tracks
	last   int64    // change that was seen
	every  time.Duration
	log    *slog.Logger
}

// tracks makes the layer, and returns its handlers by their paths.
func (v *Service) tracks(ctx context.Context) (map[string]http.Handler, error) {
	s := v.Settings
	if !s.GPSTracks {
		return nil, nil
	}
	config, licences, err := gpsfile.Load(s.GPSFiles)
	if err != nil {
		return nil, fmt.Errorf("%sGPS_SOURCES, GPS_REGIONS or GPS_LICENCES: %w", Prefix, err)
	}
	store, err := OpenTracks(ctx, s, v.Log)
	if err != nil {
		return nil, err
	}
	v.trackStore = store
	if err := collect.HideZones(ctx, store, config, time.Now()); err != nil {
		return nil, err
	}
	l := &Layer{files: s.GPSFiles, config: config, store: store, every: s.GPSRefresh, log: v.Log}
	if _, l.last, err = store.Changes(ctx, -1); err != nil {
		return nil, err
	}
	if l.kept, err = tile.Sources(ctx, store); err != nil {
		return nil, err
	}
	l.Sources = l.sources(licences)
	own := access.Draw()
	o := s.Layer
	o.Store, o.Tiles, o.Runs, o.Sources, o.Prefix, o.ClearToken, o.Log = store, store, store, l.Sources, tracksPath, own, v.Log
	l.Handler, err = trackhttp.New(o)
	if err != nil {
		return nil, err
	}
	page, err := v.mapPage()
	if err != nil {
		return nil, err
	}
	v.Tracks = l
	return map[string]http.Handler{tracksPath: v.clearing(l.Handler, own), mapPath: page}, nil
}

// sources returns what the layer says of sources: those that are configured, and those of which there are tracks although they
// are not.
func (l *Layer) sources(licences collect.Licences) (all []trackhttp.Source) {
	configured := map[string]bool{}
	add := func(name string, enabled bool) {
		out := trackhttp.Source{Name: name, Enabled: enabled, Decision: licences.Status(name)}
		if l, err := licences.Allow(name); err == nil {
			out.Licence, out.LicenceURL, out.Download = l.Licence, l.URL, l.Download
		}
		all, configured[name] = append(all, out), true
	}
	for _, s := range l.config.Sources {
		add(s.Name, s.Enabled)
	}
	for _, name := range l.kept {
		if !configured[name] {
			add(name, false)
		}
	}
	return all
}

// mapPage is the page with a map of the tracks.
func (v *Service) mapPage() (http.Handler, error) {
	bases := make([]mappage.Base, 1, 2)
	var err error
	if bases[0], err = mappage.ParseBase(v.Settings.GPSMapBase, v.Settings.GPSMapCredit); err != nil {
		return nil, fmt.Errorf("%sGPS_MAP_BASE: %w", Prefix, err)
	}
	if v.Settings.GPSMapImagery != "" {
		imagery, err := mappage.ParseBase(v.Settings.GPSMapImagery, v.Settings.GPSMapCredit)
		if err != nil || imagery.Kind != mappage.KindRaster {
			return nil, fmt.Errorf("%sGPS_MAP_IMAGERY is %q, want https://…/{z}/{x}/{y}.jpg", Prefix, v.Settings.GPSMapImagery)
		}
		imagery.Name, imagery.Imagery = "Satellite", true
		bases = append(bases, imagery)
	}
	page := mappage.Handler(mappage.Options{Prefix: mapPath + "/", API: ".." + tracksPath, Bases: bases, On: true})
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == mapPath {
			w.Header().Set("Location", "map/") // relative: behind a proxy's prefix too
			w.WriteHeader(http.StatusSeeOther)
			return
		}
		page.ServeHTTP(w, r)
	}), nil
}

// clearing lets administrators empty the tile cache by their tokens, which the layer knows as
// one of its own.
func (v *Service) clearing(layer http.Handler, own string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet || r.Method == http.MethodHead || r.Header.Get("Authorization") == "" {
			layer.ServeHTTP(w, r)
			return
		}
		p, err := v.Access.Identify(r)
		if err == nil {
			err = v.Access.Check(p, access.Admin, "")
		}
		var no *access.Refusal
		if errors.As(err, &no) {
			no.Header(w.Header())
			http.Error(w, no.Text, no.Status)
			return
		}
		r.Header.Set("Authorization", "Bearer "+own)
		layer.ServeHTTP(w, r)
	})
}

// Run lets the tile cache forget what collectors change, until ctx ends: they are
// processes of their own.
func (l *Layer) Run(ctx context.Context) {
	tick := time.NewTicker(l.every)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
			if err := l.Refresh(ctx); err != nil && ctx.Err() == nil {
				l.log.Warn("changed tracks or sources cannot be read: tiles may be old", "err", err)
			}
		}
	}
}

// readable is a part of readiness.
func (l *Layer) readable(context.Context) error {
	_, _, err := gpsfile.Load(l.files)
	return err
}

// Refresh looks for changes of tracks and of the decisions on their sources once.
func (l *Layer) Refresh(ctx context.Context) error {
	changed, last, err := l.store.Changes(ctx, l.last)
	if err == nil && last != l.last {
		l.kept, err = tile.Sources(ctx, l.store)
	}
	config, licences, wrong := gpsfile.Load(l.files)
	if wrong == nil {
		l.config = config
	}
	l.Handler.SetSources(l.sources(licences))
	if err == nil {
		l.Handler.Invalidate(changed...)
		l.last = last
	}
	return errors.Join(err, wrong)
}
