package gpsfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"testing/fstest"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gpsfile"
	"github.com/signalbox-dev/signalbox/gpstracks/collect"
)

func Example() {
	config, licences, err := gpsfile.Load(gpsfile.Paths{})
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, s := range config.Sources {
		fmt.Println(s.Name, s.Enabled, licences.Status(s.Name))
	}
	// Output:
	// osm true accepted
	// local true accepted
	// wikiloc false proposed
	// hikr false proposed
}

// What is built in: one open source of map data is on, two more are off and have
// no parser; one set of regions is on, one is off.
func TestBuiltIn(t *testing.T) {
	t.Parallel()
	config, licences, err := gpsfile.Load(gpsfile.Paths{})
	require.NoError(t, err)
	require.NoError(t, config.Check())
	on, off := map[collect.Kind]int{}, map[collect.Kind]int{}
	for _, s := range config.Sources {
		if s.Enabled {
			on[s.Kind]++
			_, err := licences.Allow(s.Name)
			require.NoError(t, err)
		} else {
			off[s.Kind]++
			_, err := licences.Allow(s.Name)
			require.Error(t, err)
		}
	}
	require.Equal(t, map[collect.Kind]int{collect.OSM: 1, collect.Files: 1}, on)
	require.Equal(t, map[collect.Kind]int{collect.Placeholder: 2}, off)
	osm, _ := config.Source("osm")
	require.LessOrEqual(t, osm.MaxArea, 0.25)
	require.GreaterOrEqual(t, osm.Pause, time.Second)
	require.True(t, osm.NeedTimes && !osm.KeepURL)
	require.Equal(t, 400*24*time.Hour, osm.KeepFor)
	require.Len(t, config.Regions, 2)
	require.True(t, config.Regions[0].Enabled && !config.Regions[1].Enabled)
	require.Equal(t, orb.Bound{Min: orb.Point{7.8, 46.5}, Max: orb.Point{8.15, 46.68}}, config.Regions[0].Areas[0].Bounds)
}

// Files of one's own take the place of those that are built in, each by itself.
func TestOwnFiles(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	sources := filepath.Join(dir, "s.yaml")
	require.NoError(t, os.WriteFile(sources, []byte("sources: [{name: club, kind: files, enabled: true}]"), 0o600))
	config, licences, err := gpsfile.Load(gpsfile.Paths{Sources: sources, Licences: dir})
	require.NoError(t, err)
	require.Len(t, config.Sources, 1)
	require.Len(t, config.Regions, 2)
	require.Empty(t, licences)
	_, licences, err = gpsfile.Load(gpsfile.Paths{Regions: filepath.Join(dir, "none.yaml")})
	require.EqualError(t, err, filepath.Join(dir, "none.yaml")+": cannot be read: no such file or directory")
	require.Equal(t, "accepted", licences.Status("osm"))
	_, _, err = gpsfile.Load(gpsfile.Paths{Licences: sources})
	require.EqualError(t, err, sources+": is no directory of licence records")
}

func TestBadFiles(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"":                      "f.yaml: sources: there is none",
		"sources: []":           "f.yaml: sources: there is none",
		"sources:\n- name: [":   "f.yaml:2: sequence end token ']' not found",
		"sources:\n- nam: osm":  `f.yaml:2: unknown field "nam"`,
		"sources:\n- name: Osm": "f.yaml:2: sources, entry 1: name is not a name of a-z, 0-9, - and _",
		"sources:\n- name: osm\n  kind: osm\n  url: https://x.example\n\n  max_area: 90": "f.yaml:6: sources, entry 1: max_area is not " +
			"from 0.01 to 10 square degrees",
		"sources:\n- name: a\n  kind: files\n- name: b\n  kind: wms": "f.yaml:5: sources, entry 2: kind is none of " +
			"osm, files and placeholder",
	} {
		_, err := gpsfile.Sources("f.yaml", []byte(text))
		require.EqualError(t, err, want, text)
	}
	for text, want := range map[string]string{
		"regions: []": "f.yaml: regions: there is none",
		"regions:\n- name: a\n  areas:\n  - {name: x, bbox: [1, 2, 3]}": "f.yaml:4: regions, entry 1: areas has one, x, whose " +
			"bbox has 3 numbers: write it as [west, south, east, north] in degrees",
		"regions:\n- name: a\n  areas:\n  - {name: x, bbox: [0, 0, 100, 80]}": "f.yaml:4: regions, entry 1: areas have 8000 square " +
			"degrees, and 1000 are the most that is asked for box by box",
		"regions:\n- name: a\n  areas:\n  - {name: x, bbox: [\"west\", 0, 1, " +
			"2]}": `f.yaml:4: cannot unmarshal string into Go struct field .Regions of type float64`,
	} {
		_, err := gpsfile.Regions("f.yaml", []byte(text))
		require.EqualError(t, err, want, text)
	}
}

// A record that is not as it should be keeps its source from running.
func TestRecords(t *testing.T) {
	t.Parallel()
	good := "---\nsource: a\nstatus: accepted\nlicence: CC0\nattribution: © a\ndecided_on: 2026-01-02\nurl: https://a.example\n---\ntext\n"
	for name, c := range map[string]struct{ body, want string }{
		"a.md":        {good, "accepted"},
		"with a mark": {"\xef\xbb\xbf" + good, "accepted"},
		"windows":     {"---\r\nsource: a\r\nstatus: accepted\r\nattribution: x\r\n---\r\n", "accepted"},
		"proposed":    {"---\nsource: a\nstatus: proposed\n---\n", "proposed"},
		"rejected":    {"---\nsource: a\nstatus: rejected\n---\n", "rejected"},
		"no status":   {"---\nsource: a\n---\n", `unreadable: status is "", want proposed, accepted or rejected`},
		"other case":  {"---\nsource: a\nstatus: ACCEPTED\n---\n", `unreadable: status is "ACCEPTED", want proposed, accepted or rejected`},
		"nobody":      {"---\nsource: a\nstatus: accepted\n---\n", "unreadable: attribution is missing, and an accepted source needs one"},
		"no source":   {"---\nstatus: accepted\nattribution: x\n---\n", "unreadable: source is missing"},
		"no end": {"---\nsource: a\nstatus: accepted\nattribution: x\n",
			"unreadable: it does not begin with front matter between two lines of ---"},
		"prose":  {"# accepted\n", "unreadable: it does not begin with front matter between two lines of ---"},
		"empty":  {"", "unreadable: it does not begin with front matter between two lines of ---"},
		"typing": {"---\nsource: a\nstatsu: accepted\n---\n", `unreadable: line 3: unknown field "statsu"`},
		"twice": {"---\nsource: a\nstatus: rejected\nstatus: accepted\n---\n",
			`unreadable: line 4: mapping key "status" already defined at [2:1]`},
	} {
		l := gpsfile.Licences(fstest.MapFS{"a.md": {Data: []byte(c.body)}, "README.md": {}, "b.txt": {}})
		require.Len(t, l, 1)
		got := l.Status("a")
		if l[0].Err != nil {
			got += ": " + l[0].Err.Error()
		}
		require.Equal(t, c.want, got, name)
		_, err := l.Allow("a")
		require.Equal(t, c.want == "accepted", err == nil, name)
	}
}
