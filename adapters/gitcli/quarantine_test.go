//go:build linux

package gitcli_test

import (
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// heapPeak is how many bytes the heap grows by at most while a function runs.
func heapPeak(f func()) int64 {
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	before, peak := int64(m.HeapAlloc), atomic.Int64{}
	stop, stopped := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(stopped)
		for {
			var m runtime.MemStats
			runtime.ReadMemStats(&m)
			peak.Store(max(peak.Load(), int64(m.HeapAlloc)))
			select {
			case <-stop:
				return
			case <-time.After(time.Millisecond):
			}
		}
	}()
	f()
	close(stop)
	<-stopped
	return peak.Load() - before
}

// A commit that is small as it is stored and huge when it is read is refused before any
// of it is read, and costs no memory.
func TestHugeFiles(t *testing.T) { //nolint:paralleltest // it measures the memory of the process
	k := setup(t)
	dir := k.open()
	size := int64(1 << 30)
	if testing.Short() {
		size = 256 << 20
	}
	for _, name := range []string{"questions.md", "review.md"} {
		write(t, dir, "docs/work/APP-1/"+name, "")
		require.NoError(t, os.Truncate(filepath.Join(dir, "docs/work/APP-1", name), size))
	}
	run(t, dir, "-c", "core.compression=1", "-c", "core.bigFileThreshold=1m", "add", "--all")
	run(t, dir, "commit", "--quiet", "-m", "huge")
	head := run(t, dir, "rev-parse", "HEAD")

	var err error
	grown := heapPeak(func() { _, err = k.g.Take(t.Context(), k.space) })
	require.ErrorContains(t, err, fmt.Sprintf(`the file "docs/work/APP-1/questions.md" has %d bytes, more than 104857600`, size))
	require.False(t, fault.Retryable(err))
	require.Less(t, grown, int64(64<<20))
	require.Empty(t, k.quarantines())

	run(t, k.mirror(), "fetch", "--quiet", dir, k.space.Branch) // as a person may push it
	files, err := k.g.Files(t.Context(), k.space, head)
	require.NoError(t, err)
	for _, name := range []string{"questions.md", "review.md"} {
		grown = heapPeak(func() { _, err = fs.ReadFile(files, "docs/work/APP-1/"+name) })
		require.ErrorContains(t, err, name)
		require.ErrorContains(t, err, fmt.Sprintf("the file has %d bytes, and files of at most 8388608 are read", size))
		require.Less(t, grown, int64(64<<20))
	}
	entries, err := fs.ReadDir(files, "docs/work/APP-1")
	require.NoError(t, err)
	require.Len(t, entries, 3)

	k.open() // the next attempt begins without them
	require.NoFileExists(t, filepath.Join(dir, "docs/work/APP-1/questions.md"))
	next := commit(t, dir, "a.go", "package a\n")
	require.Equal(t, next, k.take().SHA)
}

func (k *kit) quarantines() []string {
	k.Helper()
	left, err := filepath.Glob(filepath.Join(k.root, "take-*"))
	require.NoError(k, err)
	return left
}

