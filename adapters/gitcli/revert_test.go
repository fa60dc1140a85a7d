package gitcli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// clone is a clone of the remote in which people work.
func (k *kit) clone() string {
	k.Helper()
	dir := filepath.Join(k.TempDir(), "clone")
	run(k, k.TempDir(), "clone", "--quiet", k.bare, dir)
	return dir
}

// built is a task branch of two commits of its developer, pushed. The last says what the first of a branch does.
func (k *kit) built() (head string) {
	k.Helper()
	dir := k.open()
	commit(k, dir, "src/a.go", "package a\n")
	commit(k, dir, "src/b.go", "package a\n\nvar B = 1\n")
	run(k, dir, "commit", "--quiet", "--amend", "-m", "add b\n\nSignalbox-Task: "+k.space.Identity)
	head = k.take().SHA
	k.push(head, "")
	return head
}

// landings are the ways in which hosts bring a branch to main, which has gone on meanwhile.
func landings() map[string]func(k *kit, in, branch string) {
	return map[string]func(k *kit, in, branch string){
		"merge": func(k *kit, in, branch string) {
			run(k, in, "merge", "--quiet", "--no-ff", "-m", "merged", "origin/"+branch)
		},
		"squash": func(k *kit, in, branch string) {
			run(k, in, "merge", "--quiet", "--squash", "origin/"+branch)
			run(k, in, "commit", "--quiet", "-m", "squashed")
		},
		"forward": func(k *kit, in, branch string) {
			k.catchUp()
			run(k, in, "pull", "--quiet", "--ff-only", k.mirror(), branch)
		},
		"rebase": func(k *kit, in, branch string) {
			run(k, in, "checkout", "--quiet", "-B", "rebased", "origin/"+branch)
			run(k, in, "rebase", "--quiet", "main")
			run(k, in, "checkout", "--quiet", "main")
			run(k, in, "merge", "--quiet", "--ff-only", "rebased")
		},
	}
}

// What a branch has brought is gone, whatever way it landed, and what others have done before and after it stays.
func TestRevert(t *testing.T) {
	t.Parallel()
	for name, land := range landings() {
		t.Run(name, func(t *testing.T) {
			k := setup(t)
			head := k.built()
			k.pushMain("before.go", "package b\n")
			in := k.clone()
			land(k, in, k.space.Branch)
			merge := run(k, in, "rev-parse", "HEAD")
			if name == "forward" {
				head = merge
			}
			run(k, in, "push", "--quiet", "origin", "HEAD:main")
			after := k.pushMain("after.go", "package b\n")

			undo := k.space
			undo.Branch, undo.WorkItem, undo.Identity, undo.Docs = "feature/APP-7-undo-x", "APP-7-undo", "9.9", "docs/APP-7-undo"
			require.NoError(t, k.g.Begin(t.Context(), undo, []work.File{{Path: "docs/APP-7-undo/request.md", Body: []byte("x\n")}}))
			landed := []work.Landing{{Merge: merge, Head: head}}
			tip, err := k.g.Revert(t.Context(), undo, landed, "APP-7-undo: undo APP-7")
			require.NoError(t, err)
			again, err := k.g.Revert(t.Context(), undo, landed, "APP-7-undo: undo APP-7")
			require.NoError(t, err)
			require.Equal(t, tip.SHA, again.SHA, "a second time adds nothing")
			require.NoError(t, k.g.Push(t.Context(), undo, tip.SHA, ""))
			files := run(k, k.bare, "ls-tree", "-r", "--name-only", tip.SHA)
			require.NotContains(t, files, "src/")
			require.Contains(t, files, "before.go")
			require.Contains(t, files, "after.go")
			require.Contains(t, files, "docs/APP-7-undo/request.md")
			require.Contains(t, run(k, k.bare, "log", "-1", "--format=%B", tip.SHA), "This reverts commit "+merge)
			require.Equal(t, "2", strings.TrimSpace(run(k, k.bare, "rev-list", "--count", after+".."+tip.SHA)))
		})
	}
}

// A revert that conflicts names the files; one whose landing cannot be seen is refused. Nothing changes.
func TestRevertThatCannotBeMade(t *testing.T) {
	t.Parallel()
	k := setup(t)
	head := k.built()
	in := k.clone()
	landings()["squash"](k, in, k.space.Branch)
	merge := run(k, in, "rev-parse", "HEAD")
	both := run(k, in, "commit-tree", "HEAD^{tree}", "-p", head, "-p", "HEAD", "-m", "Merge main")
	run(k, in, "push", "--quiet", "origin", both+":main")
	k.pushMain("src/b.go", "package a\n\nvar B = 2\n")
	undo := k.space
	undo.Branch, undo.WorkItem, undo.Identity = "feature/APP-7-undo-x", "APP-7-undo", "9.9"
	require.NoError(t, k.g.Begin(t.Context(), undo, nil))
	before, err := k.g.Tip(t.Context(), undo)
	require.NoError(t, err)
	_, err = k.g.Revert(t.Context(), undo, []work.Landing{{Merge: merge, Head: head}}, "x")
	var conflict *work.Conflict
	require.ErrorAs(t, err, &conflict)
	require.Equal(t, []string{"src/b.go"}, conflict.Files)
	_, err = k.g.Revert(t.Context(), undo, []work.Landing{{Merge: merge, Head: run(k, in, "rev-parse", merge+"^")}}, "x")
	require.ErrorContains(t, err, "cannot be seen what")
	for _, l := range []string{strings.Repeat("1", 40), both} { // it is not on main, or has main in it and what others did there
		_, err = k.g.Revert(t.Context(), undo, []work.Landing{{Merge: l, Head: l}}, "x")
		require.ErrorContains(t, err, "cannot be seen what")
	}
	_, err = k.g.Revert(t.Context(), undo, []work.Landing{{Merge: merge, Head: merge}, {Merge: merge, Head: head}}, "x")
	require.ErrorContains(t, err, "each of 2 landings")
	tip, err := k.g.Tip(t.Context(), undo)
	require.NoError(t, err)
	require.Equal(t, before.SHA, tip.SHA)
}
