package trackfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/muktihari/fit/decoder"
	"github.com/muktihari/fit/kit/datetime"
	"github.com/muktihari/fit/profile/basetype"
	"github.com/muktihari/fit/profile/factory"
	"github.com/muktihari/fit/profile/typedef"
	"github.com/muktihari/fit/profile/untyped/fieldnum"
	"github.com/muktihari/fit/profile/untyped/mesgnum"
	"github.com/muktihari/fit/proto"
	"github.com/paulmach/orb"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/internal/run"
)

// readFIT reads the sessions and courses of a FIT file, one after the other. The points of
// one are one segment: a recorder that pauses writes nothing. A panic of the decoder is an error
// of the file.
func readFIT(body []byte, most int) (tracks []gpx.Track, err error) {
	panicked := run.Guard("decoder of FIT", func() { tracks, err = decodeFIT(body, most) })
	if panicked != nil {
		return nil, errors.New("FIT: the file is damaged: its decoder failed")
	}
	return tracks, err
}

func decodeFIT(body []byte, most int) (tracks []gpx.Track, err error) {
	r := &recording{left: most}
	waypoints := 0
	for first := true; first || len(body) > 0; first = false { // files may be chained
		// A device that has died has left no size.
		if head := leastHeader + 2; len(body) > head && binary.LittleEndian.Uint32(body[4:]) == 0 {
			body = slices.Clone(body)
			binary.LittleEndian.PutUint32(body[4:], uint32(len(body)-int(body[0]))) //nolint:gosec // of a file that is held
		}
		file, cut := body, true
		if len(body) >= leastHeader {
			if n := int64(body[0]) + int64(binary.LittleEndian.Uint32(body[4:])) + 2; n <= int64(len(body)) {
				file, cut = body[:n], false
			}
		}
		var err error
		if !cut && crc16(file) != 0 {
			err = errors.New("its checksum is not that of its bytes")
		} else {
			_, err = decoder.New(bytes.NewReader(file), decoder.WithMesgListener(r), decoder.WithBroadcastOnly(),
				decoder.WithNoComponentExpansion(),
				decoder.WithIgnoreChecksum(), decoder.WithFactory(withoutDescriptions{})).Decode()
		}
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case r.left < 0:
			return nil, &limitError{fmt.Sprintf("FIT: there are more than %d points and sessions", most)}
		case err != nil && (!cut || !ended || len(r.points) == 0):
			if n := len(tracks); n > 0 { // those before it are whole
				tracks[n-1].CutOff = true
				return tracks, nil
			}
			return nil, fmt.Errorf("FIT: the file is damaged: %w", err)
		}
		r.CutOff = cut
		if waypoints += r.waypoints; r.records > 0 {
			tracks = append(tracks, r.tracks()...)
		}
		*r, body = recording{left: r.left}, body[len(file):]
	}
	if len(tracks) == 0 && waypoints > 0 {
		return nil, &gpx.WaypointsError{Waypoints: waypoints}
	}
	return tracks, nil
}

// leastHeader is the size of the shorter of the two headers that there are.
const leastHeader = 12

// crc16 is the checksum of a file: of one that ends with its own it is 0. The decoder's leaves the header
// out where that has none, and so refuses what devices have written.
func crc16(body []byte) (sum uint16) {
	for _, b := range body {
		sum ^= uint16(b)
		for range 8 {
			sum = sum>>1 ^ sum&1*0xa001
		}
	}
	return sum
}

// withoutDescriptions hides what developer fields are, so that they are passed over by their size: nobody
// reads them here, and the decoder refuses files whose descriptions are incomplete.
type withoutDescriptions struct{}

func (withoutDescriptions) CreateField(m typedef.MesgNum, num byte) proto.Field {
	if m == mesgnum.FieldDescription {
		num = 0xfe // there is none
	}
	return factory.StandardFactory().CreateField(m, num)
}

// recording collects the messages of one file.
type recording struct {
	gpx.Track

	points    []gpx.Point
	sessions  []session
	barometer bool
	records   int
	waypoints int
	left      int // points and sessions that it may still hold
}

// session is one sport of an activity.
type session struct {
	start    time.Time
	sport    string
	up, down uint16 // metres, by the device
}

