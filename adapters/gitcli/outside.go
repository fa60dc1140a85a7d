package gitcli

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// within refuses a commit of a checkout that changes what its attempt may not. The
// mirror has its objects. All that was committed is kept for people, and nothing of the
// checkout counts any more.
func (g *Git) within(ctx context.Context, p checkout, m mark, sha string) error {
	err := g.outside(ctx, p, m, sha)
	var outside *work.OutsideError
	if !errors.As(err, &outside) {
		return err
	}
	outside.Left = g.keepLogged(ctx, p, m, g.fetchCommits(ctx, p, m), m.Taken)
	m.Whole, m.Start = false, m.Taken
	return errors.Join(err, p.writeMark(m))
}

// outside compares the tree of a commit with that of the mirror's branch: a
// *work.OutsideError when they differ in what the attempt may not change. Renames are
// two changes; links, modes and submodules are changes of their path.
func (g *Git) outside(ctx context.Context, p checkout, m mark, sha string) error {
	if m.Writes.IsAll() {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	var outside work.OutsideError
	err := g.changed(ctx, p, m.Taken, sha, func(name string) {
		if !m.Writes.Has(name) {
			outside.Add(name)
		}
	})
	if err != nil || len(outside.Paths) == 0 {
		return err
	}
	return &outside
}

// changed calls a function with each path that differs between two commits of the mirror.
func (g *Git) changed(ctx context.Context, p checkout, from, to string, each func(name string)) error {
	_, err := g.run(ctx, call{
		repo: p.mirror, env: []string{g.allocLimit()}, most: math.MaxInt,
		out:  &pieces{end: 0, each: func(name string) error { each(name); return nil }},
		args: []string{"diff-tree", "-r", "-z", "--no-renames", "--ignore-submodules=none", "--name-only", from, to},
	})
	return err
}

// since sees to it that the mirror has two commits, and returns the first; "" is where the branch of
// the second has left main.
func (g *Git) since(ctx context.Context, p checkout, from, to string) (string, error) {
	if !commitID(to) || from != "" && !commitID(from) {
		return "", fmt.Errorf("%w: commit %q or %q", work.ErrBadName, from, to)
	}
	if err := g.reach(ctx, p, to); err != nil {
		return "", err
	}
	if from != "" {
		return from, g.reach(ctx, p, from)
	}
	out, err := g.git(ctx, p.mirror, "merge-base", to, "refs/remotes/origin/"+p.Main)
	return strings.TrimSpace(out), err
}

// Changed implements work.Mirror.
func (g *Git) Changed(ctx context.Context, s work.Workspace, from, to string, patterns []string) (list []string, err error) {
	p, err := g.locate(s)
	if err != nil {
		return nil, err
	}
	if from, err = g.since(ctx, p, from, to); err != nil {
		return nil, err
	}
	err = g.changed(ctx, p, from, to, func(name string) {
		if len(list) < work.ChangedMax && stage.MatchPath(patterns, name) {
			list = append(list, name)
		}
	})
	return list, err
}
