package gitonly_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const repo = "acme/shop"

// person works on a bare repository in a clone of their own.
type person struct {
	testing.TB
	bare, clone string
	n           int
}

func newPerson(t testing.TB) *person {
	t.Helper()
	p := &person{TB: t, bare: filepath.Join(t.TempDir(), "shop.git"), clone: filepath.Join(t.TempDir(), "clone")}
	p.git(t.TempDir(), "init", "--quiet", "--bare", "--initial-branch=main", p.bare)
	p.git(t.TempDir(), "clone", "--quiet", p.bare, p.clone)
	p.git(p.clone, "checkout", "--quiet", "-B", "main")
	p.commit("main")
	return p
}

func (p *person) git(dir string, args ...string) string {
	p.Helper()
	return gittest.Run(p, dir, args...)
}

// commit adds a commit to a branch, made from main if there is none, and pushes it.
func (p *person) commit(branch string) string {
	p.Helper()
	if exec.CommandContext(p.Context(), "git", "-C", p.clone, "fetch", "--quiet", "--prune", "origin").Run(); p.n > 0 {
		at := "origin/main"
		if exec.CommandContext(p.Context(), "git", "-C", p.clone, "rev-parse", "--verify", "--quiet", "origin/"+branch).Run() == nil {
			at = "origin/" + branch
		}
		p.git(p.clone, "checkout", "--quiet", "-B", branch, at)
	}
	p.n++
	require.NoError(p, os.WriteFile(filepath.Join(p.clone, fmt.Sprint("file-", p.n)), nil, 0o600))
	p.git(p.clone, "add", "--all")
	p.git(p.clone, "commit", "--quiet", "-m", fmt.Sprint("change ", p.n))
	p.git(p.clone, "push", "--quiet", "origin", branch)
	return p.git(p.clone, "rev-parse", "HEAD")
}

func (p *person) head(branch string) string {
	return p.git(p.bare, "rev-parse", "--verify", branch)
}

// spoilt is git, of which one call can be made to fail.
type spoilt struct {
	gitonly.Git
	mu   sync.Mutex
	fail map[string]error
}

func (s *spoilt) set(call string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fail[call] = err
}

func (s *spoilt) failure(call string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.fail[call]
}

func (s *spoilt) Land(ctx context.Context, at work.Workspace, sha, message string) (string, error) {
	if err := s.failure("Merge"); err != nil {
		return "", err
	}
	return s.Git.Land(ctx, at, sha, message)
}

func (s *spoilt) RemoveBranch(ctx context.Context, at work.Workspace, branch, sha string) error {
	if err := s.failure("DeleteBranch"); err != nil {
		return err
	}
	return s.Git.RemoveBranch(ctx, at, branch, sha)
}

func open(t testing.TB, url string) (*gitonly.Host, *spoilt) {
	t.Helper()
	git, err := gitcli.New(t.Context(), gitcli.Options{Root: t.TempDir()})
	require.NoError(t, err)
	s := &spoilt{Git: git, fail: map[string]error{}}
	return gitonly.New(s, func(name string) (work.Workspace, bool) {
		return work.Workspace{Repo: repo, CloneURL: url, Main: "main"}, name == repo
	}), s
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(t *testing.T) hosttest.Fixture {
		p := newPerson(t)
		h, s := open(t, p.bare)
		return hosttest.Fixture{
			Host: h, Repo: repo, Commit: p.commit,
			Conflict: func(branch string) string {
				sha := p.commit(branch)
				p.commit("main")
				return sha
			},
			Fail: func(call string, how faulttest.Kind) { s.set(call, faulttest.Error(how)) },
		}
	})
}

// A repository that is not registered, and a branch that is not main, are refused.
func TestWhatIsNotOurs(t *testing.T) {
	p := newPerson(t)
	h, _ := open(t, p.bare)
	require.False(t, h.Plain("acme/other"))
	_, err := h.Heads(t.Context(), "acme/other")
	require.ErrorIs(t, err, githost.ErrNotFound)
	head := p.commit("feature/a")
	_, err = h.Merge(t.Context(), githost.Merge{Repo: repo, Head: "feature/a", Base: "release", HeadSHA: head})
	require.ErrorIs(t, err, githost.ErrDenied)
	require.ErrorIs(t, h.DeleteBranch(t.Context(), repo, "main"), work.ErrProtected)
	require.NotEmpty(t, p.head("main"))
}

// Main that people push to between the look and the push is not overwritten.
func TestMainMovesMeanwhile(t *testing.T) {
	p := newPerson(t)
	h, _ := open(t, p.bare)
	head := p.commit("feature/a")
	theirs := p.commit("main")
	hook := filepath.Join(p.bare, "hooks", "pre-receive")
	_, err := h.Merge(t.Context(), githost.Merge{Repo: repo, Head: "feature/a", Base: "main", HeadSHA: head})
	require.ErrorIs(t, err, githost.ErrBehind)
	require.Equal(t, theirs, p.head("main"))

	// The same at the last moment: the remote moves main while it receives the push.
	p.git(p.clone, "checkout", "--quiet", "-B", "feature/b", "origin/main")
	next := p.commit("feature/b")
	p.git(p.clone, "commit", "--quiet", "--allow-empty", "-m", "theirs", "--amend")
	rival := p.git(p.clone, "rev-parse", "HEAD")
	p.git(p.clone, "push", "--quiet", "origin", rival+":refs/heads/rival")
	require.NoError(t, os.MkdirAll(filepath.Dir(hook), 0o755))
	require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\nunset GIT_QUARANTINE_PATH\ngit update-ref refs/heads/main "+rival+"\n"), 0o700))
	_, err = h.Merge(t.Context(), githost.Merge{Repo: repo, Head: "feature/b", Base: "main", HeadSHA: next})
	require.ErrorIs(t, err, githost.ErrBehind)
	require.Equal(t, rival, p.head("main"))
}

// A push to a branch that people have checked out is refused by git; the words say what
// to do, and it is not tried again and again.
func TestCheckedOutMain(t *testing.T) {
	p := newPerson(t)
	p.commit("feature/a")
	p.git(p.clone, "checkout", "--quiet", "main")
	h, _ := open(t, p.clone)
	head := p.git(p.clone, "rev-parse", "feature/a")
	m := githost.Merge{Repo: repo, Head: "feature/a", Base: "main", HeadSHA: head}
	_, err := h.Merge(t.Context(), m)
	require.ErrorContains(t, err, "main is checked out in the repository of acme/shop")
	require.ErrorContains(t, err, "receive.denyCurrentBranch")
	require.False(t, fault.Retryable(err))
	p.git(p.clone, "config", "receive.denyCurrentBranch", "updateInstead")
	_, err = h.Merge(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, head, p.git(p.clone, "rev-parse", "HEAD"))
	require.Empty(t, p.git(p.clone, "status", "--porcelain"), "the files have moved with it")
}

// What is no repository is said, and nothing is concluded from it.
func TestNoRepository(t *testing.T) {
	h, _ := open(t, filepath.Join(t.TempDir(), "none"))
	_, err := h.Heads(t.Context(), repo)
	require.ErrorIs(t, err, work.ErrRemote)
	require.ErrorIs(t, h.DeleteBranch(t.Context(), repo, "feature/a"), work.ErrRemote)
}
