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
	for call, trial := range map[string]func(*testing.T, Fixture) faulttest.Trial{
		"OpenPullRequest": opening, "Merge": merging, "DeleteBranch": deleting,
	} {
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
	f.Commit("feature/b")
	pr := f.pull(t, "feature/a")
	return faulttest.Trial{
		Call: func(ctx context.Context) error {
			_, err := f.Host.Merge(ctx, githost.Merge{Repo: f.Repo, Number: pr.Number, HeadSHA: head, Title: "T"})
			return err
		},
		Others: func() {
			f.reads(t, head)
			f.pull(t, "feature/b")
		},
		Done: func() int {
			if f.newest(t, "feature/a").Merged {
				return 1
			}
			return 0
		},
	}
}

func deleting(t *testing.T, f Fixture) faulttest.Trial {
	head := f.Commit("feature/a")
	f.Commit("feature/b")
	return faulttest.Trial{
		Call: func(ctx context.Context) error { return f.Host.DeleteBranch(ctx, f.Repo, "feature/a") },
		Others: func() {
			f.reads(t, head)
			f.pull(t, "feature/b")
		},
		Done: func() int {
			at, err := f.Host.BranchesAt(t.Context(), f.Repo, head)
			require.NoError(t, err)
			return 1 - len(at)
		},
	}
}

// newest is the newest pull request of a branch; its number is 0 when there is none.
func (f Fixture) newest(t *testing.T, branch string) githost.PullRequest {
	t.Helper()
	pr, err := f.Host.PullRequest(t.Context(), f.Repo, branch)
	if !errors.Is(err, githost.ErrNotFound) {
		require.NoError(t, err)
	}
	return pr
}

// reads makes the calls that read.
func (f Fixture) reads(t *testing.T, sha string) {
	t.Helper()
	_, err := f.Host.Checks(t.Context(), f.Repo, sha)
	require.NoError(t, err)
	_, err = f.Host.Reviews(t.Context(), f.Repo, "feature/a")
	require.NoError(t, err)
}
