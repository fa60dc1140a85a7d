// Command collect brings public GPS tracks into the store of the reference server:
// from the sources and regions that are switched on, or from files.
//
//	collect                                    every source and region that is on
//	collect --source osm --region julian-alps  these only
//	collect --file tours/ --dry-run            say what files would bring
//	collect --file tours/ --report r.json      write what became of each file and track
//	collect --gc --dry-run                     say what would be removed
//	collect --gc                               remove it
//
// Exit codes: 0 done, 1 something failed, 2 wrong use, 3 a source was refused: it
// has no accepted licence record, or it or the region is switched off.
package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"path/filepath"
	"syscall"
	"time"

	"github.com/alecthomas/kong"
	"golang.org/x/sys/unix"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/adapters/osm"
	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// cli is the command line.
type cli struct {
	Region   []string      `help:"Collect in this region (repeatable); default: every region that is on."`
	Source   []string      `help:"Collect from this source (repeatable); default: all that are on; with --file: whose they are (local)."`
	DryRun   bool          `help:"Ask, read and count, and keep or remove no track."`
	GC       bool          `name:"gc" help:"Only remove tracks of what is off or not accepted, or long unseen; shows first what goes."`
	File     []string      `sep:"none" help:"Collect from this file (GPX, TCX, FIT, KML, GeoJSON, also packed) or folder (repeatable)."`
	Report   string        `help:"With --file: write what became of each file and track to this file, as JSON."`
	Data     string        `help:"Data directory of the server." default:"./data" env:"ORCH_DATA_DIR"`
	Database secret.String `help:"PostgreSQL of the server." env:"ORCH_DATABASE_URL"`
	Schema   string        `help:"Schema in it." default:"signalbox" env:"ORCH_DATABASE_SCHEMA"`
	Sources  string        `help:"Own gps_sources.yaml." env:"ORCH_GPS_SOURCES"`
	Regions  string        `help:"Own gps_regions.yaml." env:"ORCH_GPS_REGIONS"`
	Licences string        `help:"Own folder of licence records." env:"ORCH_GPS_LICENCES"`
	Contact  string        `help:"How sources can reach you: it is sent with every request." env:"ORCH_GPS_CONTACT"`
}

// Exit codes.
const (
	exitOK = iota
	exitFailed
	exitUse
	exitRefused
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	code := run(ctx, os.Args[1:], os.Stdout, os.Stderr, isTerminal(os.Stderr))
	stop()
	os.Exit(code)
}

func isTerminal(f *os.File) bool {
	_, err := unix.IoctlGetTermios(int(f.Fd()), unix.TCGETS)
	return err == nil
}

// run is main with everything passed in.
func run(ctx context.Context, args []string, out, errs io.Writer, terminal bool) int {
	var c cli
	exit := -1
	parser, err := kong.New(&c, kong.Name("collect"), kong.Description("Bring public GPS tracks into the store."),
		kong.Writers(out, errs), kong.Exit(func(code int) { exit = code }))
	if err == nil {
		_, err = parser.Parse(args)
	}
	if exit >= 0 {
		return exit
	}
	screen := &screen{w: errs, terminal: terminal}
	var w *work
	if err == nil {
		w, err = c.prepare(screen, out)
	}
	if err != nil {
		fmt.Fprintln(errs, "collect:", err)
		return exitUse
	}
	code, err := w.do(ctx)
	if err != nil {
		fmt.Fprintln(errs, "collect:", err)
		return exitFailed
	}
	return code
}

// work is one call of the command, with everything looked up.
type work struct {
	cli
	config   collect.Config
	licences collect.Licences
	sources  []collect.Source
	regions  []collect.Region
	files    []collect.File
	passed   []collect.FileReport // files of a folder that are not read
	report   report
	screen   *screen
	out      io.Writer
}

// prepare looks everything up. Its error is wrong use.
func (c cli) prepare(s *screen, out io.Writer) (w *work, err error) {
	w = &work{cli: c, screen: s, out: out}
	if w.config, w.licences, err = gpsfile.Load(gpsfile.Paths{Sources: c.Sources, Regions: c.Regions, Licences: c.Licences}); err != nil {
		return nil, err
	}
	switch {
	case c.GC && (len(c.File) > 0 || len(c.Source) > 0 || len(c.Region) > 0):
		return nil, errors.New("--gc looks at all tracks: leave --file, --source and --region away")
	case c.Report != "" && len(c.File) == 0:
		return nil, errors.New("--report is of files: name them with --file")
	case c.GC:
		return w, nil
	case len(c.File) > 0 && (len(c.Region) > 0 || len(c.Source) > 1):
		return nil, errors.New("--file takes one --source, and no --region")
	case len(c.File) > 0:
		if len(c.Source) == 0 {
			w.Source = []string{"local"}
		}
		if w.files, w.passed, err = gather(c.File); err == nil && c.Report != "" { // found out before the work
			_, err = os.Stat(filepath.Dir(c.Report))
		}
	}
	if err != nil {
		return nil, err
	}
	return w, w.choose()
}

