package main

import (
	"bytes"
	"context"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/trackpostgres"
	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/internal/pgtest"
)

// desk is a data directory, files of its own and a source.
type desk struct {
	*testing.T
	dir      string
	asked    []string // the agents of all requests
	broken   bool     // the source
	terminal bool
}

func newDesk(t *testing.T) *desk {
	t.Helper()
	d := &desk{T: t, dir: t.TempDir()}
	server := httptest.NewServer(d)
	t.Cleanup(server.Close)
	d.write("sources.yaml", fmt.Sprintf(`sources:
- {name: osm, enabled: true, kind: osm, url: %s/, max_area: 0.24, page_size: 5000, max_pages: 4, need_times: true}
- {name: local, enabled: true, kind: files}
- {name: hikr, kind: placeholder}
- {name: club, kind: placeholder, enabled: true}
`, server.URL))
	return d
}

// ServeHTTP answers as the source: three walks, in the box that they begin in.
func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if d.asked = append(d.asked, r.UserAgent()); d.broken {
		http.NotFound(w, r)
		return
	}
	var west, south, east, north float64
	_, _ = fmt.Sscanf(r.URL.Query().Get("bbox"), "%g,%g,%g,%g", &west, &south, &east, &north) // the client's own test looks at it
	fmt.Fprint(w, "<gpx>")
	for _, lon := range []float64{7.9, 7.91, 7.92} {
		if lon < west || lon > east {
			continue
		}
		fmt.Fprintf(w, "<trk><name>&lt;b&gt;walk&lt;/b&gt;.gpx</name><url>/user/somebody/traces/%g</url><trkseg>", lon)
		for i := range 40 {
			at := time.Date(2026, 5, 1, 8, 0, 15*i, 0, time.UTC)
			fmt.Fprintf(w, `<trkpt lat="%.4f" lon="%g"><time>%s</time></trkpt>`, 46.55+0.0002*float64(i), lon, at.Format(time.RFC3339))
		}
		fmt.Fprint(w, "</trkseg></trk>")
	}
	fmt.Fprint(w, "</gpx>")
}

func (d *desk) write(name, text string) string {
	d.Helper()
	path := filepath.Join(d.dir, name)
	require.NoError(d, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(d, os.WriteFile(path, []byte(text), 0o600))
	return path
}

// run is one call of the command.
func (d *desk) run(args ...string) (code int, out, errs string) {
	return d.runWith(d.Context(), args...)
}

func (d *desk) runWith(ctx context.Context, args ...string) (code int, out, errs string) {
	d.Helper()
	var o, e bytes.Buffer
	code = run(ctx, append(args, "--data", filepath.Join(d.dir, "data"), "--sources", filepath.Join(d.dir, "sources.yaml")), &o, &e,
		d.terminal)
	return code, regexp.MustCompile(` +`).ReplaceAllString(o.String(), " "), e.String()
}

func (d *desk) tracks() (names []string) {
	d.Helper()
	s, err := tracksqlite.Open(d.Context(), tracksqlite.Options{Path: filepath.Join(d.dir, "data", "tracks.db")})
	require.NoError(d, err)
	defer s.Close()
	for t, err := range s.List(d.Context(), gpstracks.Filter{}) {
		require.NoError(d, err)
		names = append(names, t.Source+" "+t.Name)
	}
	return names
}

// From nothing to tracks, once and again, and what --gc removes when a source is
// switched off.
func TestCollect(t *testing.T) {
	d := newDesk(t)
	code, out, errs := d.run("--dry-run", "--source", "osm", "--contact", "me@example.org")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "osm bernese-oberland done 2 3 3 0 0 0")
	require.Contains(t, out, "dry run: no track was kept")
	require.Empty(t, d.tracks())
	require.Regexp(t, `^signalbox-collect/.+ \(me@example.org\)$`, d.asked[0])

	code, out, errs = d.run("--source", "osm")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "osm bernese-oberland done 2 3 3 0 0 0")
	require.Contains(t, errs, "100 %  osm in bernese-oberland: 2 requests, 3 new, 0 known\n")
	require.NotContains(t, errs, "\x1b")
	require.Equal(t, []string{"osm <b>walk</b>", "osm <b>walk</b>", "osm <b>walk</b>"}, d.tracks())
	code, out, _ = d.run("--source", "osm")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "osm bernese-oberland done 2 3 0 0 3 0")

	code, out, _ = d.run("--gc")
	require.Equal(t, exitOK, code)
	require.Equal(t, "nothing is to be removed\n", out)
	sources := contents(t, filepath.Join(d.dir, "sources.yaml"))
	d.write("sources.yaml", strings.Replace(string(sources), "enabled: true", "enabled: false", 1))
	code, out, _ = d.run("--gc", "--dry-run")
	require.Equal(t, exitOK, code)
	require.Equal(t, "TRACKS REASON\n3 source osm is switched off\n3 to be removed\ndry run: nothing was removed\n", out)
	require.Len(t, d.tracks(), 3)
	code, out, _ = d.run("--gc")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "3 tracks were removed")
	require.Empty(t, d.tracks())
	asked := len(d.asked)
	for _, args := range [][]string{{"--source", "osm"}, {"--source", "osm", "--file", "testdata"}} {
		code, out, errs = d.run(args...)
		require.Equal(t, exitRefused, code)
		require.Regexp(t, `osm \S+ refused 0 0 0`, out)
		require.Contains(t, errs, "refused: source osm is switched off: set its enabled to true")
	}
	require.Len(t, d.asked, asked, "who is switched off is not asked")
}

