package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
)

// cell is one measurement: a store, with or without features, with so many other
// live tasks in it.
type cell struct {
	Store    string `json:"store"`
	Features string `json:"features"` // none or default
	Live     int    `json:"live"`     // other live tasks
}

// result holds what was measured. A figure that could not be had is 0, and Error
// says why.
type result struct {
	cell

	Lives          int     `json:"lives"` // that were led to their end
	LivesPerSecond float64 `json:"lives_per_second"`
	ProgramMS      float64 `json:"program_ms_per_life"` // processor time of this process
	ServerMS       float64 `json:"server_ms_per_life"`  // of the PostgreSQL server
	Statements     float64 `json:"statements_per_life"`
	Rows           float64 `json:"rows_per_life"` // SQLite: handed to the program; PostgreSQL: looked at in tables and indexes

	Pages map[string]float64 `json:"pages_ms"` // by path: median of three

	IdleProgram float64 `json:"idle_program_percent"` // of a core
	IdleServer  float64 `json:"idle_server_percent"`
	RestartMS   float64 `json:"restart_ms"` // from opening the store to the first status on the board
	RSS         float64 `json:"rss_mb"`     // that opening the store, its engine and the pages have added
	Error       string  `json:"error,omitempty"`
}

// paths are the pages that are rendered.
func paths() []string {
	return []string{"/dashboard/", "/dashboard/repos", "/dashboard/queue", "/queue"}
}

// extent is how much is measured of a cell.
type extent struct {
	lives    int           // that are led
	inflight int           // at the same time
	span     time.Duration // after which no life begins
	limit    time.Duration // that no life may exceed, and no page
	idle     time.Duration // that the engine is watched without work
	dir      string        // of SQLite's file; empty: the usual place of temporary files
	profile  string        // directory for what says where the cost of the lives is; empty: none
}

// measure measures a cell. An error is one that leaves nothing to report.
func measure(ctx context.Context, c cell, x extent, log *slog.Logger) (result, error) {
	r := result{cell: c, Pages: map[string]float64{}}
	t := &bencher{}
	defer t.end()
	d, err := newDatabase(t, c.Store, x.dir, log)
	if err != nil {
		return r, err
	}
	w, err := newWorld(x.inflight, c.Features == featuresDefault, log)
	if err != nil {
		return r, err
	}
	fill := func(_ context.Context, s app.Database) error { return w.fill(ctx, c.Live) }
	if err := w.over(ctx, d, fill); err != nil {
		return r, err
	}
	if c.Live > 0 {
		if err := d.filled(ctx); err != nil {
			return r, err
		}
	}
	read, err := d.rows(ctx)
	if err != nil {
		return r, err
	}
	var used spending
	lead := func(ctx context.Context, _ app.Database) error {
		w.start(ctx)
		defer w.stop()
		if err := d.settled(ctx); err != nil {
			return err
		}
		return d.during(&used, func() (err error) {
			profiled, err := d.profile(x.profile)
			if err != nil {
				return err
			}
			defer func() { err = errors.Join(err, profiled(r.Lives)) }()
			began := time.Now()
			r.Lives, err = w.lead(ctx, x)
			r.LivesPerSecond = float64(r.Lives) / time.Since(began).Seconds()
			return err
		})
	}
	if err := w.over(ctx, d, lead); err != nil {
		r.Error = err.Error()
	}
	now, err := d.rows(ctx)
	if err != nil {
		return r, err
	}
	if n := float64(r.Lives); r.Lives > 0 {
		r.ProgramMS, r.ServerMS = millis(used.program)/n, millis(used.server)/n
		r.Statements, r.Rows = float64(used.statements)/n, float64(now-read)/n
	}
	return r, errors.Join(w.rest(ctx, d, x, &r), ctx.Err())
}

// during sets used to what is spent while f runs.
func (d *database) during(used *spending, f func() error) error {
	before, err := d.spent()
	if err != nil {
		return err
	}
	failed := f()
	after, err := d.spent()
	*used = after.minus(before)
	return errors.Join(failed, err)
}

// settled waits until the engine is at rest: when it starts it looks through all live
// tasks, which is no cost of a life.
func (d *database) settled(ctx context.Context) error {
	for {
		var used spending
		err := d.during(&used, func() error { return run.Sleep(ctx, run.Real{}, restFor) })
		if err != nil || used.program+used.server < restFor/20 {
			return err
		}
	}
}

// restFor is how long an engine at rest uses less than a twentieth of a core.
const restFor = time.Second

