package gitcli_test

import (
	"fmt"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// replicas are several services over one remote, each with a directory of its
// own.
func replicas(t *testing.T, n int) (all []*kit) {
	t.Helper()
	first := setup(t)
	for range n {
		k := *first
		k.root = t.TempDir()
		k.g = openGit(t, gitcli.Options{Root: k.root, Shared: true})
		all = append(all, &k)
	}
	return all
}

func two(t *testing.T) (a, b *kit) {
	t.Helper()
	all := replicas(t, 2)
	return all[0], all[1]
}

// at is the space of a task that stands at a commit.
func (k *kit) at(head string) *kit {
	next := *k
	next.space.Head = head
	return &next
}

func (k *kit) refs(pattern string) string {
	k.Helper()
	return run(k, k.bare, "for-each-ref", "--format=%(refname)", pattern)
}

// What one replica has added for people, every other one can judge and publish.
func TestHandOverOfAReport(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	a.open()
	begun := a.take().SHA
	tip, err := a.g.Add(t.Context(), a.at(begun).space, []work.File{{Path: "docs/work/APP-1/review.md", Body: []byte("fine\n")}}, "a report")
	require.NoError(t, err)
	got, err := b.g.Tip(t.Context(), b.at(tip.SHA).space)
	require.NoError(t, err)
	require.Equal(t, tip.SHA, got.SHA)
	require.NoError(t, b.g.Push(t.Context(), b.at(tip.SHA).space, tip.SHA, ""))
	require.Equal(t, tip.SHA, b.remoteHead())
}

// What one replica's agent has committed, every other one can judge, go on from
// and publish, also before it was published.
func TestHandOver(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	dir := a.open()
	head := commit(t, dir, "tiles.go", "package tiles\n")
	tip := a.take()
	require.Equal(t, head, tip.SHA)
	require.Equal(t, "refs/signalbox/APP-1/"+head, a.refs("refs/signalbox"))

	got, err := b.g.Tip(t.Context(), b.at(head).space)
	require.NoError(t, err)
	require.Equal(t, head, got.SHA)
	require.Equal(t, tip.Base, got.Base)
	require.Equal(t, tip.SameCode, got.SameCode)
	_, err = b.g.Files(t.Context(), b.at(head).space, head)
	require.NoError(t, err)
	require.NoError(t, b.g.Push(t.Context(), b.at(head).space, head, ""))
	require.Equal(t, head, b.remoteHead())

	next := commit(t, b.at(head).open(), "docs/work/APP-1/review.md", "fine\n")
	require.Equal(t, next, b.at(head).take().SHA)
	require.FileExists(t, filepath.Join(a.at(next).open(), "docs/work/APP-1/review.md"), "the first goes on where the second stopped")
	require.NoError(t, a.g.Close(t.Context(), a.at(next).space))
	require.Empty(t, a.refs("refs/signalbox"), "nothing is left when the task is done")
}

// A replica that was paused has finished a run that another did again: what was
// decided counts, in its mirror and in its checkout.
func TestAttemptThatWasGivenUp(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	dir := a.open()
	require.Equal(t, commit(t, dir, "slow.go", "package slow\n"), a.take().SHA)
	write(t, dir, "left.txt", "of an agent that was killed")

	head := commit(t, b.open(), "fast.go", "package fast\n")
	require.Equal(t, head, b.take().SHA)

	tip, err := a.g.Tip(t.Context(), a.at(head).space)
	require.NoError(t, err)
	require.Equal(t, head, tip.SHA)
	dir = a.at(head).open()
	require.FileExists(t, filepath.Join(dir, "fast.go"))
	require.NoFileExists(t, filepath.Join(dir, "slow.go"))
	require.NoFileExists(t, filepath.Join(dir, "left.txt"))
	require.Equal(t, head, run(t, dir, "rev-parse", "HEAD"))
	more := commit(t, dir, "more.go", "package more\n")
	require.Equal(t, more, run(t, a.at(head).open(), "rev-parse", "HEAD"), "a checkout that is not behind is gone on from")
}

// twoReplicas are two of which one has published a commit of an agent.
func twoReplicas(t *testing.T) (a, b *kit, head string) {
	t.Helper()
	all := replicas(t, 2)
	head = commit(t, all[0].open(), "a.go", "package a\n")
	all[0].take()
	a, b = all[0].at(head), all[1].at(head)
	a.push(head, "")
	return a, b, head
}

// A replica has brought a branch up to date and died: before it could publish
// the result, or before it could say so. Another publishes the same result, even
// when main has moved since, and reports what was merged.
func TestCatchUpOfAnother(t *testing.T) {
	t.Parallel()
	for name, published := range map[string]bool{"before it was published": false, "after it was published": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b, head := twoReplicas(t)
			require.Equal(t, head, b.catchUp().SHA, "nothing to do")

			base := a.pushMain("b.go", "package b\n")
			got := a.catchUp()
			require.Equal(t, base, got.Base)
			if published {
				a.push(got.SHA, head)
			}
			newer := a.pushMain("c.go", "package c\n")
			require.Equal(t, got, b.catchUp())
			require.NoError(t, b.g.Push(t.Context(), b.space, got.SHA, head))
			require.Equal(t, got.SHA, b.remoteHead())
			require.FileExists(t, filepath.Join(b.at(got.SHA).open(), "b.go"))

			next := b.at(got.SHA).catchUp()
			require.Equal(t, newer, next.Base, "from there it goes on")
			require.NoError(t, b.g.Push(t.Context(), b.space, next.SHA, got.SHA))
			same, err := a.g.SameTree(t.Context(), a.space, next.SHA, newer)
			require.NoError(t, err)
			require.False(t, same)
			same, err = a.g.SameTree(t.Context(), a.space, next.SHA, next.SHA)
			require.NoError(t, err)
			require.True(t, same)
			require.NoError(t, a.g.Close(t.Context(), a.at(next.SHA).space))
			require.Empty(t, a.refs("refs/signalbox"))
		})
	}
}

