package gpx_test

import (
	"strings"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
)

// A TCX file of an activity with laps, one of which has no place, and of a course.
func TestTCX(t *testing.T) {
	t.Parallel()
	tracks := readText(t, `  <?xml version="1.0"?><TrainingCenterDatabase `+
		`xmlns="http://www.garmin.com/xmlschemas/TrainingCenterDatabase/v2"><Activities>
<Activity Sport="Biking"><Id>2026-05-01T08:00:00Z</Id><Lap StartTime="2026-05-01T08:00:00Z"><Track>
<Trackpoint><Time>2026-05-01T08:00:00.000Z</Time><Position><LatitudeDegrees>46.5</LatitudeDegrees><LongitudeDegrees>`+
		`7.5</LongitudeDegrees></Position><AltitudeMeters>812.4</AltitudeMeters><HeartRateBpm><Value>99</Value></HeartRateBpm></Trackpoint>
<Trackpoint><Time>2026-05-01T08:00:01.000Z</Time></Trackpoint>
<Trackpoint><Time>2026-05-01T08:00:02.000Z</Time><Position><LatitudeDegrees>96.5</LatitudeDegrees><LongitudeDegrees>`+
		`7.5</LongitudeDegrees></Position></Trackpoint>
</Track></Lap><Lap><Track><Trackpoint><Time>2026-05-01T08:00:03.000Z</Time><Position><LatitudeDegrees>46.6</LatitudeDegrees>`+
		`<LongitudeDegrees>7.5</LongitudeDegrees></Position></Trackpoint></Track><Extensions/></Lap><Notes>Evening</Notes></Activity>`+
		`</Activities>
<Courses><Course><Name>Plan</Name><Track><Trackpoint><Position><LatitudeDegrees>1</LatitudeDegrees>`+
		`<LongitudeDegrees>2</LongitudeDegrees></Position></Trackpoint></Track><CoursePoint><Name>x</Name></CoursePoint></Course>`+
		`</Courses>`+
		`</TrainingCenterDatabase>`)
	at := time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC)
	require.Equal(t, []gpx.Track{
		{Type: "Biking", Desc: "Evening", BadPoints: 1, Segments: [][]gpx.Point{{
			{At: orb.Point{7.5, 46.5}, Time: at, Ele: 812.4, HasEle: true}, {At: orb.Point{7.5, 46.6}, Time: at.Add(3 * time.Second)},
		}}},
		{Name: "Plan", Route: true, Segments: [][]gpx.Point{{{At: orb.Point{2, 1}}}}},
	}, tracks)
}

// KML: lines, gx:Tracks with their times, and what is no track.
func TestKML(t *testing.T) {
	t.Parallel()
	tracks := readText(t, `<kml xmlns="http://www.opengis.net/kml/2.2" xmlns:gx="http://www.google.com/kml/ext/2.2"><Document><name>`+
		`no</name><Folder>
<Placemark><name>hut</name><Point><coordinates>7,46</coordinates></Point></Placemark>
<Placemark><name>Ridge</name><description>up</description><MultiGeometry><LineString><coordinates> 7.1,46.1,900
 7.2,46.2 7.3,x,5 </coordinates></LineString><LineString><coordinates>8,47 8,48</coordinates></LineString><Polygon/></MultiGeometry>`+
		`</Placemark>
<Placemark><gx:Track><when>2026-05-01T08:00:00Z</when><when>2026-05-01T08:00:05Z</when><when>soon</when><gx:coord>7 46 500</gx:coord>`+
		`<gx:coord/><gx:coord>7.1 46 510.5</gx:coord></gx:Track></Placemark>
</Folder></Document></kml>`)
	require.Equal(t, []gpx.Track{
		{Name: "Ridge", Desc: "up", BadPoints: 1, Segments: [][]gpx.Point{
			{{At: orb.Point{7.1, 46.1}, Ele: 900, HasEle: true}, {At: orb.Point{7.2, 46.2}}},
			{{At: orb.Point{8, 47}}, {At: orb.Point{8, 48}}},
		}},
		{BadTimes: 1, Segments: [][]gpx.Point{{
			{At: orb.Point{7, 46}, Time: time.Date(2026, 5, 1, 8, 0, 0, 0, time.UTC), Ele: 500, HasEle: true},
			{At: orb.Point{7.1, 46}, Ele: 510.5, HasEle: true},
		}}},
	}, tracks)
}

// A document of waypoints alone says how many, whatever its format; limits hold in every format.
func TestOtherEnds(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		`<gpx><wpt lat="1" lon="2"/><wpt lat="1" lon="3"/></gpx>`: "the file holds 2 " +
			"single points, and no track or route",
		`<kml><Placemark><Point><coordinates>1,2</coordinates></Point></Placemark></kml>`: "the file holds 1 " +
			"single points, and no track or route",
		`<kml><Placemark><LineString><coordinates>1,2 1,2 1,2 1,2 1,2</coordinates></LineString></Placemark></kml>`: "KML line 1: there " +
			"are more than 4 points",
		`<kml><Placemark><Track>` + strings.Repeat("<when/>", 5): "KML line 1: there " +
			"are more than 4 points",
		`<TrainingCenterDatabase><Activity><Lap><Track>` + strings.Repeat("<Trackpoint/>",
			5): "TCX line 1: there are more than 4 points",
		`<TrainingCenterDatabase><Activity>`: "TCX line 1: " +
			"unexpected EOF",
		`<kml><Placemark>` + strings.Repeat("<MultiGeometry>", 31): "KML line 1: " +
			"elements are more than 32 deep",
	} {
		_, err := read(strings.NewReader(text), gpx.Limits{Points: 4})
		require.EqualError(t, err, want, text)
	}
}

// Numbers in the place of types are Strava's alone, and offsets have several forms.
func TestHabits(t *testing.T) {
	t.Parallel()
	one := `<trk><type>9</type><trkseg><trkpt lat="1" lon="2"><ele>12,5</ele><time>2026-05-01T10:00:00+0200</time></trkpt><trkpt lat="1" lon="3"><ele>-99999</ele><time>2026-05-01 08:00:00</time></trkpt></trkseg></trk></gpx>`
	for creator, want := range map[string]string{"StravaGPX Android": "running", "else": "9"} {
		got := readText(t, `<gpx creator="`+creator+`">`+one)[0]
		require.Equal(t, want, got.Type)
		require.Zero(t, got.BadTimes)
		require.True(t, got.Segments[0][0].Time.Equal(got.Segments[0][1].Time))
		require.False(t, got.Segments[0][0].HasEle || got.Segments[0][1].HasEle, "no elevation is better than a wrong one")
	}
}