// Each end has its exit code.
func TestExitCodes(t *testing.T) {
	d := newDesk(t)
	code, out, errs := d.run("--source", "hikr")
	require.Equal(t, exitRefused, code)
	require.Contains(t, errs, `its licence record hikr.md has the status "proposed", not accepted`)
	require.Contains(t, out, "hikr bernese-oberland refused 0")
	code, _, errs = d.run("--source", "osm", "--licences", d.dir)
	require.Equal(t, exitRefused, code)
	require.Contains(t, errs, "its licence record osm.md does not exist")
	code, _, _ = d.run("--source", "local", "--licences", d.dir, "--file", "testdata")
	require.Equal(t, exitRefused, code)
	require.Empty(t, d.asked, "who is refused asks nobody")

	code, out, _ = d.run() // all that are on: one of them without a record
	require.Equal(t, exitRefused, code)
	require.Contains(t, out, "osm bernese-oberland done")
	require.Contains(t, out, "club bernese-oberland refused")

	code, _, errs = d.run("--source", "osm", "--region", "julian-alps")
	require.Equal(t, exitRefused, code)
	require.Contains(t, errs, "region julian-alps is switched off")
	d.broken = true
	code, out, _ = d.run("--source", "osm")
	require.Equal(t, exitFailed, code)
	require.Contains(t, out, "osm bernese-oberland failed 1")
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	code, _, _ = d.runWith(ctx, "--source", "osm")
	require.Equal(t, exitFailed, code)

	for _, args := range [][]string{
		{"--source", "nobody"}, {"--region", "nowhere"}, {"--source", "local"}, {"--gc", "--source", "osm"},
		{"--file", "testdata", "--region", "julian-alps"},
		{"--file", "none"}, {"--report", "x.json"}, {"--file", "testdata", "--report", "none/x.json"}, {"--file", t.TempDir()},
		{"--nonsense"}, {"argument"}, {"--regions", "none.yaml"},
	} {
		code, _, errs := d.run(args...)
		require.Equal(t, exitUse, code, args)
		require.NotEmpty(t, errs)
	}
	code, out, _ = d.run("--help")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "--dry-run")
}

// Files and folders of files go through the same guard, and the same tracks make
// no second row.
func TestFiles(t *testing.T) {
	d := newDesk(t)
	d.write("tours/a/cut.GPX", "<gpx><trk>")
	d.write("tours/notes.txt", "nothing")
	d.write("tours/a/1.fit.gz", "nothing")
	d.write("tours/empty.gpx", "<gpx><trk/><rte><rtept lat='46' lon='7'/><rtept lat='x' lon='7'/><rtept lat='48' lon='8'/></rte></gpx>")
	hike := contents(t, "testdata/hike.gpx")
	d.write("tours/a, b/hike.gpx", string(hike))
	code, out, errs := d.run("--file", "testdata", "--file", filepath.Join(d.dir, "tours"))
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "local - done 0 5 3 0 1 4")
	require.Contains(t, out, "local from files: 1 of 7 files could not be read\n"+
		"local from files, not kept: 1 (the file cannot be read)\n"+
		"local from files, not kept: 2 (the file is of a format that is not read)\n"+
		"local from files, not kept: 1 (no points)\n"+
		"local from files, kept without a part: 1 (points that are not on earth)\n")
	require.Contains(t, errs, "cut.GPX")
	require.Contains(t, errs, "1.fit.gz reason=foreign")
	require.Contains(t, errs, "notes.txt reason=foreign")
	require.Contains(t, errs, `msg="a track is not kept as it was written" file=`+filepath.Join(d.dir, "tours", "empty.gpx"))
	require.ElementsMatch(t, []string{"local Wengen – Männlichen", "local Round the valley by bike", "local "}, d.tracks())
	code, out, _ = d.run("--file", filepath.Join(d.dir, "tours", "a, b", "hike.gpx"), "--source", "osm", "--dry-run")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "osm - done 0 1 0 0 1 0", "known, whoever brings it")
}

