// Package hosttest is the conformance suite of package githost.
package hosttest

import (
	"maps"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// Fixture is a git host under test, with one repository that has a branch main.
type Fixture struct {
	Host interface {
		githost.Host
		githost.Branches
	}
	Repo string
	// Commit adds a commit to a branch, made from main if there is none, and
	// returns the new head.
	Commit func(branch string) string
	// Conflict makes the branch impossible to merge into main, and returns its head.
	Conflict func(branch string) string
	// SetChecks reports CI results of a commit; AddReview reviews a branch's pull
	// request, by an account that is a bot or not and has the permission.
	SetChecks func(sha string, checks ...githost.Check)
	AddReview func(branch string, r githost.Review)
	// Require makes the rules of a branch demand checks; they hold before the first call.
	Require func(base string, names ...string)
	// ShowFailure makes a check run of a commit, which SetChecks has reported, show text of why it
	// failed, nil where the host shows none; AddLineComment comments on a line of a branch's pull request, as AddReview
	// reviews. They are for a host that is a githost.Details.
	ShowFailure    func(sha, name, text string)
	AddLineComment func(branch string, c githost.LineComment)
	// Comments are those on a pull request, for a host that is a githost.Commenter.
	Comments func(number int64) []string
	// Answers are those in the thread of a comment on a line, for a host that is a Details and a Commenter.
	Answers  func(branch, thread string) []string
	Self     string // the service's account
	Statuses bool   // the host has commit statuses alone: no check runs, and none is cancelled
	// Fail makes one call of the port, called as its method, fail from now on.
	Fail func(call string, how faulttest.Kind)
}

// Run runs the cases that apply: those of every host, and those of one that has pull
// requests, or of a plain repository, whichever the fixture's is.
func Run(t *testing.T, open func(t *testing.T) Fixture) {
	t.Helper()
	cases := map[string]func(*testing.T, Fixture){
		"a merge is pinned to the head":    pinned,
		"merging twice merges once":        mergesOnce,
		"a conflict cannot be merged":      conflicts,
		"branches are found by their head": branches,
	}
	hosted := map[string]func(*testing.T, Fixture){
		"CI results are read":                        checks,
		"what is demanded and missing is expected":   expected,
		"a pull request is opened once":              opensOnce,
		"a merged pull request says so":              mergedSays,
		"reviews are listed in order":                reviews,
		"reviews come with what their authors may":   reviewers,
		"what does not exist is not found":           missing,
		"a new pull request follows a merged branch": follows,
	}
	details := map[string]func(*testing.T, Fixture){
		"why a check failed is shown":     failures,
		"comments on lines are listed":    lineComments,
		"without a pull request none are": noLineComments,
	}
	plain := map[string]func(*testing.T, Fixture){
		"what is lacking is said":               lacking,
		"a merge moves main forward":            forward,
		"a squash is one commit, and is found":  squash,
		"what anybody has pushed is seen":       seen,
		"a branch that is not there is no head": nowhere,
	}
	f := open(t)
	if _, is := githost.PlainOf(f.Host, f.Repo); is {
		maps.Copy(cases, plain)
	} else {
		maps.Copy(cases, hosted)
		if _, is := f.Host.(githost.Details); is {
			maps.Copy(cases, details)
		}
		if _, is := f.Host.(githost.Commenter); is {
			cases["a comment is made once"] = commentsOnce
			if _, is := f.Host.(githost.Details); is {
				cases["a comment on a line is answered once"] = answersOnce
			}
		}
	}
	for name, test := range cases {
		t.Run(name, func(t *testing.T) { test(t, open(t)) })
	}
	t.Run("a call that fails says how, and nothing else fails", func(t *testing.T) { faults(t, open) })
}

func (f Fixture) pull(t *testing.T, branch string) githost.PullRequest {
	t.Helper()
	pr, err := f.Host.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: f.Repo, Head: branch, Base: "main", Title: "T", Body: "B"})
	require.NoError(t, err)
	return pr
}

// merge merges a branch into main, by its pull request where there are any.
func (f Fixture) merge(t *testing.T, branch, head string) (string, error) {
	t.Helper()
	m := githost.Merge{Repo: f.Repo, Head: branch, Base: "main", HeadSHA: head, Title: "T"}
	if _, plain := githost.PlainOf(f.Host, f.Repo); !plain {
		m.Number = f.pull(t, branch).Number
	}
	return f.Host.Merge(t.Context(), m)
}

