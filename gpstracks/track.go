// Package gpstracks is the core of the public GPS track layer: what a track is,
// when two tracks are the same, and the port of the store that keeps them. It
// reads no clock and no network; geometry is in degrees of WGS 84, longitude
// first, in the types of github.com/paulmach/orb.
package gpstracks

import (
	"cmp"
	"fmt"
	"math"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/paulmach/orb"
)

// Limits of one track.
const (
	MaxPoints = 1_000_000 // points of all its lines
	MaxName   = 256       // characters of its name; more are cut off
)

// maxLink is the number of bytes of an address or of an attribution.
const maxLink = 2048

// Track is one public track. Prepare checks and completes one that was read
// from outside; what a Store hands out is complete.
type Track struct {
	ID                 int64         // given by the store
	Source             string        // where it came from: a name as in SourceName
	ExternalID         string        // its name at the source
	Name               string        // plain text, never markup; may be empty
	Activity           Activity      // Unknown where nothing shows it
	ActivityFrom       Evidence      // what decided the activity; "" if that is not known
	URL                string        // http or https, or empty
	Attribution        string        // the name that the licence requires
	RecordedOn         time.Time     // the UTC day of the record; zero if unknown
	StartedAt, EndedAt time.Time     // of the record, in UTC; zero if unknown
	Moving             time.Duration // of the time between, in whole seconds; 0 if unknown
	Elevation          *Elevation    // nil if unknown
	Lines              orb.MultiLineString
	Bounds             orb.Bound // of Lines, which do not cross the antimeridian
	LengthM            float64   // metres along Lines
	Points             int       // in Lines
	Key                string    // of bounds, length and day: tracks with equal ones are one
	Cells              Cells     // along Lines
	FirstSeenAt        time.Time // when a collector brought it first; set by the store
	LastSeenAt         time.Time // when one of its source brought it last
	RunID              int64     // the run that did
}

// sourceName is the form of a source's name.
var sourceName = regexp.MustCompile(`^[a-z0-9][a-z0-9_-]{0,63}$`)

// IsSourceName reports whether s can be the name of a source: lower-case letters,
// digits, - and _, at most 64.
func IsSourceName(s string) bool { return sourceName.MatchString(s) }

// isZoneName reports whether s can be the name of a Zone.
func isZoneName(s string) bool {
	for part := range strings.SplitSeq(s, "/") {
		if !IsSourceName(part) {
			return false
		}
	}
	return len(s) <= 128
}

// InvalidError reports which field of a track cannot be used.
type InvalidError struct{ Field, Reason string }

// Error names the field and the reason; it never repeats the value.
func (e *InvalidError) Error() string { return "gps track: " + e.Field + " " + e.Reason }

// Prepare checks a track and completes it: repeated points are left out, lines
// are cut at the antimeridian, the name becomes plain text of at most MaxName
// characters without addresses of e-mail and telephone numbers, an address that is not http or https or
// that names a person is dropped, and Bounds, LengthM, Points, Key and Cells are computed. The track that was given is not
// changed. A track that cannot be shown is an *InvalidError.
func Prepare(t Track) (Track, error) {
	if !IsSourceName(t.Source) {
		return Track{}, &InvalidError{"source", "is not a name of a-z, 0-9, - and _"}
	}
	t.Activity = cmp.Or(t.Activity, Unknown)
	if !t.Activity.Valid() {
		return Track{}, &InvalidError{"activity", "is none of the known ones"}
	}
	points := 0
	var cut orb.MultiLineString
	for _, line := range t.Lines {
		if points += len(line); points > MaxPoints {
			return Track{}, &InvalidError{"lines", fmt.Sprintf("have more than %d points", MaxPoints)}
		}
		for _, p := range line {
			if !valid(p) {
				return Track{}, &InvalidError{"lines", "hold a coordinate that is not on earth"}
			}
		}
		cut = appendCut(cut, line)
	}
	if len(cut) == 0 {
		return Track{}, &InvalidError{"lines", "have less than two different points"}
	}
	return complete(t, cut), nil
}

