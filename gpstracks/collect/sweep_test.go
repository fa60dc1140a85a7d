package collect_test

import (
	"math"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

func config() collect.Config {
	off := collect.Source{Name: "off", Kind: collect.Placeholder}
	proposed := collect.Source{Name: "proposed", Kind: collect.Placeholder, Enabled: true}
	files := collect.Source{Name: "local", Kind: collect.Files, Enabled: true, KeepFor: time.Hour}
	idle := region()
	idle.Name, idle.Enabled = "idle", false
	idle.Areas = []collect.Area{{Bounds: orb.Bound{Min: orb.Point{20, 46}, Max: orb.Point{21, 47}}}}
	return collect.Config{Sources: []collect.Source{source(), off, proposed, files}, Regions: []collect.Region{region(), idle}}
}

// A sweep names what it will remove and why, and a dry one removes nothing.
func TestSweep(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	now := r.o.Now()
	put := func(source string, lon float64, seen time.Time) {
		k, err := gpstracks.Prepare(gpstracks.Track{Source: source, Lines: orb.MultiLineString{{{lon, 46.2}, {lon + 0.02, 46.3}}},
			LastSeenAt: seen})
		require.NoError(t, err)
		_, err = r.store.Upsert(t.Context(), []gpstracks.Track{k})
		require.NoError(t, err)
	}
	r.o.Licences = append(licences(), collect.Licence{Record: "proposed.md", Source: "proposed", Status: "proposed"})
	put("osm", 7.1, now)
	put("osm", 6.99, now) // reaches into the region
	put("osm", 20.2, now)
	put("osm", 20.3, now)
	put("osm", 7.2, now.AddDate(0, 0, -31))
	put("osm", 7.3, now.AddDate(0, 0, -30))
	put("off", 7.4, now)
	put("unknown", 7.5, now)
	put("proposed", 7.6, now)
	put("local", 100, now)
	put("local", 101, now.Add(-2*time.Hour))
	put("osm", 101, now) // which another source has is not seen at its own
	r.o.DryRun = true
	s, err := r.collector().PlanSweep(t.Context(), config())
	require.NoError(t, err)
	require.Equal(t, 7, s.Total)
	require.Equal(t, []collect.SweepReason{
		{"in no region that is switched on (source osm)", 2},
		{"not seen for 0 days (source local)", 1},
		{"not seen for 30 days (source osm)", 1},
		{"source off is switched off", 1},
		{"source unknown is not configured", 1},
		{"the licence record of source proposed is proposed", 1},
	}, s.Reasons)
	removed, err := r.collector().Sweep(t.Context(), s)
	require.NoError(t, err)
	require.Zero(t, removed)
	require.Len(t, r.list(), 11)

	r.o.DryRun = false
	removed, err = r.collector().Sweep(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, 7, removed)
	require.Equal(t, 7, r.changed)
	require.Len(t, r.list(), 4)
	s, err = r.collector().PlanSweep(t.Context(), config())
	require.NoError(t, err)
	require.Zero(t, s.Total)
}

// The first field that is wrong is named.
func TestCheck(t *testing.T) {
	t.Parallel()
	require.NoError(t, config().Check())
	for want, change := range map[string]func(*collect.Config){
		"sources, entry 1: name is not a name of a-z, 0-9, - and _":        func(c *collect.Config) { c.Sources[0].Name = "../osm" },
		"sources, entry 2: name is used twice":                             func(c *collect.Config) { c.Sources[1].Name = "osm" },
		"sources, entry 1: kind is none of osm, files and placeholder":     func(c *collect.Config) { c.Sources[0].Kind = "wms" },
		"sources, entry 1: url is missing":                                 func(c *collect.Config) { c.Sources[0].URL = "" },
		"sources, entry 1: max_area is not from 0.01 to 10 square degrees": func(c *collect.Config) { c.Sources[0].MaxArea = math.NaN() },
		"sources, entry 1: page_size and max_pages must be at least 1":     func(c *collect.Config) { c.Sources[0].MaxPages = 0 },
		"sources, entry 4: pause and keep_days cannot be negative":         func(c *collect.Config) { c.Sources[3].KeepFor = -1 },
		"regions, entry 1: name is not a name of a-z, 0-9, - and _":        func(c *collect.Config) { c.Regions[0].Name = "" },
		"regions, entry 2: name is used twice":                             func(c *collect.Config) { c.Regions[1].Name = "alps" },
		"regions, entry 2: areas are missing":                              func(c *collect.Config) { c.Regions[1].Areas = nil },
		"regions, entry 1: areas have 3600 square degrees, and 1000 are the most that is asked for box by box": func(c *collect.Config) {
			c.Regions[0].Areas = []collect.Area{{Bounds: orb.Bound{Max: orb.Point{60, 60}}}}
		},
	} {
		c := config()
		change(&c)
		require.EqualError(t, c.Check(), want)
	}
	nan, inf := math.NaN(), math.Inf(1)
	for _, b := range [][4]float64{ // west, south, east, north
		{nan, 0, 1, 1}, {0, 0, nan, 1}, {0, nan, 1, 1}, {0, 0, 1, nan}, {0, 0, inf, 1}, {0, 0, 181, 1}, {0, 0, 1, 91}, {-181, 0, 1, 1},
		{0, 0, 0, 1}, {0, 0, 1, 0}, {170, 0, -170, 1},
	} {
		c := config()
		c.Regions[0].Areas[0].Bounds = orb.Bound{Min: orb.Point{b[0], b[1]}, Max: orb.Point{b[2], b[3]}}
		require.ErrorContains(t, c.Check(), "whose bbox is not", "%v", b)
	}
}

// A track that two sources bring obeys the licence of the first, and is the second one's whole once that is taken back.
func TestTwoSources(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.o.Licences = append(licences(), collect.Licence{Source: "club", Status: "accepted", Attribution: "© clbu"})
	brings := func(source, name string) gpstracks.Track {
		r.ok(r.collector().Import(t.Context(), collect.Source{Name: source, Kind: collect.Files, Enabled: true}, []collect.File{
			fileOf("", `<gpx><trk><name>`+name+`</name><trkseg><trkpt lat="46" lon="7"/><trkpt lat="46.1" lon="7"/></trkseg></trk></gpx>`),
		}, trackfile.Limits{}, nil))
		require.Len(t, r.list(), 1)
		return r.list()[0]
	}
	brings("local", "")
	require.Empty(t, brings("club", "Ridge").Name)
	r.o.Licences[1].Status, r.o.DryRun = "rejected", true
	brings("club", "Ridge")
	require.Equal(t, 1, r.runs()[2].Inserted)
	r.o.DryRun = false
	got := brings("club", "Ridge")
	require.Equal(t, []string{"club", "Ridge", "© clbu"}, []string{got.Source, got.Name, got.Attribution})
	r.o.Licences[2].Attribution = "© club"
	require.Equal(t, "© club", brings("club", "").Attribution, "corrected")
}
