package tile_test

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// mapboxDir holds the decoder in JavaScript, and after npm ci its libraries.
const mapboxDir = "testdata/mapbox"

// jsLayer is a layer as @mapbox/vector-tile reads it.
type jsLayer struct {
	Name            string
	Version, Extent int
	Features        []jsFeature
}

type jsFeature struct {
	ID         float64
	Type       int // 2: lines
	Properties map[string]any
	Lines      [][][2]float64
}

// Every tile says the same to @mapbox/vector-tile, which maps use, as to orb.
func TestMapboxDecoder(t *testing.T) {
	t.Parallel()
	node, err := exec.LookPath("node")
	if err != nil {
		t.Skip("node is missing: NO TILE WAS DECODED with @mapbox/vector-tile; install Node.js 18 or newer")
	}
	install(t)
	tracks := sample.Tracks(150, 5)
	for _, name := range []string{`<img src=x onerror=alert(1)>`, "Zürich 🏔 \u202eevil", strings.Repeat("a", 300), `"'&\`, ""} {
		tracks = append(tracks, gpstracks.Track{Name: name, Lines: orb.MultiLineString{{{7.8, 46.5}, {7.9, 46.6}, {8, 46.5}},
			{{7.81, 46.5}, {7.82, 46.6}}}, URL: "https://tracks.example/ä?b=<c>"})
	}
	tracks = append(tracks, gpstracks.Track{Lines: orb.MultiLineString{{{179, 80}, {-179, 89}}}, Name: "across"},
		gpstracks.Track{Lines: orb.MultiLineString{{{-180, -85}, {180, 85}}}, Name: "world"})
	tracks = prepared(t, tracks...)
	var ids []tile.ID
	for z := range tile.MaxZoom + 1 {
		for _, p := range []orb.Point{{7.91, 46.59}, {7.81, 46.51}, {180, 84}, {-180, -85}, {0, 0}} {
			ids = append(ids, at(z, p))
		}
	}
	var input bytes.Buffer
	var bodies [][]byte
	for _, id := range ids {
		body, _ := encode(t, tile.Limits{}, id, tracks...)
		bodies = append(bodies, body)
		require.NoError(t, binary.Write(&input, binary.LittleEndian, uint32(len(body))))
		input.Write(body)
	}
	cmd := exec.CommandContext(t.Context(), node, "decode.mjs")
	cmd.Dir, cmd.Stdin = mapboxDir, &input
	var errs strings.Builder
	cmd.Stderr = &errs
	out, err := cmd.Output()
	require.NoError(t, err, errs.String())
	answers := bytes.Split(bytes.TrimSpace(out), []byte("\n"))
	require.Len(t, answers, len(ids))
	features := 0
	for i, id := range ids {
		var layers []jsLayer
		require.NoError(t, json.Unmarshal(answers[i], &layers))
		want := []jsLayer{}
		if len(bodies[i]) > 0 {
			want = append(want, jsLayer{Name: tile.Layer, Version: 2, Extent: tile.Extent, Features: ofOrb(t, bodies[i])})
			features += len(want[0].Features)
		}
		require.Equal(t, want, layers, "%v", id)
	}
	require.Greater(t, features, 300)
}

// ofOrb reads a tile with orb, in the form of the other decoder.
func ofOrb(t *testing.T, body []byte) (out []jsFeature) {
	t.Helper()
	for _, f := range decode(t, body) {
		one := jsFeature{ID: f.ID.(float64), Type: 2, Properties: f.Properties}
		for _, line := range lines(f.Geometry) {
			var points [][2]float64
			for _, p := range line {
				points = append(points, p)
			}
			one.Lines = append(one.Lines, points)
		}
		out = append(out, one)
	}
	return out
}

// install brings the libraries that the lock file names, once.
func install(t *testing.T) {
	t.Helper()
	if _, err := os.Stat(filepath.Join(mapboxDir, "node_modules", "@mapbox", "vector-tile")); err == nil {
		return
	}
	out, err := exec.CommandContext(t.Context(), "npm", "ci", "--prefix", mapboxDir, "--no-audit", "--no-fund").CombinedOutput()
	if err != nil {
		lines := strings.Split(strings.TrimSpace(string(out)), "\n")
		t.Fatalf("npm cannot install @mapbox/vector-tile (%v: %s): let npm reach its registry and run npm ci --prefix gpstracks/tile/%s",
			err, lines[len(lines)-1], mapboxDir)
	}
}