// What a branch changes is judged against the main that it stands on, also by a replica that knew an older one.
func TestChangedOnANewerMain(t *testing.T) {
	t.Parallel()
	a, b, head := twoReplicas(t)
	_, err := b.g.Files(t.Context(), b.space, head)
	require.NoError(t, err)
	base := a.pushMain("b.go", "package b\n")
	got := a.catchUp()
	require.Equal(t, base, got.Base)
	changed, err := b.g.Changed(t.Context(), b.at(got.SHA).space, "", got.SHA, []string{"**"})
	require.NoError(t, err)
	require.Equal(t, []string{"a.go", "docs/work/APP-1/request.md"}, changed)
}

// Replicas that rebase together publish one result.
func TestCatchUpTogether(t *testing.T) {
	t.Parallel()
	all := replicas(t, 3)
	head := commit(t, all[0].open(), "a.go", "package a\n")
	all[0].take()
	require.NoError(t, all[0].g.Push(t.Context(), all[0].at(head).space, head, ""))
	all[0].pushMain("b.go", "package b\n")
	var wg sync.WaitGroup
	got := make([]work.CaughtUp, len(all))
	for i, k := range all {
		wg.Go(func() {
			var err error
			got[i], err = k.g.CatchUp(t.Context(), k.at(head).space, true)
			if err == nil {
				err = k.g.Push(t.Context(), k.at(head).space, got[i].SHA, head)
			}
			if err != nil {
				t.Errorf("replica %d: %v", i, err)
			}
		})
	}
	wg.Wait()
	for _, g := range got {
		require.Equal(t, all[0].remoteHead(), g.SHA)
	}
}

// Replicas that begin a task together begin it with one commit.
func TestBeginTogether(t *testing.T) {
	t.Parallel()
	all := replicas(t, 4)
	var wg sync.WaitGroup
	tips := make([]string, len(all))
	for i, k := range all {
		wg.Go(func() {
			if _, err := k.g.Open(t.Context(), k.space, []work.File{{Path: "docs/work/APP-1/request.md", Body: fmt.Append(nil, i)}}); err != nil {
				t.Errorf("open: %v", err)
				return
			}
			tip, err := k.g.Take(t.Context(), k.space)
			if err != nil {
				t.Errorf("take: %v", err)
			}
			tips[i] = tip.SHA
		})
	}
	wg.Wait()
	for _, tip := range tips {
		require.Equal(t, all[0].remoteHead(), tip)
	}
}

// What a replica has kept of a task that another has removed is not taken for a
// new task of the same work item.
func TestLeftOverOfAnEarlierTask(t *testing.T) {
	t.Parallel()
	for name, begun := range map[string]bool{"nobody has begun": false, "another has begun": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := two(t)
			head := commit(t, a.open(), "old.go", "package old\n")
			a.take()
			require.NoError(t, b.g.Drop(t.Context(), b.at(head).space, "APP-1-1"))
			require.Empty(t, b.refs("refs/heads/feature"))
			require.Empty(t, b.refs("refs/signalbox"))
			commit(t, elsewhere(a), "main.go", "package main\n")
			if begun {
				b.open()
			}
			dir := a.open()
			require.NoFileExists(t, filepath.Join(dir, "old.go"))
			require.FileExists(t, filepath.Join(dir, "main.go"))
			require.Equal(t, a.remoteHead(), run(t, dir, "rev-parse", "HEAD"))
		})
	}
}

