package gitcli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// readLimit bounds how long git reads what an agent has written: it holds up the
// agent's own task only.
const readLimit = 30 * time.Second

// quarantined begins the names of the directories that agents' objects are looked at in, and commits made anew.
const quarantined = "take-"

// fetchOwn brings a commit of the task's repository into the mirror: its objects
// alone, so that the mirror's lock is not needed. They are copied into quarantine; no git
// runs where the agent writes. From is a commit that the mirror has, to compare with.
func (g *Git) fetchOwn(ctx context.Context, p checkout, from, sha string) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if err := plainDir(p.repo, "objects"); err != nil {
		return err
	}
	return g.examine(ctx, p, from, func(repo string) (string, error) {
		return sha, g.copyObjects(ctx, filepath.Join(p.repo, "objects"), filepath.Join(repo, "objects"))
	})
}

// fetchOthers brings what the remote task branch has into the mirror, by quarantine as well.
func (g *Git) fetchOthers(ctx context.Context, p checkout, from string) error {
	return g.examine(ctx, p, from, func(repo string) (string, error) {
		_, err := g.run(ctx, call{
			repo: repo, network: p.CloneURL, env: []string{g.allocLimit()},
			args: fetching(p.CloneURL, "+refs/heads/"+p.Branch+":refs/heads/own"),
		})
		if err != nil {
			return "", err
		}
		return g.ref(ctx, repo, "refs/heads/own")
	})
}

// examine makes a repository that borrows the mirror's objects, has a commit put into it, measures what
// it brings, and fetches it from there into the mirror, checked by git one by one.
func (g *Git) examine(ctx context.Context, p checkout, from string, put func(repo string) (sha string, err error)) (err error) {
	repo, err := os.MkdirTemp(g.opt.Root, quarantined)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, g.remove(repo)) }()
	objects := filepath.Join(repo, "objects")
	err = writeAll(map[string]string{
		filepath.Join(repo, "HEAD"):                  "ref: refs/heads/own\n",
		filepath.Join(repo, "config"):                "[core]\n\tbare = true\n\tcommitGraph = false\n",
		filepath.Join(objects, "info", "alternates"): filepath.Join(p.mirror, "objects") + "\n",
	})
	if err == nil {
		err = os.MkdirAll(filepath.Join(repo, "refs", "heads"), 0o700)
	}
	if err != nil {
		return err
	}
	sha, err := put(repo)
	if err != nil {
		return err
	}
	if err := g.measure(ctx, p, objects, from, sha); err != nil {
		return err
	}
	if err := writeAll(map[string]string{filepath.Join(repo, "refs", "heads", "own"): sha + "\n"}); err != nil {
		return err
	}
	_, err = g.run(ctx, call{repo: p.mirror, env: []string{g.allocLimit()}, args: fetching(repo, "refs/heads/own")})
	return err
}

// allocLimit bounds what git takes of memory for one thing: what an agent has stored may
// say that it is of any size.
func (g *Git) allocLimit() string {
	return fmt.Sprintf("GIT_ALLOC_LIMIT=%d", 128<<20+2*g.opt.Limits.File)
}

// copyObjects copies loose objects and packs, and nothing else: no link is followed out,
// no pipe waited for, and no other repository's objects come with them.
func (g *Git) copyObjects(ctx context.Context, from, to string) error {
	root, err := os.OpenRoot(from)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	room, files := g.opt.Limits.Bytes, g.opt.Limits.Objects
	copyAll := func(dir string, wanted func(string) bool) error {
		return eachName(root, dir, func(name string) error {
			if !wanted(name) {
				return nil
			}
			if files--; files < 0 {
				return tooMuch("it has more than %d objects", g.opt.Limits.Objects)
			}
			n, err := copyFile(root, dir+"/"+name, filepath.Join(to, dir, name), room+1)
			if room -= n; room < 0 {
				return tooMuch("its objects have more than %d bytes", g.opt.Limits.Bytes)
			}
			return errors.Join(err, ctx.Err())
		})
	}
	if err := copyAll("pack", func(name string) bool {
		return strings.HasPrefix(name, "pack-") && (strings.HasSuffix(name, ".pack") || strings.HasSuffix(name, ".idx"))
	}); err != nil {
		return err
	}
	for n := range 256 {
		if err := copyAll(fmt.Sprintf("%02x", n), func(name string) bool { return commitID("00" + name) }); err != nil {
			return err
		}
	}
	return nil
}

