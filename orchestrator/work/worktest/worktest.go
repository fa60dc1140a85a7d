// Package worktest is the conformance suite of the workspaces of package work.
package worktest

import (
	"io/fs"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Fixture is an implementation under test, and what is around it.
type Fixture struct {
	Spaces interface {
		work.Workspaces
		work.Mirror
		work.Rebaser
		work.Adopter
		work.Disk
	}
	// Space is a task's, which is named; its branch does not exist yet.
	Space work.Workspace
	// Agent writes files into a checkout as an attempt of an agent does, and commits
	// them, or dies before that.
	Agent func(dir string, files map[string]string, commits bool)
	// Look reads a file of a checkout; ok is false when there is none.
	Look func(dir, name string) (body string, ok bool)
	// Push is a person, Ann Lee, who commits files on top of the remote task branch, or on top of a commit, and
	// pushes that. Without files the branch is set back to it.
	Push func(from string, files map[string]string) (sha string)
	// MoveMain puts a commit of another on the remote main.
	MoveMain func()
	// Remote is where a branch of the remote is; empty when there is none.
	Remote func(branch string) string
	// Fail makes one call, called as its method, fail from now on, and no call that
	// needs less of the remote.
	Fail func(call string, how faulttest.Kind)
	// Mute means that the remote cannot name a moment.
	Mute bool
}

// Run runs the whole suite; open makes a fixture with an empty directory.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	for name, test := range map[string]func(*kit){
		"a branch begins with the first files":              begins,
		"what is committed is taken, what is not is not":    takes,
		"what was left is kept, and not in the way":         leaves,
		"nothing left, nothing kept":                        leavesNothing,
		"commits that were not taken are gone on from":      goesOn,
		"a rebased branch is where the next attempt begins": catchesUp,
		"files are added on top of the branch":              adds,
		"a branch of another task is left alone":            leavesAlone,
		"what an earlier task left here is set aside":       setsAside,
		"a push goes where it was expected":                 pushes,
		"what is closed begins again at its branch":         closes,
		"what is dropped begins again at main":              drops,
		"names that cannot be are refused":                  refuses,
		"what is left of a task can be removed":             removes,
		"commits outside of what a run may change are kept": refusesOutside,
		"what a branch has changed is listed":               lists,
		"what a branch has changed is read":                 diffs,
		"nobody goes on from what another role committed":   startsClean,
		"what is closed is not taken outside":               closesOutside,
		"main's files are beside a checkout":                showsMain,
		"files that no commit has lie in a checkout":        liesBeside,
		"what others have pushed is taken in":               takesIn,
		"commits are put on top of what others have pushed": joins,
		"what was rebased and pushed is gone on from":       goesOnFromRebased,
		"what conflicts with others is kept":                keepsApart,
		"a branch that was set elsewhere is left alone":     leavesMoved,
	} {
		t.Run(name, func(t *testing.T) { test(&kit{T: t, Fixture: open(t)}) })
	}
	t.Run("a call that fails says how, and nothing else fails", func(t *testing.T) { faults(t, open) })
}

type kit struct {
	*testing.T
	Fixture
}

func (k *kit) attempt() work.Checkout {
	k.Helper()
	at, err := k.Spaces.Open(k.Context(), k.Space, []work.File{{Path: k.Space.Docs + "/request.md", Body: []byte("# a\n")}})
	require.NoError(k, err)
	return at
}

// work has an agent commit a file.
func (k *kit) work(at work.Checkout, name, body string) {
	k.Helper()
	k.Agent(at.Dir, map[string]string{name: body}, true)
}

func (k *kit) take() work.Tip {
	k.Helper()
	tip, err := k.Spaces.Take(k.Context(), k.Space)
	require.NoError(k, err)
	return tip
}

func (k *kit) tip() work.Tip {
	k.Helper()
	tip, err := k.Spaces.Tip(k.Context(), k.Space)
	require.NoError(k, err)
	return tip
}

// has asserts what a checkout has in a file; "" is none.
func (k *kit) has(at work.Checkout, name, want string) {
	k.Helper()
	body, ok := k.Look(at.Dir, name)
	require.Equal(k, want, body)
	require.Equal(k, want != "", ok)
}

