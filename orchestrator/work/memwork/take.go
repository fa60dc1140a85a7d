package memwork

import (
	"cmp"
	"context"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Take implements work.Workspaces.
func (p *Place) Take(ctx context.Context, s work.Workspace) (work.Tip, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Take"); err != nil {
		return work.Tip{}, err
	}
	return p.take(s)
}

func (p *Place) take(s work.Workspace) (work.Tip, error) {
	p.obtain(s)
	before := p.branches[key(s)]
	if head := p.checkout[dir(s)]; head != "" && p.ancestor(s.Head, head) && !p.ancestor(head, before) {
		if outside := p.outside(p.space[dir(s)], head); outside != nil {
			outside.Left = p.keep(s, head)
			p.checkout[dir(s)] = before
			return work.Tip{}, outside
		}
		if !p.ancestor(before, head) { // others have pushed meanwhile: see Join
			return work.Tip{SHA: head, SameCode: []string{head}, Base: p.base(head), Changed: true}, nil
		}
		p.branches[key(s)] = head
	}
	tip := p.tip(s)
	tip.Changed = tip.SHA != before
	return tip, nil
}

// outside compares a commit with the branch of a space; nil = it changes nothing that
// the space may not.
func (p *Place) outside(s work.Workspace, head string) *work.OutsideError {
	var e work.OutsideError
	for _, name := range p.differ(p.fork(head, p.branches[key(s)]), head) {
		if !s.Writes.Has(name) {
			e.Add(name)
		}
	}
	if len(e.Paths) == 0 {
		return nil
	}
	return &e
}

func (p *Place) keep(s work.Workspace, sha string) work.Left {
	p.kept++
	return work.Left{Ref: fmt.Sprintf("refs/signalbox/left/%s/%d", s.WorkItem, p.kept), SHA: sha}
}

// differ lists the files that differ between two commits, by name.
func (p *Place) differ(from, to string) (list []string) {
	now, before := p.commits[to].files, p.commits[from].files
	for name, body := range now {
		if was, had := before[name]; !had || was != body {
			list = append(list, name)
		}
	}
	for name := range before {
		if _, has := now[name]; !has {
			list = append(list, name)
		}
	}
	slices.Sort(list)
	return list
}

// Changed implements work.Mirror. Where a branch has left main is its first commit's
// parent.
func (p *Place) Changed(ctx context.Context, _ work.Workspace, from, to string, patterns []string) (list []string, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Changed"); err != nil {
		return nil, err
	}
	if from == "" {
		from = p.root(to)
	}
	for _, id := range []string{from, to} {
		if _, known := p.commits[id]; !known {
			return nil, fmt.Errorf("memwork: commit %q: %w", id, fs.ErrNotExist)
		}
	}
	for _, name := range p.differ(from, to) {
		if len(list) < work.ChangedMax && stage.MatchPath(patterns, name) {
			list = append(list, name)
		}
	}
	return list, nil
}

// root is where the branch of a commit has left main.
func (p *Place) root(sha string) string {
	for p.commits[sha].parent != "" {
		sha = p.commits[sha].parent
	}
	return sha
}

// Diff implements work.Mirror. Each file is one hunk, of all its lines.
func (p *Place) Diff(ctx context.Context, _ work.Workspace, from, to string) (d work.Diff, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, sha := range []string{cmp.Or(from, to), to} {
		if _, known := p.commits[sha]; !known {
			err = fmt.Errorf("memwork: commit %q: %w", sha, fs.ErrNotExist)
		}
	}
	if err = cmp.Or(p.Failure(ctx, "Diff"), err); err != nil {
		return d, err
	}
	d.Base = cmp.Or(from, p.base(to))
	root, left := cmp.Or(from, p.root(to)), work.DiffMax
	for _, name := range p.differ(root, to) {
		head := fmt.Sprintf("--- a/%s\n+++ b/%s\n@@ all of it @@\n", name, name)
		before, after := p.commits[root].files[name], p.commits[to].files[name]
		f := work.FileDiff{Path: name, Text: head + marked("-", before) + marked("+", after)}
		if left -= len(f.Text); left < 0 {
			f.Text, d.Cut = "", true
		}
		d.Files = append(d.Files, f)
	}
	return d, nil
}

// marked puts a mark before each line.
func marked(mark, body string) string {
	var b strings.Builder // of a long file too
	for line := range strings.Lines(body) {
		b.WriteString(mark + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String()
}
