package trackfile

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"strings"

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
	"github.com/signalbox-dev/signalbox/internal/guard"
)

// readFIT reads the activities and courses of a FIT file, one after the other. The points of
// one are one segment: a recorder that pauses writes nothing. A panic of the decoder is an error
// of the file.
func readFIT(body []byte, most int) (tracks []gpx.Track, err error) {
	panicked := guard.Do("decoder of FIT", func() { tracks, err = decodeFIT(body, most) })
	if panicked != nil {
		return nil, errors.New("FIT: the file is damaged: its decoder failed")
	}
	return tracks, err
}

func decodeFIT(body []byte, most int) (tracks []gpx.Track, err error) {
	r := &recording{left: most}
	waypoints := 0
	for first := true; first || len(body) > 0; first = false { // files may be chained
		file, cut := body, true
		if len(body) >= leastHeader {
			if n := int64(body[0]) + int64(binary.LittleEndian.Uint32(body[4:])) + 2; n <= int64(len(body)) {
				file, cut = body[:n], false
			}
		}
		if !cut && crc16(file) != 0 {
			return nil, errors.New("FIT: the file is damaged: its checksum is not that of its bytes")
		}
		_, err := decoder.New(bytes.NewReader(file), decoder.WithMesgListener(r), decoder.WithBroadcastOnly(),
			decoder.WithNoComponentExpansion(),
			decoder.WithIgnoreChecksum(), decoder.WithFactory(withoutDescriptions{})).Decode()
		ended := errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF)
		switch {
		case r.left < 0:
			return nil, &LimitError{fmt.Sprintf("FIT: there are more than %d points", most)}
		case err != nil && (!cut || !ended || len(r.points) == 0):
			return nil, fmt.Errorf("FIT: the file is damaged: %w", err)
		}
		r.CutOff = cut
		if waypoints += r.waypoints; r.records > 0 {
			tracks = append(tracks, r.track())
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

// CreateField implements decoder.Factory.
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
	records   int
	waypoints int
	left      int // points that it may still hold
}

func (r *recording) track() gpx.Track {
	if len(r.points) > 0 {
		r.Segments = [][]gpx.Point{r.points}
	}
	return r.Track
}

// OnMesg implements decoder.MesgListener.
func (r *recording) OnMesg(m proto.Message) {
	switch m.Num {
	case mesgnum.Record:
		r.record(&m)
	case mesgnum.Session:
		r.sport(m.FieldValueByNum(fieldnum.SessionSport), m.FieldValueByNum(fieldnum.SessionSubSport))
	case mesgnum.Sport:
		r.sport(m.FieldValueByNum(fieldnum.SportSport), m.FieldValueByNum(fieldnum.SportSubSport))
	case mesgnum.Course:
		r.Route, r.Name = true, m.FieldValueByNum(fieldnum.CourseName).String()
		r.sport(m.FieldValueByNum(fieldnum.CourseSport), m.FieldValueByNum(fieldnum.CourseSubSport))
	case mesgnum.Workout:
		r.Desc = m.FieldValueByNum(fieldnum.WorkoutWktName).String()
	case mesgnum.CoursePoint:
		r.waypoints++
	}
}

// sport appends the words of a sport that are new.
func (r *recording) sport(sport, sub proto.Value) {
	for _, word := range []string{typedef.Sport(sport.Uint8()).String(), typedef.SubSport(sub.Uint8()).String()} {
		if !strings.Contains(word, "Invalid") && word != "generic" && !strings.Contains(r.Type, word) {
			r.Type = strings.TrimSpace(r.Type + " " + word)
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
