package collect

import (
	"cmp"
	"math"
	"slices"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// When a point is an outlier: the way to it and the way back are both so fast that neither a
// vehicle nor the rest of the track explains them, and the way past it is not. Times have to
// say so: a point without them may be a planned detour. What is kept wrongly shows on a map;
// what is dropped wrongly is lost, so every doubt keeps.
const (
	spikeRun    = 5       // so many points in a row at most
	minLegs     = 20      // steps with times, below which a track has no speed of its own
	unlike      = 8       // times as fast as three of four steps of the track
	alone       = 3       // times as fast as 99 of 100 of its other steps
	onFoot      = 15.0    // metres a second: three of four steps of who walks, runs or rides a bicycle
	byLand      = 40.0    // metres a second that such a track has to exceed
	byAir       = 350.0   // metres a second that others have to, and every step of flightStep
	flightStep  = 20_000. // metres
	spikeShare  = 10      // one point of so many is dropped at most, or spikeRun: more are no outliers
	fromNowhere = 100_000 // metres from where 0° 0° is no place of the track
)

// pace bounds the speed of the steps of a track.
type pace struct {
	limit float64 // metres a second
	even  bool    // all steps take the same time, as converters make it up: a spur may be planned
}

// even reports times that are all the same apart.
func even(segments [][]gpx.Point) bool {
	var all time.Duration
	for _, points := range segments {
		for i := 1; i < len(points); i++ {
			step := points[i].Time.Sub(points[i-1].Time)
			all = cmp.Or(all, step)
			if step != all {
				return false
			}
		}
	}
	return true
}

// speed is that of a step in metres a second, or -1 if times do not say.
func speed(a, b gpx.Point) float64 {
	if a.Time.IsZero() || !b.Time.After(a.Time) {
		return -1
	}
	return gpstracks.Distance(a.At, b.At) / b.Time.Sub(a.Time).Seconds()
}

// exceeds reports a step that is too fast.
func (p pace) exceeds(a, b gpx.Point) bool {
	v := speed(a, b)
	return v > p.limit && (v > byAir || gpstracks.Distance(a.At, b.At) < flightStep)
}

// speeds are those of the steps that skip does not name, sorted.
func speeds(segments [][]gpx.Point, skip func(segment, to int) bool) (out []float64) {
	for s, points := range segments {
		for i := 1; i < len(points); i++ {
			if v := speed(points[i-1], points[i]); v >= 0 && !skip(s, i) {
				out = append(out, v)
			}
		}
	}
	slices.Sort(out)
	return out
}

// dropSpikes leaves out the outliers of the segments of a file, and says how many points they
// were. The segments that were given stay as they are.
func dropSpikes(segments [][]gpx.Point) (kept [][]gpx.Point, dropped int) {
	kept = make([][]gpx.Point, len(segments))
	total := 0
	for i, points := range segments {
		kept[i] = withoutNowhere(points)
		dropped += len(points) - len(kept[i])
		total += len(kept[i])
	}
	all := speeds(kept, func(int, int) bool { return false })
	if len(all) < minLegs {
		return kept, dropped
	}
	usual := all[len(all)*3/4] // spikes may be every tenth step
	p := pace{max(byLand, unlike*usual), even(kept)}
	if usual > onFoot {
		p.limit = max(byAir, unlike*usual)
	}
	if all[len(all)-1] <= p.limit {
		return kept, dropped
	}
	out := make([][]bool, len(kept)) // points that are outliers
	most := 0
	for i, points := range kept {
		out[i] = p.outliers(points)
		for _, is := range out[i] {
			if is {
				most++
			}
		}
	}
	if most == 0 || most > max(spikeRun, total/spikeShare) {
		return kept, dropped
	}
	rest := speeds(kept, func(s, to int) bool { return out[s][to] || out[s][to-1] })
	if len(rest) == 0 || p.limit < alone*rest[len(rest)*99/100] {
		return kept, dropped
	}
	for i, points := range kept {
		var line []gpx.Point
		for j, q := range points {
			if !out[i][j] {
				line = append(line, q)
			}
		}
		kept[i] = line
	}
	return kept, dropped + most
}

// outliers marks the points of a segment that are.
func (p pace) outliers(points []gpx.Point) []bool {
	out := make([]bool, len(points))
	for i := 1; i < len(points); i++ {
		if !p.exceeds(points[i-1], points[i]) {
			continue
		}
		n := p.run(points[i-1:])
		for j := range n {
			out[i+j] = true
		}
		i += n
	}
	// At the ends, before the receiver is sure and when it has lost its way, there is no way back.
	for n := 1; n <= spikeRun && n*spikeShare <= len(points) && !p.even; n++ {
		if first := points[:n+1]; p.exceeds(first[n-1], first[n]) && !out[n] && !out[n-1] {
			mark(out[:n])
		}
		if last := points[len(points)-n-1:]; p.exceeds(last[0], last[1]) && !out[len(points)-n] && !out[len(points)-n-1] {
			mark(out[len(points)-n:])
		}
	}
	return out
}

func mark(out []bool) {
	for i := range out {
		out[i] = true
	}
}

// run counts the points after the first that are an outlier: the way back from them is too fast,
// and the way past them is not. It is 0 if none are.
func (p pace) run(points []gpx.Point) int {
	for n := 1; n <= spikeRun && n+1 < len(points); n++ {
		back := points[n+1]
		planned := p.even && points[0].At == back.At
		if p.exceeds(points[n], back) && speed(points[0], back) >= 0 && !p.exceeds(points[0], back) && !planned {
			return n
		}
	}
	return 0
}

// withoutNowhere leaves out points of 0° 0°, which receivers and exporters write for want of a
// place, unless the track is near it.
func withoutNowhere(points []gpx.Point) []gpx.Point {
	nowhere := func(p gpx.Point) bool { return math.Abs(p.At[0])+math.Abs(p.At[1]) < 1e-9 }
	i := slices.IndexFunc(points, nowhere)
	near := func(p gpx.Point) bool { return !nowhere(p) && gpstracks.Distance(p.At, orb.Point{}) < fromNowhere }
	far := func(p gpx.Point) bool { return !nowhere(p) }
	if i < 0 || slices.ContainsFunc(points, near) || !slices.ContainsFunc(points, far) {
		return points
	}
	return slices.DeleteFunc(slices.Clone(points), nowhere)
}
