package gpstracks_test

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/gpstracks"
)

// profile is a line of elevations, a hundred metres apart.
func profile(elevations ...float64) (out []gpstracks.ProfilePoint) {
	for i, e := range elevations {
		out = append(out, gpstracks.ProfilePoint{AlongM: 100 * float64(i), EleM: e})
	}
	return out
}

// Ascent and descent are what lies between turning points; less than the threshold is noise.
func TestMeasureElevation(t *testing.T) {
	t.Parallel()
	type profiles = [][]gpstracks.ProfilePoint
	for name, c := range map[string]struct {
		lines                   profiles
		ascent, descent, lo, hi float64
	}{
		"up":              {profiles{profile(100, 103, 106, 150)}, 50, 0, 100, 150},
		"down":            {profiles{profile(100, 98, 40)}, 0, 60, 40, 100},
		"noise":           {profiles{profile(100, 104, 100, 104.9, 101)}, 0, 0, 100, 104.9},
		"noise on a way":  {profiles{profile(100, 120, 116, 140, 137, 160)}, 60, 0, 100, 160},
		"over a pass":     {profiles{profile(500, 900, 300)}, 400, 600, 300, 900},
		"a dip":           {profiles{profile(100, 97, 130, 120, 125)}, 38, 10, 97, 130},
		"a jump between":  {profiles{profile(100, 110), profile(900, 890)}, 10, 10, 100, 900},
		"below the sea":   {profiles{profile(-400, -380.25)}, 19.8, 0, -400, -380.3},
		"nothing between": {profiles{nil, profile(1, 20), {}}, 19, 0, 1, 20},
	} {
		e := gpstracks.MeasureElevation(c.lines)
		require.InDeltaSlice(t, []float64{c.ascent, c.descent, c.lo, c.hi}, []float64{e.AscentM, e.DescentM, e.MinM, e.MaxM}, 0.06, name)
	}
	require.Nil(t, gpstracks.MeasureElevation(profiles{profile(0, 0, 0)}), "zeros stand for nothing")
	require.Nil(t, gpstracks.MeasureElevation(profiles{profile(7)}))
	require.Nil(t, gpstracks.MeasureElevation(profiles{profile(7, math.NaN())}))
}

// A profile has its ends, few points, and comes back from a store as it was.
func TestProfile(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		all := profile(rapid.SliceOfN(rapid.Float64Range(-400, 9000), 2, 300).Draw(t, "elevations")...)
		e := gpstracks.MeasureElevation([][]gpstracks.ProfilePoint{all})
		if e == nil {
			return
		}
		require.LessOrEqual(t, len(e.Profile), 64)
		require.Equal(t, []float64{0, all[len(all)-1].AlongM}, []float64{e.Profile[0].AlongM, e.Profile[len(e.Profile)-1].AlongM})
		again, err := gpstracks.ParseProfile(gpstracks.AppendProfile(nil, e.Profile))
		require.NoError(t, err)
		require.Equal(t, e.Profile, again)
	})
	peak := make([]float64, 500)
	peak[250] = 1000
	require.Contains(t, gpstracks.MeasureElevation([][]gpstracks.ProfilePoint{profile(peak...)}).Profile,
		gpstracks.ProfilePoint{AlongM: 25_000, EleM: 1000})
	for _, damaged := range [][]byte{{0x80}, {2, 0x80}, make([]byte, 1000)} {
		_, err := gpstracks.ParseProfile(damaged)
		require.Error(t, err)
	}
}

// The words of exporters and of people, and which of them decides.
func TestActivityOfExports(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]gpstracks.Activity{
		"ebikeride": "cycling", "EBikeRide": "cycling", "MountainBikeRide": "cycling", "touringbicycle": "cycling", "racebike": "cycling",
		"mtb_easy": "cycling", "Biking": "cycling",
		"road_biking": "cycling", "Morning Ride": "cycling", "EuroVelo 6": "cycling", "Radtour": "cycling", "VTT": "cycling",
		"骑行": "cycling", "gravel_cycling": "cycling",
		"trail_running": "running", "TrailRun": "running", "RUNNING": "running", "treadmill_running": "running", "Waldlauf": "running",
		"晨跑 跑步": "running", "Afternoon Run": "running",
		"hike": "hiking", "suuntoapp-Hiking": "hiking", "Fernwanderweg": "hiking", "casual_walking": "hiking", "mountaineering": "hiking",
		"Senderismo": "hiking", "徒步": "hiking", "周末徒步活动": "hiking", "登山": "hiking", "Snowshoe": "hiking", "Klettersteig": "hiking",
		"BackcountrySki": "skiing", "cross_country_skiing": "skiing", "Langlauf": "skiing", "snowboard": "skiing",
		"horseback_riding": "riding", "Horse ride": "riding", "StandUpPaddling": "boating", "Kayaking": "boating",
		"motorbike tour": "driving", "motorcycling": "driving",
		"multi_sport": "unknown", "Other": "unknown", "workout": "unknown", "golf course": "unknown", "Bride and pride": "unknown",
		"bike and hike": "unknown", "": "unknown",
	} {
		got, from := gpstracks.InferActivity([]gpstracks.Hint{{From: gpstracks.FromType, Text: text}}, nil)
		require.Equal(t, want, got, text)
		require.Equal(t, want == gpstracks.Unknown, from == "", text)
	}
	all := []gpstracks.Hint{{From: gpstracks.FromType, Text: "multi_sport"}, {From: gpstracks.FromKeywords, Text: "trip, cycling"},
		{From: gpstracks.FromName, Text: "Hike"}}
	got, from := gpstracks.InferActivity(all, nil)
	require.Equal(t, []any{gpstracks.Cycling, gpstracks.FromKeywords}, []any{got, from}, "the first that names one decides")
	constant := make([]float64, 100)
	for i := range constant {
		constant[i] = 3
	}
	got, from = gpstracks.InferActivity(nil, constant)
	require.Equal(t, []any{gpstracks.Unknown, gpstracks.Evidence("")}, []any{got, from}, "computed times say nothing")
}