// A report names each file of a mixed folder, and each track.
func TestReport(t *testing.T) {
	d := newDesk(t)
	hike := contents(t, "testdata/hike.gpx")
	d.write("mixed/hiking/a.gpx", string(hike))
	d.write("mixed/EveningRide.geojson", `{"type":"LineString","coordinates":[[7,46,500],[7.01,46,520],[7.02,46,510]]}`)
	d.write("mixed/huts.gpx", `<gpx><wpt lat="46" lon="7"/></gpx>`)
	d.write("mixed/photo.jpg", "\xff\xd8\xff\xe0")
	d.write("mixed/x.gpx", `<gpx><rte><rtept lat="46" lon="7"/></rte></gpx>`)
	require.NoError(t, os.Symlink("/etc/passwd", filepath.Join(d.dir, "mixed", "link.gpx")))
	path := filepath.Join(d.dir, "report.json")
	code, _, errs := d.run("--file", filepath.Join(d.dir, "mixed"), "--dry-run", "--report", path)
	require.Equal(t, exitOK, code, errs)
	got := contents(t, path)
	require.Equal(t, string(contents(t, "report_example.json")), strings.ReplaceAll(string(got), d.dir+"/", ""))
	d.write("bad/a.txt", "nothing")
	code, _, _ = d.run("--file", filepath.Join(d.dir, "bad"), "--report", path)
	require.Equal(t, exitFailed, code)
	got = contents(t, path)
	require.Contains(t, string(got), `"error": "none of 1 files could be read; the last one: the file is of no format that is known`)
	require.Contains(t, string(got), `"status": "failed"`)
}

// A terminal gets a bar; lines go above it.
func TestBar(t *testing.T) {
	d := newDesk(t)
	d.terminal = true
	_, _, errs := d.run("--source", "osm")
	require.Contains(t, errs, "\r\x1b[K[------------------------------]   0 %  osm in bernese-oberland")
	require.Contains(t, errs, "\r\x1b[K[##############################] 100 %  osm in bernese-oberland: 2 requests, 3 new, 0 known\n")
	var b bytes.Buffer
	s := &screen{w: &b, terminal: true, bar: "bar"}
	fmt.Fprintln(s, "line")
	require.Equal(t, "\r\x1b[Kline\nbar", b.String())
}

// With the database of a server that is PostgreSQL, tracks are kept there.
func TestPostgreSQL(t *testing.T) {
	d := newDesk(t)
	url := pgtest.Start(t, pgtest.Options{Durable: true}).URL("postgres")
	code, out, errs := d.run("--database", url, "--source", "osm")
	require.Equal(t, exitOK, code, errs)
	require.Contains(t, out, "osm bernese-oberland done 2 3 3 0 0 0")
	code, out, _ = d.run("--database", url, "--file", "testdata", "--dry-run")
	require.Equal(t, exitOK, code)
	require.Contains(t, out, "dry run: no track was kept")
	s, err := trackpostgres.Open(t.Context(), trackpostgres.Options{URL: url})
	require.NoError(t, err)
	defer s.Close()
	n, err := s.Count(t.Context())
	require.NoError(t, err)
	require.Equal(t, 3, n)

	unlock, err := s.Alone(t.Context())
	require.NoError(t, err)
	code, _, errs = d.run("--database", url, "--gc")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "another collector is at work")
	require.NoError(t, unlock())
	code, out, _ = d.run("--database", url, "--gc")
	require.Equal(t, exitOK, code)
	require.Equal(t, "nothing is to be removed\n", out)
	require.NoDirExists(t, filepath.Join(d.dir, "data"), "and nowhere else")
}

// Two collectors do not work on one store.
func TestAlone(t *testing.T) {
	d := newDesk(t)
	_, _, _ = d.run("--gc")
	unlock, err := alone(filepath.Join(d.dir, "data"))
	require.NoError(t, err)
	code, _, errs := d.run("--source", "osm")
	require.Equal(t, exitFailed, code)
	require.Contains(t, errs, "another collector is at work in")
	require.NoError(t, unlock())
	code, _, _ = d.run("--source", "osm")
	require.Equal(t, exitOK, code)
}

func contents(t testing.TB, name string) []byte {
	t.Helper()
	body, err := os.ReadFile(name)
	require.NoError(t, err)
	return body
}
