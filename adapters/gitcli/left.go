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
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Bounds of what is kept of an attempt: in bytes of all files together and of their
// names, and in attempts of one work item.
const (
	leftBytes = 16 << 20
	leftNames = 1 << 20
	leftMax   = 5
)

// leftRefs begins the names of what attempts have left.
const leftRefs = "refs/signalbox/left/"

// salvage looks at what the attempt before has left. It returns the commit that the
// next one starts at: what was committed on the branch and not taken, else the tip.
// All that would be lost is kept for people. What cannot be read must not keep the
// next attempt from its work: it is logged, and a repository that has it set aside. A disk
// without room is an error, and all stays as it is.
func (g *Git) salvage(ctx context.Context, p checkout, tip string) (start string, left work.Left, err error) {
	m, there := p.readMark()
	if !there {
		return tip, left, nil
	}
	if !m.Whole { // all that was left was saved before
		return g.startAt(ctx, p, m, m.Start, tip), left, nil
	}
	own, err := g.fetchCommits(ctx, p, m)
	if err != nil {
		return tip, left, err
	}
	start = g.startAt(ctx, p, m, own.branch, tip)
	if start != tip && (m.Role != p.Role || g.outside(ctx, p, m, own.branch) != nil) {
		start = tip // the next attempt did not write it
	}
	left, err = g.keepLogged(ctx, p, m, own, start)
	return start, left, err
}

// keepLogged is keep for callers that go on without, unless the disk has no room.
func (g *Git) keepLogged(ctx context.Context, p checkout, m mark, own heads, start string) (work.Left, error) {
	left, err := g.keep(ctx, p, m, own, start)
	if fault.IsShortage(err) {
		return left, err
	}
	if err != nil {
		g.log(p).Warn("what an attempt had not committed is lost: it cannot be kept", "err", err)
	}
	return left, nil
}

// fetchCommits brings the commits of a checkout into the mirror, where no ref has them yet. A
// repository that has some which cannot be read is set aside. The error is that of a disk without room.
func (g *Git) fetchCommits(ctx context.Context, p checkout, m mark) (heads, error) {
	own := p.heads()
	var unread error
	if own.branch == "" && own.head == "" {
		unread = errors.New("it has no commit checked out, and none on its branch")
	}
	for i, sha := range []*string{&own.branch, &own.head, &own.stash, &own.autostash} {
		if *sha == "" || *sha == m.Taken || i > 0 && *sha == own.branch {
			continue
		}
		if err := g.fetchOwn(ctx, p, m.Taken, *sha); fault.IsShortage(err) {
			return own, err
		} else if err != nil {
			unread = fmt.Errorf("the commit %s: %w", *sha, err)
			*sha = ""
		}
	}
	if unread != nil && ctx.Err() == nil {
		err := errors.Join(g.remove(p.lost), os.Rename(p.repo, p.lost))
		g.log(p).Warn("the repository of the attempt before cannot be read and is set aside",
			"path", p.lost, "why", unread, "err", err)
	}
	return own, nil
}

// startAt is the commit of a checkout's branch when it goes on from where the
// mirror's was, else the tip.
func (g *Git) startAt(ctx context.Context, p checkout, m mark, branch, tip string) string {
	if m.Behind || branch == "" || branch == m.Taken {
		return tip
	}
	old, err := g.ancestor(ctx, p, branch, tip)
	if err == nil && !old {
		old, err = g.surpassed(ctx, p, branch)
	}
	if err != nil || old {
		return tip
	}
	if tip == m.Taken { // an agent may have made its own commits anew
		return branch
	}
	return g.startOn(ctx, p, tip, branch)
}

// startOn is the commit of a checkout's branch on top of the tip, if others have pushed meanwhile; the tip, if
// it conflicts with that.
func (g *Git) startOn(ctx context.Context, p checkout, tip, branch string) string {
	if on, err := g.ancestor(ctx, p, tip, branch); err == nil && on {
		return branch
	}
	defer g.lockMirror(ctx, p)()
	joined, err := g.rebase(ctx, p, tip, branch)
	if err != nil {
		return tip
	}
	return joined
}

// keep makes a commit of the checkout's files, on top of those commits of it that
// are nowhere else, under a ref of the mirror. It makes none when nothing would be
// lost.
func (g *Git) keep(ctx context.Context, p checkout, m mark, own heads, start string) (left work.Left, err error) {
	ctx, cancel := context.WithTimeout(ctx, readLimit)
	defer cancel()
	base := cmp.Or(own.head, m.Taken)
	changed, skipped, err := g.changes(ctx, p, m, base)
	if err != nil {
		return left, err
	}
	parents, known, something := "", []string{m.Taken, start}, len(changed)+skipped > 0
	for _, sha := range []string{base, own.branch, own.stash, own.autostash} {
		lost, err := g.lost(ctx, p, sha, known)
		if err != nil {
			return left, err
		}
		if lost && sha != base {
			parents += "merge " + sha + "\n"
		}
		known = append(known, sha)
		something = something || lost
	}
	if !something {
		return left, nil
	}
	defer g.lockMirror(ctx, p)()
	if left.Ref, err = g.nextLeft(ctx, p); err != nil {
		return work.Left{}, err
	}
	message := fmt.Sprintf("%s: what an attempt left behind\n\n"+
		"Files that are not in it, for their size or because they cannot be read: %d\n", p.WorkItem, skipped)
	name := strings.NewReplacer("<", "", ">", "", "\n", "")
	head := fmt.Sprintf("commit %s\ncommitter %s <%s> %d +0000\n",
		left.Ref, name.Replace(g.opt.Name), name.Replace(g.opt.Email), time.Now().Unix())
	stream := head + fmt.Sprintf("data %d\n%sfrom %s\n%s", len(message), message, base, parents) + strings.Join(changed, "")
	if _, err := g.run(ctx, call{repo: p.mirror, stdin: stream, args: []string{"fast-import", "--quiet"}}); err != nil {
		return work.Left{}, err
	}
	left.SHA, err = g.ref(ctx, p.mirror, left.Ref)
	return left, err
}

