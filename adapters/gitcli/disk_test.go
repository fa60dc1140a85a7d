package gitcli_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// remains lists what lies there.
func (k *kit) remains() []work.Remains {
	k.Helper()
	list, err := k.g.Remains(k.Context())
	require.NoError(k, err)
	return list
}

// maintain looks after the mirror as if the last time was long ago.
func (k *kit) maintain(m work.Maintenance, live ...string) {
	k.Helper()
	m.Lives = func(_ context.Context, item string) (bool, error) {
		return strings.Contains(strings.Join(live, " "), item), nil
	}
	done, ago := filepath.Join(k.mirror(), "signalbox-maintained"), time.Now().Add(-25*time.Hour)
	if err := os.Chtimes(done, ago, ago); err != nil {
		require.ErrorIs(k, err, os.ErrNotExist)
	}
	require.NoError(k, k.g.Maintain(k.Context(), k.space, m))
}

// Every replica can clear its own disk; what was not committed there is kept.
func TestRemainsOnReplicas(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	head := commit(t, a.open(), "tiles.go", "package tiles\n")
	a.take()
	b = b.at(head)
	write(t, b.open(), "unsaved.txt", "unsaved")
	require.NoError(t, a.at(head).g.Close(t.Context(), a.at(head).space), "the one that tidies up")
	require.Empty(t, a.remains())
	list := b.remains()
	require.Len(t, list, 1)
	require.EqualValues(t, 1, list[0].Task)

	ended, cancel := context.WithCancel(t.Context())
	cancel()
	require.Error(t, b.g.Remove(ended, list[0]))
	require.Equal(t, list, b.remains(), "nothing is removed that is not saved")
	require.NoError(t, b.g.Remove(t.Context(), list[0]))
	require.Empty(t, b.remains())
	require.Equal(t, "unsaved", run(t, b.mirror(), "show", "refs/signalbox/left/APP-1/1:unsaved.txt"))
	for _, dir := range []string{"work", "repos"} {
		left, err := os.ReadDir(filepath.Join(b.root, dir, "acme--app"))
		require.NoError(t, err)
		require.Empty(t, left)
	}
}

// Whatever a kill has left of a removal, or of a call, is listed and can be removed.
func TestRemainsOfKills(t *testing.T) {
	t.Parallel()
	k := setup(t)
	own, dir := filepath.Join(k.root, "repos", "acme--app", "APP-1"), filepath.Join(k.root, "work", "acme--app", "APP-1")
	parts := []string{own + ".json", own + ".json.new", dir, own + ".git", own + ".aside", own + ".lost"}
	for n := range parts {
		k.open()
		for _, part := range append(parts[1:2], parts[4:]...) {
			require.NoError(t, os.MkdirAll(part, 0o700))
		}
		for _, part := range parts[:n] {
			require.NoError(t, os.RemoveAll(part))
		}
		list := k.remains()
		require.Len(t, list, 1, n)
		require.Equal(t, n == 0, list[0].Task == 1, n)
		require.NoError(t, k.g.Remove(t.Context(), list[0]), n)
		require.Empty(t, k.remains(), n)
		for _, part := range parts {
			require.NoDirExists(t, part)
			require.NoFileExists(t, part)
		}
	}
	for _, name := range []string{"index-1", "check-1/tree", "take-1/objects"} {
		require.NoError(t, os.MkdirAll(filepath.Join(k.root, name), 0o700))
	}
	list := k.remains()
	require.Len(t, list, 3)
	for _, r := range list {
		require.Zero(t, r.Task)
		require.NoError(t, k.g.Remove(t.Context(), r))
	}
	require.Empty(t, k.remains())
	require.Error(t, k.g.Remove(t.Context(), work.Remains{Name: "work/../.."}))
	require.DirExists(t, k.mirror())
}

