// Package benchengine measures whole lives of tasks through the engine on real stores: a card is
// moved to To Analyse, its webhook comes, and it is analysed, approved, developed, reviewed, tested,
// staged, merged and deployed. Board, git host, git and agents are doubles that answer at once, so
// that what is measured is the engine and its store. Beside the lives, the store has other live tasks.
//
// Only ratios of one run mean anything: of one size to another, of one change of the program to
// another in turns.
package benchengine

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"runtime/debug"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/dashboard"
	"github.com/signalbox-dev/signalbox/tracker"
)

var live = flag.String("live", "0,1000,10000,100000", "how many other live tasks BenchmarkLife has beside the lives")

const (
	inflight = 8               // lives at the same time
	limit    = 5 * time.Minute // that no life may exceed
	restFor  = time.Second     // how long an engine at rest uses less than a twentieth of a core
)

// BenchmarkLife leads b.N lives, restarts the engine on what is there, and renders the board.
func BenchmarkLife(b *testing.B) {
	for _, store := range []string{storeSQLite, storePostgres} {
		for _, features := range []string{"none", "default"} {
			for size := range strings.SplitSeq(*live, ",") {
				n, err := strconv.Atoi(size)
				require.NoError(b, err, "-live")
				b.Run(store+"/"+features+"/"+size, func(b *testing.B) {
					d, w := filledWorld(b, store, features == "default", n)
					b.Run("lives", func(b *testing.B) { measure(b, d, w) })
				})
			}
		}
	}
}

// A small measurement of each store has every figure.
func TestMeasure(t *testing.T) {
	if testing.Short() {
		t.Skip("leads real lives on real stores for seconds")
	}
	for _, store := range []string{storeSQLite, storePostgres} {
		d, w := filledWorld(t, store, store == storePostgres, 60)
		r := testing.Benchmark(func(b *testing.B) { measure(b, d, w) })
		for _, unit := range []string{"lives/s", "program-ms/life", "statements/life", "rows/life", "board-ms", "restart-ms"} {
			require.Positive(t, r.Extra[unit], "%s: %s", store, unit)
		}
		require.Equal(t, store == storePostgres, r.Extra["server-ms/life"] > 0)
	}
}

// filledWorld makes a store with n live tasks in it.
func filledWorld(t testing.TB, store string, features bool, n int) (*database, *world) {
	log := slog.New(slog.NewTextHandler(os.Stderr, &slog.HandlerOptions{Level: slog.LevelError}))
	d := newDatabase(t, store, log)
	w, err := newWorld(inflight, features, log)
	require.NoError(t, err)
	require.NoError(t, w.over(t.Context(), d, func(ctx context.Context, _ app.Database) error { return w.fill(ctx, n) }))
	require.NoError(t, d.filled(t.Context()))
	return d, w
}

func measure(b *testing.B, d *database, w *world) {
	read, err := d.rows(b.Context())
	require.NoError(b, err)
	var used spending
	var took time.Duration
	require.NoError(b, w.over(b.Context(), d, func(ctx context.Context, _ app.Database) error {
		w.start(ctx)
		defer w.stop()
		if err := d.settled(ctx); err != nil {
			return err
		}
		return d.during(&used, func() error {
			b.ResetTimer()
			began := time.Now()
			defer func() { took = time.Since(began); b.StopTimer() }()
			return w.lead(ctx, b.N)
		})
	}))
	now, err := d.rows(b.Context())
	require.NoError(b, err)
	lives := float64(b.N)
	b.ReportMetric(lives/took.Seconds(), "lives/s")
	b.ReportMetric(millis(used.program)/lives, "program-ms/life")
	b.ReportMetric(millis(used.server)/lives, "server-ms/life")
	b.ReportMetric(float64(used.statements)/lives, "statements/life")
	b.ReportMetric(float64(now-read)/lives, "rows/life")
	require.NoError(b, w.over(b.Context(), d, func(ctx context.Context, s app.Database) error { return w.restart(ctx, b, s) }))
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

// over opens a store, makes an engine over it that does not work yet, and calls f.
func (w *world) over(ctx context.Context, d *database, f func(context.Context, app.Database) error) error {
	debug.FreeOSMemory()
	w.memory, w.opened = rss(), time.Now()
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

// lead leads n lives, as many at a time as there are slots.
func (w *world) lead(ctx context.Context, n int) error {
	var begun atomic.Int64
	failed := make(chan error, w.inflight)
	wait := run.Start(ctx, w.log, "slot", w.inflight, func(slot int) {
		for begun.Add(1) <= int64(n) {
			ctx, stop := context.WithTimeout(ctx, limit)
			err := w.live(ctx, slot)
			stop()
			if err != nil {
				failed <- err
				return
			}
		}
	})
	err := wait()
	close(failed)
	for each := range failed {
		err = errors.Join(err, each)
	}
	return err
}

// restart measures from the opening of the store to the first status on the board, a page of the
// board, and the memory that all of that has taken.
func (w *world) restart(ctx context.Context, b *testing.B, s app.Database) error {
	w.start(ctx)
	defer w.stop()
	item, seen := w.open(ctx, 0)
	defer w.boards.unwatch(item.ID)
	select {
	case <-seen:
		b.ReportMetric(millis(time.Since(w.opened)), "restart-ms")
	case <-time.After(limit):
		return fmt.Errorf("the first event was not handled in %s", limit)
	}
	door := access.New(access.Options{PublicRead: true})
	pages, err := dashboard.Handler(dashboard.Options{Engine: w.engine, History: s, Access: door, Stop: w.features, Log: w.log})
	if err != nil {
		return err
	}
	h, err := web.Handler(web.Options{Engine: w.engine, Access: door, Dashboard: pages, Stop: w.features, Log: w.log})
	if err != nil {
		return err
	}
	answer, began := httptest.NewRecorder(), time.Now()
	h.ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, "/dashboard/", nil))
	b.ReportMetric(millis(time.Since(began)), "board-ms")
	b.ReportMetric(float64(rss()-w.memory)/(1<<20), "rss-MB")
	if answer.Code != http.StatusOK {
		return fmt.Errorf("GET /dashboard/ answers %d", answer.Code)
	}
	return nil
}

func millis(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// rss is the memory of this process that is in use, in bytes; 0 where there is no /proc.
func rss() int64 {
	text, _ := os.ReadFile("/proc/self/status")
	_, rest, _ := strings.Cut(string(text), "VmRSS:")
	number, _, _ := strings.Cut(strings.TrimSpace(rest), " ")
	kib, _ := strconv.ParseInt(number, 10, 64)
	return kib << 10
}

// A card that stands still, or goes where a life does not, ends the measurement with its name.
func TestUntil(t *testing.T) {
	card, seen := tracker.Item{ID: "life-7"}, make(chan stage.Status, 2)
	seen <- stage.StatusAnalysis
	seen <- stage.StatusBlocked
	require.ErrorContains(t, until(t.Context(), card, seen, stage.StatusDone), "card life-7 is blocked on its way to done")
}
