package memwork

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// first is where main is until SetRemote moves it.
const first = "main-0"

// SetConflict makes a branch conflict with main in some files; none = no longer.
func (p *Place) SetConflict(repo, branch string, files ...string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conflict[repo+" "+branch] = files
}

// SpoilTree makes a commit differ from all others for SameTree.
func (p *Place) SpoilTree(sha string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.landed[sha] = true
}

// CatchUp implements work.Rebaser: the commits of the branch are made anew when
// main has moved.
func (p *Place) CatchUp(ctx context.Context, s work.Workspace, _ bool) (work.CaughtUp, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "CatchUp"); err != nil {
		return work.CaughtUp{}, err
	}
	p.obtain(s)
	if tip := p.onto[s.Head]; s.Head != "" && tip != "" { // another machine has done it
		p.branches[key(s)] = tip
		return work.CaughtUp{SHA: tip, Base: p.base(tip)}, nil
	}
	main, on := p.main(s), p.base(p.branches[key(s)])
	if on == main {
		return work.CaughtUp{SHA: p.branches[key(s)], Base: main}, nil
	}
	if files := p.conflict[key(s)]; len(files) > 0 {
		return work.CaughtUp{}, &work.Conflict{Base: main, Files: files}
	}
	before := p.branches[key(s)]
	tip := p.rebuild(before, main)
	p.branches[key(s)], p.onto[s.Head] = tip, tip
	if p.checkout[dir(s)] != "" {
		p.checkout[dir(s)] = tip
	}
	return work.CaughtUp{SHA: tip, Base: main}, nil
}

// baseFile names the commit of main that a commit stands on.
const baseFile = ".main"

func (p *Place) base(id string) string {
	if on := p.commits[id].files[baseFile]; on != "" {
		return on
	}
	return first
}

// Base is the commit of main that a commit stands on.
func (p *Place) Base(sha string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.base(sha)
}

// rebuild makes a line of commits anew on top of a commit of main that has the
// first one's files.
func (p *Place) rebuild(id, main string) string {
	c := p.commits[id]
	if c.parent == "" {
		return p.commit("", with(c.files, baseFile, main))
	}
	made := p.commitOf(c.owner, p.rebuild(c.parent, main), with(c.files, baseFile, main))
	if who := p.authors[id]; who != "" {
		p.authors[made] = who
	}
	return made
}

func with(files map[string]string, name, body string) map[string]string {
	out := map[string]string{name: body}
	for n, b := range files {
		if n != name {
			out[n] = b
		}
	}
	return out
}

func (p *Place) main(s work.Workspace) string {
	if main := p.remote[s.Repo+" "+s.Main]; main != "" {
		return main
	}
	return first
}

// MainTip implements work.Rebaser.
func (p *Place) MainTip(ctx context.Context, s work.Workspace) (string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.main(s), p.Failure(ctx, "MainTip")
}

// SameTree implements work.Rebaser.
func (p *Place) SameTree(ctx context.Context, _ work.Workspace, a, b string) (bool, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.landed[a] && !p.landed[b], p.Failure(ctx, "SameTree")
}

// TryMerge implements work.Rebaser.
func (p *Place) TryMerge(ctx context.Context, s work.Workspace, sha string, at time.Time) (bool, error) {
	p.mu.Lock()
	main, files := first, p.conflict[key(s)]
	for _, m := range p.mains[s.Repo+" "+s.Main] {
		if !m.at.After(at) {
			main = m.sha
		}
	}
	p.mu.Unlock()
	if err := p.Failure(ctx, "TryMerge"); err != nil || p.Contains(sha, main) {
		return err == nil, err
	}
	if len(files) > 0 {
		return false, &work.Conflict{Base: main, Files: files}
	}
	return false, nil
}

// Contains reports whether a commit is in the history of another. Main's own history is
// what branches stood on.
func (p *Place) Contains(tip, sha string) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for !p.ancestor(sha, tip) {
		on := p.base(tip)
		if _, known := p.commits[tip]; !known || on == tip {
			return false
		}
		tip = on
	}
	return true
}

// Revert implements work.Reverter: a file on the branch says what was taken back.
func (p *Place) Revert(ctx context.Context, s work.Workspace, landed []work.Landing, _ string) (work.Tip, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Revert"); err != nil {
		return work.Tip{}, err
	}
	if files := p.conflict[key(s)]; len(files) > 0 {
		return work.Tip{}, &work.Conflict{Base: p.main(s), Files: files}
	}
	tip, merges := p.branches[key(s)], ""
	for _, l := range landed {
		merges += l.Merge + "\n"
	}
	if all := with(p.commits[tip].files, "reverted", merges); p.commits[tip].files["reverted"] == "" {
		p.branches[key(s)] = p.commit(tip, all)
	}
	return p.tip(s), nil
}
