package collect

import (
	"net/url"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// Where a line ends although the source goes on: nobody knows what was between.
const (
	maxPause = 5 * time.Minute
	maxStep  = 3000.0 // metres
	maxSpeed = 120.0  // metres a second
)

// continues reports whether nothing is missing between two points.
func continues(a, b gpx.Point) bool {
	step := gpstracks.Distance(a.At, b.At)
	if step > maxStep {
		return false
	}
	if a.Time.IsZero() || b.Time.IsZero() {
		return true
	}
	pause := b.Time.Sub(a.Time)
	return pause >= 0 && pause <= maxPause && step <= maxSpeed*max(pause.Seconds(), 1)
}

// cloud reports a segment in no order: most of its points have no time.
func cloud(segment []gpx.Point) bool {
	timed := 0
	for _, p := range segment {
		if !p.Time.IsZero() {
			timed++
		}
	}
	return timed < 2 || 2*timed < len(segment)
}

// drawn is what can be drawn of a track, and what it tells about speed and day.
type drawn struct {
	lines  orb.MultiLineString
	speeds []float64 // metres a second between points
	day    time.Time // of the first point that has one
}

// draw makes lines of the segments. If times are needed, a segment without them
// is left out: its points are not in the order in which somebody went.
func draw(t gpx.Track, needTimes bool) (d drawn) {
	for _, segment := range t.Segments {
		if needTimes && cloud(segment) {
			continue
		}
		var line orb.LineString
		for i, p := range segment {
			if d.day.IsZero() {
				d.day = p.Time
			}
			if i > 0 && continues(segment[i-1], p) {
				if pause := p.Time.Sub(segment[i-1].Time).Seconds(); pause > 0 && !segment[i-1].Time.IsZero() && !p.Time.IsZero() {
					d.speeds = append(d.speeds, gpstracks.Distance(segment[i-1].At, p.At)/pause)
				}
			} else {
				d.end(line)
				line = nil
			}
			line = append(line, p.At)
		}
		d.end(line)
	}
	return d
}

func (d *drawn) end(line orb.LineString) {
	if len(line) > 1 {
		d.lines = append(d.lines, line)
	}
}

// join appends the tracks of the next page. The first of them may go on with the
// last of the page before: it has the same address, or it has none, as the other,
// and begins where and when that one ended.
func join(known, next []gpx.Track) []gpx.Track {
	if len(known) == 0 || len(next) == 0 {
		return append(known, next...)
	}
	last, first := &known[len(known)-1], next[0]
	if !sameTrack(*last, first) {
		return append(known, next...)
	}
	segments := slices.Clone(last.Segments)
	if n := len(segments); n > 0 && len(first.Segments) > 0 {
		segments[n-1] = slices.Concat(segments[n-1], first.Segments[0])
		segments = append(segments, first.Segments[1:]...)
	} else {
		segments = append(segments, first.Segments...)
	}
	last.Segments, last.Bad = segments, last.Bad+first.Bad
	return append(known, next[1:]...)
}

func sameTrack(a, b gpx.Track) bool {
	if a.URL != "" || b.URL != "" {
		return a.URL == b.URL
	}
	if len(a.Segments) == 0 || len(b.Segments) == 0 || a.Name != b.Name {
		return false
	}
	end := a.Segments[len(a.Segments)-1]
	from, to := end[len(end)-1], b.Segments[0][0]
	return !from.Time.IsZero() && !to.Time.IsZero() && continues(from, to)
}

// convert makes a track that can be kept. ok is false if there is nothing to
// draw, or the track is not one.
func convert(t gpx.Track, s Source, l Licence) (k gpstracks.Track, ok bool) {
	d := draw(t, s.NeedTimes)
	if len(d.lines) == 0 {
		return k, false
	}
	k = gpstracks.Track{
		Source: s.Name, Name: title(t.Name), Attribution: l.Attribution, RecordedOn: d.day, Lines: d.lines,
		ExternalID: externalID(t.URL), Activity: gpstracks.InferActivity([]string{t.Type, t.Name, t.Desc}, d.speeds),
	}
	if s.KeepURL {
		k.URL = t.URL
	}
	k, err := gpstracks.Prepare(k)
	return k, err == nil
}

// title is a name without the ending of a file.
func title(name string) string {
	name = strings.TrimSpace(name)
	for _, ending := range [...]string{".gz", ".gpx"} {
		if cut := len(name) - len(ending); cut > 0 && strings.EqualFold(name[cut:], ending) {
			name = name[:cut]
		}
	}
	return name
}

// externalID is the last part of a track's address: its number, and nothing of
// who made it.
func externalID(address string) string {
	u, err := url.Parse(address)
	if err != nil || address == "" {
		return ""
	}
	if id := path.Base(u.Path); id != "." && id != "/" {
		return id
	}
	return ""
}
