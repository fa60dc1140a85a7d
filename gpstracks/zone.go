package gpstracks

import (
	"context"
	"crypto/sha256"
	"encoding/binary"
	"math"
	"slices"
	"time"

	"github.com/paulmach/orb"
)

// Zone is a place where no track is shown. What is cut off reaches further than the radius, by a
// distance that differs with the direction, around a middle that is not Center: neither follows
// from the ends of the lines that are left. Both are drawn from Secret, so that a track is cut
// alike each time.
type Zone struct {
	Name    string    // letters a-z, digits, - and _, in parts with / between; each zone has its own
	Center  orb.Point // degrees
	RadiusM float64   // minRadius to maxRadius
	Secret  string    // drawn by the store when the name is new, and kept
	MadeAt  time.Time
}

// The radius of a zone in metres.
const (
	minRadius = 50.0
	maxRadius = 10_000.0
)

// How far a zone is cut, in radii: Center is covered with its radius wherever the middle lies.
const (
	zoneShift = 0.5  // most that the middle is away from Center
	zoneRim   = 0.25 // most that the edge is beyond the least distance
	zoneLeast = 1.05 * (1 + zoneShift)
)

// Check returns an *InvalidError that names the field.
func (z Zone) Check() error {
	switch {
	case !isZoneName(z.Name):
		return &InvalidError{"zone name", "is not of a-z, 0-9, - and _, with / between parts, 128 characters at most"}
	case !valid(z.Center) || math.Abs(z.Center[1]) > 85:
		return &InvalidError{"zone center", "is not on earth between 85 degrees south and north: write longitude and latitude in degrees"}
	case !(z.RadiusM >= minRadius && z.RadiusM <= maxRadius):
		return &InvalidError{"zone radius", "is not from 50 to 10000 metres"}
	}
	return nil
}

// Around are the boxes that hold all that a zone cuts: two across the antimeridian.
func (z Zone) Around() []orb.Bound {
	reach := (zoneShift + zoneLeast + zoneRim) * z.RadiusM / metresPerDegree
	dx, c := reach/math.Cos(z.Center[1]*math.Pi/180), z.Center
	south, north := max(c[1]-reach, -90), min(c[1]+reach, 90)
	boxes := []orb.Bound{{Min: orb.Point{max(c[0]-dx, -180), south}, Max: orb.Point{min(c[0]+dx, 180), north}}}
	if over := c[0] + dx - 180; over > 0 {
		boxes = append(boxes, orb.Bound{Min: orb.Point{-180, south}, Max: orb.Point{over - 180, north}})
	}
	if under := c[0] - dx + 180; under < 0 {
		boxes = append(boxes, orb.Bound{Min: orb.Point{180 + under, south}, Max: orb.Point{180, north}})
	}
	return boxes
}

// metresPerDegree is the length of a degree of latitude.
const metresPerDegree = earthRadius * math.Pi / 180

// edge bounds a zone, on a plane around its middle, in metres.
type edge struct {
	middle  orb.Point
	stretch float64 // of a degree of longitude
	least   float64
	rim     [16]float64 // by direction
}

func (z Zone) edge() edge {
	sum := sha256.Sum256([]byte(z.Secret))
	share := func(at int) float64 { return float64(binary.LittleEndian.Uint64(sum[at:])) / math.MaxUint64 }
	turn, away := 2*math.Pi*share(0), zoneShift*z.RadiusM*math.Sqrt(share(8))
	e := edge{middle: z.Center, stretch: math.Cos(z.Center[1] * math.Pi / 180), least: zoneLeast * z.RadiusM}
	e.middle[0] += away * math.Cos(turn) / (metresPerDegree * e.stretch)
	e.middle[1] += away * math.Sin(turn) / metresPerDegree
	for i := range e.rim {
		e.rim[i] = e.least + zoneRim*z.RadiusM*float64(sum[16+i])/255
	}
	return e
}

// at is a point on the plane.
func (e *edge) at(p orb.Point) XY {
	return XY{math.Remainder(p[0]-e.middle[0], 360) * e.stretch * metresPerDegree, (p[1] - e.middle[1]) * metresPerDegree}
}

