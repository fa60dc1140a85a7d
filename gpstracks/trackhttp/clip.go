package trackhttp

import (
	"math"
	"slices"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// margin is the share of a view that is added on each side, so that lines do not end in sight of
// one who moves the map a little.
const margin = 0.25

// around are the boxes with their margin.
func around(boxes []orb.Bound) (out []orb.Bound) {
	for _, b := range boxes {
		dx, dy := margin*(b.Max[0]-b.Min[0]), margin*(b.Max[1]-b.Min[1])
		out = append(out, box(b.Min[0]-dx, b.Min[1]-dy, b.Max[0]+dx, b.Max[1]+dy))
	}
	return out
}

// shows reports whether the bounds of a segment touch what is written.
func (e *featureEncoder) shows(a, b orb.Point) bool {
	if len(e.clip) == 0 {
		return true
	}
	segment := box(min(a[0], b[0]), min(a[1], b[1]), max(a[0], b[0]), max(a[1], b[1]))
	return slices.ContainsFunc(e.clip, segment.Intersects)
}

// draw writes the coordinates of a track's lines, cut between points into the parts within
// clip, without the points that do not show at the zoom. Their ends stay, so that each part
// has two points.
func (e *featureEncoder) draw(t *gpstracks.Track) {
	e.coordinates, e.parts = e.coordinates[:0], 0
	for _, line := range t.Lines {
		weights := e.weights(t, line)
		last := line[0]
		for n, p := range line {
			if n == 0 || weights != nil && weights[n] <= e.tolerance {
				continue
			}
			if e.shows(last, p) {
				e.to(last, p)
			} else {
				e.end()
			}
			last = p
		}
		e.end()
	}
}

// to draws a segment.
func (e *featureEncoder) to(from, to orb.Point) {
	if e.points == 0 {
		if e.parts++; e.parts > 1 {
			e.coordinates = append(e.coordinates, ',')
		}
		e.coordinates = append(e.coordinates, '[')
		e.point(from)
	}
	e.point(to)
}

// point writes a point that is not where the one before it is.
func (e *featureEncoder) point(p orb.Point) {
	x, y := int64(math.Round(p[0]*1e5)), int64(math.Round(p[1]*1e5))
	if e.points == 0 || x != e.x || y != e.y {
		e.write(x, y)
	}
}

func (e *featureEncoder) write(x, y int64) {
	if e.points > 0 {
		e.coordinates = append(e.coordinates, ',')
	}
	e.coordinates = appendDegrees(append(e.coordinates, '['), x)
	e.coordinates = append(appendDegrees(append(e.coordinates, ','), y), ']')
	e.x, e.y, e.points = x, y, e.points+1
}

// end ends the part under way.
func (e *featureEncoder) end() {
	if e.points == 1 {
		e.write(e.x, e.y)
	}
	if e.points > 0 {
		e.coordinates = append(e.coordinates, ']')
	}
	e.points = 0
}