// elsewhere is a person's clone whose commits on main are pushed when the next
// one begins to look.
func elsewhere(k *kit) string {
	k.Helper()
	dir := filepath.Join(k.TempDir(), "person")
	run(k, k.TempDir(), "clone", "--quiet", k.bare, dir)
	write(k, dir, ".git/hooks/post-commit", "#!/bin/sh\ngit push --quiet origin HEAD:main\n")
	return dir
}

// A commit that is nowhere is an error that says so.
func TestCommitThatIsNowhere(t *testing.T) {
	t.Parallel()
	k := replicas(t, 1)[0]
	_, err := k.g.Tip(t.Context(), k.at("0123456789012345678901234567890123456789").space)
	require.ErrorContains(t, err, "neither in the mirror nor on the remote")
	_, err = k.g.Tip(t.Context(), k.at("--upload-pack=x").space)
	require.ErrorIs(t, err, work.ErrBadName)
}

// A task that is cancelled before its first agent has ended: another replica than
// the one that made the branch removes it, but not what a person has put there.
func TestDropOfABranchThatAnotherHasBegun(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		change func(k *kit)
		err    error
	}{
		"only begun":        {func(*kit) {}, nil},
		"main has moved on": {func(k *kit) { k.pushMain("more.go", "package more\n") }, nil},
		"a person's commit": {func(k *kit) {
			clone := filepath.Join(k.TempDir(), "c")
			run(k, k.TempDir(), "clone", "--quiet", "--branch", k.space.Branch, k.bare, clone)
			commit(k, clone, "mine.go", "package mine\n")
			run(k, clone, "push", "--quiet", "origin", k.space.Branch)
		}, work.ErrMoved},
		"a person's branch": {func(k *kit) {
			run(k, k.bare, "update-ref", "refs/heads/"+k.space.Branch, "refs/heads/main")
		}, work.ErrMoved},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := two(t)
			a.open()
			tip, err := a.g.Tip(t.Context(), a.space)
			require.NoError(t, err)
			a.push(tip.SHA, "")
			c.change(a)
			require.ErrorIs(t, b.g.Drop(t.Context(), b.space, "APP-1-1"), c.err)
			if c.err != nil {
				require.NotEmpty(t, b.refs("refs/heads/feature"))
				return
			}
			require.Empty(t, b.refs("refs/heads/feature"))
			mirror := filepath.Join(b.root, "mirrors", "acme--app.git")
			require.Equal(t, tip.SHA, run(t, mirror, "rev-parse", "refs/signalbox/kept/APP-1-1"))
			require.NoError(t, b.g.Drop(t.Context(), b.space, "APP-1-1"), "again is a success")
		})
	}
}

// The replica that removes what a cancelled task leaves behind has a checkout of an
// attempt that was given up: another made the commit that counts, and published it.
func TestDropAfterAnAttemptThatWasGivenUp(t *testing.T) {
	t.Parallel()
	for name, taken := range map[string]bool{"taken": true, "not taken": false} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			a, b := two(t)
			commit(t, a.open(), "slow.go", "package slow\n")
			if taken {
				a.take()
			}
			head := commit(t, b.open(), "fast.go", "package fast\n")
			require.Equal(t, head, b.take().SHA)
			require.NoError(t, b.g.Push(t.Context(), b.space, head, ""))
			require.NoError(t, a.g.Drop(t.Context(), a.at(head).space, "APP-1-1"))
			require.Empty(t, a.refs("refs/heads/feature"))
			mirror := filepath.Join(a.root, "mirrors", "acme--app.git")
			require.Equal(t, head, run(t, mirror, "rev-parse", "refs/signalbox/kept/APP-1-1"), "what was decided is kept")
			require.NoError(t, a.g.Drop(t.Context(), a.at(head).space, "APP-1-1"), "again is a success")
		})
	}
}

// A task that is cancelled while it is brought up to date leaves nothing either: what came out is the service's own, and not recorded.
func TestDropOfWhatWasBroughtUpToDate(t *testing.T) {
	t.Parallel()
	a, b := two(t)
	commit(t, a.open(), "a.go", "package a\n")
	head := a.take().SHA
	a.push(head, "")
	a.pushMain("main.go", "package main\n")
	got, err := a.g.CatchUp(t.Context(), a.at(head).space, true)
	require.NoError(t, err)
	require.NotEqual(t, head, got.SHA)
	require.NoError(t, a.g.Push(t.Context(), a.at(head).space, got.SHA, head))
	require.NoError(t, b.g.Drop(t.Context(), b.at(head).space, "APP-1-1"))
	require.Empty(t, b.refs("refs/heads/feature"))
}
