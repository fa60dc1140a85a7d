package gitcli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// parts are all files and directories of a work item, the mark first: what is half
// removed is nobody's.
func (p checkout) parts() []string {
	return []string{p.mark, p.mark + ".new", p.dir, p.index, p.index + ".lock", p.repo, p.aside, p.lost}
}

// clear removes what lies of a work item. The mirror keeps the commits.
func (g *Git) clear(p checkout) error {
	for _, name := range p.parts() {
		if err := g.remove(name); err != nil {
			return err
		}
	}
	return nil
}

// Remains implements work.Disk: the checkouts of work items with their repositories,
// and what calls that were killed have left, which is no task's. Checkouts that an
// older program has made are not listed: their marks name no task.
func (g *Git) Remains(context.Context) ([]work.Remains, error) {
	var out []work.Remains
	for _, pattern := range []string{"index-*", "check-*", quarantined + "*"} {
		found, err := g.found(pattern)
		if err != nil {
			return nil, err
		}
		for _, name := range found {
			if used := changed(filepath.Join(g.opt.Root, name)); !used.IsZero() {
				out = append(out, work.Remains{Name: name, Used: used})
			}
		}
	}
	items, err := g.items()
	if err != nil {
		return nil, err
	}
	for _, name := range items {
		p, err := g.placeNamed(name)
		if err != nil { // not made by us
			continue
		}
		m, there := p.readMark()
		if used := p.used(); !used.IsZero() && (m.Task != 0 || !there) {
			out = append(out, work.Remains{Task: m.Task, Name: "work/" + name, Used: used})
		}
	}
	return out, nil
}

// items are the work items that anything lies of, as <owner>--<name>/<item>.
func (g *Git) items() ([]string, error) {
	checkouts, err := g.found("work/*/*")
	repos, failed := g.found("repos/*/*")
	var names []string
	for _, name := range append(checkouts, repos...) {
		top, name, _ := strings.Cut(name, "/")
		for _, suffix := range []string{".json.new", ".json", ".index", ".index.lock", ".git", ".aside", ".lost"} {
			if short, is := strings.CutSuffix(name, suffix); is && top == "repos" {
				name = short
				break
			}
		}
		names = append(names, name)
	}
	slices.Sort(names)
	return slices.Compact(names), errors.Join(err, failed)
}

// found are names below the root.
func (g *Git) found(pattern string) ([]string, error) {
	root, err := os.OpenRoot(g.opt.Root)
	if err != nil {
		return nil, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	return fs.Glob(root.FS(), pattern)
}

// placeNamed is where a work item lies of which nothing is known but its name.
func (g *Git) placeNamed(name string) (checkout, error) {
	flat, item, _ := strings.Cut(name, "/")
	if !plain(flat) || !plain(item) {
		return checkout{}, fmt.Errorf("%w: %q", work.ErrBadName, name)
	}
	p := checkout{Workspace: work.Workspace{Repo: flat, WorkItem: item}}
	p.lie(g.opt.Root, flat)
	return p, nil
}

// used is when a place was used last: as its mark says, or what lies there without one.
func (p checkout) used() time.Time {
	if at := changed(p.mark); !at.IsZero() {
		return at
	}
	var last time.Time
	for _, name := range p.parts() {
		if at := changed(name); at.After(last) {
			last = at
		}
	}
	return last
}

// changed is when a file or directory was written; zero when there is none.
func changed(name string) time.Time {
	info, err := os.Lstat(name)
	if err != nil {
		return time.Time{}
	}
	return info.ModTime()
}

// Remove implements work.Disk. What was not committed, or not taken, is kept as Open
// keeps it.
func (g *Git) Remove(ctx context.Context, r work.Remains) error {
	name, item := strings.CutPrefix(r.Name, "work/")
	if !item {
		if full := filepath.Join(g.opt.Root, r.Name); changed(full).Equal(r.Used) {
			return g.remove(full)
		}
		return nil
	}
	p, err := g.placeNamed(name)
	if err != nil {
		return err
	}
	defer g.lock(p.dir)()
	if !p.used().Equal(r.Used) {
		return nil
	}
	if m, there := p.readMark(); there {
		_, _, err = g.salvage(ctx, p, m.Taken)
	}
	if err = cmp.Or(ctx.Err(), err); err != nil { // what is there may not be saved yet
		return err
	}
	return g.clear(p)
}
