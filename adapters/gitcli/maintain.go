package gitcli

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A mirror is packed when it has looseMax loose objects or packsMax packs, at most once
// in maintainEvery.
const (
	looseMax      = 1000
	packsMax      = 20
	maintainEvery = 24 * time.Hour
)

// handedMax bounds the arguments of one push.
const handedMax = 1000

// Objects that nothing refers to stay while a task of the repository lives, for its
// checkouts borrow them, whatever became of the refs. Afterwards they go when they
// are older than this: what was just fetched has no ref yet.
const (
	pruneNever = "never"
	pruneIdle  = "2.weeks.ago"
)

// Maintain implements work.Mirrors.
func (g *Git) Maintain(ctx context.Context, s work.Workspace, m work.Maintenance) error {
	s.Branch, s.WorkItem = "signalbox/none", "none" // it is of no task
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	defer g.lock(p.mirror + " maintenance")()
	done := filepath.Join(p.mirror, "signalbox-maintained") // when it was, and which handed over commits nobody needed then
	before, err := os.ReadFile(done)
	switch _, missing := os.Stat(p.mirror); {
	case missing != nil, err == nil && time.Since(changed(done)) < maintainEvery:
		return nil
	case err != nil && !errors.Is(err, fs.ErrNotExist):
		return err
	}
	lives := remembered(m.Lives)
	removed, errLeft := g.removeLeft(ctx, p, m.LeftBefore, lives)
	idle, errHanded := g.removeHanded(ctx, p, lives, strings.Fields(string(before)))
	// Noted before it is packed: what cannot be packed in time is not tried at once again.
	if err := os.WriteFile(done, []byte(strings.Join(idle, "\n")), 0o600); err != nil {
		return err
	}
	return errors.Join(errLeft, errHanded, g.pack(ctx, p, m.Idle, removed))
}

// living reports whether the task of a work item lives.
type living = func(ctx context.Context, item string) (bool, error)

// remembered caches the answers of lives, one for each work item.
func remembered(lives living) living {
	known := map[string]bool{}
	return func(ctx context.Context, item string) (alive bool, err error) {
		alive, asked := known[item]
		if !asked {
			if alive, err = lives(ctx, item); err == nil {
				known[item] = alive
			}
		}
		return alive, err
	}
}

// removeLeft removes what attempts have left before a moment, unless the task lives.
func (g *Git) removeLeft(ctx context.Context, p checkout, before time.Time, lives living) (removed bool, err error) {
	if before.IsZero() {
		return false, nil
	}
	out, err := g.git(ctx, p.mirror, "for-each-ref", "--format=%(refname) %(committerdate:unix)", leftRefs)
	if err != nil {
		return false, err
	}
	var commands strings.Builder
	for line := range strings.Lines(out) {
		ref, at, _ := strings.Cut(strings.TrimSpace(line), " ")
		if sec, err := strconv.ParseInt(at, 10, 64); err != nil || !time.Unix(sec, 0).Before(before) {
			continue
		}
		item, _, _ := strings.Cut(strings.TrimPrefix(ref, leftRefs), "/")
		alive, err := lives(ctx, item)
		if err != nil {
			return false, err
		}
		if !alive {
			commands.WriteString("delete " + ref + "\n")
		}
	}
	if commands.Len() == 0 {
		return false, nil
	}
	defer g.lockMirror(ctx, p)()
	_, err = g.run(ctx, call{repo: p.mirror, stdin: commands.String(), args: []string{"update-ref", "--stdin"}})
	return err == nil, err
}

// removeHanded removes from the remote what was handed over for work items that no task
// has which lives, when that was so the last time too. It returns what is to be
// removed the next time.
func (g *Git) removeHanded(ctx context.Context, p checkout, lives living, before []string) (idle []string, err error) {
	if !g.opt.Shared {
		return nil, nil
	}
	out, err := g.remotely(ctx, p, "ls-remote", "--quiet", "--", p.CloneURL, "refs/signalbox/*")
	if err != nil {
		return before, err
	}
	args := []string{"push", "--quiet", "--no-verify", "--", p.CloneURL}
	for line := range strings.Lines(out) {
		_, ref, _ := strings.Cut(strings.TrimSpace(line), "\t")
		item, commit, _ := strings.Cut(strings.TrimPrefix(ref, "refs/signalbox/"), "/")
		if !commitID(strings.TrimPrefix(commit, "onto/")) {
			continue
		}
		alive, err := lives(ctx, item)
		switch {
		case err != nil:
			return before, err
		case alive:
		case slices.Contains(before, ref) && len(args) < handedMax:
			args = append(args, ":"+ref)
		default:
			idle = append(idle, ref)
		}
	}
	if args[len(args)-1] == p.CloneURL {
		return idle, nil
	}
	_, err = g.remotely(ctx, p, args...)
	return idle, err
}

