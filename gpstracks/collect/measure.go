package collect

import (
	"path"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// movingSpeed is the speed in metres a second below which nobody moves: a receiver at rest
// wanders about.
const movingSpeed = 0.3

// measure adds up when a line was recorded, how fast and how long it moved, and how it goes up
// and down.
func (d *drawn) measure(points []gpx.Point) {
	var line []gpstracks.ProfilePoint
	for i, p := range points {
		if i > 0 {
			last := points[i-1]
			step := gpstracks.Distance(last.At, p.At)
			d.along += step
			if !last.Time.IsZero() && p.Time.After(last.Time) {
				v := step / p.Time.Sub(last.Time).Seconds()
				d.speeds = append(d.speeds, v)
				if v >= movingSpeed {
					d.moving += p.Time.Sub(last.Time)
				}
			}
		}
		d.span(p.Time)
		if p.HasEle {
			line = append(line, gpstracks.ProfilePoint{AlongM: d.along, EleM: p.Ele})
		}
	}
	d.profile = append(d.profile, line)
}

func (d *drawn) span(at time.Time) {
	switch {
	case at.IsZero():
	case d.first.IsZero():
		d.first, d.last = at, at
	case at.Before(d.first):
		d.first = at
	case at.After(d.last):
		d.last = at
	}
}

// hints lists the texts that may name the activity of a track, the strongest first. file is the path of the
// file, of which two folders count, or empty.
func hints(t gpx.Track, file string) []gpstracks.Hint {
	out := []gpstracks.Hint{
		{From: gpstracks.FromType, Text: t.Type}, {From: gpstracks.FromKeywords, Text: t.Keywords},
		{From: gpstracks.FromName, Text: t.Name}, {From: gpstracks.FromDescription, Text: t.Desc},
	}
	if file == "" {
		return out
	}
	folder, name := path.Split(strings.ReplaceAll(file, `\`, "/"))
	out = append(out, gpstracks.Hint{From: gpstracks.FromFile, Text: name})
	for range 2 {
		folder, name = path.Split(strings.TrimSuffix(folder, "/"))
		out = append(out, gpstracks.Hint{From: gpstracks.FromFolder, Text: name})
	}
	return out
}
