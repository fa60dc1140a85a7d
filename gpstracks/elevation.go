package gpstracks

import (
	"encoding/binary"
	"errors"
	"math"
	"slices"
)

// Elevation measures the ups and downs of a track, in metres above the sea as its receiver or
// planner wrote them.
type Elevation struct {
	AscentM, DescentM float64 // of changes of ascentThreshold and more
	MinM, MaxM        float64
	Profile           []ProfilePoint // simplified, from the start to the end, at most maxProfile
}

// ProfilePoint is an elevation at a distance along the track, both in metres.
type ProfilePoint struct{ AlongM, EleM float64 }

const (
	// ascentThreshold is the change of elevation in metres below which it is noise of the
	// receiver, and neither ascent nor descent.
	ascentThreshold = 5.0
	// maxProfile bounds the points of a profile.
	maxProfile = 64
)

// MeasureElevation measures the elevations of the lines of a track; AlongM goes on from line to
// line. It is nil for less than two of them, and where all are 0, as exporters write them for
// want of any.
func MeasureElevation(lines [][]ProfilePoint) *Elevation {
	all := slices.Concat(lines...)
	if len(all) < 2 || !slices.ContainsFunc(all, func(p ProfilePoint) bool { return p.EleM != 0 }) {
		return nil
	}
	e := &Elevation{MinM: all[0].EleM, MaxM: all[0].EleM}
	for _, line := range lines {
		e.climb(line)
	}
	e.Profile = thinned(all, e.MaxM-e.MinM)
	return e.rounded()
}

// climb adds the ascent and descent of a line: what lies between turning points that are at
// least the threshold apart.
func (e *Elevation) climb(line []ProfilePoint) {
	if len(line) == 0 {
		return
	}
	low, high, up, down := line[0].EleM, line[0].EleM, false, false
	for _, p := range line {
		e.MinM, e.MaxM = min(e.MinM, p.EleM), max(e.MaxM, p.EleM)
		switch {
		case up && p.EleM > high, down && p.EleM < low:
			low, high = min(low, p.EleM), max(high, p.EleM)
		case !up && !down:
			low, high = min(low, p.EleM), max(high, p.EleM)
			up, down = p.EleM-low >= ascentThreshold, high-p.EleM >= ascentThreshold
		case up && high-p.EleM >= ascentThreshold:
			e.AscentM += high - low
			low, up, down = p.EleM, false, true
		case down && p.EleM-low >= ascentThreshold:
			e.DescentM += high - low
			high, up, down = p.EleM, true, false
		}
	}
	if up {
		e.AscentM += high - low
	}
	if down {
		e.DescentM += high - low
	}
}

// thinned are the points that shape a profile most.
func thinned(all []ProfilePoint, height float64) []ProfilePoint {
	if len(all) <= maxProfile {
		return all
	}
	length := all[len(all)-1].AlongM
	plane := make([]XY, len(all))
	for i, p := range all {
		plane[i] = XY{p.AlongM / max(length, 1), p.EleM / max(height, 1)}
	}
	var s Simplifier
	weights := s.Weights(plane)
	weights[0], weights[len(all)-1] = math.Inf(1), math.Inf(1)
	limits := slices.Clone(weights[1 : len(all)-1])
	slices.Sort(limits)
	least, inner := limits[len(limits)-maxProfile+1], 0
	out := make([]ProfilePoint, 0, maxProfile)
	for i, p := range all {
		last := i == len(all)-1
		if i == 0 || last || weights[i] > least && inner < maxProfile-2 {
			if i > 0 && !last {
				inner++
			}
			out = append(out, p)
		}
	}
	return out
}

// rounded returns the values that stores keep: metres along, and tenths of a metre of elevation. It is nil for
// what no elevation can be.
func (e *Elevation) rounded() *Elevation {
	if e == nil || len(e.Profile) < 2 || len(e.Profile) > maxProfile {
		return nil
	}
	r := &Elevation{tenths(e.AscentM), tenths(e.DescentM), tenths(e.MinM), tenths(e.MaxM), make([]ProfilePoint, len(e.Profile))}
	sum := r.AscentM + r.DescentM + math.Abs(r.MinM) + math.Abs(r.MaxM)
	for i, p := range e.Profile {
		r.Profile[i] = ProfilePoint{math.Round(p.AlongM), tenths(p.EleM)}
		sum += math.Abs(p.AlongM) + math.Abs(p.EleM)
	}
	if !(sum < 1e12) { // NaN too
		return nil
	}
	return r
}

func tenths(v float64) float64 { return math.Round(v*10) / 10 }

// errProfile is the error of every damaged profile.
var errProfile = errors.New("gps track: a stored elevation profile is damaged: collect the track again")

// AppendProfile writes a profile as stores keep it: differences as varints, of metres along
// and tenths of a metre of elevation. That of a Track that has passed Prepare comes back as it
// was.
func AppendProfile(dst []byte, profile []ProfilePoint) []byte {
	var along, high int64
	for _, p := range profile {
		a, h := int64(math.Round(p.AlongM)), int64(math.Round(p.EleM*10))
		dst = binary.AppendVarint(dst, a-along)
		dst = binary.AppendVarint(dst, h-high)
		along, high = a, h
	}
	return dst
}

// ParseProfile reads what AppendProfile wrote.
func ParseProfile(b []byte) (out []ProfilePoint, err error) {
	var along, high int64
	for len(b) > 0 && len(out) < maxProfile {
		a, n := binary.Varint(b)
		if n <= 0 {
			return nil, errProfile
		}
		h, m := binary.Varint(b[n:])
		if m <= 0 {
			return nil, errProfile
		}
		along, high, b = along+a, high+h, b[n+m:]
		out = append(out, ProfilePoint{float64(along), float64(high) / 10})
	}
	if len(b) > 0 {
		return nil, errProfile
	}
	return out, nil
}
