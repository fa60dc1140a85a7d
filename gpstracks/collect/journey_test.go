package collect_test

import (
	"math"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// journey describes a way: n points, so many seconds and metres a second apart.
type journey struct {
	n       int
	seconds float64
	speed   float64
	turn    float64 // radians that the heading changes by at most in a step
	pauses  int     // steps of ten minutes to two hours
	from    orb.Point
}

// points are those of the journey, seven decimals each, with times and elevations.
func (j journey) points(r dice) (out []gpx.Point) {
	p := j.from
	if p == (orb.Point{}) {
		p = orb.Point{-160 + 320*r.Float64(), -50 + 110*r.Float64()}
	}
	at := time.Date(2019+r.IntN(7), time.Month(1+r.IntN(12)), 1+r.IntN(28), 5+r.IntN(12), r.IntN(60), r.IntN(60), 0, time.UTC)
	heading, ele := 2*math.Pi*r.Float64(), 100+1500*r.Float64()
	for i := range j.n {
		out = append(out, gpx.Point{At: orb.Point{round(p[0], 1e7), round(p[1], 1e7)}, Time: at, Ele: round(ele, 10), HasEle: true})
		dt := math.Max(1, math.Round(j.seconds*(0.5+r.Float64())))
		if j.pauses > 0 && i > 0 && i%(1+j.n/(j.pauses+1)) == 0 {
			at = at.Add(time.Duration(600+r.IntN(6600)) * time.Second)
		}
		at = at.Add(time.Duration(dt) * time.Second)
		heading += j.turn * (2*r.Float64() - 1)
		step := j.speed * dt * (0.6 + 0.8*r.Float64())
		p[0] += step * math.Sin(heading) / (111_195 * math.Cos(p[1]*math.Pi/180))
		p[1] += step * math.Cos(heading) / 111_195
		if p[1] = max(-84, min(84, p[1])); p[0] > 180 {
			p[0] -= 360
		} else if p[0] < -180 {
			p[0] += 360
		}
		ele = math.Max(0.5, ele+step/20*(2*r.Float64()-1))
	}
	return out
}

func round(v, by float64) float64 { return math.Round(v*by) / by }

// The journeys of the corpus.
func hike(r dice) []gpx.Point {
	return journey{n: 80 + r.IntN(250), seconds: 5 + 10*r.Float64(), speed: 1.2, turn: 0.4, pauses: r.IntN(4)}.points(r)
}

func jog(r dice) []gpx.Point {
	return journey{n: 100 + r.IntN(300), seconds: 1, speed: 2.9, turn: 0.2}.points(r)
}

func ride(r dice) []gpx.Point {
	return journey{n: 100 + r.IntN(300), seconds: 3, speed: 7, turn: 0.2, pauses: r.IntN(3)}.points(r)
}

func drive(r dice) []gpx.Point {
	return journey{n: 100 + r.IntN(200), seconds: 10, speed: 24, turn: 0.2, pauses: r.IntN(3)}.points(r)
}

func sail(r dice) []gpx.Point {
	return journey{n: 60 + r.IntN(100), seconds: 60, speed: 11, turn: 0.05, pauses: r.IntN(2)}.points(r)
}

func fly(r dice) []gpx.Point {
	return journey{n: 60 + r.IntN(100), seconds: 30 + 60*r.Float64(), speed: 230, turn: 0.02}.points(r)
}

// message is a satellite messenger's: a point every ten minutes, or hour.
func message(r dice) []gpx.Point {
	return journey{n: 20 + r.IntN(60), seconds: 600 * float64(1+5*r.IntN(2)), speed: 1 + 8*r.Float64(), turn: 0.8}.points(r)
}

// plan is a planner's line: steps of very different lengths, there and back at times, with
// times for one speed or, at seconds < 0, none.
func plan(r dice, speed float64) []gpx.Point {
	points := journey{n: 60 + r.IntN(120), seconds: 8, speed: 1.2, turn: 0.3}.points(r)
	for range 3 { // long straight steps, one of them a spur there and back
		i := 5 + r.IntN(len(points)-10)
		spur := points[i]
		spur.At = orb.Point{round(spur.At[0]+0.01+0.02*r.Float64(), 1e7), round(spur.At[1]+0.01, 1e7)}
		points = append(points[:i+1], append([]gpx.Point{spur, points[i]}, points[i+1:]...)...)
	}
	for i := range points {
		switch {
		case speed <= 0:
			points[i].Time = time.Time{}
		case i > 0:
			points[i].Time = points[i-1].Time.Add(time.Duration(gpstracks.Distance(points[i-1].At,
				points[i].At) / speed * float64(time.Second))).Truncate(time.Millisecond)
		}
	}
	return points
}

// planned makes plans for one speed.
func planned(speed float64) func(dice) []gpx.Point {
	return func(r dice) []gpx.Point { return plan(r, speed) }
}