// lost reports whether a commit can be reached neither from others nor from any ref
// of the mirror.
func (g *Git) lost(ctx context.Context, p checkout, sha string, others []string) (bool, error) {
	others = slices.DeleteFunc(slices.Clone(others), func(o string) bool { return o == "" })
	if sha == "" || slices.Contains(others, sha) {
		return false, nil
	}
	out, err := g.git(ctx, p.mirror, append([]string{"rev-list", "--max-count=1", sha, "--not", "--all"}, others...)...)
	return out != "", err
}

// nextLeft names the next ref of the work item, and makes room for it.
func (g *Git) nextLeft(ctx context.Context, p checkout) (string, error) {
	prefix := leftRefs + p.WorkItem + "/"
	out, err := g.git(ctx, p.mirror, "for-each-ref", "--format=%(refname)", prefix)
	if err != nil {
		return "", err
	}
	var there []int
	for _, ref := range strings.Fields(out) {
		if n, err := strconv.Atoi(strings.TrimPrefix(ref, prefix)); err == nil {
			there = append(there, n)
		}
	}
	slices.Sort(there)
	next := 1
	if len(there) > 0 {
		next += there[len(there)-1]
	}
	for ; len(there) >= leftMax; there = there[1:] {
		if _, err := g.git(ctx, p.mirror, "update-ref", "-d", prefix+strconv.Itoa(there[0])); err != nil {
			return "", err
		}
	}
	return prefix + strconv.Itoa(next), nil
}

// changes lists how the files of the checkout differ from a commit, as commands to
// git fast-import; ignored files do not count. The mirror's git compares them, with
// an index of its own, and the files are read here: no setting of the task's
// repository and no filter has a say.
func (g *Git) changes(ctx context.Context, p checkout, m mark, base string) (commands []string, skipped int, err error) {
	if err := plainDir(p.dir, "."); err != nil {
		return nil, 0, err
	}
	at, err := g.overlay(ctx, p, m, base) // main's files are nobody's changes
	if err != nil {
		return nil, 0, err
	}
	index, drop, err := g.tempIndex()
	if err != nil {
		return nil, 0, err
	}
	defer drop()
	in := inCheckout(p, index)
	in.most, in.cut = leftNames, true
	if err := copyIndex(p.index, index); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, 0, err
	}
	in.args = []string{"read-tree", "--reset", at.tree} // what is the same has its times yet: only what has others is read
	if _, err := g.run(ctx, in); err != nil {
		return nil, 0, err
	}
	root, err := os.OpenRoot(p.dir)
	if err != nil {
		return nil, 0, err
	}
	defer func() { _ = root.Close() }() // nothing was written through it
	room := int64(leftBytes)
	var removed []string
	for _, which := range []string{"--modified", "--others"} {
		in.args = []string{"ls-files", "-z", "--exclude-standard", which}
		out, err := g.run(ctx, in)
		if err != nil {
			return nil, 0, err
		}
		names := strings.Split(out, "\x00")
		for _, name := range names[:len(names)-1] { // behind the last one is nothing, or half a name
			if which == "--others" && slices.Contains(m.Beside, name) {
				continue
			}
			command, err := change(root, name, &room)
			switch {
			case err != nil:
				skipped++
			case strings.HasPrefix(command, "D "):
				removed = append(removed, command)
			default:
				commands = append(commands, command)
			}
		}
	}
	return append(removed, commands...), skipped, nil // a file may stand where a directory was
}

// change is the command that makes a file what it is in the checkout.
func change(root *os.Root, name string, room *int64) (string, error) {
	info, err := root.Lstat(filepath.FromSlash(name))
	switch {
	case errors.Is(err, fs.ErrPermission):
		return "", err
	case err != nil, info.IsDir() && !strings.HasSuffix(name, "/"): // its place is taken, or its directory's
		return "D " + quoted(name) + "\n", nil
	case info.Mode()&fs.ModeSymlink != 0:
		target, err := root.Readlink(filepath.FromSlash(name))
		return blob("120000", name, target), err
	case !info.Mode().IsRegular(), info.Size() > *room:
		return "", fs.ErrInvalid
	}
	f, err := root.OpenFile(filepath.FromSlash(name), os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }() // it was read only
	body := make([]byte, info.Size())
	if _, err := f.ReadAt(body, 0); err != nil {
		return "", err
	}
	*room -= info.Size()
	mode := "100644"
	if info.Mode()&0o100 != 0 {
		mode = "100755"
	}
	return blob(mode, name, string(body)), nil
}

func blob(mode, name, body string) string {
	return fmt.Sprintf("M %s inline %s\ndata %d\n%s\n", mode, quoted(name), len(body), body)
}

// quoted writes a name as git fast-import reads it, whatever is in it.
func quoted(name string) string {
	var b strings.Builder
	b.WriteByte('"')
	for _, c := range []byte(name) {
		if c < ' ' || c > '~' || c == '"' || c == '\\' {
			fmt.Fprintf(&b, `\%03o`, c)
		} else {
			b.WriteByte(c)
		}
	}
	b.WriteByte('"')
	return b.String()
}
