package gitcli

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// reverts begins the line of a commit that says what it takes back, in git's own words.
const reverts = "This reverts commit "

// Revert implements work.Reverter. It needs no checkout: the tree is merged beside the branch.
func (g *Git) Revert(ctx context.Context, s work.Workspace, landed []work.Landing, message string) (work.Tip, error) {
	return g.grow(ctx, s, func(p checkout, before string) (string, error) { return g.revert(ctx, p, before, landed, message) })
}

// revert makes the commit that takes landings back; none when the branch has it.
func (g *Git) revert(ctx context.Context, p checkout, before string, landed []work.Landing, message string) (string, error) {
	if len(landed) == 0 {
		return "", errors.New("gitcli: nothing of " + p.Repo + " is to be taken back")
	}
	if err := g.fetchMain(ctx, p); err != nil {
		return "", err
	}
	said := reverts + landed[0].Merge
	there, err := g.git(ctx, p.mirror, "log", "--max-count=1", "--fixed-strings", "--grep="+said, "--format=%H",
		before, "^refs/remotes/origin/"+p.Main, "--")
	if err != nil || strings.TrimSpace(there) != "" {
		return "", err
	}
	tree := before
	for _, l := range landed {
		if len(landed) > 1 && l.Merge == l.Head { // what others have landed in between stands among its commits
			return "", &fault.Error{Text: fmt.Sprintf("it cannot be seen what each of %d landings has brought", len(landed))}
		}
		if tree, err = g.without(ctx, p, tree, l); err != nil {
			return "", err
		}
		message += "\n\n" + reverts + l.Merge + "."
	}
	return g.commitTree(ctx, p, tree, before, message)
}

// without merges what a landing has brought out of a tree. The three sides of the merge are commits that no branch has.
func (g *Git) without(ctx context.Context, p checkout, tree string, l work.Landing) (string, error) {
	from, err := g.landedFrom(ctx, p, l)
	if err != nil {
		return "", err
	}
	with, err := g.commitTree(ctx, p, l.Merge, "", "with")
	if err != nil {
		return "", err
	}
	back, err1 := g.commitTree(ctx, p, from, with, "without")
	now, err2 := g.commitTree(ctx, p, tree, with, "now")
	if err := errors.Join(err1, err2); err != nil {
		return "", err
	}
	return g.mergeTree(ctx, p, now, back, tree)
}

// mergeTree merges two commits beside all branches to a tree; *work.Conflict, on a base, when they cannot be merged.
func (g *Git) mergeTree(ctx context.Context, p checkout, ours, theirs, base string) (tree string, err error) {
	out, err := g.git(ctx, p.mirror, "merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs)
	merged := strings.Split(strings.TrimRight(out, "\x00\n"), "\x00")
	if exitCode(err) == 1 && len(merged) > 1 {
		return "", &work.Conflict{Base: base, Files: merged[1:]}
	}
	return strings.TrimSpace(merged[0]), err
}

// landedFrom finds the commit of main that a landing was made on: the first parent of a merge, and of what was landed as
// one commit, or as those of the branch, which may end in a merge, the one before which the same was changed as on the branch.
func (g *Git) landedFrom(ctx context.Context, p checkout, l work.Landing) (string, error) {
	if err := checkIDs(l.Merge, l.Head); err != nil {
		return "", err
	}
	unclear := &fault.Error{Text: fmt.Sprintf("it cannot be seen what %.12s has brought to %s", l.Merge, p.Main)}
	on, err := g.ancestor(ctx, p, l.Merge, "refs/remotes/origin/"+p.Main)
	if err != nil || !on {
		return "", errors.Join(unclear, err)
	}
	if merge, err := g.ref(ctx, p.mirror, l.Merge+"^2"); err != nil || merge != "" && l.Merge != l.Head {
		return l.Merge + "^1", err
	}
	out, err := g.git(ctx, p.mirror, "log", "--first-parent", "--max-count=1000", "--format=%x00%P%n%B", l.Head)
	if err != nil {
		return "", errors.Join(unclear, err)
	}
	task, n, straight, seen, merges := "", 0, 0, 0, 0 // the branch's task, its commits, and those of them that are no merges
	for _, text := range strings.Split(out, "\x00")[1:] {
		parents, body, _ := strings.Cut(text, "\n")
		if seen++; strings.Contains(parents, " ") {
			merges++
		}
		if named := taskIn(body); named != "" && (n == 0 || named == task) { // agents write again what the first commit says
			task, n, straight = named, seen, seen-merges
		}
	}
	tries := []int{straight, 1}
	switch same := l.Merge == l.Head; { // main was moved forward to the branch
	case same && (n == 0 || straight < n):
		return "", unclear
	case same:
		return fmt.Sprintf("%s~%d", l.Merge, n), nil
	case n == 0:
		tries = tries[1:]
	}
	for _, back := range tries {
		from := fmt.Sprintf("%s~%d", l.Merge, back)
		fork, err := g.git(ctx, p.mirror, "merge-base", from, l.Head)
		if err != nil {
			continue
		}
		a, err1 := g.patch(ctx, p, from, l.Merge)
		b, err2 := g.patch(ctx, p, strings.TrimSpace(fork), l.Head)
		if err := errors.Join(err1, err2); err != nil || a == b {
			return from, err
		}
	}
	return "", unclear
}

// patch identifies what differs between two commits, wherever it stands.
func (g *Git) patch(ctx context.Context, p checkout, from, to string) (string, error) {
	diff, err := g.run(ctx, call{repo: p.mirror, args: []string{
		"-c", noAttributes, "diff-tree", "-r", "-p", "--no-renames", "--full-index", "--binary",
		"--no-ext-diff", "--no-textconv", "--no-color", from, to,
	}})
	if err != nil {
		return "", err
	}
	return g.run(ctx, call{repo: p.mirror, stdin: diff, args: []string{"patch-id", "--stable"}})
}

// commitTree makes a commit that has the files of another.
func (g *Git) commitTree(ctx context.Context, p checkout, files, parent, message string) (string, error) {
	args := []string{"commit-tree", "-F", "-"}
	if parent != "" {
		args = append(args, "-p", parent)
	}
	out, err := g.run(ctx, call{repo: p.mirror, stdin: message + "\n", args: append(args, files+"^{tree}")})
	return strings.TrimSpace(out), err
}
