package trackhttp

import (
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// appendMeasures writes the properties of a feature that not every track has; what is not
// known is left out. profile writes the elevation profile too, as [along, elevation] in metres.
func appendMeasures(b []byte, t *gpstracks.Track, profile bool) []byte {
	if t.ActivityFrom != "" {
		b = appendString(append(b, `,"activity_from":`...), string(t.ActivityFrom))
	}
	if !t.StartedAt.IsZero() {
		b = appendTime(append(b, `,"started_at":`...), t.StartedAt)
		b = appendTime(append(b, `,"ended_at":`...), t.EndedAt)
		b = appendNumber(append(b, `,"duration_s":`...), t.EndedAt.Sub(t.StartedAt).Truncate(time.Second).Seconds())
		b = appendNumber(append(b, `,"moving_s":`...), t.Moving.Seconds())
	}
	e := t.Elevation
	if e == nil {
		return b
	}
	b = appendNumber(append(b, `,"ascent_m":`...), e.AscentM)
	b = appendNumber(append(b, `,"descent_m":`...), e.DescentM)
	b = appendNumber(append(b, `,"min_ele_m":`...), e.MinM)
	b = appendNumber(append(b, `,"max_ele_m":`...), e.MaxM)
	if !profile {
		return b
	}
	b = append(b, `,"profile":[`...)
	for i, p := range e.Profile {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(append(b, '['), p.AlongM)
		b = append(appendNumber(append(b, ','), p.EleM), ']')
	}
	return append(b, ']')
}

func appendTime(b []byte, t time.Time) []byte {
	return t.UTC().Truncate(time.Second).AppendFormat(b, `"`+time.RFC3339+`"`)
}

// appendNumber writes a number with at most one decimal.
func appendNumber(b []byte, v float64) []byte {
	b = strconv.AppendFloat(b, v, 'f', 1, 64)
	if n := len(b) - 2; b[n] == '.' && b[n+1] == '0' {
		b = b[:n]
	}
	return b
}
