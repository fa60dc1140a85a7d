package gitcli_test

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// large makes a bare repository of what git fast-import reads, and what git needs to check it out beside another.
func large(b *testing.B, fill func(io.Writer)) (bare string, plain time.Duration) {
	b.Helper()
	bare = filepath.Join(b.TempDir(), "large.git")
	run(b, b.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", bare)
	stream := filepath.Join(b.TempDir(), "stream")
	file, err := os.Create(stream)
	require.NoError(b, err)
	in := bufio.NewWriter(file)
	fill(in)
	require.NoError(b, errors.Join(in.Flush(), file.Close()))
	run(b, bare, "-c", "alias.load=!git fast-import --quiet <"+stream, "load")
	run(b, bare, "gc", "--quiet")
	began := time.Now()
	run(b, bare, "worktree", "add", "--quiet", "--detach", filepath.Join(b.TempDir(), "anchor"), "main")
	return bare, time.Since(began)
}

// commits begins a commit of main, as git fast-import reads it.
const commits = "commit refs/heads/main\ncommitter A <a@example.org> 1700000000 +0000\ndata 1\nx"

// manyFiles is a repository of 100,000 files.
func manyFiles(in io.Writer) {
	_, _ = io.WriteString(in, commits) // an error is the flush's
	for i := range 100_000 {
		body := fmt.Sprintf("package p%d\n%s\n", i, strings.Repeat("x", i*7919%900+100))
		_, _ = fmt.Fprintf(in, "M 100644 inline src/%02d/%02d/f%d.go\ndata %d\n%s\n", i/1000, i/50%20, i, len(body), body)
	}
}

// longHistory is a repository of 1,000 commits, each of which replaces a file of 1 MB that cannot be compressed.
func longHistory(in io.Writer) {
	body := make([]byte, 1<<20)
	source := rand.NewChaCha8([32]byte{})
	for i := range 1000 {
		_, _ = source.Read(body) // never fails
		_, _ = fmt.Fprintf(in, "%s\nM 100644 inline src/00/%02d/data\ndata %d\n%s\n", commits, i%20, len(body), body)
	}
}

// What the steps of an attempt take in a large repository, of which the agent changes three files; git's own
// worktree add of the same run is the anchor.
func BenchmarkAttempt(b *testing.B) {
	b.Run("files", func(b *testing.B) { attempts(b, manyFiles) })
	b.Run("history", func(b *testing.B) { attempts(b, longHistory) })
}

func attempts(b *testing.B, fill func(io.Writer)) {
	b.Helper()
	bare, anchor := large(b, fill)
	g := openGit(b, gitcli.Options{Root: b.TempDir()})
	space := work.Workspace{
		Repo: "acme/app", CloneURL: bare, Main: "main", Branch: "feature/APP-1-x", WorkItem: "APP-1", Task: 1, Identity: "1.1", Docs: "docs/work/APP-1",
		Role: "developer",
	}
	b.Logf("anchor: git worktree add %s", anchor.Round(time.Millisecond))
	step := func(name string, n int, f func()) {
		began := time.Now()
		f()
		took := time.Since(began)
		b.Logf("attempt %d: %-5s %6d ms, %.2f of the anchor", n, name, took.Milliseconds(), float64(took)/float64(anchor))
		b.ReportMetric(float64(took)/float64(anchor), fmt.Sprintf("%s%d/anchor", name, n))
	}
	for b.Loop() {
		for n := range 5 {
			var at work.Checkout
			var err error
			step("open", n, func() {
				at, err = g.Open(b.Context(), space, []work.File{{Path: "docs/work/APP-1/request.md", Body: []byte("# x\n")}})
				require.NoError(b, err)
			})
			step("agent", n, func() {
				for i := range 3 {
					write(b, at.Dir, fmt.Sprintf("src/00/00/f%d.go", i), fmt.Sprintf("// %d\n", n))
				}
				run(b, at.Dir, "add", "--all")
				run(b, at.Dir, "commit", "--quiet", "-m", fmt.Sprint(n))
			})
			step("take", n, func() {
				_, err = g.Take(b.Context(), space)
				require.NoError(b, err)
			})
		}
	}
}
