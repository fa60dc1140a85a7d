package gitcli_test

import (
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// byHand is a clone in which a person works on the task's branch.
func (k *kit) byHand() string {
	k.Helper()
	dir := filepath.Join(k.TempDir(), "clone")
	run(k, k.TempDir(), "clone", "--quiet", "--branch", k.space.Branch, k.bare, dir)
	return dir
}

// published opens the branch, and pushes it.
func (k *kit) published() string {
	k.Helper()
	commit(k, k.open(), "a.go", "package a\n")
	sha := k.take().SHA
	k.push(sha, "")
	k.space.Head = sha
	return sha
}

// A host's "Update branch" is one commit of the person, whatever main brings with it.
func TestAdoptAnUpdateOfTheBranch(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.published()
	k.pushMain("one.go", "package main\n")
	k.pushMain("two.go", "package main\n")
	dir := k.byHand()
	run(t, dir, "merge", "--quiet", "--no-edit", "origin/main")
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	got, err := k.g.Adopt(t.Context(), k.space, sha)
	require.NoError(t, err)
	require.Equal(t, run(t, dir, "rev-parse", "HEAD"), got.SHA)
	require.Equal(t, 1, got.Push.Commits)
}

// What people push goes by quarantine, with the limits of what is taken of agents.
func TestAdoptWithinLimits(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.published()
	dir := k.byHand()
	commit(t, dir, "big.txt", strings.Repeat("big\n", 1000))
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	small := openGit(t, gitcli.Options{Root: k.root, Limits: gitcli.Limits{File: 2500}})
	_, err := small.Adopt(t.Context(), k.space, sha)
	require.ErrorContains(t, err, `the file "big.txt" has 4000 bytes, more than 2500`)
	tip, err := small.Tip(t.Context(), k.space)
	require.NoError(t, err)
	require.Equal(t, sha, tip.SHA)
	left, err := filepath.Glob(filepath.Join(k.root, "take-*"))
	require.NoError(t, err)
	require.Empty(t, left)
	require.ErrorIs(t, small.Push(t.Context(), k.space, sha, sha), work.ErrMoved)
	got, err := k.g.Adopt(t.Context(), k.space, sha)
	require.NoError(t, err)
	require.NotEmpty(t, got.SHA)

	commit(t, dir, ".gitmodules", "[submodule \"x\"]\n\tpath = x\n\turl = -x\n") // which git refuses for ever
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	_, err = k.g.Adopt(t.Context(), k.space, sha)
	require.ErrorContains(t, err, "disallowed submodule url")
	require.NotErrorIs(t, err, work.ErrRemote)
	require.False(t, fault.Retryable(err))
}

// An attempt that died with commits goes on from them, on top of what a person has pushed meanwhile.
func TestAttemptGoesOnBesideAPush(t *testing.T) {
	t.Parallel()
	k := setup(t)
	sha := k.published()
	commit(t, k.reopen().Dir, "b.go", "package b\n")
	dir := k.byHand()
	theirs := commit(t, dir, "theirs.go", "package theirs\n")
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	got, err := k.g.Adopt(t.Context(), k.space, sha)
	require.NoError(t, err)
	k.space.Head = got.SHA
	at := k.reopen()
	require.FileExists(t, filepath.Join(at.Dir, "b.go"))
	require.FileExists(t, filepath.Join(at.Dir, "theirs.go"))
	tip := k.take()
	run(t, k.mirror(), "merge-base", "--is-ancestor", theirs, tip.SHA)
	k.push(tip.SHA, got.SHA)
}

// A replica that has never seen the branch takes in a push for the others, whose run is joined with it.
func TestAdoptAmongReplicas(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	sha := a.published()
	commit(t, a.reopen().Dir, "b.go", "package b\n")
	dir := a.byHand()
	theirs := commit(t, dir, "theirs.go", "package theirs\n")
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	got, err := b.g.Adopt(t.Context(), b.at(sha).space, sha)
	require.NoError(t, err)
	require.Equal(t, theirs, got.SHA)

	ran := a.take().SHA
	joined, err := b.g.Join(t.Context(), b.at(ran).space, theirs)
	require.NoError(t, err)
	require.Empty(t, joined.Push.Conflicts)
	require.NoError(t, a.g.Push(t.Context(), a.at(joined.SHA).space, joined.SHA, theirs))
	tree := run(t, a.bare, "ls-tree", "--name-only", joined.SHA)
	require.Contains(t, tree, "b.go")
	require.Contains(t, tree, "theirs.go")

	a.pushMain("main.go", "package main\n")
	tip := a.at(joined.SHA).catchUp().SHA
	require.NoError(t, a.g.Push(t.Context(), a.at(joined.SHA).space, tip, joined.SHA))
	run(t, dir, "pull", "--quiet", "--rebase")
	theirs = commit(t, dir, "more.go", "package theirs\n")
	run(t, dir, "push", "--quiet", "origin", "HEAD")
	got, err = b.g.Adopt(t.Context(), b.at(joined.SHA).space, joined.SHA)
	require.NoError(t, err, "the replica that has pushed it dies before it is recorded")
	require.Equal(t, theirs, got.SHA)
}
