// Package memwork is the double of package work: workspaces and agents in memory, without git and without processes. An agent is a
// function that writes files.
package memwork

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"sort"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Script is an agent: it may change the files of its checkout, and says how it ended. Files that it changed are committed when it ends
// well, and left uncommitted when it does not. What it writes to work.ReportPath is its report.
type Script func(ctx context.Context, c work.Command, files map[string]string) work.Result

// Place implements work.Workspaces, work.Mirror, work.Rebaser, work.Reverter, work.Adopter, work.Disk and work.Agents
// in memory. Its calls on workspaces can be made to fail.
type Place struct {
	memfault.Switch

	// OnPush is called at every push, when it is set.
	OnPush func(repo, branch, sha string)
	// Vendors are those of agents by their names; others are not known.
	Vendors map[string]string

	*origin
	Now      func() time.Time // the clock of the runs' records
	script   Script
	branches map[string]string            // mirror: "repo branch" → id
	checkout map[string]string            // directory → id of its head
	opened   map[string]work.Remains      // by directory
	space    map[string]work.Workspace    // what each was opened for, by directory
	left     map[string]map[string]string // directory → files that were not committed
	kept     int                          // commits of such files
	runs     []work.Command
	outbox   map[string]string // run → report
	quiesced int
}

// origin holds what all machines share: every commit is handed over through the remote. Its lock is that of the places too.
type origin struct {
	mu       sync.Mutex
	commits  map[string]commit   // by id
	remote   map[string]string   // "repo branch" → id
	mains    map[string][]moved  // "repo branch" → where it was set
	onto     map[string]string   // what came out when a commit was brought up to date
	conflict map[string][]string // "repo branch" → files
	landed   map[string]bool     // commits whose tree is another
	onMain   map[string]string   // "repo path" → file that main has besides
	authors  map[string]string   // of commits of others
}

type commit struct {
	parent string
	owner  string // identity of the task whose branch it is on; empty on main
	files  map[string]string
}

// New makes an empty place whose agents follow a script.
func New(s Script) *Place {
	return newPlace(s, &origin{
		commits: map[string]commit{}, remote: map[string]string{}, mains: map[string][]moved{}, conflict: map[string][]string{},
		landed: map[string]bool{}, onto: map[string]string{}, onMain: map[string]string{}, authors: map[string]string{},
	})
}

func newPlace(s Script, o *origin) *Place {
	return &Place{
		origin: o, Now: time.Now, script: s,
		branches: map[string]string{}, checkout: map[string]string{}, opened: map[string]work.Remains{},
		space: map[string]work.Workspace{}, left: map[string]map[string]string{}, outbox: map[string]string{},
	}
}

// Machine makes the place of another machine, with mirrors and checkouts of its own over the same remote.
func (p *Place) Machine(s Script) *Place {
	other := newPlace(s, p.origin)
	other.Now, other.OnPush = p.Now, p.OnPush
	return other
}

// SetScript changes what agents do from now on.
func (p *Place) SetScript(s Script) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.script = s
}

// Runs lists the agents that were run, oldest first.
func (p *Place) Runs() []work.Command {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.runs)
}

// SetRemote moves a remote branch, as another would.
func (p *Place) SetRemote(repo, branch, sha string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.remote[repo+" "+branch] = sha
	p.mains[repo+" "+branch] = append(p.mains[repo+" "+branch], moved{sha, time.Now()})
}

// moved is where a remote branch was set.
type moved struct {
	sha string
	at  time.Time
}

// Remote is the head of a remote branch.
func (p *Place) Remote(repo, branch string) string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.remote[repo+" "+branch]
}

func key(s work.Workspace) string { return s.Repo + " " + s.Branch }

func dir(s work.Workspace) string { return "/mem/" + s.Repo + "/" + s.WorkItem }

// commit stores files on top of a parent and returns the id. The lock is held.
func (p *Place) commit(parent string, files map[string]string) string {
	return p.commitOf(p.owner(parent), parent, files)
}

