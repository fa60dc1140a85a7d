package gpstracks

import "maps"

// Reason records why a track was not kept, or not as its source gave it. Its text is
// stored, and part of what health answers.
type Reason string

// The reasons. The first four are of files, which count as one track each.
const (
	ReasonUnreadable Reason = "unreadable" // the file cannot be read whole
	ReasonForeign    Reason = "foreign"    // the file is of a format that is not read
	ReasonWaypoints  Reason = "waypoints"  // the file holds single points, and neither tracks nor routes
	ReasonNoTracks   Reason = "no_tracks"  // the file holds neither tracks nor routes
	ReasonNoTimes    Reason = "no_times"   // anonymous points without times: in no order
	ReasonGaps       Reason = "gaps"       // anonymous points with something missing between them: a line ends there
	ReasonBadPoints  Reason = "bad_points" // points that are not on earth
	ReasonOnePlace   Reason = "one_place"  // a segment whose points are all the same
	ReasonOnePoint   Reason = "one_point"  // a segment of a single point
	ReasonNoPoints   Reason = "no_points"
	ReasonInvalid    Reason = "invalid"   // Prepare refuses it, as for more than MaxPoints
	ReasonRights     Reason = "rights"    // the file says that all rights are reserved
	ReasonBadTimes   Reason = "bad_times" // times that cannot be read; the points stay
	ReasonCutOff     Reason = "cut_off"   // the file ends in the middle; what was read before stays
	ReasonSpikes     Reason = "spikes"    // outliers, which were dropped as points; the line goes on
	ReasonRemoved    Reason = "removed"   // a Removal is of the track
	ReasonHidden     Reason = "hidden"    // what lies in a Zone: all of the track, or a part
)

// Reasons are all reasons. Where several hold for a track that is not kept, the
// first one counts.
func Reasons() []Reason {
	return []Reason{
		ReasonUnreadable, ReasonForeign, ReasonWaypoints, ReasonNoTracks, ReasonNoTimes, ReasonGaps, ReasonBadPoints, ReasonOnePlace,
		ReasonOnePoint,
		ReasonNoPoints, ReasonInvalid, ReasonRights, ReasonBadTimes, ReasonCutOff, ReasonSpikes, ReasonRemoved, ReasonHidden,
	}
}

// Words is the reason for people: what of the track was left out, or what it is.
func (r Reason) Words() string {
	switch r {
	case ReasonUnreadable:
		return "the file cannot be read"
	case ReasonForeign:
		return "the file is of a format that is not read"
	case ReasonWaypoints:
		return "the file holds single points, and no track or route"
	case ReasonNoTracks:
		return "the file holds no track and no route"
	case ReasonNoTimes:
		return "anonymous points without times"
	case ReasonGaps:
		return "gaps between anonymous points"
	case ReasonBadPoints:
		return "points that are not on earth"
	case ReasonOnePlace:
		return "a line that stays in one place"
	case ReasonOnePoint:
		return "a line of a single point"
	case ReasonNoPoints:
		return "no points"
	case ReasonInvalid:
		return "what no track may be, such as of too many points"
	case ReasonRights:
		return "a file that reserves all rights: take that out if they are yours"
	case ReasonBadTimes:
		return "times that cannot be read"
	case ReasonCutOff:
		return "a file that ends in the middle"
	case ReasonSpikes:
		return "points that nobody can have reached"
	case ReasonRemoved:
		return "removed at somebody's wish"
	case ReasonHidden:
		return "what lies in a zone that is hidden"
	}
	return string(r)
}

// Tally is a number of tracks for each reason; nil if there is none. It is a value:
// Add makes a new one.
type Tally map[Reason]int

// AddN is the tally with n tracks more for a reason.
func (t Tally) AddN(n int, why Reason) Tally {
	if n == 0 {
		return t
	}
	sum := t.Add()
	sum[why] += n
	return sum
}

// Add is the tally with one track more for each of the reasons.
func (t Tally) Add(reasons ...Reason) Tally {
	sum := maps.Clone(t)
	if sum == nil {
		sum = Tally{}
	}
	for _, r := range reasons {
		sum[r]++
	}
	return sum
}