// A mirror is packed, and what a checkout borrows from it stays while a task lives.
func TestMaintain(t *testing.T) {
	t.Parallel()
	k := setup(t)
	dir := k.open()
	commit(t, dir, "a.go", "package a\n")
	tip := k.take().SHA
	next := k.open() // borrows all of it
	old := time.Now().Add(-30 * 24 * time.Hour)
	run(t, k.mirror(), "update-ref", "-d", "refs/heads/"+k.space.Branch)
	for n := range 1200 { // loose objects, as from many small fetches
		blob := fmt.Sprintf("%d", n)
		write(t, k.root, "blobs/"+blob, blob)
	}
	run(t, k.mirror(), append([]string{"hash-object", "-w", "--"}, glob(t, k.root, "blobs/*")...)...)
	require.NoError(t, filepath.WalkDir(filepath.Join(k.mirror(), "objects"), func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, old, old))
	}))
	k.maintain(work.Maintenance{}, "APP-1")
	require.Less(t, len(glob(t, k.mirror(), "objects/??/*")), 100, "packed")
	run(t, next, "fsck", "--full", "--strict", "--no-dangling")
	require.Equal(t, "commit", run(t, k.mirror(), "cat-file", "-t", tip), "no ref has it, a checkout may")

	k.close()
	require.NoError(t, os.WriteFile(filepath.Join(k.mirror(), "objects", "maintenance.lock"), nil, 0o600))
	require.NoError(t, os.Chtimes(filepath.Join(k.mirror(), "objects", "maintenance.lock"), old, old))
	run(t, k.mirror(), "update-ref", "refs/signalbox/left/APP-1/1", "refs/remotes/origin/main")
	run(t, k.mirror(), "update-ref", "-d", "refs/heads/"+k.space.Branch)
	require.NoError(t, filepath.WalkDir(filepath.Join(k.mirror(), "objects"), func(name string, _ os.DirEntry, err error) error {
		return errors.Join(err, os.Chtimes(name, old, old))
	}))
	k.maintain(work.Maintenance{Idle: true, LeftBefore: time.Now().Add(time.Hour)})
	require.Empty(t, run(t, k.mirror(), "for-each-ref", "refs/signalbox/left"))
	require.NotContains(t, run(t, k.mirror(), "cat-file", "--batch-all-objects", "--batch-check"), tip)
	k.open() // and the mirror is as good as new
	run(t, k.mirror(), "fsck", "--full", "--strict", "--no-dangling")

	before, err := os.Stat(filepath.Join(k.mirror(), "signalbox-maintained"))
	require.NoError(t, err)
	require.NoError(t, k.g.Maintain(t.Context(), k.space, work.Maintenance{Lives: func(context.Context, string) (bool, error) { return false, errors.New("asked") }}))
	after, err := os.Stat(filepath.Join(k.mirror(), "signalbox-maintained"))
	require.NoError(t, err)
	require.Equal(t, before.ModTime(), after.ModTime(), "once a day")
}

func glob(t *testing.T, dir, pattern string) []string {
	t.Helper()
	names, err := filepath.Glob(filepath.Join(dir, pattern))
	require.NoError(t, err)
	return names
}

// What attempts have left goes when it is old and its task has ended.
func TestMaintainLeft(t *testing.T) {
	t.Parallel()
	k := setup(t)
	write(t, k.open(), "x", "x")
	left := k.reopen().Left
	at := func() string { return run(t, k.mirror(), "for-each-ref", "--format=%(refname)", "refs/signalbox/left") }
	k.maintain(work.Maintenance{LeftBefore: time.Now().Add(-time.Hour)})
	require.Equal(t, left.Ref, at(), "young")
	k.maintain(work.Maintenance{})
	require.Equal(t, left.Ref, at(), "for ever")
	k.maintain(work.Maintenance{LeftBefore: time.Now().Add(time.Hour)}, "APP-1")
	require.Equal(t, left.Ref, at(), "the task lives")
	k.maintain(work.Maintenance{LeftBefore: time.Now().Add(time.Hour)})
	require.Empty(t, at())
}

// What was handed over and not removed at the end goes a day after.
func TestMaintainHanded(t *testing.T) {
	t.Parallel()
	a := replicas(t, 1)[0]
	head := commit(t, a.open(), "tiles.go", "package tiles\n")
	a.take()
	ref := "refs/signalbox/APP-1/" + head
	for range 2 {
		a.maintain(work.Maintenance{}, "APP-1")
		require.Equal(t, ref, a.refs("refs/signalbox"), "the task lives")
	}
	a.maintain(work.Maintenance{})
	require.Equal(t, ref, a.refs("refs/signalbox"), "for a day")
	a.maintain(work.Maintenance{}, "APP-1")
	require.Equal(t, ref, a.refs("refs/signalbox"), "it was needed again")
	a.maintain(work.Maintenance{})
	a.maintain(work.Maintenance{})
	require.Empty(t, a.refs("refs/signalbox"))
}
