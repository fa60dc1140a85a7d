package hosttest

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// faults runs the suite of package fault for the calls that write.
func faults(t *testing.T, open func(t *testing.T) Fixture) {
	trials := map[string]func(*testing.T, Fixture) faulttest.Trial{"OpenPullRequest": opening, "Merge": merging, "DeleteBranch": deleting}
	f := open(t)
	if _, plain := githost.PlainOf(f.Host, f.Repo); plain {
		delete(trials, "OpenPullRequest")
	}
	for call, trial := range trials {
		t.Run(call, func(t *testing.T) {
			faulttest.Run(t, func(t *testing.T) faulttest.Trial {
				f := open(t)
				x := trial(t, f)
				x.Fail, x.Repeats = func(k faulttest.Kind) { f.Fail(call, k) }, true
				return x
			})
		})
	}
}

func opening(t *testing.T, f Fixture) faulttest.Trial {
	sha := f.Commit("feature/a")
	other := f.Commit("feature/b")
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := f.Host.OpenPullRequest(ctx, githost.NewPullRequest{Repo: f.Repo, Head: "feature/a", Base: "main", Title: "T"})
			return err
		},
		Others: func() {
			f.reads(t, sha)
			at, err := f.Host.BranchesAt(t.Context(), f.Repo, other)
			require.NoError(t, err)
			require.NoError(t, f.Host.DeleteBranch(t.Context(), f.Repo, at[0]))
		},
		Done: func() int { return int(f.newest(t, "feature/a").Number) },
	}
}

func merging(t *testing.T, f Fixture) faulttest.Trial {
	head := f.Commit("feature/a")
	other := f.Commit("feature/b")
	m := githost.Merge{Repo: f.Repo, Head: "feature/a", Base: "main", HeadSHA: head, Title: "T"}
	_, plain := githost.PlainOf(f.Host, f.Repo)
	if !plain {
		m.Number = f.pull(t, "feature/a").Number
	}
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := f.Host.Merge(ctx, m)
			return err
		},
		Others: func() { f.others(t, head, other) },
		Done: func() int {
			if p, plain := githost.PlainOf(f.Host, f.Repo); plain {
				landed, err := githost.Landed(t.Context(), p, f.Repo, "main", head)
				require.NoError(t, err)
				return map[bool]int{true: 1}[landed != ""]
			}
			return map[bool]int{true: 1}[f.newest(t, "feature/a").Merged]
		},
	}
}

func deleting(t *testing.T, f Fixture) faulttest.Trial {
	head := f.Commit("feature/a")
	other := f.Commit("feature/b")
	return faulttest.Trial{
		Call:   func(ctx context.Context) error { return f.Host.DeleteBranch(ctx, f.Repo, "feature/a") },
		Others: func() { f.others(t, head, other) },
		Done: func() int {
			at, err := f.Host.BranchesAt(t.Context(), f.Repo, head)
			require.NoError(t, err)
			return 1 - len(at)
		},
	}
}

// others are calls beside the one that fails: they do not.
func (f Fixture) others(t *testing.T, sha, other string) {
	t.Helper()
	if p, plain := githost.PlainOf(f.Host, f.Repo); plain {
		heads, err := p.Heads(t.Context(), f.Repo)
		require.NoError(t, err)
		require.Equal(t, other, heads["feature/b"])
		return
	}
	f.reads(t, sha)
	f.pull(t, "feature/b")
}

// newest is the newest pull request of a branch; its number is 0 when there is none.
func (f Fixture) newest(t *testing.T, branch string) githost.PullRequest {
	t.Helper()
	pr, err := f.Host.PullRequest(t.Context(), f.Repo, branch, "main")
	if !errors.Is(err, githost.ErrNotFound) {
		require.NoError(t, err)
	}
	return pr
}

// reads makes the calls that read.
func (f Fixture) reads(t *testing.T, sha string) {
	t.Helper()
	_, err := f.Host.Checks(t.Context(), f.Repo, "main", sha)
	require.NoError(t, err)
	_, err = f.Host.Reviews(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
}