// eachName calls a function with the names in a directory; none when it is not there.
func eachName(root *os.Root, dir string, each func(string) error) error {
	f, err := root.OpenFile(dir, os.O_RDONLY|syscall.O_DIRECTORY|syscall.O_NONBLOCK, 0)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	defer func() { _ = f.Close() }() // it was read only
	for {
		names, err := f.Readdirnames(1000)
		for _, name := range names {
			if err := each(name); err != nil {
				return err
			}
		}
		if err != nil {
			if errors.Is(err, io.EOF) {
				return nil
			}
			return err
		}
	}
}

// copyFile copies a file, up to a number of bytes. What is none is passed over.
func copyFile(root *os.Root, name, to string, most int64) (n int64, err error) {
	f, err := root.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return 0, err
	}
	defer func() { _ = f.Close() }() // it was read only
	if info, err := f.Stat(); err != nil || !info.Mode().IsRegular() {
		return 0, err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return 0, err
	}
	out, err := os.OpenFile(to, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return 0, err
	}
	n, err = io.Copy(out, io.LimitReader(f, most))
	return n, errors.Join(err, out.Close())
}

// bounded passes on what is written to it, up to a number of bytes. More is dropped, or
// an error that ends the writer.
type bounded struct {
	to   io.Writer
	left int
	cut  bool
	err  error
	seen int
}

func (b *bounded) Write(p []byte) (int, error) {
	if b.err != nil {
		return 0, b.err
	}
	n := min(len(p), b.left)
	b.left -= n
	b.seen += n
	if _, b.err = b.to.Write(p[:n]); b.err == nil && n < len(p) && !b.cut {
		b.err = fmt.Errorf("it writes more than %d bytes", b.seen)
	}
	if b.err != nil {
		return 0, b.err
	}
	return len(p), nil
}

// ending keeps the last bytes that are written to it: git says last what ended it.
type ending struct {
	last []byte
	most int
}

func (e *ending) Write(p []byte) (int, error) {
	e.last = append(e.last, p[max(0, len(p)-e.most):]...)
	if extra := len(e.last) - e.most; extra > 0 {
		e.last = append(e.last[:0], e.last[extra:]...)
	}
	return len(p), nil
}

// pieces calls a function with each piece that is written to it and ends in a byte.
type pieces struct {
	end  byte
	each func(string) error
	rest []byte
}

func (w *pieces) Write(p []byte) (int, error) {
	whole := p
	for {
		piece, rest, ok := bytes.Cut(p, []byte{w.end})
		w.rest = append(w.rest, piece...)
		if !ok {
			return len(whole), nil
		}
		if err := w.each(string(w.rest)); err != nil {
			return 0, err
		}
		p, w.rest = rest, w.rest[:0]
	}
}

// Limits bound what is taken of one attempt of an agent. A zero value has the default.
type Limits struct {
	File    int64 `envDefault:"104857600"`  // bytes of one file; 100 MiB, which git hosts take at most
	Bytes   int64 `envDefault:"1073741824"` // of all new objects together, as they are stored and as they are read; 1 GiB
	Objects int   `envDefault:"100000"`     // new files, directories and commits, and how many files more there may be
	Path    int   `envDefault:"1024"`       // bytes of a file's name with its directories
	Depth   int   `envDefault:"50"`         // directories that a file lies in
}

func tooMuch(format string, args ...any) error {
	return &fault.Error{Text: "what was committed is not taken: " + fmt.Sprintf(format, args...)}
}