// tracks divides the points where sessions begin: the message of one may stand before or behind its points.
func (r *recording) tracks() []gpx.Track {
	slices.SortStableFunc(r.sessions, func(a, b session) int { return a.start.Compare(b.start) })
	out := make([]gpx.Track, max(1, len(r.sessions)))
	for i := range out {
		t, own := r.Track, r.points
		if i < len(r.sessions) {
			s := r.sessions[i]
			if len(r.sessions) > 1 {
				t.Type = s.sport
			}
			if r.barometer && s.up != basetype.Uint16Invalid && s.down != basetype.Uint16Invalid {
				t.Barometer, t.Ascent, t.Descent = true, float64(s.up), float64(s.down)
			}
		}
		if i+1 < len(r.sessions) {
			end := slices.IndexFunc(own, func(p gpx.Point) bool { return !p.Time.Before(r.sessions[i+1].start) })
			if end < 0 {
				end = len(own)
			}
			own, r.points = own[:end], own[end:]
		}
		if len(own) > 0 {
			t.Segments = [][]gpx.Point{own}
		}
		out[i] = t
	}
	if len(out) > 1 { // in a hall, or between two sports
		out = slices.DeleteFunc(out, func(t gpx.Track) bool { return len(t.Segments) == 0 })
	}
	return out
}

func (r *recording) OnMesg(m proto.Message) {
	switch m.Num {
	case mesgnum.Record:
		r.record(&m)
	case mesgnum.Session: // which may be a single byte
		if r.left--; r.left < 0 {
			return
		}
		s := session{up: m.FieldValueByNum(fieldnum.SessionTotalAscent).Uint16(),
			down: m.FieldValueByNum(fieldnum.SessionTotalDescent).Uint16()}
		if at := m.FieldValueByNum(fieldnum.SessionStartTime).Uint32(); at != basetype.Uint32Invalid {
			s.start = datetime.ToTime(at).UTC()
		}
		sport, sub := m.FieldValueByNum(fieldnum.SessionSport), m.FieldValueByNum(fieldnum.SessionSubSport)
		addSport(&r.Type, sport, sub)
		addSport(&s.sport, sport, sub)
		r.sessions = append(r.sessions, s)
	case mesgnum.DeviceInfo:
		const barometer = 4 // of what a device has in it
		r.barometer = r.barometer || m.FieldValueByNum(fieldnum.DeviceInfoDeviceType).Uint8() == barometer &&
			m.FieldValueByNum(fieldnum.DeviceInfoSourceType).Uint8() == typedef.SourceTypeLocal.Byte()
	case mesgnum.Sport:
		addSport(&r.Type, m.FieldValueByNum(fieldnum.SportSport), m.FieldValueByNum(fieldnum.SportSubSport))
	case mesgnum.Course:
		r.Route, r.Name = true, m.FieldValueByNum(fieldnum.CourseName).String()
		addSport(&r.Type, m.FieldValueByNum(fieldnum.CourseSport), m.FieldValueByNum(fieldnum.CourseSubSport))
	case mesgnum.Workout:
		r.Desc = m.FieldValueByNum(fieldnum.WorkoutWktName).String()
	case mesgnum.CoursePoint:
		r.waypoints++
	}
}

// addSport appends the words of a sport that are new.
func addSport(to *string, sport, sub proto.Value) {
	for _, word := range []string{typedef.Sport(sport.Uint8()).String(), typedef.SubSport(sub.Uint8()).String()} {
		if !strings.Contains(word, "Invalid") && word != "generic" && !strings.Contains(*to, word) {
			*to = strings.TrimSpace(*to + " " + word)
		}
	}
}

// record reads a point. One without a position, as of a treadmill, is none.
func (r *recording) record(m *proto.Message) {
	if r.records++; r.left <= 0 {
		r.left = -1
		return
	}
	lon, lat := m.FieldValueByNum(fieldnum.RecordPositionLong).Int32(), m.FieldValueByNum(fieldnum.RecordPositionLat).Int32()
	if lon == basetype.Sint32Invalid || lat == basetype.Sint32Invalid {
		return
	}
	r.left--
	const semicircle = 180.0 / (1 << 31) // degrees
	p := gpx.Point{At: orb.Point{float64(lon) * semicircle, float64(lat) * semicircle}}
	if p.At[1] > 90 || p.At[1] < -90 {
		r.BadPoints++
		return
	}
	if at := m.FieldValueByNum(fieldnum.RecordTimestamp).Uint32(); at != basetype.Uint32Invalid {
		p.Time = datetime.ToTime(at).UTC()
	}
	if high := m.FieldValueByNum(fieldnum.RecordEnhancedAltitude).Uint32(); high != basetype.Uint32Invalid {
		p.Ele, p.HasEle = float64(high)/5-500, true
	} else if high := m.FieldValueByNum(fieldnum.RecordAltitude).Uint16(); high != basetype.Uint16Invalid {
		p.Ele, p.HasEle = float64(high)/5-500, true
	}
	r.points = append(r.points, p)
}