// over opens a store, makes an engine over it that does not work yet, and calls f.
func (w *world) over(ctx context.Context, d *database, f func(context.Context, app.Database) error) error {
	s, end, err := d.open(ctx)
	if err != nil {
		return err
	}
	defer end()
	if err := w.begin(s); err != nil {
		return err
	}
	return f(ctx, s)
}

// lead leads lives in all slots and returns how many came to their end. The error
// says that some did not; what they have cost is lost among the others.
func (w *world) lead(ctx context.Context, x extent) (n int, err error) {
	var mu sync.Mutex
	begun, until := 0, time.Now().Add(x.span)
	more := func() bool {
		mu.Lock()
		defer mu.Unlock()
		if begun == x.lives || err != nil || begun >= w.inflight && time.Now().After(until) {
			return false
		}
		begun++
		return true
	}
	wait := run.Start(ctx, w.log, "slot", w.inflight, func(slot int) {
		for more() {
			ctx, stop := context.WithTimeout(ctx, x.limit)
			failed := w.live(ctx, slot)
			stop()
			mu.Lock()
			if failed == nil {
				n++
			} else if err == nil {
				err = failed
			}
			mu.Unlock()
		}
	})
	if failed := wait(); failed != nil {
		return n, failed
	}
	if err != nil {
		err = fmt.Errorf("%d of %d lives came to no end: %w", begun-n, begun, err)
	}
	return n, err
}

// rest measures a restart, the pages and the idle engine.
func (w *world) rest(ctx context.Context, d *database, x extent, r *result) error {
	debug.FreeOSMemory()
	had, begun := rss(), time.Now()
	return w.over(ctx, d, func(ctx context.Context, s app.Database) error {
		w.start(ctx)
		defer w.stop()
		item, seen := w.open(ctx, 0)
		defer w.boards.unwatch(item.ID)
		select {
		case <-seen:
			r.RestartMS = millis(time.Since(begun))
		case <-time.After(x.limit):
			r.note("the first event was not handled in %s", x.limit)
		case <-ctx.Done():
			return ctx.Err()
		}
		if err := w.render(ctx, s, x, r); err != nil {
			return err
		}
		r.RSS = float64(rss()-had) / (1 << 20)
		return w.rests(ctx, d, x, r)
	})
}

// rests measures the engine without work. What it owes once after a start, such as a comment on
// each card that waits, is made first: while the figure falls it is measured again.
func (w *world) rests(ctx context.Context, d *database, x extent, r *result) error {
	const fallen, windows = 0.8, 5
	for n := range windows {
		var used spending
		watched := time.Now()
		err := d.during(&used, func() error { return run.Sleep(ctx, run.Real{}, x.idle) })
		wall := time.Since(watched).Seconds()
		before := r.IdleProgram
		r.IdleProgram, r.IdleServer = 100*used.program.Seconds()/wall, 100*used.server.Seconds()/wall
		if err != nil || n > 0 && r.IdleProgram > fallen*before {
			return err
		}
	}
	return nil
}

// render renders each page three times.
func (w *world) render(ctx context.Context, s app.Database, x extent, r *result) error {
	door := access.New(access.Options{PublicRead: true})
	pages, err := dashboard.Handler(dashboard.Options{Engine: w.engine, History: s, Access: door, Stop: w.features, Log: w.log})
	if err != nil {
		return err
	}
	h, err := web.Handler(web.Options{Engine: w.engine, Access: door, Dashboard: pages, Stop: w.features, Log: w.log})
	if err != nil {
		return err
	}
	for _, path := range paths() {
		var took []float64
		for range 3 {
			ctx, stop := context.WithTimeout(ctx, x.limit)
			answer, began := httptest.NewRecorder(), time.Now()
			h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, path, nil))
			took = append(took, millis(time.Since(began)))
			stop()
			if answer.Code != http.StatusOK {
				r.note("GET %s answers %d", path, answer.Code)
				took = nil
				break
			}
		}
		if len(took) > 0 {
			r.Pages[path] = slices.Sorted(slices.Values(took))[1]
		}
	}
	return nil
}

// note adds what could not be measured, and why.
func (r *result) note(format string, args ...any) {
	if r.Error != "" {
		r.Error += "; "
	}
	r.Error += fmt.Sprintf(format, args...)
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rss is the memory of this process that is in use, in bytes; 0 where there is no
// /proc.
func rss() int64 {
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	f := strings.Fields(rest)
	if len(f) == 0 {
		return 0
	}
	kib, err := strconv.ParseInt(f[0], 10, 64)
	if err != nil {
		return 0
	}
	return kib << 10
}