// hides reports a point inside.
func (e *edge) hides(p XY) bool {
	sector := int((math.Atan2(p.Y, p.X)/(2*math.Pi) + 1) * float64(len(e.rim)))
	return math.Hypot(p.X, p.Y) < e.rim[sector%len(e.rim)]
}

// crosses reports a segment that comes nearer than the rim, whose ends may be outside.
func (e *edge) crosses(a, b XY) bool {
	dx, dy := b.X-a.X, b.Y-a.Y
	share := 0.0
	if long := dx*dx + dy*dy; long > 0 {
		share = max(0, min(1, -(a.X*dx+a.Y*dy)/long))
	}
	return math.Hypot(a.X+share*dx, a.Y+share*dy) < e.least
}

// Cut takes from a track that passed Prepare what lies in zones: points, the segments across
// them, and what was measured there. A track that loses any has no times but its day, as they
// would say when the zone was left. changed reports that something was cut; nothing is left of a
// track without Lines.
func Cut(t Track, zones []Zone) (cut Track, changed bool) {
	var edges []edge
	for _, z := range zones {
		if slices.ContainsFunc(z.Around(), t.Bounds.Intersects) {
			edges = append(edges, z.edge())
		}
	}
	if len(edges) == 0 {
		return t, false
	}
	var c cutter
	for _, line := range t.Lines {
		c.line(line, edges)
	}
	if len(c.gone) == 0 {
		return t, false
	}
	t.StartedAt, t.EndedAt, t.Moving = time.Time{}, time.Time{}, 0
	t.Elevation = c.elevation(t.Elevation)
	if len(c.lines) == 0 {
		t.Lines = nil
		return t, true
	}
	return complete(t, c.lines), true
}

// cutter is a track while it is cut.
type cutter struct {
	lines orb.MultiLineString
	along float64      // metres
	gone  [][2]float64 // from and to along the track
}

func (c *cutter) line(line orb.LineString, edges []edge) {
	shown := make([]bool, len(line)) // points
	linked := make([]bool, len(line))
	for i := range line {
		shown[i], linked[i] = true, true
		for k := range edges {
			at := edges[k].at(line[i])
			shown[i] = shown[i] && !edges[k].hides(at)
			linked[i] = linked[i] && (i == 0 || !edges[k].crosses(edges[k].at(line[i-1]), at))
		}
	}
	from := 0
	for i := 1; i <= len(line); i++ {
		if i < len(line) && shown[i-1] && shown[i] && linked[i] {
			c.along += Distance(line[i-1], line[i])
			continue
		}
		if i-from > 1 {
			c.lines = append(c.lines, slices.Clone(line[from:i]))
		}
		if from = i; i < len(line) {
			to := c.along + Distance(line[i-1], line[i])
			c.gone, c.along = append(c.gone, [2]float64{c.along, to}), to
		}
	}
}

// elevation is measured again from what is left of the profile.
func (c *cutter) elevation(e *Elevation) *Elevation {
	if e == nil {
		return nil
	}
	parts := [][]ProfilePoint{nil}
	next, lost := 0, 0.0
	for _, p := range e.Profile {
		for ; next < len(c.gone) && c.gone[next][1] < p.AlongM-1; next++ { // profiles are rounded to a metre
			lost += c.gone[next][1] - c.gone[next][0]
			parts = append(parts, nil)
		}
		if next < len(c.gone) && c.gone[next][0] <= p.AlongM+1 {
			continue
		}
		last := len(parts) - 1
		parts[last] = append(parts[last], ProfilePoint{p.AlongM - lost, p.EleM})
	}
	return MeasureElevation(parts)
}

// Removal keeps tracks away that a person wants gone: those that are the same as one, or those of a
// reference at a source. It holds no geometry.
type Removal struct {
	ID                 int64     // given by the store
	Cells              Cells     // of the track; none = by reference alone
	RecordedOn         time.Time // of the track
	LengthM            float64   // of the track
	Source, ExternalID string    // of Track; without a reference it goes by cells alone
	Reason             string
	By                 string // who has removed it
	At                 time.Time
	OldKey             string // of a removal by an earlier version, which has no cells yet
}