func checks(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	list, err := f.Host.Checks(t.Context(), f.Repo, "main", sha)
	require.NoError(t, err)
	require.Empty(t, list)
	want := []githost.Check{
		{Name: "build", State: githost.CheckPassed, Kind: "check_run"}, {Name: "lint", State: githost.CheckFailed, Kind: "status"},
		{Name: "e2e", State: githost.CheckPending, Kind: "check_run"}, {Name: "old", State: githost.CheckCancelled, Kind: "check_run"},
	}
	if f.Statuses {
		want = want[:3]
		for i := range want {
			want[i].Kind = "status"
		}
	}
	f.SetChecks(sha, want...)
	list, err = f.Host.Checks(t.Context(), f.Repo, "main", sha)
	require.NoError(t, err)
	for i := range list {
		list[i] = githost.Check{Name: list[i].Name, State: list[i].State, Kind: list[i].Kind}
	}
	require.ElementsMatch(t, want, list)
}

func expected(t *testing.T, f Fixture) {
	f.Require("main", "build", "e2e")
	sha := f.Commit("feature/a")
	states := func(base string) map[string]githost.CheckState {
		out := map[string]githost.CheckState{}
		list, err := f.Host.Checks(t.Context(), f.Repo, base, sha)
		require.NoError(t, err)
		for _, c := range list {
			require.NotContains(t, out, c.Name, "listed twice")
			if out[c.Name] = c.State; c.State == githost.CheckExpected {
				require.NotEmpty(t, c.Note, "who demands it")
			}
		}
		return out
	}
	require.Equal(t, map[string]githost.CheckState{"build": githost.CheckExpected, "e2e": githost.CheckExpected}, states("main"))
	require.Empty(t, states("other"), "another branch demands nothing")
	f.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run"})
	require.Equal(t, map[string]githost.CheckState{"build": githost.CheckFailed, "e2e": githost.CheckExpected}, states("main"))
}