// What a checkout comes with of main is main's, whatever the branch has made of it.
func showsMain(k *kit) {
	at := k.attempt()
	before, err := fs.ReadFile(at.Main, "README.md")
	require.NoError(k, err)
	k.Agent(at.Dir, map[string]string{"README.md": "the branch's\n", "new.md": "the branch's\n"}, true)
	k.take()
	at = k.attempt()
	k.has(at, "new.md", "the branch's\n")
	after, err := fs.ReadFile(at.Main, "README.md")
	require.NoError(k, err)
	require.Equal(k, before, after)
	for _, name := range []string{"new.md", k.Space.Docs + "/request.md"} {
		_, err = fs.ReadFile(at.Main, name)
		require.ErrorIs(k, err, fs.ErrNotExist)
	}
}

// liesBeside: what was put into a checkout is there anew for each attempt, whatever was made of it, and no commit and nothing
// that is left has it. What the branch has of the name stays.
func liesBeside(k *kit) {
	name := k.Space.Docs + "/files/1-a [b]*.png"
	open := func(files ...work.File) work.Checkout {
		k.Helper()
		s := k.Space
		s.Beside = files
		at, err := k.Spaces.Open(k.Context(), s, nil)
		require.NoError(k, err)
		return at
	}
	file := work.File{Path: name, Body: []byte("\x00one")}
	at := open(file)
	k.has(at, name, "\x00one")
	k.Agent(at.Dir, map[string]string{name: "changed"}, false)
	at = open(file)
	require.Empty(k, at.Left)
	k.has(at, name, "\x00one")
	k.Agent(at.Dir, map[string]string{"left.md": "x"}, false)
	at = open(file)
	require.Equal(k, "x", k.file(at.Left.SHA, "left.md"))
	require.Empty(k, k.file(at.Left.SHA, name))
	k.Agent(at.Dir, map[string]string{"new.md": "the branch's\n", name: "changed"}, true)
	tip := k.take()
	require.Equal(k, "the branch's\n", k.file(tip.SHA, "new.md"))
	require.Empty(k, k.file(tip.SHA, name))
	at = open(work.File{Path: "new.md", Body: []byte("mine")})
	k.has(at, "new.md", "the branch's\n")
	k.has(at, name, "")
	for _, wrong := range []string{"../x", "/x", "a/../../x", ".git/x", "a/.GIT/hooks/x", "", "a\nb"} {
		s := k.Space
		s.Beside = []work.File{{Path: wrong}}
		_, err := k.Spaces.Open(k.Context(), s, nil)
		require.ErrorIs(k, err, work.ErrBadName, wrong)
	}
}

// file reads a file of a commit; "" is none.
func (k *kit) file(sha, name string) string {
	k.Helper()
	tree, err := k.Spaces.Files(k.Context(), k.Space, sha)
	require.NoError(k, err)
	body, err := fs.ReadFile(tree, name)
	if err != nil {
		require.ErrorIs(k, err, fs.ErrNotExist)
	}
	return string(body)
}

func begins(k *kit) {
	require.NoError(k, k.Spaces.Begin(k.Context(), k.Space, []work.File{{Path: k.Space.Docs + "/request.md", Body: []byte("# first\n")}}))
	begun := k.tip()
	require.Equal(k, "# first\n", k.file(begun.SHA, k.Space.Docs+"/request.md"))
	at := k.attempt()
	k.has(at, k.Space.Docs+"/request.md", "# first\n")
	require.Empty(k, at.Left)
	require.Equal(k, begun, k.take(), "nothing has changed")
}

