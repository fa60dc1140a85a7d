package gitcli

import (
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Limits bound what is taken of one attempt of an agent. A zero value has the default.
type Limits struct {
	File    int64 // bytes of one file; default 100 MiB, which git hosts take at most
	Bytes   int64 // of all new objects together, as they are stored and as they are read; default 1 GiB
	Objects int   // new files, directories and commits, and how many files more there may be; default 100,000
	Path    int   // bytes of a file's name with its directories; default 1024
	Depth   int   // directories that a file lies in; default 50
}

func (l *Limits) defaults() {
	l.File, l.Bytes = orDefault(l.File, 100<<20), orDefault(l.Bytes, 1<<30)
	l.Objects, l.Path, l.Depth = orDefault(l.Objects, 100_000), orDefault(l.Path, 1024), orDefault(l.Depth, 50)
}

func orDefault[N int | int64](n, standard N) N {
	if n <= 0 {
		return standard
	}
	return n
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
		beginning := name[:min(len(name), 100)]
		return tooMuch("the name of a file has %d bytes, more than %d: it begins with %q", len(name), limits.Path, beginning)
	case strings.Count(name, "/") > limits.Depth:
		return tooMuch("the file %.100q lies in %d directories, more than %d", name, strings.Count(name, "/"), limits.Depth)
	}
	return nil
}
