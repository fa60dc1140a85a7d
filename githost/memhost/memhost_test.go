package memhost_test

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/hosttest"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

const repo = "acme/shop"

// fixture is a repository of the double.
func fixture(h *memhost.Host) (f hosttest.Fixture, commit func(branch string) string) {
	n := 0
	commit = func(branch string) string {
		n++
		sha := fmt.Sprintf("%040d", n)
		h.Push(repo, branch, sha)
		return sha
	}
	commit("main")
	return hosttest.Fixture{
		Host: h, Repo: repo, Commit: commit, SetChecks: h.SetChecks, Require: func(base string, names ...string) { h.Require(repo, base, names...) },
		Conflict: func(branch string) string {
			sha := commit(branch)
			h.Conflict(sha)
			return sha
		},
		AddReview: func(branch string, r githost.Review) {
			r.At = time.Now()
			h.AddReview(repo, branch, r)
		},
		ShowFailure:    func(_, name, text string) { h.ShowFailure(name, text) },
		AddLineComment: func(branch string, c githost.LineComment) { h.AddLineComment(repo, branch, c) },
		Comments:       func(number int64) []string { return h.Comments(repo, number) },
		Answers:        func(_, thread string) []string { return h.Answers(repo, 1, thread) },
		Self:           memhost.Self,
		Fail:           func(call string, how faulttest.Kind) { h.FailCall(call, faulttest.Error(how)) },
	}, commit
}

func TestConformance(t *testing.T) {
	hosttest.Run(t, func(*testing.T) hosttest.Fixture {
		f, _ := fixture(memhost.New())
		return f
	})
}

func TestConformancePlain(t *testing.T) {
	hosttest.Run(t, func(*testing.T) hosttest.Fixture {
		h := memhost.New()
		h.MakePlain(repo)
		f, commit := fixture(h)
		f.Conflict = func(branch string) string { // main goes on without it
			sha := commit(branch)
			commit("main")
			return sha
		}
		return f
	})
}

func TestFailWith(t *testing.T) {
	h := memhost.New()
	down := errors.New("down")
	h.FailWith(down)
	_, err := h.Checks(t.Context(), "r", "main", "s")
	require.ErrorIs(t, err, down)
	_, err = h.Merge(t.Context(), githost.Merge{})
	require.ErrorIs(t, err, down)
	require.Zero(t, h.Merges())
}

func Example() {
	ctx := context.Background()
	h := memhost.New()
	h.Push("acme/shop", "main", "a")
	h.Push("acme/shop", "feature/x", "b")
	pr, _ := h.OpenPullRequest(ctx, githost.NewPullRequest{Repo: "acme/shop", Head: "feature/x", Base: "main"})
	_, err := h.Merge(ctx, githost.Merge{Repo: "acme/shop", Number: pr.Number, HeadSHA: "an older head"})
	fmt.Println(errors.Is(err, githost.ErrHeadMoved))
	_, err = h.Merge(ctx, githost.Merge{Repo: "acme/shop", Number: pr.Number, HeadSHA: "b"})
	fmt.Println(err, h.Merges())
	// Output:
	// true
	// <nil> 1
}