func complete(t Track, cut orb.MultiLineString) Track {
	t.Lines, t.Bounds, t.LengthM, t.Points = cut, cut.Bound(), 0, 0
	for _, line := range cut {
		t.Points += len(line)
		t.LengthM += length(line)
	}
	t.Name = scrubbed(plain(t.Name, 4*MaxName), MaxName)
	t.ExternalID = plain(t.ExternalID, MaxName)
	t.Attribution = plain(t.Attribution, maxLink)
	if !webAddress(t.URL) || isPersonal(t.URL) {
		t.URL = ""
	}
	if !t.RecordedOn.IsZero() {
		t.RecordedOn = t.RecordedOn.UTC().Truncate(24 * time.Hour)
	}
	t.StartedAt, t.EndedAt = t.StartedAt.UTC().Truncate(time.Microsecond), t.EndedAt.UTC().Truncate(time.Microsecond)
	if t.StartedAt.IsZero() || t.EndedAt.Before(t.StartedAt) {
		t.StartedAt, t.EndedAt, t.Moving = time.Time{}, time.Time{}, 0
	}
	t.Moving = max(0, min(t.Moving, t.EndedAt.Sub(t.StartedAt))).Truncate(time.Second)
	if t.Activity == Unknown || len(t.ActivityFrom) > maxEvidence {
		t.ActivityFrom = ""
	}
	t.Elevation = t.Elevation.rounded()
	t.Key, t.Cells = dedupeKey(&t), CellsOf(cut)
	return t
}

// maxEvidence is longer than each Evidence.
const maxEvidence = 32

// valid reports a point on earth. NaN fails every comparison.
func valid(p orb.Point) bool {
	return p[0] >= -180 && p[0] <= 180 && p[1] >= -90 && p[1] <= 90
}

// appendCut appends a line without repeated points, cut where it crosses the
// antimeridian: a step of more than half the earth is taken the short way.
func appendCut(out orb.MultiLineString, line orb.LineString) orb.MultiLineString {
	part := make(orb.LineString, 0, len(line))
	end := func() {
		if len(part) > 1 {
			out = append(out, slices.Clip(part))
		}
	}
	for _, p := range line {
		if len(part) > 0 {
			last := part[len(part)-1]
			if p == last {
				continue
			}
			if math.Abs(p[0]-last[0]) > 180 {
				here, there := crossing(last, p)
				if last != here {
					part = append(part, here)
				}
				end()
				part = make(orb.LineString, 0, 16)
				if p != there {
					part = append(part, there)
				}
			}
		}
		part = append(part, p)
	}
	end()
	return out
}

// crossing returns the points of a step on the antimeridian, on this side and on the other.
// A step along the antimeridian, written once as 180 and once as -180 degrees,
// stays on this side.
func crossing(a, b orb.Point) (here, there orb.Point) {
	edge, lat := math.Copysign(180, a[0]), b[1]
	before, after := math.Abs(edge-a[0]), math.Abs(-edge-b[0])
	if before+after > 0 {
		lat = a[1] + (b[1]-a[1])*before/(before+after)
	}
	return orb.Point{edge, lat}, orb.Point{-edge, lat}
}

// plain makes one line of valid text of at most n characters.
func plain(s string, n int) string {
	s = s[:min(len(s), 8*n)] // what is cut off anyway need not be cleaned
	s = strings.Map(func(r rune) rune {
		switch {
		case unicode.IsSpace(r):
			return ' '
		case r == utf8.RuneError, unicode.IsControl(r), unicode.Is(unicode.Bidi_Control, r):
			return -1
		}
		return r
	}, s)
	return shortened(strings.Join(strings.Fields(s), " "), n)
}

// shortened is a text of at most n characters.
func shortened(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	return strings.TrimSpace(string([]rune(s)[:n]))
}

func webAddress(s string) bool {
	if len(s) > maxLink {
		return false
	}
	u, err := url.Parse(s)
	return err == nil && (u.Scheme == "https" || u.Scheme == "http") && u.Host != "" && u.User == nil
}
