package tracksqlite_test

import (
	"bufio"
	"compress/gzip"
	"database/sql"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"github.com/paulmach/orb"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/tracksqlite"
	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// sharedFile is a file that the last version with tracks beside the queue has made, by the
// calls of sharedTracks and two jobs: a track was renamed and two removed, one of them the
// last, two runs were kept, and the tracks of the last call are in no block.
func sharedFile(t *testing.T) string {
	t.Helper()
	packed, err := os.Open("testdata/signalbox.db.gz")
	require.NoError(t, err)
	defer packed.Close()
	r, err := gzip.NewReader(packed)
	require.NoError(t, err)
	body, err := io.ReadAll(r)
	require.NoError(t, err)
	path := filepath.Join(t.TempDir(), "signalbox.db")
	require.NoError(t, os.WriteFile(path, body, 0o600))
	return path
}

// sharedTracks are the same calls on a new store.
func sharedTracks(t *testing.T) *tracksqlite.Tracks {
	t.Helper()
	s, tracks := storetest.Memory(t), sample.Tracks(8, 1)
	for i := range 80 {
		p := orb.Point{6 + 0.1*float64(i), 45 + 0.02*float64(i)}
		k, err := gpstracks.Prepare(gpstracks.Track{
			Source: "osm", Name: fmt.Sprintf("t%d", i), Attribution: "©", LastSeenAt: time.Unix(1e9+int64(i), 0).UTC(),
			Lines: orb.MultiLineString{{p, {p[0] + 0.02, p[1] + 0.03}, {p[0] + 0.05, p[1]}}},
		})
		require.NoError(t, err)
		tracks = append(tracks, k)
	}
	bare := tracks[10]
	bare.Name = ""
	for _, part := range [][]gpstracks.Track{append(slices.Clone(tracks[:10]), bare), tracks[10:60], tracks[60:]} {
		_, err := s.Upsert(t.Context(), part)
		require.NoError(t, err)
	}
	_, err := s.Remove(t.Context(), 3, int64(len(tracks)))
	require.NoError(t, err)
	return s
}

// requireCarried compares a store with what the shared file held.
func requireCarried(t *testing.T, s *tracksqlite.Tracks) {
	t.Helper()
	want, got := all(t, sharedTracks(t)), all(t, s)
	require.Len(t, got, len(want))
	for i := range want {
		want[i].Key = got[i].Key // that of the version
	}
	storetest.RequireShows(t, s, want)
	begun := time.Unix(1e9, 0).UTC()
	runs, err := s.Runs(t.Context(), gpstracks.RunFilter{})
	require.NoError(t, err)
	require.Equal(t, []gpstracks.Run{
		{ID: 2, Source: "club", DryRun: true, StartedAt: begun.Add(90 * time.Second), Status: gpstracks.StatusFailed, Error: "no answer"},
		{ID: 1, Source: "osm", Region: "alps", StartedAt: begun, FinishedAt: begun.Add(time.Minute), Status: gpstracks.StatusDone,
			Fetched:  61,
			Rejected: 2, RejectedFor: gpstracks.Tally{gpstracks.ReasonGaps: 2}},
	}, runs)
}

// Tracks of a shared file are carried over once; what happens to them afterwards stays, and
// no id is used twice. The shared file is as it was.
func TestCarryOver(t *testing.T) {
	t.Parallel()
	from, path := sharedFile(t), filepath.Join(t.TempDir(), "tracks.db")
	before, err := os.ReadFile(from)
	require.NoError(t, err)
	s := open(t, tracksqlite.Options{Path: path, From: from})
	requireCarried(t, s)
	_, err = s.Remove(t.Context(), 1, 2)
	require.NoError(t, err)
	_, err = s.Upsert(t.Context(), sample.Short(1, 7, 3))
	require.NoError(t, err)
	after := all(t, s)
	require.True(t, slices.ContainsFunc(after, func(k gpstracks.Track) bool { return k.ID == 89 }), "88 was removed before")
	require.NoError(t, s.Close())
	require.Equal(t, after, all(t, open(t, tracksqlite.Options{Path: path, From: from})))
	now, err := os.ReadFile(from)
	require.NoError(t, err)
	require.Equal(t, before, now)
	var jobs int
	raw, err := sql.Open("sqlite", from)
	require.NoError(t, err)
	defer raw.Close()
	require.NoError(t, raw.QueryRowContext(t.Context(), "select count(*) from jobs").Scan(&jobs))
	require.Equal(t, 2, jobs)
	require.Empty(t, all(t, open(t, tracksqlite.Options{Path: filepath.Join(t.TempDir(), "t.db"),
		From: filepath.Join(t.TempDir(), "none.db")})))
}

func all(t *testing.T, s gpstracks.Store) []gpstracks.Track {
	return storetest.All(t, s, gpstracks.Filter{})
}

// envCarrier holds the directory of the files of a process that is to be killed.
const envCarrier = "TRACKS_CARRIER"

// A process that is killed while it carries tracks over leaves all of them to the next.
func TestCarryOverKilled(t *testing.T) {
	t.Parallel()
	if dir := os.Getenv(envCarrier); dir != "" {
		fmt.Println("begun")
		_, err := tracksqlite.Open(t.Context(), tracksqlite.Options{Path: filepath.Join(dir, "tracks.db"),
			From: filepath.Join(dir, "signalbox.db")})
		require.NoError(t, err)
		fmt.Println("done")
		select {}
	}
	from := sharedFile(t)
	dir, path := filepath.Dir(from), filepath.Join(filepath.Dir(from), "tracks.db")
	for round := range 8 {
		c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestCarryOverKilled$")
		c.Env = append(os.Environ(), envCarrier+"="+dir)
		out, err := c.StdoutPipe()
		require.NoError(t, err)
		require.NoError(t, c.Start())
		require.True(t, bufio.NewScanner(out).Scan())
		time.Sleep(time.Duration(round*round) * time.Millisecond)
		require.NoError(t, c.Process.Kill())
		require.Error(t, c.Wait())
	}
	requireCarried(t, open(t, tracksqlite.Options{Path: path, From: from}))
}