func leavesAlone(k *kit) {
	require.NoError(k, k.Spaces.Begin(k.Context(), k.Space, nil))
	begun := k.tip().SHA
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, begun, ""))
	other := k.Space
	other.Task, other.Identity = k.Space.Task+1, "another"
	require.ErrorIs(k, k.Spaces.Begin(k.Context(), other, nil), work.ErrTaken)
	_, err := k.Spaces.Open(k.Context(), other, nil)
	require.ErrorIs(k, err, work.ErrTaken)
	require.Equal(k, begun, k.Remote(k.Space.Branch))
	require.NoError(k, k.Spaces.Begin(k.Context(), k.Space, nil))
	require.Equal(k, begun, k.tip().SHA, "its own task goes on from it")
	other.Branch += "-2"
	require.NoError(k, k.Spaces.Begin(k.Context(), other, nil))
}

// setsAside: a machine that has worked on the earlier task is not where its branch
// was removed.
func setsAside(k *kit) {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	left := k.take().SHA
	next := k.Space
	next.Task, next.Identity = k.Space.Task+1, "another"
	require.NoError(k, k.Spaces.Begin(k.Context(), next, nil))
	tip, err := k.Spaces.Tip(k.Context(), next)
	require.NoError(k, err)
	require.NotEqual(k, left, tip.SHA)
	require.Empty(k, k.file(tip.SHA, "a.go"))
	at, err = k.Spaces.Open(k.Context(), next, nil)
	require.NoError(k, err)
	require.NoFileExists(k, at.Dir+"/a.go")
}

func adds(k *kit) {
	report := []work.File{{Path: k.Space.Docs + "/review.md", Body: []byte("fine\n")}}
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	before := k.take()
	tip, err := k.Spaces.Add(k.Context(), k.Space, report, "a report")
	require.NoError(k, err)
	require.NotEqual(k, before.SHA, tip.SHA)
	require.Equal(k, "fine\n", k.file(tip.SHA, report[0].Path))
	require.Equal(k, "package a\n", k.file(tip.SHA, "a.go"))
	require.Contains(k, tip.SameCode, before.SHA, "it changes documents only")
	again, err := k.Spaces.Add(k.Context(), k.Space, report, "a report")
	require.NoError(k, err)
	require.Equal(k, tip.SHA, again.SHA, "it is there")

	k.Space.Head = tip.SHA
	require.Equal(k, tip.SHA, k.take().SHA, "the checkout stays behind")
	at = k.attempt()
	k.has(at, report[0].Path, "fine\n")
	k.work(at, "b.go", "package b\n")
	require.Equal(k, "fine\n", k.file(k.take().SHA, report[0].Path))
}

func takes(k *kit) {
	at := k.attempt()
	begun := k.tip()
	k.work(at, "a.go", "package a\n")
	require.Equal(k, begun.SHA, k.tip().SHA, "before it is taken")
	k.Agent(at.Dir, map[string]string{"b.go": "package b\n"}, false)
	tip := k.take()
	require.True(k, tip.Changed)
	require.Equal(k, tip.SHA, k.tip().SHA)
	require.Equal(k, "package a\n", k.file(tip.SHA, "a.go"))
	require.Empty(k, k.file(tip.SHA, "b.go"))
	require.False(k, k.take().Changed)
}

func leaves(k *kit) {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	tip := k.take()
	k.Agent(at.Dir, map[string]string{"a.go": "package", "b.go": "half a thought"}, false)
	at = k.attempt()
	require.True(k, strings.HasPrefix(at.Left.Ref, "refs/signalbox/left/"+k.Space.WorkItem+"/"), at.Left.Ref)
	require.Equal(k, "package", k.file(at.Left.SHA, "a.go"))
	require.Equal(k, "half a thought", k.file(at.Left.SHA, "b.go"))
	k.has(at, "a.go", "package a\n")
	k.has(at, "b.go", "")
	require.Equal(k, tip.SHA, k.take().SHA)
	require.Empty(k, k.attempt().Left, "it is kept once")
}

func leavesNothing(k *kit) {
	for _, file := range []string{"a.go", "b.go", "c.go"} {
		at := k.attempt()
		require.Empty(k, at.Left)
		k.work(at, file, "package x\n")
		k.take()
	}
}

func goesOn(k *kit) {
	k.work(k.attempt(), "a.go", "package a\n")
	for range 2 { // it dies, and so does the next
		at := k.attempt()
		require.Empty(k, at.Left)
		k.has(at, "a.go", "package a\n")
	}
	require.Equal(k, "package a\n", k.file(k.take().SHA, "a.go"))
}

