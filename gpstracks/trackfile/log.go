package trackfile

import (
	"bytes"
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// readLog reads the lines of a receiver, whose points are one track: B records of IGC, and RMC and GGA sentences of NMEA 0183,
// of which those of one time are a point. A line that is damaged counts as a bad point.
func readLog(format Format, body []byte, most int) ([]gpx.Track, error) {
	l := logbook{clock: -1}
	read := l.igc
	if format == formatNMEA {
		read = l.nmea
	} else {
		l.Type = gpx.Flight
	}
	for line := range bytes.Lines(body) {
		if !read(strings.TrimSpace(string(line))) {
			l.BadPoints++
		}
		if len(l.points) > most {
			return nil, &limitError{fmt.Sprintf("%s: there are more than %d points", format, most)}
		}
	}
	if len(l.points)+l.BadPoints == 0 {
		return nil, nil
	}
	l.Segments = [][]gpx.Point{l.points}
	return []gpx.Track{l.Track}, nil
}

// logbook is a log while it is read.
type logbook struct {
	gpx.Track

	points []gpx.Point
	clock  float64   // of the last point, as it is written
	day    time.Time // of the last date; zero before one
	last   time.Time
}

// at is a time of the day, on the day of the log: after midnight on the next one.
func (l *logbook) at(clock string) time.Time {
	t, err := time.Parse("150405", clock[:min(len(clock), 6)])
	if err != nil || l.day.IsZero() {
		return time.Time{}
	}
	t = l.day.Add(t.Sub(t.Truncate(24 * time.Hour)))
	if t.Before(l.last.Add(-12 * time.Hour)) {
		l.day, t = l.day.AddDate(0, 0, 1), t.AddDate(0, 0, 1)
	}
	l.last = t
	return t
}

func (l *logbook) date(text string) {
	if day, err := time.Parse("020106", text); err == nil && !day.Equal(l.day) {
		l.day, l.last = day, time.Time{}
	}
}

// igc reads a record: HFDTE has the date, B a point.
func (l *logbook) igc(s string) bool {
	switch {
	case strings.HasPrefix(s, "HFDTE"):
		date := strings.TrimLeft(s[5:], "DATE: ")
		l.date(date[:min(len(date), 6)])
	case strings.HasPrefix(s, "HFGID") || strings.HasPrefix(s, "HFGTY"): // the glider, not its pilot
		_, l.Desc, _ = strings.Cut(s, ":")
	case strings.HasPrefix(s, "B"):
		if len(s) < 35 || !strings.ContainsAny(s[24:25], "AV") {
			return false
		}
		l.clock = -1 // each is a point
		p := l.fix(s[1:7], s[7:11]+"."+s[11:14], s[14:15], s[15:20]+"."+s[20:23], s[23:24])
		for _, high := range [...]string{s[30:35], s[25:30]} { // of the receiver, else by air pressure
			if m, err := strconv.Atoi(high); err == nil && m != 0 && p != nil && !p.HasEle {
				p.Ele, p.HasEle = float64(m), true
			}
		}
		return p != nil
	}
	return true
}

// nmea reads a sentence: RMC and GGA have a point, RMC and ZDA a date.
func (l *logbook) nmea(s string) bool {
	text, sum, checked := strings.Cut(strings.TrimPrefix(s, "$"), "*")
	if want, err := strconv.ParseUint(sum, 16, 8); checked {
		for _, b := range []byte(text) {
			want ^= uint64(b)
		}
		if err != nil || want != 0 {
			return false
		}
	}
	f := strings.Split(text, ",")
	switch kind := f[0][max(0, len(f[0])-3):]; {
	case kind == "ZDA" && len(f) > 4:
		l.date(f[2] + f[3] + f[4][max(0, len(f[4])-2):])
	case len(f) < 10: // another, or cut off
	case kind == "GGA" && f[6] > "0":
		p := l.fix(f[1], f[2], f[3], f[4], f[5])
		if m, err := strconv.ParseFloat(f[9], 64); err == nil && p != nil {
			p.Ele, p.HasEle = m, true
		}
		return p != nil
	case kind == "RMC" && f[2] == "A":
		l.date(f[9])
		return l.fix(f[1], f[3], f[4], f[5], f[6]) != nil
	}
	return true
}

// fix is the point of a time; nil where it is damaged.
func (l *logbook) fix(clock, lat, south, lon, west string) *gpx.Point {
	number, err := strconv.ParseFloat(clock, 64)
	if err != nil || number != l.clock {
		p, ok := located(lat, south, lon, west)
		if !ok {
			return nil
		}
		l.points, l.clock = append(l.points, p), number
	}
	last := &l.points[len(l.points)-1]
	last.Time = l.at(clock)
	return last
}

// located is a point of degrees and minutes, as ddmm.mmm and dddmm.mmm.
func located(lat, south, lon, west string) (gpx.Point, bool) {
	degrees := func(text string, whole int, mark string) (float64, bool) {
		if len(text) < whole+2 {
			return 0, false
		}
		d, err1 := strconv.ParseUint(text[:whole], 10, 8)
		m, err2 := strconv.ParseFloat(text[whole:], 64)
		v := float64(d) + m/60
		if mark == "S" || mark == "W" {
			v = -v
		}
		return v, err1 == nil && err2 == nil && m >= 0 && m < 60
	}
	y, ok1 := degrees(lat, 2, south)
	x, ok2 := degrees(lon, 3, west)
	return gpx.Point{At: orb.Point{x, y}}, ok1 && ok2 && math.Abs(y) <= 90 && math.Abs(x) <= 180
}