// measure compares what a commit would bring into the mirror with the limits. Of what is
// in its objects nothing but names and sizes is read.
func (g *Git) measure(ctx context.Context, p checkout, objects, from, sha string) error {
	in := call{repo: p.mirror, env: []string{
		"GIT_OBJECT_DIRECTORY=" + objects, "GIT_ALTERNATE_OBJECT_DIRECTORIES=" + filepath.Join(p.mirror, "objects"), g.allocLimit(),
	}}
	limits := g.opt.Limits
	list, err := os.OpenFile(filepath.Join(filepath.Dir(objects), "list"), os.O_CREATE|os.O_RDWR, 0o600)
	if err != nil {
		return err
	}
	defer func() { _ = list.Close() }() // it is removed with the quarantine
	in.out, in.most, in.args = list, limits.Objects*(limits.Path+50), []string{"rev-list", "--objects", sha, "--not", "--all"}
	if _, err := g.run(ctx, in); err != nil {
		return err
	}
	if _, err := list.Seek(0, io.SeekStart); err != nil {
		return err
	}
	number, bytes := 0, int64(0)
	in.in, in.args = list, []string{"cat-file", "--batch-check=%(objecttype) %(objectsize) %(rest)"}
	in.out = &pieces{end: '\n', each: func(line string) error {
		kind, rest, _ := strings.Cut(line, " ")
		digits, name, _ := strings.Cut(rest, " ")
		size, err := strconv.ParseInt(digits, 10, 64)
		if err != nil {
			return fmt.Errorf("git answered %q", line)
		}
		number, bytes = number+1, bytes+size
		if kind == "blob" {
			kind = "file"
		}
		switch {
		case number > limits.Objects:
			return tooMuch("it has more than %d new objects", limits.Objects)
		case size > limits.File:
			return tooMuch("the %s %q has %d bytes, more than %d", kind, name, size, limits.File)
		case bytes > limits.Bytes:
			return tooMuch("its new objects have more than %d bytes", limits.Bytes)
		}
		return g.fits(name)
	}}
	if _, err := g.run(ctx, in); err != nil {
		return err
	}
	return g.compare(ctx, in, from, sha)
}

// skipsCI is a pattern of what keeps the CI of git hosts from running: then what other apps say would count.
const skipsCI = `\[(skip[ _-][a-z]+|[a-z]+[ _-]skip|no[ _-]ci)\]|\*\*\*no_ci|skip-checks *: *true`

// checkCommits refuses an agent's commits that have nothing in common with main, or keep CI from running. Those of main may.
func (g *Git) checkCommits(ctx context.Context, p checkout, from, sha string) error {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	if _, err := g.git(ctx, p.mirror, "merge-base", sha, from, "refs/remotes/origin/"+p.Main); exitCode(err) == 1 {
		return tooMuch("%.7s has no history with %s: rebase it onto origin/%s", sha, p.Main, p.Main)
	}
	found, err := g.git(ctx, p.mirror, "log", "--encoding=none", "--max-count=1", "--format=%h", "--extended-regexp",
		"--regexp-ignore-case", "--grep="+skipsCI, sha, "--not", from, "refs/remotes/origin/"+p.Main, "--")
	if found != "" {
		return tooMuch("the message of %.7s keeps CI from running, as [skip ci] does: reword it", found)
	}
	return err
}

// compare counts the files of two commits: a few trees that have each other many times
// can stand for more files than any disk has.
func (g *Git) compare(ctx context.Context, in call, from, sha string) error {
	limit := math.MaxInt
	for _, commit := range []string{from, sha} {
		number := 0
		in.in, in.most, in.args = nil, math.MaxInt, []string{"ls-tree", "-r", "-z", "--full-tree", "--name-only", commit}
		in.out = &pieces{end: 0, each: func(name string) error {
			if number++; number > limit {
				return tooMuch("it has more than %d files more", g.opt.Limits.Objects)
			}
			if strings.Contains(name, "\n") { // the list of objects had half of it
				return g.fits(name)
			}
			return nil
		}}
		if _, err := g.run(ctx, in); err != nil {
			return err
		}
		limit = number + g.opt.Limits.Objects
	}
	return nil
}

// fits returns an error for a name that is too long or too deep.
func (g *Git) fits(name string) error {
	limits := g.opt.Limits
	switch {
	case len(name) > limits.Path:
		return tooMuch("the name of a file has %d bytes, more than %d: it begins with %.100q", len(name), limits.Path, name)
	case slices.ContainsFunc(strings.Split(name, "/"), func(part string) bool { return len(part) > 255 }):
		return tooMuch("a name in %.100q has more than the 255 bytes that a disk takes", name)
	case strings.Count(name, "/") > limits.Depth:
		return tooMuch("the file %.100q lies in %d directories, more than %d", name, strings.Count(name, "/"), limits.Depth)
	}
	return nil
}
