package trackfile

import (
	"bytes"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// readLog reads the lines of a receiver, of which each is a point of one track: B records of IGC, RMC and GGA
// sentences of NMEA 0183. A line that is damaged counts as a bad point.
func readLog(format Format, body []byte, most int) ([]gpx.Track, error) {
	l := logbook{}
	read := l.igc
	if format == formatNMEA {
		read = l.nmea
	} else {
		l.Type = gpx.Flight
	}
	var points []gpx.Point
	for line := range bytes.Lines(body) {
		p, fix, ok := read(strings.TrimSpace(string(line)))
		switch {
		case !ok:
			l.BadPoints++
		case fix && len(points) == most:
			return nil, &limitError{fmt.Sprintf("%s: there are more than %d points", format, most)}
		case fix:
			points = append(points, p)
		}
	}
	if len(points) == 0 && l.BadPoints == 0 {
		return nil, nil
	}
	l.Segments = [][]gpx.Point{points}
	return []gpx.Track{l.Track}, nil
}

// logbook is a log while it is read.
type logbook struct {
	gpx.Track

	day  time.Time // of the last date; zero before one
	last time.Time
	ele  map[string]float64 // metres, by the time of a GGA sentence
}

// at is a time of the day, on the day of the log: after midnight on the next one.
func (l *logbook) at(clock string) time.Time {
	t, err := time.Parse("150405", clock[:min(len(clock), 6)])
	if err != nil || l.day.IsZero() {
		return time.Time{}
	}
	t = l.day.Add(time.Duration(t.Hour())*time.Hour + time.Duration(t.Minute())*time.Minute + time.Duration(t.Second())*time.Second)
	if t.Before(l.last.Add(-12 * time.Hour)) {
		l.day, t = l.day.AddDate(0, 0, 1), t.AddDate(0, 0, 1)
	}
	l.last = t
	return t
}

func (l *logbook) date(text string) {
	if day, err := time.Parse("020106", text); err == nil {
		l.day, l.last = day, time.Time{}
	}
}

// igc reads a record: HFDTE has the date, B a point.
func (l *logbook) igc(s string) (p gpx.Point, fix, ok bool) {
	switch {
	case strings.HasPrefix(s, "HFDTE"):
		date := strings.TrimLeft(strings.TrimPrefix(s[5:], "DATE"), ": ")
		l.date(date[:min(len(date), 6)])
	case strings.HasPrefix(s, "HFGID") || strings.HasPrefix(s, "HFGTY"): // the glider, not its pilot
		_, l.Desc, _ = strings.Cut(s, ":")
	case strings.HasPrefix(s, "B"):
		if len(s) < 35 || !strings.ContainsAny(s[24:25], "AV") {
			return p, false, false
		}
		if p, ok = located(s[7:9]+s[9:11]+"."+s[11:14], s[14:15], s[15:18]+s[18:20]+"."+s[20:23], s[23:24]); !ok {
			return p, false, false
		}
		for _, high := range [...]string{s[30:35], s[25:30]} { // of the receiver, else by air pressure
			if m, err := strconv.Atoi(high); err == nil && m != 0 && !p.HasEle {
				p.Ele, p.HasEle = float64(m), true
			}
		}
		p.Time = l.at(s[1:7])
		return p, true, true
	}
	return p, false, true
}

// nmea reads a sentence: RMC is a point, and GGA has its elevation.
func (l *logbook) nmea(s string) (p gpx.Point, fix, ok bool) {
	text, sum, checked := strings.Cut(strings.TrimPrefix(s, "$"), "*")
	if want, err := strconv.ParseUint(sum, 16, 8); checked {
		for _, b := range []byte(text) {
			want ^= uint64(b)
		}
		if err != nil || want != 0 {
			return p, false, false
		}
	}
	f := strings.Split(text, ",")
	switch {
	case strings.HasSuffix(f[0], "GGA") && len(f) > 9:
		if m, err := strconv.ParseFloat(f[9], 64); err == nil {
			l.ele = map[string]float64{f[1]: m}
		}
	case strings.HasSuffix(f[0], "RMC") && len(f) > 9 && f[2] == "A":
		if p, ok = located(f[3], f[4], f[5], f[6]); !ok {
			return p, false, false
		}
		if day, err := time.Parse("020106", f[9]); err == nil && !day.Equal(l.day) {
			l.date(f[9])
		}
		p.Ele, p.HasEle = l.ele[f[1]]
		p.Time = l.at(f[1])
		return p, true, true
	}
	return p, false, true
}

// located is a point of degrees and minutes, as ddmm.mmm and dddmm.mmm.
func located(lat, south, lon, west string) (p gpx.Point, ok bool) {
	degrees := func(text string, whole int, mark, negative string) (float64, bool) {
		if len(text) < whole+2 {
			return 0, false
		}
		d, err1 := strconv.ParseUint(text[:whole], 10, 8)
		m, err2 := strconv.ParseFloat(text[whole:], 64)
		v := float64(d) + m/60
		if mark == negative {
			v = -v
		}
		return v, err1 == nil && err2 == nil && m >= 0 && m < 60
	}
	y, ok1 := degrees(lat, 2, south, "S")
	x, ok2 := degrees(lon, 3, west, "W")
	return gpx.Point{At: orb.Point{x, y}}, ok1 && ok2 && y >= -90 && y <= 90 && x >= -180 && x <= 180
}