// What one attempt may bring into the mirror is bounded; what passes the bounds is taken.
func TestLimits(t *testing.T) {
	t.Parallel()
	limits := gitcli.Limits{File: 2500, Bytes: 20_000, Objects: 60, Path: 300, Depth: 8}
	for name, c := range map[string]struct {
		commit func(k *kit, dir string)
		says   string
	}{
		"fits":         {func(k *kit, dir string) { commit(k, dir, "a/b/c.txt", strings.Repeat("x", 900)) }, ""},
		"a large file": {func(k *kit, dir string) { commit(k, dir, "a/b/large.txt", strings.Repeat("x", 2501)) }, `the file "a/b/large.txt" has 2501 bytes, more than 2500`},
		"a large file that was removed again": {func(k *kit, dir string) {
			commit(k, dir, "large.txt", strings.Repeat("x", 2501))
			require.NoError(k, os.Remove(filepath.Join(dir, "large.txt")))
			commit(k, dir, "a.txt", "a")
		}, `the file "large.txt" has 2501 bytes`},
		"a large message": {func(k *kit, dir string) {
			run(k, dir, "commit", "--quiet", "--allow-empty", "-m", strings.Repeat("x", 2501))
		}, "the commit"},
		"many bytes": {func(k *kit, dir string) {
			for n := range 25 {
				write(k, dir, fmt.Sprintf("%d.txt", n), strings.Repeat(string(rune('a'+n)), 990))
			}
			commit(k, dir, "a.txt", "a")
		}, "more than 20000 bytes"},
		"many objects": {func(k *kit, dir string) {
			for n := range 61 {
				write(k, dir, fmt.Sprintf("%d.txt", n), fmt.Sprint(n))
			}
			commit(k, dir, "a.txt", "a")
		}, "more than 60"},
		"many files of one object": {func(k *kit, dir string) {
			for n := range 61 {
				write(k, dir, fmt.Sprintf("%d.txt", n), "same")
			}
			run(k, dir, "add", "--all")
			run(k, dir, "commit", "--quiet", "-m", "x")
		}, "more than 60 files more"},
		"many files in few trees": {func(k *kit, dir string) {
			tree := k.object(dir, "tree", "100644 blob "+k.object(dir, "blob", "x")+"\tx\n")
			for range 6 {
				var entries string
				for n := range 10 {
					entries += fmt.Sprintf("040000 tree %s\t%d\n", tree, n)
				}
				tree = k.object(dir, "tree", entries)
			}
			run(k, dir, "update-ref", "HEAD", run(k, dir, "commit-tree", tree, "-p", "HEAD", "-m", "bomb"))
		}, "more than 60 files more"},
		"a long name": {func(k *kit, dir string) {
			commit(k, dir, strings.Repeat("long/", 6)+strings.Repeat("x", 100)+"/"+strings.Repeat("x", 180), "a")
		}, "311 bytes, more than 300"},
		"a deep file": {func(k *kit, dir string) { commit(k, dir, strings.Repeat("d/", 9)+"x", "a") }, "lies in 9 directories, more than 8"},
		"a name with a line end": {func(k *kit, dir string) {
			commit(k, dir, "a\n"+strings.Repeat("x", 120)+"/"+strings.Repeat("x", 180), "a")
		}, "303 bytes, more than 300"},
		"a name that no disk takes": {func(k *kit, dir string) {
			tree := k.object(dir, "tree", "100644 blob "+k.object(dir, "blob", "x")+"\t"+strings.Repeat("x", 256)+"\n")
			run(k, dir, "update-ref", "HEAD", run(k, dir, "commit-tree", tree, "-p", "HEAD", "-m", "x"))
		}, "more than the 255 bytes that a disk takes"},
		"what fsck refuses": {func(k *kit, dir string) {
			tree := k.object(dir, "tree-raw", "100644 .git\x00"+strings.Repeat("\x01", 20))
			run(k, dir, "update-ref", "HEAD", run(k, dir, "commit-tree", tree, "-p", "HEAD", "-m", "x"))
		}, "git"},
		"an object that is missing": {func(k *kit, dir string) {
			commit(k, dir, "a.txt", "missing")
			id := run(k, dir, "rev-parse", "HEAD:a.txt")
			require.NoError(k, os.Remove(filepath.Join(k.repo(), "objects", id[:2], id[2:])))
		}, "git"},
		"an object of another name": {func(k *kit, dir string) {
			commit(k, dir, "a.txt", "missing")
			id, other := run(k, dir, "rev-parse", "HEAD:a.txt"), k.object(dir, "blob", "other")
			file := func(id string) string { return filepath.Join(k.repo(), "objects", id[:2], id[2:]) }
			require.NoError(k, os.Remove(file(id)))
			require.NoError(k, os.Rename(file(other), file(id)))
		}, "git"},
		"objects of another repository": {func(k *kit, dir string) {
			other := filepath.Join(k.TempDir(), "other")
			run(k, k.TempDir(), "init", "--quiet", other)
			secret := commit(k, other, "secret.txt", "of another repository")
			write(k, k.repo(), "objects/info/alternates", filepath.Join(k.mirror(), "objects")+"\n"+other+"/.git/objects\n")
			run(k, dir, "update-ref", "HEAD", run(k, dir, "commit-tree", secret+"^{tree}", "-p", "HEAD", "-m", "x"))
		}, "git"},
		"a link to objects of another repository": {func(k *kit, dir string) {
			head := commit(k, dir, "a.txt", "linked")
			from, to := filepath.Join(k.repo(), "objects", head[:2]), filepath.Join(k.TempDir(), "objects")
			require.NoError(k, os.Rename(from, to))
			require.NoError(k, os.Symlink(to, from))
		}, "escapes"},
		"a pipe as an object": {func(k *kit, dir string) {
			head := commit(k, dir, "a.txt", "piped")
			file := filepath.Join(k.repo(), "objects", head[:2], head[2:])
			require.NoError(k, os.Remove(file))
			require.NoError(k, syscall.Mkfifo(file, 0o600))
		}, "git"},
		"a pipe as a directory of objects": {func(k *kit, dir string) {
			head := commit(k, dir, "a.txt", "piped")
			name := filepath.Join(k.repo(), "objects", head[:2])
			require.NoError(k, os.RemoveAll(name))
			require.NoError(k, syscall.Mkfifo(name, 0o600))
		}, "not a directory"},
		"pipes beside it": {func(k *kit, dir string) {
			commit(k, dir, "a.txt", "a")
			for _, name := range []string{"packed-refs", "commondir", "objects/pack/pack-1.pack", "objects/info/commit-graph"} {
				require.NoError(k, os.MkdirAll(filepath.Dir(filepath.Join(k.repo(), name)), 0o700))
				require.NoError(k, syscall.Mkfifo(filepath.Join(k.repo(), name), 0o600))
			}
		}, ""},
		"a sparse object": {func(k *kit, dir string) {
			commit(k, dir, "a.txt", "a")
			name := filepath.Join(k.repo(), "objects", "00", strings.Repeat("0", 38))
			write(k, filepath.Dir(name), filepath.Base(name), "")
			require.NoError(k, os.Truncate(name, 1<<40))
		}, "its objects have more than 20000 bytes"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			k := setup(t)
			g := openGit(t, gitcli.Options{Root: k.root, Limits: limits})
			k.g = g
			dir := k.open()
			before := k.take().SHA
			c.commit(k, dir)
			head := strings.TrimSpace(k.read("refs/heads/" + k.space.Branch))
			tip, err := k.g.Take(t.Context(), k.space)
			require.Empty(t, k.quarantines())
			if c.says == "" {
				require.NoError(t, err)
				require.Equal(t, head, tip.SHA)
				return
			}
			require.ErrorContains(t, err, c.says)
			require.Equal(t, before, run(t, k.mirror(), "rev-parse", k.space.Branch))
			require.Equal(t, before, run(t, k.reopen().Dir, "rev-parse", "HEAD"), "the next attempt begins where the last good one was")
		})
	}
}

// read is a file of the task's repository.
func (k *kit) read(name string) string {
	k.Helper()
	body, err := os.ReadFile(filepath.Join(k.repo(), name))
	require.NoError(k, err)
	return string(body)
}

// object writes an object into the repository of a checkout.
func (k *kit) object(dir, kind, body string) string {
	k.Helper()
	file := filepath.Join(k.TempDir(), "body")
	write(k, filepath.Dir(file), "body", body)
	switch kind {
	case "tree":
		return run(k, dir, "-c", "alias.make=!git mktree <"+file, "make")
	case "tree-raw":
		return run(k, dir, "hash-object", "-t", "tree", "-w", "--literally", file)
	default:
		return run(k, dir, "hash-object", "-t", kind, "-w", file)
	}
}
