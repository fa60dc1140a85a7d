package worktest

import (
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// published makes the task's branch, with a commit of an attempt, and pushes it.
func (k *kit) published() (at work.Checkout, sha string) {
	k.Helper()
	at = k.attempt()
	k.work(at, "a.go", "package a\n")
	sha = k.take().SHA
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, sha, ""))
	k.Space.Head = sha
	return at, sha
}

func (k *kit) adopt(pushed string) work.Adopted {
	k.Helper()
	a, err := k.Spaces.Adopt(k.Context(), k.Space, pushed)
	require.NoError(k, err)
	return a
}

func takesIn(k *kit) {
	require.Zero(k, k.adopt(""), "there is no branch")
	require.NoError(k, k.Spaces.Begin(k.Context(), k.Space, nil))
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, k.tip().SHA, ""))
	require.Zero(k, k.adopt(""), "the first commit is the service's")
	_, sha := k.published()
	require.Zero(k, k.adopt(sha))
	k.MoveMain()

	k.Push("", map[string]string{"theirs.go": "package a\n"})
	theirs := k.Push("", map[string]string{"more.go": "package a\n"})
	a := k.adopt(sha)
	require.Equal(k, theirs, a.SHA)
	require.Equal(k, theirs, a.Push.SHA)
	require.Equal(k, 2, a.Push.Commits)
	require.Equal(k, []string{"Ann Lee"}, a.Push.Authors)
	require.Empty(k, a.Push.Conflicts)
	require.Equal(k, a, k.adopt(sha), "it may be done again")
	require.Equal(k, theirs, k.tip().SHA)
	heads, err := k.Spaces.Heads(k.Context(), k.Space)
	require.NoError(k, err)
	require.Equal(k, theirs, heads[k.Space.Branch])

	k.Space.Head = theirs
	require.Zero(k, k.adopt(theirs))
	at := k.attempt()
	k.has(at, "theirs.go", "package a\n")
	k.work(at, "b.go", "package b\n")
	tip := k.take()
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, tip.SHA, theirs))
	require.Equal(k, "package a\n", k.file(tip.SHA, "more.go"))
}

// joins: an agent is at work while others push, and what it has committed before is not published.
func joins(k *kit) {
	_, sha := k.published()
	at := k.attempt()
	theirs := k.Push("", map[string]string{"theirs.go": "package a\n"})
	require.Equal(k, theirs, k.adopt(sha).SHA)
	k.work(at, "b.go", "package b\n")
	taken := k.take()
	require.Equal(k, "package b\n", k.file(taken.SHA, "b.go"))
	require.Equal(k, theirs, k.tip().SHA, "the branch does not go back")
	require.Equal(k, taken.SHA, k.take().SHA, "it may be taken again")

	run := k.Space
	run.Head, k.Space.Head = taken.SHA, theirs
	a, err := k.Spaces.Join(k.Context(), run, theirs)
	require.NoError(k, err)
	require.Empty(k, a.Push.Conflicts)
	require.Equal(k, "package b\n", k.file(a.SHA, "b.go"))
	require.Equal(k, "package a\n", k.file(a.SHA, "theirs.go"))
	require.Equal(k, a.SHA, k.tip().SHA)
	k.Space.Head = a.SHA
	again, err := k.Spaces.Join(k.Context(), k.Space, theirs)
	require.NoError(k, err)
	require.Equal(k, a.SHA, again.SHA)

	more := k.Push("", map[string]string{"more.go": "package a\n"})
	b := k.adopt(theirs)
	require.Equal(k, more, b.Push.SHA)
	require.NotEqual(k, more, b.SHA, "what is not published is put on top")
	require.Equal(k, 1, b.Push.Commits)
	for _, name := range []string{"b.go", "theirs.go", "more.go"} {
		require.NotEmpty(k, k.file(b.SHA, name), name)
	}
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, b.SHA, more))
	k.Space.Head = b.SHA
	at = k.attempt()
	require.Empty(k, at.Left, "all of it is in the branch")
	k.has(at, "b.go", "package b\n")
	k.has(at, "more.go", "package a\n")
	require.Equal(k, b.SHA, k.take().SHA)
}

func keepsApart(k *kit) {
	_, sha := k.published()
	at := k.attempt()
	k.work(at, "a.go", "package ours\n")
	k.Space.Head = k.take().SHA
	ours := k.Space.Head
	theirs := k.Push("", map[string]string{"a.go": "package theirs\n"})
	a := k.adopt(sha)
	require.Equal(k, theirs, a.SHA)
	require.Equal(k, []string{"a.go"}, a.Push.Conflicts)
	require.Equal(k, ours, a.Left.SHA)
	require.NotEmpty(k, a.Left.Ref)
	require.Equal(k, a.Left.Ref, a.Push.Left)
	k.Space.Head = theirs
	at = k.attempt()
	k.has(at, "a.go", "package theirs\n")
	require.Equal(k, "package ours\n", k.file(ours, "a.go"))
}

// goesOnFromRebased: the service dies between the push of a branch that it brought up to date and its record.
func goesOnFromRebased(k *kit) {
	_, sha := k.published()
	k.MoveMain()
	got, err := k.Spaces.CatchUp(k.Context(), k.Space, true)
	require.NoError(k, err)
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, got.SHA, sha))
	require.Equal(k, work.Adopted{Push: stage.Push{SHA: got.SHA}}, k.adopt(sha), "it is the service's, and to be recorded")
	theirs := k.Push("", map[string]string{"theirs.go": "package a\n"})
	a := k.adopt(sha)
	require.Equal(k, theirs, a.SHA)
	require.Equal(k, 1, a.Push.Commits)
	require.Equal(k, a, k.adopt(sha), "it may be done again")
}

func leavesMoved(k *kit) {
	require.NoError(k, k.Spaces.Begin(k.Context(), k.Space, nil))
	begun := k.tip().SHA
	require.NoError(k, k.Spaces.Push(k.Context(), k.Space, begun, ""))
	_, sha := k.published()
	k.Push(begun, map[string]string{"theirs.go": "package a\n"})
	_, err := k.Spaces.Adopt(k.Context(), k.Space, sha)
	require.ErrorIs(k, err, work.ErrMoved)
	require.NotErrorIs(k, err, work.ErrRemoved)
	require.Equal(k, sha, k.tip().SHA)

	k.Push(begun, nil)
	_, err = k.Spaces.Adopt(k.Context(), k.Space, sha)
	require.ErrorIs(k, err, work.ErrMoved)
	require.ErrorIs(k, k.Spaces.Push(k.Context(), k.Space, sha, sha), work.ErrMoved, "what a person has taken off it stays off")

	moved := k.Push(begun, map[string]string{"b.go": "package b\n"})
	require.Zero(k, k.adopt(moved), "that is where it was left")

	theirs := k.Push(sha, map[string]string{"theirs.go": "package a\n"})
	require.Equal(k, theirs, k.adopt(sha).SHA, "they are put on top of what was left")
	k.Space.Head = theirs
	require.NoError(k, k.Spaces.Drop(k.Context(), k.Space, "kept"))
	require.Empty(k, k.Remote(k.Space.Branch))
	_, err = k.Spaces.Adopt(k.Context(), k.Space, theirs)
	require.ErrorIs(k, err, work.ErrRemoved)
}
