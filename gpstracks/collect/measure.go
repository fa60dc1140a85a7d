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

// measure sets when a track was recorded, how long it moved, and how it goes up and down.
func (d *drawn) measure(segments [][]gpx.Point) {
	var profile [][]gpstracks.ProfilePoint
	along := 0.0
	for _, segment := range segments {
		var line []gpstracks.ProfilePoint
		for i, p := range segment {
			if i > 0 {
				along += gpstracks.Distance(segment[i-1].At, p.At)
				if v := speed(segment[i-1], p); v >= movingSpeed {
					d.moving += p.Time.Sub(segment[i-1].Time)
				}
			}
			d.span(p.Time)
			if p.HasEle {
				line = append(line, gpstracks.ProfilePoint{AlongM: along, EleM: p.Ele})
			}
		}
		profile = append(profile, line)
	}
	d.elevation = gpstracks.MeasureElevation(profile)
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

// hints are what may name the activity of a track, the strongest first. file is the path of the
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