// Check returns an *InvalidError that names the field.
func (r Removal) Check() error {
	switch {
	case r.Cells.N == 0 && r.ExternalID == "":
		return &InvalidError{"removal", "names no track: give its id, or its source and reference"}
	case r.ExternalID != "" && !IsSourceName(r.Source):
		return &InvalidError{"removal source", "is not a name of a-z, 0-9, - and _"}
	case r.Reason == "":
		return &InvalidError{"removal reason", "is missing: say why, for those who list removals"}
	}
	return nil
}

// Matches reports whether the removal is of a track. One of an earlier version that has a key says nothing by
// its reference, which was the last part of any address.
func (r Removal) Matches(t *Track) bool { return r.matches(t, dedupeKey(t)) }

func (r Removal) matches(t *Track, old string) bool {
	if r.OldKey != "" {
		return r.OldKey == old
	}
	return r.ExternalID != "" && r.ExternalID == t.ExternalID && r.Source == t.Source ||
		r.Cells.N > 0 && isSame(&Track{Cells: r.Cells, RecordedOn: r.RecordedOn, LengthM: r.LengthM}, t)
}

// Screened counts tracks that privacy changed before they were kept.
type Screened struct {
	Removed int       // not kept: a removal is of them
	Hidden  int       // not kept: they lie in zones as a whole
	Cut     int       // kept without what lies in zones
	Learned []Removal // of an earlier version, with the cells of the first track that they kept away
}

// Screen returns what may be kept of tracks. Those that it was given are not changed.
func Screen(tracks []Track, zones []Zone, removals []Removal) (kept []Track, s Screened) {
	if len(zones)+len(removals) == 0 {
		return tracks, s
	}
	removals = slices.Clone(removals)
	removed := func(t *Track) bool {
		old := dedupeKey(t)
		i := slices.IndexFunc(removals, func(r Removal) bool { return r.matches(t, old) })
		if i >= 0 && removals[i].OldKey != "" {
			r := &removals[i]
			r.OldKey, r.Source, r.ExternalID = "", "", ""
			r.Cells, r.RecordedOn, r.LengthM = t.Cells, t.RecordedOn, t.LengthM
			s.Learned = append(s.Learned, *r)
		}
		return i >= 0
	}
	for i := range tracks {
		t, changed := Cut(tracks[i], zones)
		switch {
		case removed(&tracks[i]), removed(&t):
			s.Removed++
			continue
		case changed && len(t.Lines) == 0:
			s.Hidden++
			continue
		case changed:
			s.Cut++
		}
		kept = append(kept, t)
	}
	return kept, s
}

// ZoneStore is a Store that keeps zones. Its Upsert keeps of tracks what Screen returns.
type ZoneStore interface {
	// Hide keeps a zone by its name and cuts the tracks that are stored, which take new ids; it
	// returns where a map looks different now. One that was broken off is completed by the
	// next call. The zone's Secret is the store's matter.
	Hide(ctx context.Context, z Zone) ([]orb.Bound, error)
	// Unhide forgets a zone; false if there is none of the name. What was cut comes back when
	// its track is collected again.
	Unhide(ctx context.Context, name string) (bool, error)
	// Zones are all zones, by name.
	Zones(ctx context.Context) ([]Zone, error)
}

// RemovalStore is a Store that keeps removals. Its Upsert keeps of tracks what Screen returns.
type RemovalStore interface {
	// Withheld are the tracks that Withhold would remove now.
	Withheld(ctx context.Context, r Removal) ([]Track, error)
	// Withhold keeps a removal, once, removes the tracks that it matches, and returns where a map
	// looks different now.
	Withhold(ctx context.Context, r Removal) ([]orb.Bound, error)
	// Readmit forgets a removal; false if there is none of the id. Its tracks come back when
	// they are collected again.
	Readmit(ctx context.Context, id int64) (bool, error)
	// Removals are all of them, the oldest first.
	Removals(ctx context.Context) ([]Removal, error)
}

// PrivateStore is a Store that keeps zones and removals.
type PrivateStore interface {
	Store
	ZoneStore
	RemovalStore
}
