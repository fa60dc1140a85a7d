package memwork

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// PushAs is a person who commits files on top of the remote branch and pushes that; from says where to
// begin instead, which makes it a forced push; without files the branch is set back to that. It returns the commit.
func (p *Place) PushAs(author, repo, branch, from string, files map[string]string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := repo + " " + branch
	sha := cmp.Or(from, p.remote[at])
	if len(files) > 0 {
		all := maps.Clone(p.commits[sha].files)
		maps.Copy(all, files)
		sha = p.commit(sha, all)
		p.authors[sha] = author
	}
	p.remote[at] = sha
	return sha
}

// Adopt implements work.Adopter.
func (p *Place) Adopt(ctx context.Context, s work.Workspace, pushed string) (a work.Adopted, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Adopt"); err != nil {
		return a, err
	}
	p.obtain(s)
	seen, head := p.remote[key(s)], s.Head
	_, known := p.commits[seen]
	if tip := p.onto[head]; head != "" && tip != "" && p.ancestor(tip, seen) { // it was pushed, which was not recorded
		pushed, head, s.Head, a.Push.SHA = tip, tip, tip, tip
	}
	switch {
	case seen == pushed:
		return a, nil
	case seen == "":
		return a, work.ErrRemoved
	case pushed != "" && p.ancestor(seen, pushed):
		return a, work.ErrMoved
	case head != "" && p.ancestor(seen, head):
		return a, nil
	case !known, pushed != "" && !p.ancestor(pushed, seen), pushed == "" && p.owner(seen) != s.Identity:
		if p.ancestor(seen, p.branches[key(s)]) {
			return a, nil // ours, and not decided yet
		}
		return a, work.ErrMoved
	}
	a.Push.SHA = seen
	base := cmp.Or(head, p.root(seen))
	for id := seen; id != "" && id != pushed && !p.ancestor(id, base) && p.authors[id] != ""; id = p.commits[id].parent {
		a.Push.Commits++
		if who := p.authors[id]; !slices.Contains(a.Push.Authors, who) && len(a.Push.Authors) < work.AuthorsMax {
			a.Push.Authors = append(a.Push.Authors, who)
		}
	}
	if a.Push.Commits == 0 && head == "" { // nothing but our first commit
		return work.Adopted{}, nil
	}
	p.join(s, seen, &a)
	return a, nil
}

// Join implements work.Adopter.
func (p *Place) Join(ctx context.Context, s work.Workspace, onto string) (a work.Adopted, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Join"); err != nil {
		return a, err
	}
	p.join(s, onto, &a)
	return a, nil
}

// join puts the commits of a space's head on top of another: what both have changed conflicts.
func (p *Place) join(s work.Workspace, onto string, a *work.Adopted) {
	a.SHA = onto
	if s.Head != "" && p.ancestor(onto, s.Head) {
		a.SHA = s.Head
	}
	if !p.ancestor(s.Head, a.SHA) {
		fork := p.fork(s.Head, onto)
		theirs, files := p.differ(fork, onto), maps.Clone(p.commits[onto].files)
		for _, name := range p.differ(fork, s.Head) {
			body, has := p.commits[s.Head].files[name]
			if slices.Contains(theirs, name) && files[name] != body {
				a.Push.Conflicts = append(a.Push.Conflicts, name)
			}
			if files[name] = body; !has {
				delete(files, name)
			}
		}
		if len(a.Push.Conflicts) > 0 {
			a.Left = p.keep(s, s.Head)
		} else if !maps.Equal(files, p.commits[onto].files) {
			a.SHA = p.commit(onto, files)
		}
	}
	if !p.ancestor(a.SHA, p.branches[key(s)]) {
		p.branches[key(s)] = a.SHA
	}
	a.Push.Left = a.Left.Ref
}

// fork is where two commits have parted.
func (p *Place) fork(a, b string) string {
	for a != "" && !p.ancestor(a, b) {
		a = p.commits[a].parent
	}
	return a
}

// Heads implements work.Adopter.
func (p *Place) Heads(ctx context.Context, s work.Workspace) (map[string]string, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	heads := map[string]string{}
	for at, sha := range p.remote {
		if branch, ok := strings.CutPrefix(at, s.Repo+" "); ok && sha != "" {
			heads[branch] = sha
		}
	}
	return heads, p.Failure(ctx, "Heads")
}
