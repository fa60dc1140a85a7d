package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"

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
	own, short := g.fetchCommits(ctx, p, m)
	if short == nil {
		outside.Left, short = g.keepLogged(ctx, p, m, own, m.Taken)
	}
	if short != nil {
		return short
	}
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
	if err := checkIDs(to, cmp.Or(from, to)); err != nil {
		return "", err
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

// emptyTree stands for main where it was never fetched.
const emptyTree = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"

// overlay is how a checkout differs from its commit where main's files stand in for the
// branch's.
type overlay struct {
	tree   string   // what is checked out
	hidden []string // files of the commit that are main's, or absent
	added  []string // files that the commit does not have
}

// swap is one file of a commit that main has otherwise.
type swap struct{ was, mode, sha, name string } // modes; 000000 = it is not there

// overlay makes the tree of a commit in which the files that m.FromMain matches are those
// of m.Main. A file of main's that would lie behind a link of the commit is left out.
func (g *Git) overlay(ctx context.Context, p checkout, m mark, commit string) (o overlay, err error) {
	swaps, err := g.swaps(ctx, p, m, commit)
	if err != nil || len(swaps) == 0 {
		return overlay{tree: commit}, err
	}
	var removed, put strings.Builder
	for _, s := range swaps {
		if s.mode == absent {
			fmt.Fprintf(&removed, "0 %s\t%s\x00", strings.Repeat("0", 40), s.name)
		} else {
			fmt.Fprintf(&put, "%s %s\t%s\x00", s.mode, s.sha, s.name)
		}
		if s.was == absent {
			o.added = append(o.added, s.name)
		} else {
			o.hidden = append(o.hidden, s.name)
		}
	}
	index, drop, err := g.tempIndex()
	if err != nil {
		return o, err
	}
	defer drop()
	in := call{repo: p.mirror, env: []string{"GIT_INDEX_FILE=" + index}, args: []string{"read-tree", commit}}
	if _, err := g.run(ctx, in); err != nil {
		return o, err
	}
	// First what is removed: a file may stand where a directory was.
	in.args, in.stdin = []string{"update-index", "-z", "--index-info"}, removed.String()+put.String()
	if _, err := g.run(ctx, in); err != nil {
		return o, err
	}
	in.args, in.stdin = []string{"write-tree"}, ""
	out, err := g.run(ctx, in)
	o.tree = strings.TrimSpace(out)
	return o, err
}

const absent = "000000"

// swaps lists the files that m.FromMain matches and that differ between a commit and
// m.Main.
func (g *Git) swaps(ctx context.Context, p checkout, m mark, commit string) (list []swap, err error) {
	if len(m.FromMain) == 0 {
		return nil, nil
	}
	var meta []string
	leaves := map[string]bool{} // of the commit, which main may have directories in the place of
	each := func(piece string) error {
		if meta == nil {
			if meta = strings.Fields(strings.TrimPrefix(piece, ":")); len(meta) != 5 {
				return fmt.Errorf("git answered %q", piece)
			}
			return nil
		}
		s := swap{was: meta[0], mode: meta[1], sha: meta[3], name: piece}
		meta = nil
		switch {
		case stage.MatchPath(m.FromMain, s.name):
			list = append(list, s)
		case s.mode == absent:
			leaves[s.name] = true
		}
		return nil
	}
	_, err = g.run(ctx, call{
		repo: p.mirror, env: []string{g.allocLimit()}, most: math.MaxInt, out: &pieces{end: 0, each: each},
		args: []string{"diff-tree", "-r", "-z", "--raw", "--no-abbrev", "--no-renames", "--ignore-submodules=none", commit, m.main()},
	})
	kept := list[:0]
	for _, s := range list {
		if s.was != absent || !strings.Contains(s.name, "\n") && !below(leaves, s.name) { // no pattern of git's names a line break
			kept = append(kept, s)
		}
	}
	return kept, err
}

func (m mark) main() string {
	return cmp.Or(m.Main, emptyTree)
}

// below reports whether a name lies in one of some directories.
func below(dirs map[string]bool, name string) bool {
	for i, c := range name {
		if c == '/' && dirs[name[:i]] {
			return true
		}
	}
	return false
}

// checkOut puts the files of an attempt's start, and main's in the place of some, into the
// checkout. To the agent's git they are as the branch has them: what differs is marked
// in the index (skip-worktree) or excluded, so that no add --all commits it.
func (g *Git) checkOut(ctx context.Context, p checkout, m mark) error {
	o, err := g.overlay(ctx, p, m, m.Start)
	if err != nil {
		return err
	}
	if _, err := g.run(ctx, inCheckout(p, p.index, "read-tree", "--reset", "-u", o.tree)); err != nil {
		return err
	}
	own := filepath.Join(p.repo, "index")
	err = copyIndex(p.index, own)
	if err == nil && o.tree != m.Start {
		_, err = g.run(ctx, inCheckout(p, own, "read-tree", "--reset", m.Start))
	}
	if err == nil && len(o.hidden) > 0 {
		in := inCheckout(p, own, "update-index", "--skip-worktree", "-z", "--stdin")
		in.stdin = strings.Join(append(o.hidden, ""), "\x00")
		_, err = g.run(ctx, in)
	}
	if err != nil || len(o.added)+len(m.Beside) == 0 {
		return err
	}
	var excluded strings.Builder
	for _, name := range append(o.added, m.Beside...) {
		excluded.WriteString("/" + strings.NewReplacer(`\`, `\\`, "*", `\*`, "?", `\?`, "[", `\[`, " ", `\ `).Replace(name) + "\n")
	}
	return writeAll(map[string]string{filepath.Join(p.repo, "info", "exclude"): excluded.String()})
}

// putBeside writes the files of an attempt that no commit has, where the branch has none of the name.
func (g *Git) putBeside(p checkout) error {
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return err
	}
	defer func() { _ = root.Close() }() // each file was closed
	for _, f := range p.Beside {
		err := writeNew(root, f)
		if errors.Is(err, fs.ErrExist) || errors.Is(err, syscall.ENOTDIR) {
			g.log(p).Warn("a file is not put into a checkout: its place is taken", "path", f.Path, "err", err)
		} else if err != nil {
			return err
		}
	}
	return nil
}

// writeNew makes a file, and the directories on its way: none of them is reached through a link.
func writeNew(root *os.Root, f work.File) error {
	for at, c := range f.Path {
		if c != '/' {
			continue
		}
		dir := f.Path[:at]
		if err := root.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
			return err
		}
		if info, err := root.Lstat(dir); err != nil || !info.IsDir() {
			return errors.Join(err, &fs.PathError{Op: "enter", Path: dir, Err: syscall.ENOTDIR})
		}
	}
	file, err := root.OpenFile(f.Path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = file.Write(f.Body)
	return errors.Join(err, file.Close())
}
