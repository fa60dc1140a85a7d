package collect_test

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// crowded is a region whose only box cannot be quartered.
func crowded() collect.Region {
	r := region()
	r.Areas[0].Bounds = orb.Bound{Min: orb.Point{7, 46}, Max: orb.Point{7.008, 46.008}}
	return r
}

// book answers with so many pages. Each ends in a track that the next one ends,
// has one of its own, and every third one nothing but a middle part.
func book(last int) *feed {
	part := func(name string, seconds, n int, box orb.Bound) gpx.Track {
		var group float64
		_, _ = fmt.Sscanf(name, "bridge-%g", &group)
		box.Min[0] += 0.003 * group // another way
		t := walk(name, box, seconds+n)
		t.Segments[0] = t.Segments[0][seconds:]
		return t
	}
	return &feed{page: func(_ context.Context, box orb.Bound, next string) (collect.Page, error) {
		n, _ := strconv.Atoi(next)
		p := collect.Page{Next: strconv.Itoa(n + 1)}
		group, within := n/3, n%3
		bridge := fmt.Sprintf("bridge-%d", group)
		switch within {
		case 0:
			if group > 0 {
				p.Tracks = append(p.Tracks, part(fmt.Sprintf("bridge-%d", group-1), 60, 30+10*group, box))
			}
			p.Tracks = append(p.Tracks, walk(fmt.Sprintf("own-%d", n), orb.Bound{Min: orb.Point{7, 46 + 0.002*float64(n)}, Max: box.Max},
				30), part(bridge, 0, 30, box))
		case 1:
			p.Tracks = append(p.Tracks, part(bridge, 30, 30, box))
		case 2:
			p.Next = strconv.Itoa(n + 1)
		}
		if n == last {
			p.Next = ""
		}
		return p, nil
	}}
}

func keys(list []gpstracks.Track) (out []string) {
	for _, t := range list {
		out = append(out, fmt.Sprint(t.Key, t.Points))
	}
	return out
}

// A box that takes longer than any run lasts comes to its end: each run goes on at
// the page where the one before it stood, and no track is cut by that.
func TestGoesOnInsideABox(t *testing.T) {
	whole := newRig(t)
	whole.ok(whole.reads(source(), crowded(), book(20)))
	require.Len(t, keys(whole.list()), 7+7)

	r, runs := newRig(t), 0
	for done := false; !done; runs++ {
		require.Less(t, runs, 20, "no progress")
		f := book(20)
		ctx, cancel := context.WithCancel(t.Context())
		asked := 0
		f.fails(func(orb.Bound, string) error {
			if asked++; asked > 6 {
				cancel()
				return ctx.Err()
			}
			return nil
		})
		run, err := r.collector().Region(ctx, source(), crowded(), f)
		if done = err == nil; !done {
			require.ErrorIs(t, err, context.Canceled)
			require.Contains(t, run.Cursor, "@")
		}
		cancel()
	}
	require.Greater(t, runs, 2)
	require.Equal(t, keys(whole.list()), keys(r.list()))

	// A page that the source does not have any more begins the box again.
	r = newRig(t)
	f := book(20)
	f.fails(func(_ orb.Bound, next string) error {
		if n, _ := strconv.Atoi(next); n > 6 {
			return errors.New("no such page")
		}
		return nil
	})
	run, err := r.reads(source(), crowded(), f)
	require.ErrorContains(t, err, "no such page")
	require.Contains(t, run.Cursor, "@")
	f = book(20)
	f.fails(func(orb.Bound, string) error {
		if len(f.asked) == 1 {
			return errors.New("this page has gone")
		}
		return nil
	})
	r.ok(r.reads(source(), crowded(), f))
	require.Equal(t, keys(whole.list()), keys(r.list()))

	// A dry run leaves no place.
	r = newRig(t)
	r.o.DryRun = true
	run = r.ok(r.reads(source(), crowded(), book(5)))
	require.Empty(t, run.Cursor)
}