func opensOnce(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	first, second := f.pull(t, "feature/a"), f.pull(t, "feature/a")
	require.Equal(t, first, second)
	require.True(t, first.Open)
	require.Equal(t, []string{"feature/a", sha, "main"}, []string{first.HeadRef, first.HeadSHA, first.BaseRef})
	require.NotEmpty(t, first.URL)
	head := f.Commit("feature/a")
	again, err := f.Host.PullRequest(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.Equal(t, head, again.HeadSHA)
}

func pinned(t *testing.T, f Fixture) {
	old := f.Commit("feature/a")
	head := f.Commit("feature/a")
	_, err := f.merge(t, "feature/a", old)
	require.ErrorIs(t, err, githost.ErrHeadMoved)
	sha, err := f.merge(t, "feature/a", head)
	require.NoError(t, err)
	at, err := f.Host.BranchesAt(t.Context(), f.Repo, sha)
	require.NoError(t, err)
	require.Contains(t, at, "main")
}

func mergesOnce(t *testing.T, f Fixture) {
	head := f.Commit("feature/a")
	m := githost.Merge{Repo: f.Repo, Head: "feature/a", Base: "main", HeadSHA: head, Title: "T"}
	if _, plain := githost.PlainOf(f.Host, f.Repo); !plain {
		m.Number = f.pull(t, "feature/a").Number
	}
	first, err := f.Host.Merge(t.Context(), m)
	require.NoError(t, err)
	second, err := f.Host.Merge(t.Context(), m)
	require.NoError(t, err)
	require.Equal(t, first, second)
}

func mergedSays(t *testing.T, f Fixture) {
	head := f.Commit("feature/a")
	f.pull(t, "feature/a")
	sha, err := f.merge(t, "feature/a", head)
	require.NoError(t, err)
	pr, err := f.Host.PullRequest(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.True(t, pr.Merged && !pr.Open)
	require.Equal(t, sha, pr.MergeSHA)
	require.NoError(t, f.Host.DeleteBranch(t.Context(), f.Repo, "feature/a"))
	after, err := f.Host.PullRequest(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.Equal(t, pr, after, "a merged pull request is found when its branch is gone")
}

func conflicts(t *testing.T, f Fixture) {
	head := f.Conflict("feature/a")
	_, err := f.merge(t, "feature/a", head)
	require.ErrorIs(t, err, githost.ErrNotMergeable)
}

func reviews(t *testing.T, f Fixture) {
	list, err := f.Host.Reviews(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.Empty(t, list, "no pull request, no reviews")
	sha := f.Commit("feature/a")
	f.pull(t, "feature/a")
	f.review("feature/a", "kim", githost.ReviewChangesRequested, sha)
	f.review("feature/a", "kim", githost.ReviewApproved, sha)
	list, err = f.Host.Reviews(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, list, 2)
	require.Equal(t, githost.ReviewApproved, list[1].State)
	require.Equal(t, []string{"kim", sha}, []string{list[1].Author, list[1].SHA})
	require.NotEmpty(t, list[0].ID)
	require.NotEqual(t, list[0].ID, list[1].ID)
}

func (f Fixture) review(branch, author string, state githost.ReviewState, sha string) {
	f.AddReview(branch, githost.Review{Author: author, State: state, SHA: sha, Permission: githost.PermissionWrite})
}

func reviewers(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	require.Equal(t, f.Self, f.pull(t, "feature/a").Author)
	for _, r := range []githost.Review{
		{Author: "root", Permission: githost.PermissionAdmin}, {Author: "kim", Permission: githost.PermissionWrite},
		{Author: "guest", Permission: githost.PermissionRead}, {Author: "stranger", Permission: githost.PermissionNone},
		{Author: f.Self, Permission: githost.PermissionWrite}, {Author: "lint[bot]", Bot: true},
	} {
		r.State, r.SHA = githost.ReviewApproved, sha
		f.AddReview("feature/a", r)
	}
	list, err := f.Host.Reviews(t.Context(), f.Repo, "feature/a", "main")
	require.NoError(t, err)
	may, said := map[string]bool{}, map[string]githost.Permission{}
	for _, r := range list {
		require.Equal(t, r.Author == "lint[bot]", r.Bot, r.Author)
		require.Equal(t, r.Author == f.Self, r.Own, r.Author)
		require.Equal(t, r.Author == f.Self, r.Opener, r.Author)
		may[r.Author], said[r.Author] = r.Permission.MayWrite(), r.Permission
	}
	require.True(t, may["root"] && may["kim"])
	require.Len(t, may, 6)
	for _, none := range []string{"guest", "stranger", "lint[bot]"} {
		require.False(t, may[none], "%s: %s", none, said[none])
	}
	require.NotEqual(t, githost.PermissionUnknown, said["stranger"])
}

func branches(t *testing.T, f Fixture) {
	sha := f.Commit("feature/a")
	f.Commit("feature/b")
	at, err := f.Host.BranchesAt(t.Context(), f.Repo, sha)
	require.NoError(t, err)
	require.Equal(t, []string{"feature/a"}, at)
	require.NoError(t, f.Host.DeleteBranch(t.Context(), f.Repo, "feature/a"))
	require.NoError(t, f.Host.DeleteBranch(t.Context(), f.Repo, "feature/a"), "gone already is a success")
	at, err = f.Host.BranchesAt(t.Context(), f.Repo, sha)
	require.NoError(t, err)
	require.Empty(t, at)
}

func missing(t *testing.T, f Fixture) {
	_, err := f.Host.PullRequest(t.Context(), f.Repo, "feature/none", "main")
	require.ErrorIs(t, err, githost.ErrNotFound)
}

func follows(t *testing.T, f Fixture) {
	head := f.Commit("feature/a")
	pr := f.pull(t, "feature/a")
	_, err := f.Host.Merge(t.Context(), githost.Merge{Repo: f.Repo, Number: pr.Number, HeadSHA: head, Title: "T"})
	require.NoError(t, err)
	f.Commit("feature/a")
	next := f.pull(t, "feature/a")
	require.NotEqual(t, pr.Number, next.Number)
	f.Commit("release")
	other, err := f.Host.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: f.Repo, Head: "feature/a", Base: "release", Title: "T"})
	require.NoError(t, err)
	for range 2 { // the other is open, and merged
		newest, err := f.Host.PullRequest(t.Context(), f.Repo, "feature/a", "main")
		require.NoError(t, err)
		require.Equal(t, next.Number, newest.Number)
		_, err = f.Host.Merge(t.Context(), githost.Merge{Repo: f.Repo, Number: other.Number, HeadSHA: other.HeadSHA, Title: "T"})
		require.NoError(t, err)
	}
}
