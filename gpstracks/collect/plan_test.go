package collect

import (
	"math"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

func drawBound(t *rapid.T) orb.Bound {
	west, south := rapid.Float64Range(-180, 170).Draw(t, "west"), rapid.Float64Range(-90, 80).Draw(t, "south")
	return orb.Bound{
		Min: orb.Point{west, south},
		Max: orb.Point{west + rapid.Float64Range(0.001, 10).Draw(t, "width"), south + rapid.Float64Range(0.001, 10).Draw(t, "height")},
	}
}

// A grid covers its box without a gap or an overlap, and no part is too large.
func TestSplit(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		b, area := drawBound(t), rapid.Float64Range(0.01, 1).Draw(t, "area")
		parts := split(b, area)
		sum := 0.0
		for _, p := range parts {
			size := (p.Max[0] - p.Min[0]) * (p.Max[1] - p.Min[1])
			if size > area*(1+1e-9) || size <= 0 {
				t.Fatalf("%v has %g square degrees", p, size)
			}
			sum += size
		}
		whole := (b.Max[0] - b.Min[0]) * (b.Max[1] - b.Min[1])
		if math.Abs(sum-whole) > 1e-6*whole {
			t.Fatalf("the parts have %g square degrees, the box %g", sum, whole)
		}
		side := math.Sqrt(area)
		most := 2 * ((b.Max[0]-b.Min[0])/side + 1) * ((b.Max[1]-b.Min[1])/side + 1)
		if n := len(parts); parts[0].Min != b.Min || parts[n-1].Max != b.Max || float64(n) > most {
			t.Fatalf("%d parts from %v to %v", n, parts[0], parts[n-1])
		}
		for i := 1; i < len(parts); i++ {
			if east := parts[i].Min[0] == parts[i-1].Max[0]; !east && parts[i].Min[0] != b.Min[0] {
				t.Fatalf("%v is not beside %v", parts[i], parts[i-1])
			}
		}
	})
	for _, area := range []float64{0, -1, math.NaN()} {
		require.Len(t, split(orb.Bound{Max: orb.Point{9, 9}}, area), 1)
	}
}

// whole walks a plan with some boxes quartered, and notes the cursor after each.
func whole(p plan, left []box, much func(box) bool) (paths, cursors []string) {
	for len(left) > 0 {
		b := left[0]
		left = left[1:]
		if much(b) && b.canBeQuartered() {
			left = append(b.quarters(), left...)
			continue
		}
		paths, cursors = append(paths, b.path), append(cursors, p.cursor(b))
	}
	return paths, cursors
}

// Wherever a run breaks off, the next one requests what is left, and only that.
func TestCursor(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlan(Region{Areas: []Area{{Bounds: drawBound(t)}, {Bounds: drawBound(t)}}}, 10)
		seed := rapid.IntRange(1, 1000).Draw(t, "seed")
		much := func(b box) bool {
			h := seed
			for _, c := range b.path {
				h = h*31 + int(c)
			}
			return len(b.path) < 6 && h%3 == 0
		}
		paths, cursors := whole(p, p.boxes, much)
		at := rapid.IntRange(0, len(cursors)-1).Draw(t, "break")
		left, share := p.after(cursors[at])
		rest, _ := whole(p, left, much)
		require.Equal(t, append([]string{}, paths[at+1:]...), append([]string{}, rest...))
		sum := share
		for _, b := range left {
			sum += b.share
		}
		require.InDelta(t, 1, sum, 1e-9)
	})
}

// A cursor that is none of this plan begins anew.
func TestForeignCursor(t *testing.T) {
	t.Parallel()
	p := newPlan(Region{Areas: []Area{{Bounds: orb.Bound{Max: orb.Point{1, 1}}}}}, 0.25)
	require.Len(t, p.boxes, 4)
	for _, c := range []string{"", "x", p.name, p.name + "/", p.name + "/1", p.name + "/9.", p.name + "/-1.", p.name + "/1.7",
		p.name + "/1.x", "other/1.", p.name + "/1.0/2.", p.name + "/9.@+3", p.name + "/1.7@-x", "@+", "/@"} {
		left, share := p.after(c)
		require.Len(t, left, 4, c)
		require.Zero(t, share, c)
	}
	left, share := p.after(p.name + "/1.")
	require.Len(t, left, 2)
	require.InDelta(t, 0.5, share, 1e-9)
	require.NotEqual(t, p.name, newPlan(Region{Areas: []Area{{Bounds: orb.Bound{Max: orb.Point{1, 1.1}}}}}, 0.25).name)
}
