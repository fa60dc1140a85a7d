package memwork

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Take implements work.Workspaces.
func (p *Place) Take(ctx context.Context, s work.Space) (work.Tip, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Take"); err != nil {
		return work.Tip{}, err
	}
	return p.take(s)
}

func (p *Place) take(s work.Space) (work.Tip, error) {
	p.obtain(s)
	before := p.branches[key(s)]
	if head := p.checkout[dir(s)]; head != "" && p.ancestor(s.Head, head) && !p.ancestor(head, before) {
		if outside := p.outside(p.space[dir(s)], head); outside != nil {
			outside.Left = p.keep(s, head)
			p.checkout[dir(s)] = before
			return work.Tip{}, outside
		}
		p.branches[key(s)] = head
	}
	tip := p.tip(s)
	tip.Changed = tip.SHA != before
	return tip, nil
}

// outside compares a commit with the branch of a space; nil = it changes nothing that
// the space may not.
func (p *Place) outside(s work.Space, head string) *work.OutsideError {
	now, before := p.commits[head].files, p.commits[p.branches[key(s)]].files
	names := map[string]bool{}
	for _, files := range []map[string]string{now, before} {
		for name := range files {
			a, has := now[name]
			b, had := before[name]
			names[name] = has != had || a != b
		}
	}
	var e work.OutsideError
	for _, name := range slices.Sorted(maps.Keys(names)) {
		if names[name] && !s.Writes.Has(name) {
			e.Add(name)
		}
	}
	if len(e.Paths) == 0 {
		return nil
	}
	return &e
}

func (p *Place) keep(s work.Space, sha string) work.Left {
	p.kept++
	return work.Left{Ref: fmt.Sprintf("refs/signalbox/left/%s/%d", s.WorkItem, p.kept), SHA: sha}
}