// choose finds the sources and regions: those that are named, or all that are on.
func (w *work) choose() error {
	for _, name := range w.Source {
		s, ok := w.config.Source(name)
		if !ok {
			return fmt.Errorf("there is no source %q: gps_sources.yaml names them", name)
		}
		if s.Kind == collect.Files && len(w.files) == 0 {
			return fmt.Errorf("source %s is of files: name them with --file", name)
		}
		w.sources = append(w.sources, s)
	}
	for _, name := range w.Region {
		r, ok := w.config.Region(name)
		if !ok {
			return fmt.Errorf("there is no region %q: gps_regions.yaml names them", name)
		}
		w.regions = append(w.regions, r)
	}
	for _, s := range w.config.Sources {
		if len(w.Source) == 0 && s.Enabled && s.Kind != collect.Files {
			w.sources = append(w.sources, s)
		}
	}
	for _, r := range w.config.Regions {
		if len(w.Region) == 0 && r.Enabled {
			w.regions = append(w.regions, r)
		}
	}
	if len(w.files) == 0 && (len(w.sources) == 0 || len(w.regions) == 0) {
		return errors.New("no source or no region is switched on")
	}
	return nil
}

// do opens the store and does the work.
func (w *work) do(ctx context.Context) (code int, err error) {
	log := slog.New(slog.NewTextHandler(w.screen, nil))
	settings := app.Settings{DataDir: w.Data, DatabaseSettings: app.DatabaseSettings{DatabaseURL: w.Database, DatabaseSchema: w.Schema}}
	if !settings.DatabaseURL.IsSet() {
		address, _, err := app.Given(os.Environ(), app.Prefix+"DATABASE_URL")
		if err != nil {
			return exitFailed, err
		}
		settings.DatabaseURL = secret.New(address)
	}
	store, err := app.OpenTracks(ctx, settings, log)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, store.Close()) }()
	unlock, err := w.alone(ctx, store)
	if err != nil {
		return exitFailed, err
	}
	defer func() { err = errors.Join(err, unlock()) }()
	if !w.DryRun {
		if err := collect.HideZones(ctx, store, w.config, time.Now()); err != nil {
			return exitFailed, err
		}
	}
	c, err := collect.New(collect.Options{Store: store, Runs: store, Licences: w.licences, DryRun: w.DryRun, Progress: w.screen.progress,
		Log: log})
	if err != nil {
		return exitFailed, err
	}
	if w.GC {
		return exitOK, w.sweep(ctx, c)
	}
	return w.collect(ctx, c, log)
}

// alone makes this the only collector of a store, until it ends: runs that are
// taken up would get in each other's way.
func (w *work) alone(ctx context.Context, store app.TrackStore) (unlock func() error, err error) {
	if shared, ok := store.(*trackpostgres.Tracks); ok { // collectors may be on several machines
		return shared.Alone(ctx)
	}
	return alone(w.Data)
}

// alone makes this the only collector of a data directory.
func alone(data string) (unlock func() error, err error) {
	f, err := os.OpenFile(filepath.Join(data, "collect.lock"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return nil, err
	}
	if err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB); err != nil {
		return nil, errors.Join(fmt.Errorf("another collector is at work in %s: wait until it has ended", data), f.Close())
	}
	return f.Close, nil
}

// collect runs every source in every region, or the files, and shows the runs.
func (w *work) collect(ctx context.Context, c *collect.Collector, log *slog.Logger) (code int, err error) {
	var runs []gpstracks.Run
	failed, refused := false, false
	note := func(run gpstracks.Run, err error) {
		runs = append(runs, run)
		w.screen.end(run, err)
		refused = refused || run.Status == gpstracks.StatusRefused
		failed = failed || err != nil && run.Status != gpstracks.StatusRefused
	}
	if len(w.files) > 0 {
		run, failure := w.importFiles(ctx, c, log)
		if note(run, failure); w.Report != "" {
			err = w.report.write(w.Report, run, failure)
		}
	} else {
		for _, s := range w.sources {
			feed, err := w.feed(s, log)
			if err != nil {
				return exitFailed, err
			}
			for _, r := range w.regions {
				if ctx.Err() == nil {
					note(c.Region(ctx, s, r, feed))
				}
			}
		}
	}
	switch {
	case failed:
		code = exitFailed
	case refused:
		code = exitRefused
	}
	return code, errors.Join(err, table(w.out, runs))
}

// importFiles collects from files, and names those that give nothing.
func (w *work) importFiles(ctx context.Context, c *collect.Collector, log *slog.Logger) (gpstracks.Run, error) {
	take := func(f collect.FileReport) {
		if f.Reason != "" {
			log.Warn("a file is left out", "file", f.File, "reason", f.Reason, "err", f.Detail)
		}
		if w.Report != "" {
			w.report.Files = append(w.report.Files, f)
		}
	}
	for _, f := range w.passed {
		take(f)
	}
	return c.Import(ctx, w.sources[0], w.files, trackfile.Limits{}, take)
}

// feed returns the client of a source.
func (w *work) feed(s collect.Source, log *slog.Logger) (collect.Feed, error) {
	if s.Kind == collect.Placeholder {
		return collect.NoParserError{Source: s.Name}, nil
	}
	agent := "signalbox-collect/" + app.Version() + " (+https://github.com/signalbox-dev/signalbox)"
	if w.Contact != "" {
		agent = "signalbox-collect/" + app.Version() + " (" + w.Contact + ")"
	}
	return osm.New(osm.Options{URL: s.URL, UserAgent: agent, Pause: s.Pause, PageSize: s.PageSize, Log: log})
}

// sweep shows what goes, and removes it.
func (w *work) sweep(ctx context.Context, c *collect.Collector) error {
	plan, err := c.PlanSweep(ctx, w.config)
	if err != nil {
		return err
	}
	if err := reasons(w.out, plan); err != nil || plan.Total == 0 {
		return err
	}
	removed, err := c.Sweep(ctx, plan)
	if w.DryRun {
		fmt.Fprintln(w.out, "dry run: nothing was removed")
		return err
	}
	fmt.Fprintf(w.out, "%d tracks were removed\n", removed)
	return err
}