// pack has git pack the mirror, and what nothing refers to into a pack of its own. It
// holds the mirror's lock only when that may be removed: a fetch of a commit that
// was there already relies on it.
func (g *Git) pack(ctx context.Context, p checkout, idle, always bool) error {
	if err := removeKilled(filepath.Join(p.mirror, "objects"), g.opt.Timeout); err != nil {
		return err
	}
	if loose, packs, err := g.counted(ctx, p); err != nil || !always && loose < looseMax && packs < packsMax {
		return err
	}
	prune := pruneNever
	if idle {
		prune = pruneIdle
		defer g.lockMirror(ctx, p)()
	}
	_, err := g.git(ctx, p.mirror, "-c", "gc.cruftPacks=true", "-c", "gc.pruneExpire="+prune, "maintenance", "run", "--quiet", "--task=gc")
	return err
}

// counted is how many loose objects and packs a mirror has.
func (g *Git) counted(ctx context.Context, p checkout) (loose, packs int, err error) {
	out, err := g.git(ctx, p.mirror, "count-objects", "-v")
	for line := range strings.Lines(out) {
		name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		n, _ := strconv.Atoi(value) // other values may be no number
		switch name {
		case "count":
			loose = n
		case "packs":
			packs = n
		}
	}
	return loose, packs, err
}

// removeKilled removes what a maintenance that was killed has left, which git would
// keep for ever: its lock, and half written packs.
func removeKilled(objects string, timeout time.Duration) error {
	for _, pattern := range []string{"maintenance.lock", "pack/tmp_*", "pack/.tmp-*"} {
		names, err := fs.Glob(os.DirFS(objects), pattern)
		if err != nil {
			return err
		}
		for _, name := range names {
			name = filepath.Join(objects, name)
			if time.Since(changed(name)) <= timeout+time.Minute {
				continue
			}
			if err := os.Remove(name); err != nil && !errors.Is(err, fs.ErrNotExist) {
				return err
			}
		}
	}
	return nil
}

// leftAfter is how old a lock in a mirror is at least before it is taken to be left:
// git holds one for milliseconds, and the git of a service that was killed may still
// be running for a moment.
const leftAfter = 2 * time.Second

// lockMirror waits for the other calls that use a mirror, which nobody else changes, and
// removes the locks that a killed git has left there: else whatever needs one of them
// would fail for ever.
func (g *Git) lockMirror(ctx context.Context, p checkout) (unlock func()) {
	unlock = g.lock(p.mirror)
	if err := removeLocks(ctx, p.mirror); err != nil { // git says what it cannot do
		g.opt.Log.Warn("a lock that a killed git has left could not be removed", "repo", p.Repo, "err", err)
	}
	return unlock
}

// removeLocks removes the locks of a mirror's references and settings, as soon as they have
// been left. One that goes by itself meanwhile was not.
func removeLocks(ctx context.Context, repo string) error {
	left, err := locksIn(repo)
	if err != nil {
		return err
	}
	for _, name := range left {
		seen, err := os.Lstat(name)
		if wait := min(leftAfter, leftAfter-time.Since(modified(seen))); err == nil && wait > 0 {
			if err := run.Sleep(ctx, run.Real{}, wait); err != nil {
				return err
			}
			var now fs.FileInfo
			if now, err = os.Lstat(name); err == nil && !(os.SameFile(seen, now) && now.ModTime().Equal(seen.ModTime())) {
				continue // another's: numbers of files are used again
			}
		}
		if err == nil {
			err = os.Remove(name)
		}
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
	}
	return nil
}

func modified(f fs.FileInfo) time.Time {
	if f == nil {
		return time.Time{}
	}
	return f.ModTime()
}

// locksIn lists lock files.
func locksIn(repo string) (names []string, err error) {
	for _, dir := range []string{repo, filepath.Join(repo, "refs")} {
		err := filepath.WalkDir(dir, func(name string, f fs.DirEntry, err error) error {
			switch {
			case errors.Is(err, os.ErrNotExist): // there is none, or it has gone
				return nil
			case err != nil:
				return err
			case name == dir:
				return nil
			case strings.HasSuffix(name, ".lock"): // no reference is called so
				names = append(names, name)
			case dir == repo || !f.IsDir():
			default:
				return nil
			}
			if f.IsDir() {
				return filepath.SkipDir
			}
			return nil
		})
		if err != nil {
			return nil, err
		}
	}
	return names, nil
}
