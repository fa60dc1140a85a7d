package storetest

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
	"github.com/signalbox-dev/signalbox/gpstracks/memtracks"
	"github.com/signalbox-dev/signalbox/gpstracks/tile"
)

// Builder is a store that builds blocks after it has kept tracks.
type Builder interface {
	Store
	Build(ctx context.Context) error
}

// EnvVictim holds what a process that is to be killed opens.
const EnvVictim = "TRACKS_VICTIM"

// bringAtOnce is how many tracks the victim brings in a call.
const bringAtOnce = 40

func brought() []gpstracks.Track { return memtracks.Generate(600, 11) }

// Bring keeps tracks, first without their names, and builds blocks beside it, until
// its process is killed. It says what was acknowledged.
func Bring(ctx context.Context, s Builder, say io.Writer) error {
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

// Kill has processes bring tracks, each of which is killed, and looks what is there:
// what was acknowledged, each track once in the list and in tiles, before and after blocks
// were built. test is the name of the test that calls it: it must say a line, open the store
// and call Bring if EnvVictim is set. unbuilt is how many marks of missing blocks there are. age
// makes every block one of an older layout, which the next process that opens the store builds
// again: each second process is killed in the middle of that.
func Kill(t *testing.T, test, where string, age func(), unbuilt func() int, open func(t *testing.T) (s Builder, end func())) {
	t.Helper()
	left, kept, told := 0, map[string]bool{}, map[string]bool{}
	tracks := brought()
	for round := range 10 {
		w := &writer{left: 2 + round, said: make(chan struct{})} // the first line says that it has begun
		if round%2 == 1 {
			age()
			w.soon = func() bool { return unbuilt() > 0 }
		}
		for _, line := range killed(t, test, where, w, time.Duration(5*(round-round%2))*time.Millisecond) {
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
		s, end := open(t)
		k := &kit{T: t, s: s}
		all := k.list(gpstracks.Filter{})
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
		k.showsOnce(all)
		require.NoError(t, s.Build(t.Context()))
		require.Zero(t, unbuilt())
		k.showsOnce(all)
		end()
	}
	require.NotEmpty(t, told)
	require.Positive(t, left, "a process died between blocks")
}

// killed runs a victim and kills it a while after it has said so many lines, or at a moment
// that is looked for: how long those take is the machine's business.
func killed(t *testing.T, test, where string, w *writer, after time.Duration) []string {
	t.Helper()
	c := exec.CommandContext(t.Context(), os.Args[0], "-test.run", "^"+test+"$")
	c.Env, c.Stdout, c.Stderr = append(os.Environ(), EnvVictim+"="+where), w, os.Stderr
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

// showsOnce compares every feature of every level with those of the tracks.
func (k *kit) showsOnce(tracks []gpstracks.Track) {
	k.Helper()
	type drawn struct {
		level int
		id    int64
		piece int
	}
	want, got := map[drawn]tile.Window{}, map[drawn]tile.Window{}
	var p tile.Packer
	for i := range tracks {
		for _, f := range p.Pack(&tracks[i]) {
			want[drawn{f.Level, f.ID, f.Piece}] = f.Bounds
		}
	}
	n := 0
	for level := range tile.Levels {
		require.NoError(k, k.s.Blocks(k.Context(), level, tile.Window{MaxX: 1 << 27, MaxY: 1 << 27}, func(b []byte) error {
			features, err := tile.BlockFeatures(b)
			for _, f := range features {
				got[drawn{f.Level, f.ID, f.Piece}] = f.Bounds
				n++
			}
			return err
		}))
	}
	require.Equal(k, len(got), n, "each once")
	require.Equal(k, want, got)
	for _, id := range []tile.ID{{Z: 5, X: 16, Y: 11}, {Z: 8, X: 133, Y: 90}, {Z: 11, X: 1069, Y: 723}, {Z: 14, X: 8552, Y: 5786}} {
		body, _, err := tile.NewEncoder(tile.Limits{}).Encode(k.Context(), nil, rows(tracks), id, gpstracks.Filter{})
		require.NoError(k, err)
		require.Equal(k, body, k.encode(id, gpstracks.Filter{}), "%v", id)
	}
}

// rows is a source of tiles that has no blocks.
type rows []gpstracks.Track

func (r rows) Blocks(_ context.Context, level int, _ tile.Window, yield func([]byte) error) error {
	var features []tile.Feature
	var p tile.Packer
	for i := range r {
		for _, f := range p.Pack(&r[i]) {
			if f.Level == level {
				features = append(features, f)
			}
		}
	}
	for _, b := range tile.Blocks(level, 0, features) {
		if err := yield(b.Data); err != nil {
			return err
		}
	}
	return nil
}
