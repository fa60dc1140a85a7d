package collect

import (
	"errors"
	"math"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// FileReport tells the outcome of a file, or of a file in an archive.
type FileReport struct {
	File   string           `json:"file"`             // with the path in the archive
	Format trackfile.Format `json:"format,omitempty"` // if it is known
	Reason gpstracks.Reason `json:"reason,omitempty"` // why it gives no tracks
	Detail string           `json:"detail,omitempty"` // the reason in words
	Tracks []trackReport    `json:"tracks,omitempty"`
}

// trackReport tells the outcome of a track of a file.
type trackReport struct {
	Name         string             `json:"name,omitempty"`
	Route        bool               `json:"route,omitempty"`   // planned, not recorded
	Kept         bool               `json:"kept"`              // or known already; of a dry run: it would be
	Reason       gpstracks.Reason   `json:"reason,omitempty"`  // why it is not
	Changed      []gpstracks.Reason `json:"changed,omitempty"` // why it is not as the file has it
	BadPoints    int                `json:"bad_points,omitempty"`
	BadTimes     int                `json:"bad_times,omitempty"`
	Spikes       int                `json:"spikes,omitempty"` // points that were dropped as outliers
	Key          string             `json:"key,omitempty"`    // that of exact copies is the same
	Lines        int                `json:"lines,omitempty"`
	Points       int                `json:"points,omitempty"`
	LengthM      float64            `json:"length_m,omitempty"`
	Activity     gpstracks.Activity `json:"activity,omitempty"`
	ActivityFrom gpstracks.Evidence `json:"activity_from,omitempty"`
}

// reasonOf returns the reason of a document without tracks.
func reasonOf(d trackfile.Document) gpstracks.Reason {
	var waypoints *gpx.WaypointsError
	var foreign *trackfile.FormatError
	switch {
	case errors.As(d.Err, &waypoints):
		return gpstracks.ReasonWaypoints
	case errors.As(d.Err, &foreign):
		return gpstracks.ReasonForeign
	case d.Err != nil:
		return gpstracks.ReasonUnreadable
	case len(d.Tracks) == 0:
		return gpstracks.ReasonNoTracks
	}
	return ""
}

// reportOf reports a track: it is kept as k if rejected is empty.
func reportOf(t gpx.Track, k gpstracks.Track, spikes int, changed []gpstracks.Reason, rejected gpstracks.Reason) trackReport {
	r := trackReport{
		Name: title(t.Name), Route: t.Route, Kept: rejected == "", Reason: rejected, Changed: changed, BadPoints: t.BadPoints,
		BadTimes: t.BadTimes, Spikes: spikes,
	}
	if r.Kept {
		r.Key, r.Lines, r.Points, r.LengthM, r.Activity, r.ActivityFrom = k.Key, len(k.Lines), k.Points, math.Round(10*k.LengthM)/10,
			k.Activity, k.ActivityFrom
	}
	return r
}
