package trackfile_test

import (
	"encoding/json"
	"errors"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/gpx"
	"github.com/signalbox-dev/signalbox/gpstracks/trackfile"
)

// answer is a track of two points and more, as a reader has it.
type answer struct {
	Name   string  `json:"name"`
	Points int     `json:"points"`
	Metres float64 `json:"metres"`
	First  string  `json:"first"`
	Last   string  `json:"last"`
}

func ours(t gpx.Track) answer {
	a := answer{Name: strings.TrimSpace(t.Name)}
	var first, last time.Time
	for _, segment := range t.Segments {
		a.Points += len(segment)
		for i, p := range segment {
			if i > 0 {
				a.Metres += gpstracks.Distance(segment[i-1].At, p.At)
			}
			if !p.Time.IsZero() && (first.IsZero() || p.Time.Before(first)) {
				first = p.Time
			}
			if p.Time.After(last) {
				last = p.Time
			}
		}
	}
	if !first.IsZero() {
		a.First, a.Last = first.UTC().Format(time.RFC3339), last.UTC().Format(time.RFC3339)
	}
	return a
}

// judged are the files, by the ends of their names, of which another answer than that of the readers is right.
func judged(name string) bool {
	return slices.ContainsFunc([]string{
		"Mojstrovka.gpx",                                // 1901: the clock was not set
		"altitudemodes.kml", "altitudemodes-golden.kml", // rings, which are areas
		"Geometries.kml", "PosData-20081216-115434.nmea", // a ring again; GGA alone, without a date
		"corrupt-activity-filecrc.fit", "/activity-filecrc.fit", // the checksum says that a byte is another one
	}, func(end string) bool { return strings.HasSuffix("/"+strings.TrimSuffix(name, ".gz"), end) })
}

// Of files that devices and programs of others wrote, the tracks, lengths, points, times and names are those
// of another reader at least. make corpus gets more of them.
func TestStrangers(t *testing.T) {
	t.Parallel()
	for _, dir := range [][2]string{{"testdata/strangers", "testdata/strangers"}, {"../../.bin/strangers", "../../.bin/strangers/files"}} {
		body, err := os.ReadFile(filepath.Join(dir[0], "answers.json"))
		if errors.Is(err, fs.ErrNotExist) && dir[0] != dir[1] {
			continue
		}
		require.NoError(t, err)
		var files map[string]map[string][]answer
		require.NoError(t, json.Unmarshal(body, &files))
		require.NotEmpty(t, files)
		for name, readers := range files {
			if !judged(name) {
				compare(t, filepath.Join(dir[1], name), readers)
			}
		}
		t.Logf("%s: %d files", dir[0], len(files))
	}
}

func compare(t *testing.T, path string, readers map[string][]answer) {
	t.Helper()
	file, err := os.Open(path)
	require.NoError(t, err)
	defer file.Close()
	var got []answer
	for d := range trackfile.Read(filepath.Base(path), file, trackfile.Limits{Document: gpx.Limits{Bytes: 64 << 20, Points: 1 << 20}}) {
		err = d.Err
		for _, k := range d.Tracks {
			if a := ours(k); a.Points > 1 {
				got = append(got, a)
			}
		}
	}
	order := func(a, b answer) int { return a.Points - b.Points } // routes and tracks are in another order
	slices.SortStableFunc(got, order)
	for _, want := range readers {
		slices.SortStableFunc(want, order)
		if slices.EqualFunc(got, want, func(a, b answer) bool {
			return a.Name == b.Name && a.Points == b.Points && a.First == b.First && a.Last == b.Last &&
				math.Abs(a.Metres-b.Metres) <= 0.2+b.Metres/1000
		}) {
			return
		}
	}
	t.Errorf("%s\n ours %+v %v\n theirs %+v", path, got, err, readers)
}
