// Package sample makes tracks for demonstrations, tests and measurements.
package sample

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// valley is a place that many tracks begin near.
type valley struct {
	name     string
	lon, lat float64
}

// Tracks makes n prepared tracks: wandering lines of 200 to 3,000 points, a step of 3 to 12 metres
// each, gathered around valleys of the Alps. Equal seeds make equal tracks. Nobody ever walked there.
func Tracks(n int, seed uint64) []gpstracks.Track { return generate(n, seed, walk{200, 3000, 3}) }

// Short makes tracks of 3 to most points, a step of 90 to 360 metres each.
func Short(n int, seed uint64, most int) []gpstracks.Track {
	return generate(n, seed, walk{3, most, 90})
}

// walk bounds the points of a line, and its steps from below.
type walk struct {
	least, most int
	metres      float64
}

func generate(n int, seed uint64, w walk) []gpstracks.Track {
	valleys := [...]valley{
		{"Lauterbrunnen", 7.91, 46.59}, {"Chamonix", 6.87, 45.92}, {"Zermatt", 7.75, 46.02}, {"Innsbruck", 11.40, 47.27},
		{"Bolzano", 11.35, 46.50}, {"Bovec", 13.55, 46.34}, {"Briançon", 6.64, 44.90}, {"Garmisch", 11.10, 47.49},
	}
	rng := rand.New(rand.NewPCG(seed, 1))
	out := make([]gpstracks.Track, 0, n)
	for i := 0; len(out) < n; i++ {
		v := valleys[rng.IntN(len(valleys))]
		activity := gpstracks.Activities()[rng.IntN(4)]
		t, err := gpstracks.Prepare(gpstracks.Track{
			Source: [...]string{"osm", "club", "upload"}[rng.IntN(3)], ExternalID: fmt.Sprint(i), Activity: activity,
			Name: fmt.Sprintf("%s: %s %d", v.name, activity, i+1), URL: fmt.Sprintf("https://tracks.example/%d", i+1),
			Attribution: "Generated, in the public domain",
			RecordedOn:  time.Date(2024, 1, 1+rng.IntN(700), 0, 0, 0, 0, time.UTC),
			Lines:       orb.MultiLineString{w.wander(rng, v)},
		})
		if err == nil {
			out = append(out, t)
		}
	}
	return out
}

// wander walks with a heading that changes slowly.
func (w walk) wander(rng *rand.Rand, v valley) orb.LineString {
	line := make(orb.LineString, w.least+rng.IntN(w.most-w.least+1))
	at := orb.Point{v.lon + 0.15*rng.NormFloat64(), v.lat + 0.1*rng.NormFloat64()}
	heading, turn := rng.Float64()*2*math.Pi, 0.0
	metres := w.metres * (1 + 3*rng.Float64())
	for i := range line {
		line[i] = orb.Point{math.Round(at[0]*1e7) / 1e7, math.Round(at[1]*1e7) / 1e7} // as receivers write it
		turn = 0.9*turn + 0.08*rng.NormFloat64()
		heading += turn
		step := metres * (0.5 + rng.Float64()) / 111_000
		at[0] += step * math.Sin(heading) / math.Cos(at[1]*math.Pi/180)
		at[1] += step * math.Cos(heading)
	}
	return line
}
