package trackstore_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gpstracks"
	"github.com/signalbox-dev/signalbox/gpstracks/sample"
	"github.com/signalbox-dev/signalbox/gpstracks/storetest"
)

// bringAtOnce is the number of tracks that the victim brings in a call.
const bringAtOnce = 40

func brought() []gpstracks.Track { return sample.Tracks(600, 11) }

// bring keeps tracks, first without their names, and builds blocks beside it, until
// its process is killed. It says what was acknowledged.
func bring(ctx context.Context, s store, say io.Writer) error {
	named := brought()
	bare := slices.Clone(named)
	for i := range bare {
		bare[i].Name = ""
	}
	for from := 0; ; from = (from + bringAtOnce) % len(bare) {
		if _, err := s.Upsert(ctx, bare[from:from+bringAtOnce]); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(say, "kept", from+bringAtOnce); err != nil {
			return err
		}
		if from%(4*bringAtOnce) == 0 {
			if err := s.Build(ctx); err != nil {
				return err
			}
		}
		if _, err := s.Upsert(ctx, named[from:from+20]); err != nil {
			return err
		}
		if _, err := fmt.Fprintln(say, "told", from+20); err != nil {
			return err
		}
	}
}

// envVictim names the engine of a process that is to be killed, and where its data is.
const envVictim = "TRACKS_VICTIM"

// Processes bring tracks, and each of them is killed: between the rows and the blocks, and in the
// middle of both. What was acknowledged is there, each track once in the list and in tiles, before and
// after blocks were built. Every second process finds blocks of an older layout, and is killed while it
// builds them again.
func TestKill(t *testing.T) {
	t.Parallel()
	if name, where, ok := strings.Cut(os.Getenv(envVictim), " "); ok {
		fmt.Println("begun")
		s, err := engines()[name].open(t.Context(), where)
		require.NoError(t, err)
		require.NoError(t, bring(t.Context(), s, os.Stdout))
	}
	each(t, kill)
}

func kill(t *testing.T, e engine) {
	unbuilt := func() (n int) { // there may be no table yet, or nobody may look while a log is tidied
		_ = e.raw.QueryRowContext(t.Context(), "select count(*) from track_unbuilt").Scan(&n)
		return n
	}
	left, kept, told := 0, map[string]bool{}, map[string]bool{}
	tracks := brought()
	for round := range 10 {
		w := &writer{left: 2 + round, said: make(chan struct{})} // the first line says that it has begun
		if round%2 == 1 {
			e.age(t)
			w.soon = func() bool { return unbuilt() > 0 }
		}
		for _, line := range killed(t, e, w, time.Duration(5*(round-round%2))*time.Millisecond) {
			var what string
			var to int
			if _, err := fmt.Sscan(line, &what, &to); err != nil {
				continue
			}
			switch what {
			case "kept":
				for _, k := range tracks[to-bringAtOnce : to] {
					kept[k.Key] = true
				}
			case "told":
				for _, k := range tracks[to-20 : to] {
					told[k.Key] = true
				}
			}
		}
		left += unbuilt()
		s := e.reopen(t)
		all := storetest.All(t, s, gpstracks.Filter{})
		byKey := map[string]gpstracks.Track{}
		for _, one := range all {
			byKey[one.Key] = one
		}
		require.Len(t, byKey, len(all), "each once")
		for key := range kept {
			require.Contains(t, byKey, key)
		}
		for key := range told {
			require.NotEmpty(t, byKey[key].Name)
		}
		storetest.RequireShows(t, s, all)
		require.NoError(t, s.Build(t.Context()))
		require.Zero(t, unbuilt())
		storetest.RequireShows(t, s, all)
		require.NoError(t, s.Close())
	}
	require.NotEmpty(t, told)
	require.Positive(t, left, "a process died between blocks")
}

// killed runs a victim and kills it a while after it has said so many lines, or at a moment
// that is looked for: how long those take is the machine's business.
func killed(t *testing.T, e engine, w *writer, after time.Duration) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^TestKill$")
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), envVictim+"="+e.name+" "+e.where), w, os.Stderr
	require.NoError(t, c.Start())
	for end := time.Now().Add(2 * time.Minute); !w.done() && time.Now().Before(end); {
		time.Sleep(time.Millisecond)
	}
	if w.soon == nil {
		time.Sleep(after)
	}
	require.NoError(t, c.Process.Kill())
	require.Error(t, c.Wait())
	all := strings.SplitAfter(w.String(), "\n")
	return all[:len(all)-1] // the last one may be half a line
}

// writer keeps the lines that are written, and signals when there are enough.
type writer struct {
	strings.Builder
	left int // lines
	said chan struct{}
	soon func() bool // there is no need to wait for them
}

func (w *writer) done() bool {
	select {
	case <-w.said:
		return true
	default:
		return w.soon != nil && w.soon()
	}
}

func (w *writer) Write(b []byte) (int, error) {
	if w.left > 0 {
		if w.left -= bytes.Count(b, []byte("\n")); w.left <= 0 {
			close(w.said)
		}
	}
	return w.Builder.Write(b)
}
