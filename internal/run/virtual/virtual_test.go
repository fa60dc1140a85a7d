package virtual_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/internal/run/virtual"
)

var epoch = time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)

// story runs processes that wait, yield and hint in a random order.
func story(seed uint64) string {
	var b strings.Builder
	v := virtual.New(epoch, rand.New(rand.NewPCG(seed, 0)))
	d, ctx := v.Domain(), context.Background()
	g := run.NewOn(d, ctx, nil)
	hints := make(chan struct{}, 1)
	for i := range 5 {
		g.Go("worker", func(ctx context.Context) {
			for n := range 4 {
				fmt.Fprintf(&b, "%d.%d %s\n", i, n, d.Now().Format(time.TimeOnly))
				d.Yield()
				if (i+n)%2 == 0 {
					run.Hint(hints)
				} else if err := d.Wait(ctx, d.Now().Add(time.Duration(i+1)*time.Second), hints); err != nil {
					return
				}
			}
		})
	}
	d.Go(func() { g.Wait(); b.WriteString("all\n") })
	v.Run(func() bool { return false })
	v.Close()
	return b.String()
}

// A seed decides the order, and different seeds give different orders.
func TestVirtualIsDeterministic(t *testing.T) {
	seen := map[string]bool{}
	for seed := range uint64(50) {
		first := story(seed)
		require.Equal(t, first, story(seed))
		require.Equal(t, 21, strings.Count(first, "\n"), first)
		require.True(t, strings.HasSuffix(first, "all\n"))
		seen[first] = true
	}
	require.Greater(t, len(seen), 40)
}

func forever() bool { return false }

// A machine that is killed makes no further step, and its processes end.
func TestKill(t *testing.T) {
	v := virtual.New(epoch, nil)
	d, other := v.Domain(), v.Domain()
	looks, after := 0, 0
	g := run.NewOn(d, context.Background(), nil)
	g.Go("looks", func(ctx context.Context) {
		for d.Wait(ctx, d.Now().Add(time.Second)) == nil {
			looks++
		}
	})
	d.Go(func() { g.Wait(); after = looks })
	other.Go(func() {
		_ = run.Sleep(context.Background(), other, 3500*time.Millisecond)
		d.Kill()
		require.ErrorIs(t, d.Wait(context.Background(), time.Time{}), virtual.ErrDead)
	})
	v.Run(forever)
	v.Close()
	require.Equal(t, 3, looks)
	require.Equal(t, 3, after)
	require.Zero(t, v.Alive())
	require.True(t, d.Dead())
}

// A paused machine's clock goes on: what was due happens when it wakes.
func TestPauseAndSkew(t *testing.T) {
	v := virtual.New(epoch, nil)
	d := v.Domain()
	var at []time.Duration
	d.Go(func() {
		for range 3 {
			_ = run.Sleep(context.Background(), d, time.Second)
			at = append(at, v.Now().Sub(epoch))
		}
	})
	v.After(500*time.Millisecond, func() { d.Pause(10 * time.Second) })
	v.After(600*time.Millisecond, func() { d.Skew(24 * time.Hour) })
	v.Run(forever)
	v.Close()
	require.Equal(t, []time.Duration{10500 * time.Millisecond, 11500 * time.Millisecond, 12500 * time.Millisecond}, at, "a clock that jumps changes no wait")
	require.Equal(t, epoch.Add(24*time.Hour+12500*time.Millisecond), d.Now())
}

// Contexts end by the virtual clock, and by those above them.
func TestVirtualTimeout(t *testing.T) {
	v := virtual.New(epoch, nil)
	d := v.Domain()
	parent, cancel := context.WithCancel(context.Background())
	var took []time.Duration
	for _, limit := range []time.Duration{time.Minute, time.Hour, time.Second} {
		d.Go(func() {
			ctx, end := d.WithTimeout(parent, limit)
			defer end()
			inner, stop := context.WithCancel(ctx)
			defer stop()
			require.Error(t, d.Wait(inner, time.Time{}))
			took = append(took, v.Now().Sub(epoch))
		})
	}
	d.Go(func() {
		ctx, end := d.WithTimeout(parent, time.Minute)
		end()
		require.ErrorIs(t, ctx.Err(), context.Canceled)
	})
	v.After(2*time.Minute, cancel)
	v.Run(forever)
	v.Close()
	require.Equal(t, []time.Duration{time.Second, time.Minute, 2 * time.Minute}, took)
	require.Zero(t, v.Alive())
}

func TestVirtualPanicEndsOnlyItsProcess(t *testing.T) {
	v := virtual.New(epoch, nil)
	d := v.Domain()
	g := run.NewOn(d, context.Background(), nil)
	g.Go("breaks", func(context.Context) { panic("oh") })
	ended := false
	d.Go(func() { g.Stop(); ended = true })
	v.Run(forever)
	v.Close()
	require.True(t, ended)
	require.Positive(t, v.Steps())
}

// The same code runs on both drivers.
func TestRealWait(t *testing.T) {
	s := run.Real{}
	ctx, cancel := s.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	require.ErrorIs(t, s.Wait(ctx, time.Time{}), context.DeadlineExceeded)
	require.ErrorIs(t, s.Wait(ctx, time.Time{}), context.DeadlineExceeded, "an ended context ends every wait")
	hint := make(chan struct{}, 1)
	run.Hint(hint)
	run.Hint(hint)
	require.NoError(t, s.Wait(t.Context(), time.Time{}, hint))
	require.Empty(t, hint)
	require.NoError(t, s.Wait(t.Context(), s.Now().Add(time.Millisecond), hint, nil))
	require.NoError(t, run.Sleep(t.Context(), s, time.Microsecond))
}

// An hour passes in no time.
func Example() {
	v := virtual.New(time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC), nil)
	machine := v.Domain()
	machine.Go(func() {
		_ = run.Sleep(context.Background(), machine, time.Hour)
		fmt.Println(machine.Now().Format(time.TimeOnly))
	})
	v.Run(func() bool { return false })
	v.Close()
	// Output: 01:00:00
}
