// Package leasetest is the conformance suite of package lease.
package leasetest

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/queuetest"
)

// Open opens a locker without leases, with a clock.
type Open func(t *testing.T, now func() time.Time) lease.Locker

const ttl = time.Minute

type kit struct {
	*testing.T
	l     lease.Locker
	clock *queuetest.Clock
}

// Run runs the whole suite.
func Run(t *testing.T, open Open) {
	t.Helper()
	for name, test := range map[string]func(*kit){
		"one holder at a time":               oneHolder,
		"a holder gets its own lease again":  again,
		"an expired lease can be taken over": takesOver,
		"epochs rise with every new holder":  epochs,
		"release gives back only one's own":  releases,
		"names are separate":                 names,
		"bad input is refused":               refuses,
		"contenders never hold together":     contends,
	} {
		t.Run(name, func(t *testing.T) {
			clock := queuetest.NewClock()
			test(&kit{T: t, l: open(t, clock.Now), clock: clock})
		})
	}
	t.Run("random schedules", func(t *testing.T) { random(t, open) })
}

func (k *kit) acquire(name, holder string) lease.Lease {
	k.Helper()
	l, err := k.l.Acquire(k.Context(), name, holder, ttl)
	require.NoError(k, err)
	return l
}

func oneHolder(k *kit) {
	a := k.acquire("repo/x", "a")
	require.True(k, a.Expires.Equal(k.clock.Now().Add(ttl)))
	_, err := k.l.Acquire(k.Context(), "repo/x", "b", ttl)
	require.ErrorIs(k, err, lease.ErrHeld)
	var held *lease.Held
	require.True(k, errors.As(err, &held))
	require.Equal(k, "a", held.Lease.Holder)
	require.Contains(k, err.Error(), "held by a until")
	got, ok, err := k.l.Holder(k.Context(), "repo/x")
	require.NoError(k, err)
	require.True(k, ok)
	require.True(k, got.Same(a))
}

func again(k *kit) {
	a := k.acquire("x", "a")
	k.clock.Add(ttl / 2)
	b := k.acquire("x", "a")
	require.Equal(k, a.Epoch, b.Epoch)
	require.True(k, b.Expires.After(a.Expires))
}

func takesOver(k *kit) {
	a := k.acquire("x", "a")
	k.clock.Add(ttl)
	_, ok, err := k.l.Holder(k.Context(), "x")
	require.NoError(k, err)
	require.False(k, ok)
	b := k.acquire("x", "b")
	require.Greater(k, b.Epoch, a.Epoch)
	require.ErrorIs(k, k.l.Release(k.Context(), a), lease.ErrLost)
	got, ok, err := k.l.Holder(k.Context(), "x")
	require.NoError(k, err)
	require.True(k, ok)
	require.True(k, got.Same(b), "the late release of the old holder changes nothing")
}

func epochs(k *kit) {
	last := int64(0)
	for i := range 5 {
		l := k.acquire("x", fmt.Sprint(i))
		require.Greater(k, l.Epoch, last)
		last = l.Epoch
		if i%2 == 0 {
			require.NoError(k, k.l.Release(k.Context(), l))
		} else {
			k.clock.Add(ttl)
		}
	}
}

func releases(k *kit) {
	a := k.acquire("x", "a")
	require.ErrorIs(k, k.l.Release(k.Context(), lease.Lease{Name: "x", Holder: "b", Epoch: a.Epoch}), lease.ErrLost)
	require.NoError(k, k.l.Release(k.Context(), a))
	require.ErrorIs(k, k.l.Release(k.Context(), a), lease.ErrLost)
	k.acquire("x", "b")
}

func names(k *kit) {
	k.acquire("acme/app", "a")
	k.acquire("acme-app", "b")
	k.acquire("../acme/app", "c")
	k.acquire("ACME/APP", "d")
	for name, holder := range map[string]string{"acme/app": "a", "acme-app": "b", "../acme/app": "c", "ACME/APP": "d"} {
		l, ok, err := k.l.Holder(k.Context(), name)
		require.NoError(k, err)
		require.True(k, ok)
		require.Equal(k, holder, l.Holder)
	}
}

func refuses(k *kit) {
	for _, c := range []struct {
		name, holder string
		ttl          time.Duration
	}{{"", "a", ttl}, {"x", "", ttl}, {"x", "a", 0}} {
		_, err := k.l.Acquire(k.Context(), c.name, c.holder, c.ttl)
		require.Error(k, err)
	}
}

// contends lets holders fight for a lease: nobody is inside with another.
func contends(k *kit) {
	var inside, entered atomic.Int64
	var mu sync.Mutex
	seen := map[int64]bool{}
	var wg sync.WaitGroup
	for w := range 6 {
		wg.Go(func() {
			for range 60 {
				l, err := k.l.Acquire(k.Context(), "x", fmt.Sprint(w), time.Hour)
				if errors.Is(err, lease.ErrHeld) {
					continue
				}
				if err != nil {
					k.Errorf("acquire: %v", err)
					return
				}
				if inside.Add(1) != 1 {
					k.Errorf("two holders")
				}
				mu.Lock()
				if seen[l.Epoch] {
					k.Errorf("epoch %d was granted twice", l.Epoch)
				}
				seen[l.Epoch] = true
				mu.Unlock()
				entered.Add(1)
				inside.Add(-1)
				if err := k.l.Release(k.Context(), l); err != nil {
					k.Errorf("release: %v", err)
				}
			}
		})
	}
	wg.Wait()
	require.Positive(k, entered.Load())
}

// random compares a locker with a model: the last grant that neither expired
// nor was given back is the holder.
func random(t *testing.T, open Open) {
	t.Helper()
	rapid.Check(t, func(r *rapid.T) {
		clock := queuetest.NewClock()
		locker := open(t, clock.Now)
		var model lease.Lease
		granted := []lease.Lease{{Name: "x", Holder: "nobody", Epoch: 0}}
		pick := func(r *rapid.T) lease.Lease { return rapid.SampledFrom(granted).Draw(r, "lease") }
		r.Repeat(map[string]func(*rapid.T){
			"acquire": func(r *rapid.T) {
				holder := rapid.SampledFrom([]string{"a", "b"}).Draw(r, "holder")
				l, err := locker.Acquire(r.Context(), "x", holder, ttl)
				if model.Live(clock.Now()) && model.Holder != holder {
					require.ErrorIs(r, err, lease.ErrHeld)
					return
				}
				require.NoError(r, err)
				if model.Live(clock.Now()) {
					require.Equal(r, model.Epoch, l.Epoch)
				} else {
					require.Greater(r, l.Epoch, model.Epoch)
				}
				model = l
				granted = append(granted, l)
			},
			"release": func(r *rapid.T) {
				l := pick(r)
				err := locker.Release(r.Context(), l)
				if !model.Same(l) {
					require.ErrorIs(r, err, lease.ErrLost)
					return
				}
				require.NoError(r, err)
				model = model.Free()
			},
			"time": func(r *rapid.T) { clock.Add(time.Duration(rapid.IntRange(1, 50).Draw(r, "s")) * time.Second) },
			"": func(r *rapid.T) {
				l, ok, err := locker.Holder(r.Context(), "x")
				require.NoError(r, err)
				require.Equal(r, model.Live(clock.Now()), ok)
				require.True(r, !ok || l.Same(model))
			},
		})
	})
}