func catchesUp(k *kit) {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	before := k.take()
	k.MoveMain()
	got, err := k.Spaces.CatchUp(k.Context(), k.Space, true)
	require.NoError(k, err)
	require.NotEqual(k, before.SHA, got.SHA)
	main, err := k.Spaces.MainTip(k.Context(), k.Space)
	require.NoError(k, err)
	require.Equal(k, main, got.Base)
	require.Equal(k, got.SHA, k.take().SHA, "the checkout has nothing newer")
	at = k.attempt()
	require.Empty(k, at.Left)
	k.has(at, "a.go", "package a\n")
	k.work(at, "b.go", "package b\n")
	require.Equal(k, "package b\n", k.file(k.take().SHA, "b.go"))
	again, err := k.Spaces.CatchUp(k.Context(), k.Space, true)
	require.NoError(k, err)
	require.Equal(k, k.tip().SHA, again.SHA, "main has not moved")
}

func pushes(k *kit) {
	ctx := k.Context()
	at := k.attempt()
	begun := k.take().SHA
	require.NoError(k, k.Spaces.Push(ctx, k.Space, begun, ""))
	require.NoError(k, k.Spaces.Push(ctx, k.Space, begun, ""), "it is there already")
	k.work(at, "a.go", "package a\n")
	next := k.take().SHA
	require.NoError(k, k.Spaces.Push(ctx, k.Space, next, begun))
	require.Equal(k, next, k.Remote(k.Space.Branch))
	require.ErrorIs(k, k.Spaces.Push(ctx, k.Space, begun, ""), work.ErrMoved)
	s := k.Space
	s.Branch = s.Main
	require.ErrorIs(k, k.Spaces.Push(ctx, s, next, ""), work.ErrProtected)
}

func closes(k *kit) {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	for range 2 {
		require.NoError(k, k.Spaces.Close(k.Context(), k.Space))
	}
	k.has(k.attempt(), "a.go", "package a\n")
}

func drops(k *kit) {
	at := k.attempt()
	k.work(at, "a.go", "package a\n")
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, k.take().SHA, ""))
	for range 2 {
		require.NoError(k, k.Spaces.Drop(k.Context(), k.Space, k.Space.WorkItem+"-7"))
	}
	require.Empty(k, k.Remote(k.Space.Branch))
	require.Empty(k, k.tip().SHA)
	k.has(k.attempt(), "a.go", "")
}

func refuses(k *kit) {
	for _, path := range []string{"", ".", "/abs", "..", "../x", "a/../b", "a/", "./a", ".git", "a/.GIT/b", "a\nb", `a\b`} {
		s := k.Space
		s.Keep = []string{"node_modules", path}
		_, err := k.Spaces.Open(k.Context(), s, nil)
		require.ErrorIs(k, err, work.ErrBadName, path)
	}
}

func removes(k *kit) {
	none, err := k.Spaces.Remains(k.Context())
	require.NoError(k, err)
	require.Empty(k, none)
	at := k.attempt()
	k.work(at, "a.txt", "a")
	head := k.take().SHA
	before, err := k.Spaces.Remains(k.Context())
	require.NoError(k, err)
	require.Len(k, before, 1)
	require.Equal(k, k.Space.Task, before[0].Task)
	at = k.attempt()
	require.NoError(k, k.Spaces.Remove(k.Context(), before[0]), "it was used since: nothing happens")
	k.has(at, "a.txt", "a")
	now, err := k.Spaces.Remains(k.Context())
	require.NoError(k, err)
	for range 2 {
		require.NoError(k, k.Spaces.Remove(k.Context(), now[0]))
	}
	_, there := k.Look(at.Dir, "a.txt")
	require.False(k, there)
	none, err = k.Spaces.Remains(k.Context())
	require.NoError(k, err)
	require.Empty(k, none)
	require.Equal(k, head, k.tip().SHA, "the mirror keeps the commits")
	k.has(k.attempt(), "a.txt", "a")
}