func (p *Place) commitOf(owner, parent string, files map[string]string) string {
	h := sha256.New()
	fmt.Fprintln(h, parent, owner)
	for _, name := range slices.Sorted(maps.Keys(files)) {
		fmt.Fprintf(h, "%s\x00%s\x00", name, files[name])
	}
	id := hex.EncodeToString(h.Sum(nil))[:40]
	p.commits[id] = commit{parent: parent, owner: owner, files: maps.Clone(files)}
	return id
}

// Open implements work.Workspaces.
func (p *Place) Open(ctx context.Context, s work.Workspace, first []work.File) (work.Checkout, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := cmp.Or(p.Failure(ctx, "Open"), s.CheckPaths()); err != nil {
		return work.Checkout{}, err
	}
	if err := p.begin(s, first); err != nil {
		return work.Checkout{}, err
	}
	at := work.Checkout{Dir: dir(s), Main: treeOf(p.mainFiles(s.Repo))}
	p.opened[at.Dir] = work.Remains{Task: s.Task, Name: at.Dir, Used: p.Now()}
	if files, ok := p.left[at.Dir]; ok {
		at.Left = p.keep(s, p.commit(p.checkout[at.Dir], files))
		delete(p.left, at.Dir)
	}
	head, before := p.checkout[at.Dir], p.space[at.Dir]
	p.space[at.Dir] = s
	switch {
	case head == "" || !p.ancestor(s.Head, head) || p.ancestor(head, p.branches[key(s)]):
		p.checkout[at.Dir] = p.branches[key(s)]
	case before.Role != s.Role || p.outside(before, head) != nil:
		at.Left = p.keep(s, head)
		p.checkout[at.Dir] = p.branches[key(s)]
	}
	return at, nil
}

// Begin implements work.Mirror.
func (p *Place) Begin(ctx context.Context, s work.Workspace, first []work.File) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Begin"); err != nil {
		return err
	}
	return p.begin(s, first)
}

// begin makes the branch when there is none.
func (p *Place) begin(s work.Workspace, first []work.File) error {
	p.obtain(s)
	seen, here := p.remote[key(s)], p.branches[key(s)]
	if here != "" && p.owner(here) == s.Identity {
		return nil
	}
	delete(p.branches, key(s)) // an earlier task has left it here
	delete(p.checkout, dir(s))
	switch {
	case seen != "" && p.owner(seen) != s.Identity:
		return work.ErrTaken
	case seen != "":
		p.branches[key(s)] = seen
	default:
		files := p.mainFiles(s.Repo)
		base := p.commit("", files)
		for _, f := range first {
			files[f.Path] = string(f.Body)
		}
		p.branches[key(s)] = p.commitOf(s.Identity, base, files)
	}
	return nil
}

// owner returns the owner of a branch, by its tip.
func (p *Place) owner(tip string) string { return p.commits[tip].owner }

// obtain brings the mirror's branch to the commit that the space names, unless it is there or further.
func (p *Place) obtain(s work.Workspace) {
	if _, known := p.commits[s.Head]; known && !p.ancestor(s.Head, p.branches[key(s)]) {
		p.branches[key(s)] = s.Head
	}
}

// Tip implements work.Mirror.
func (p *Place) Tip(ctx context.Context, s work.Workspace) (work.Tip, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Tip"); err != nil {
		return work.Tip{}, err
	}
	p.obtain(s)
	return p.tip(s), nil
}

func (p *Place) tip(s work.Workspace) work.Tip {
	sha := p.branches[key(s)]
	return work.Tip{SHA: sha, SameCode: p.sameCode(sha, s.Docs), Base: p.base(sha)}
}

