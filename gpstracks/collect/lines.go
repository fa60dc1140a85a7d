package collect

import (
	"cmp"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// Where a line of anonymous points ends although the source goes on: what was between
// is unknown. Lines of files end where their authors ended them.
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

// drawn holds the lines of a track, and its measures.
type drawn struct {
	lines       orb.MultiLineString
	speeds      []float64 // metres a second between points
	day         time.Time // of the first point that has one
	first, last time.Time // of points of lines
	moving      time.Duration
	along       float64 // metres
	profile     [][]gpstracks.ProfilePoint
	elevation   *gpstracks.Elevation
	spikes      int // points that were dropped as outliers
	lost        []gpstracks.Reason
}

// draw makes a line of each segment, as it was written but for outliers. Anonymous points are what
// is in a box, of people who do not show themselves: their lines end at gaps, and
// if times are needed, a segment without them is left out, as its points are not in
// the order in which somebody went.
func draw(t gpx.Track, s Source) (d drawn) {
	anonymous := s.Kind == OSM
	if t.BadPoints > 0 {
		d.lose(gpstracks.ReasonBadPoints)
	}
	if t.BadTimes > 0 {
		d.lose(gpstracks.ReasonBadTimes)
	}
	if t.CutOff {
		d.lose(gpstracks.ReasonCutOff)
	}
	segments := t.Segments
	if !anonymous {
		if segments, d.spikes = dropSpikes(segments); d.spikes > 0 {
			d.lose(gpstracks.ReasonSpikes)
		}
	}
	for _, segment := range segments {
		if anonymous && s.NeedTimes && cloud(segment) {
			d.lose(gpstracks.ReasonNoTimes)
			continue
		}
		from := 0
		for i, p := range segment {
			d.day = cmp.Or(d.day, p.Time)
			if i > 0 && anonymous && !continues(segment[i-1], p) {
				d.lose(gpstracks.ReasonGaps)
				d.end(segment[from:i])
				from = i
			}
		}
		d.end(segment[from:])
	}
	if d.elevation = gpstracks.MeasureElevation(d.profile); d.elevation != nil && t.Barometer {
		d.elevation.AscentM, d.elevation.DescentM = t.Ascent, t.Descent
	}
	return d
}

// end makes a line of points, if it is one.
func (d *drawn) end(points []gpx.Point) {
	switch {
	case len(points) == 0:
	case len(points) == 1:
		d.lose(gpstracks.ReasonOnePoint)
	case !slices.ContainsFunc(points, func(p gpx.Point) bool { return p.At != points[0].At }):
		d.lose(gpstracks.ReasonOnePlace)
	default:
		line := make(orb.LineString, len(points))
		for i, p := range points {
			line[i] = p.At
		}
		d.lines = append(d.lines, line)
		d.measure(points)
	}
}

func (d *drawn) lose(why gpstracks.Reason) {
	if !slices.Contains(d.lost, why) {
		d.lost = append(d.lost, why)
	}
}

// reason returns the first reason of a track without lines.
func (d *drawn) reason() gpstracks.Reason {
	for _, why := range gpstracks.Reasons() {
		if slices.Contains(d.lost, why) {
			return why
		}
	}
	return gpstracks.ReasonNoPoints
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
	last.Segments, last.BadPoints, last.BadTimes = segments, last.BadPoints+first.BadPoints, last.BadTimes+first.BadTimes
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

// convert makes a track that can be kept, and reports what it is, or why there is none. file is
// the path of its file, or empty.
func convert(t gpx.Track, s Source, l Licence, file string) (gpstracks.Track, trackReport) {
	d := draw(t, s)
	if reserved.MatchString(t.Rights) {
		return gpstracks.Track{}, reportOf(t, gpstracks.Track{}, d.spikes, nil, gpstracks.ReasonRights)
	}
	if len(d.lines) == 0 {
		return gpstracks.Track{}, reportOf(t, gpstracks.Track{}, d.spikes, nil, d.reason())
	}
	k := gpstracks.Track{
		Source: s.Name, Name: title(t.Name), Attribution: l.Attribution, RecordedOn: d.day, Lines: d.lines,
		ExternalID: gpstracks.ReferenceOf(t.URL), StartedAt: d.first, EndedAt: d.last, Moving: d.moving, Elevation: d.elevation,
	}
	if t.Type == gpx.Flight {
		d.speeds = nil
	}
	k.Activity, k.ActivityFrom = gpstracks.InferActivity(hints(t, file), d.speeds)
	if s.KeepURL {
		k.URL = t.URL
	}
	if s.DropNames {
		k.Name = ""
	}
	k, err := gpstracks.Prepare(k)
	if err != nil {
		return k, reportOf(t, k, d.spikes, nil, gpstracks.ReasonInvalid)
	}
	return k, reportOf(t, k, d.spikes, d.lost, "")
}

// reserved is a statement of rights that lets nobody show a track.
var reserved = regexp.MustCompile(`(?i)all[\W_]*rights[\W_]*reserved|alle rechte vorbehalten|tous droits r[eé]serv[eé]s` +
	`|todos los derechos reservados|tutti i diritti riservati`)

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