// Add implements work.Mirror.
func (p *Place) Add(ctx context.Context, s work.Workspace, files []work.File, _ string) (work.Tip, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Add"); err != nil {
		return work.Tip{}, err
	}
	p.obtain(s)
	tip := p.branches[key(s)]
	all := maps.Clone(p.commits[tip].files)
	for _, f := range files {
		all[f.Path] = string(f.Body)
	}
	if !maps.Equal(all, p.commits[tip].files) {
		p.branches[key(s)] = p.commit(tip, all)
	}
	return p.tip(s), nil
}

// SameCode lists a commit and those before it that differ from it in nothing but a directory of documents.
func (p *Place) SameCode(sha, docs string) []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sameCode(sha, docs)
}

func (p *Place) sameCode(sha, docs string) (same []string) {
	for id := sha; id != ""; id = p.commits[id].parent {
		same = append(same, id)
		if !p.onlyDocs(id, docs) {
			break
		}
	}
	return same
}

// onlyDocs reports whether a commit changes nothing outside a directory.
func (p *Place) onlyDocs(id, docs string) bool {
	now, before := p.commits[id].files, p.commits[p.commits[id].parent].files
	for name, body := range now {
		if before[name] != body && !strings.HasPrefix(name, docs+"/") {
			return false
		}
	}
	return p.commits[id].parent != ""
}

// Push implements work.Workspaces.
func (p *Place) Push(ctx context.Context, s work.Workspace, sha, expected string) error {
	p.mu.Lock()
	seen := p.remote[key(s)]
	err := p.Failure(ctx, "Push")
	if s.Branch == s.Main {
		err = work.ErrProtected
	}
	back := expected != "" && p.ancestor(seen, expected)
	if err == nil && seen != sha && seen != expected && (seen == "" || back || !p.ancestor(seen, sha)) {
		err = work.ErrMoved
		if seen == "" {
			err = work.ErrRemoved
		}
	}
	if err == nil {
		p.remote[key(s)] = sha
	}
	told := p.OnPush
	p.mu.Unlock()
	if err == nil && told != nil && seen != sha {
		told(s.Repo, s.Branch, sha)
	}
	return err
}

// ancestor reports whether a is b or one of its ancestors; no commit is everybody's.
func (p *Place) ancestor(a, b string) bool {
	if a == "" {
		return true
	}
	for ; b != ""; b = p.commits[b].parent {
		if a == b {
			return true
		}
	}
	return false
}

// Files implements work.Mirror.
func (p *Place) Files(ctx context.Context, _ work.Workspace, sha string) (fs.FS, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Files"); err != nil {
		return nil, err
	}
	c, ok := p.commits[sha]
	if !ok {
		return nil, fmt.Errorf("memwork: commit %q: %w", sha, fs.ErrNotExist)
	}
	return treeOf(c.files), nil
}

// Close implements work.Workspaces.
func (p *Place) Close(ctx context.Context, s work.Workspace) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Close"); err != nil {
		return err
	}
	_, _ = p.take(s) // what may not be taken is kept
	delete(p.checkout, dir(s))
	delete(p.left, dir(s))
	return nil
}

// Drop implements work.Workspaces.
func (p *Place) Drop(ctx context.Context, s work.Workspace, _ string) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if err := p.Failure(ctx, "Drop"); err != nil {
		return err
	}
	if s.Branch == s.Main {
		return work.ErrProtected
	}
	p.obtain(s)
	seen, tip := p.remote[key(s)], p.branches[key(s)]
	delete(p.checkout, dir(s))
	delete(p.left, dir(s))
	delete(p.branches, key(s))
	if first := p.commits[p.commits[seen].parent]; first.files != nil && first.parent == "" {
		tip = seen // nothing but the first commit: another machine has made it, whatever is left here of a task before
	}
	if seen != "" && !p.ancestor(seen, tip) && seen != p.onto[s.Head] { // the task may have ended while it was brought up to date
		return work.ErrMoved
	}
	delete(p.remote, key(s))
	return nil
}

// Checkouts lists the directories that are open.
func (p *Place) Checkouts() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	out := slices.Collect(maps.Keys(p.checkout))
	sort.Strings(out)
	return out
}
