package forgekit

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// Faults shows that limits name a moment, that errors pass, and that a merge whose answer was lost is
// found and not made again.
func Faults(t *testing.T, open func(*testing.T) *Kit, limits ...fakehttp.Fault) {
	t.Helper()
	for _, f := range append(limits, fakehttp.ErrorBefore, fakehttp.ErrorAfter, fakehttp.Dropped, fakehttp.DroppedLate) {
		t.Run(string(f), func(t *testing.T) {
			t.Parallel()
			k := open(t)
			m := k.Opened()
			k.Server.Fail(f, f, f) // more than is tried at once
			_, err := k.Client.Checks(t.Context(), Repo, "main", m.HeadSHA)
			require.True(t, fault.Retryable(err), "%v", err)
			require.NotContains(t, err.Error(), "secret")
			if slices.Contains(limits, f) {
				require.Positive(t, fault.After(err))
				require.LessOrEqual(t, fault.After(err), 3*time.Second)
				return
			}
			k.Server.Fail(f)
			if sha, err := k.Client.Merge(t.Context(), m); err != nil {
				require.True(t, fault.Retryable(err), "%v", err)
			} else {
				require.Equal(t, k.Server.Heads(Repo)["main"], sha)
			}
			k.mergedOnce(m)
		})
	}
}

// Opened is the merge of a pull request which is made for it.
func (k *Kit) Opened() githost.Merge {
	k.Helper()
	head := k.Commit("feature/a")
	return githost.Merge{Repo: Repo, Number: k.Pull("feature/a").Number, HeadSHA: head, Title: "T"}
}

// mergedOnce merges again what may be merged.
func (k *Kit) mergedOnce(m githost.Merge) {
	k.Helper()
	sha, err := k.Client.Merge(k.Context(), m)
	require.NoError(k, err)
	require.Equal(k, k.Server.Heads(Repo)["main"], sha)
	require.Equal(k, 1, k.Server.Merges())
}

// TimeOut shows that a merge whose answer never comes is found. The hurried client gives up within so many calls,
// and its error is returned.
func TimeOut(k *Kit, hurried Client, calls int) error {
	k.Helper()
	m := k.Opened()
	for range calls {
		k.Server.Fail(fakehttp.TimeOut)
	}
	_, err := hurried.Merge(k.Context(), m)
	require.True(k, fault.Retryable(err), "%v", err)
	k.mergedOnce(m)
	return err
}

// Denied shows what a wrong token and names of nothing are answered with.
func Denied(k *Kit, wrong Client) {
	k.Helper()
	sha := strings.Repeat("a", 40)
	require.ErrorIs(k, wrong.Ping(k.Context()), githost.ErrDenied)
	require.NoError(k, k.Client.Ping(k.Context()))
	_, err := k.Client.Checks(k.Context(), "acme/none", "main", sha)
	require.ErrorIs(k, err, githost.ErrNotFound)
	for _, bad := range []string{"", "acme", "a/b/c", "/x", "acme/.."} {
		_, err = k.Client.BranchesAt(k.Context(), bad, sha)
		require.ErrorIs(k, err, githost.ErrNotFound)
	}
}

// Renamed shows that a renamed repository is worked with under its old name: reads and writes are led on,
// and webhooks of the new name are the registered repository's. The examination has the new name.
func Renamed(k *Kit) {
	k.Helper()
	head := k.Commit("feature/a")
	_, err := k.Client.Repository(k.Context(), Repo)
	require.NoError(k, err)
	k.Server.Rename(Repo, "store/shop2")
	hook := func(repository, why string) {
		body := fmt.Appendf(nil, `{"ref":"refs/heads/x","after":%q,"commits":[],"repository":{%s}}`, head, repository)
		h, err := k.Client.Decode("push", body)
		require.NoError(k, err)
		require.Equal(k, Repo, h.Repo, why)
	}
	hook(fmt.Sprintf(`"id":%d,"full_name":"store/shop2"`, k.Server.RepoID(Repo)), "a webhook is the first to say it")
	pr := k.Pull("feature/a")
	found, err := k.Client.PullRequest(k.Context(), Repo, "feature/a", "main")
	require.NoError(k, err)
	require.Equal(k, pr.Number, found.Number)
	require.Equal(k, pr.Number, k.Pull("feature/a").Number)
	hook(`"full_name":"Store/shop2"`, "by its name alone")
	_, err = k.Client.Merge(k.Context(), githost.Merge{Repo: Repo, Number: pr.Number, HeadSHA: head, Title: "T"})
	require.NoError(k, err)
	require.Equal(k, 1, k.Server.Merges())
	r, err := k.Client.Repository(k.Context(), Repo)
	require.NoError(k, err)
	require.Equal(k, "store/shop2", r.Name)

	k.Server.Rename(Repo, Repo) // it was a mistake
	_, err = k.Client.Repository(k.Context(), Repo)
	require.NoError(k, err)
	k.Commit("feature/b")
	pr = k.Pull("feature/b")
	found, err = k.Client.PullRequest(k.Context(), Repo, "feature/b", "main")
	require.NoError(k, err)
	require.Equal(k, pr.Number, found.Number)
}

// Readiness shows that a pull request is read with its readiness: what people do to it, and the approvals that its base
// demands and it has.
func Readiness(k *Kit) {
	k.Helper()
	m := k.Opened()
	k.Server.SetSettings(Repo, func(s *forgetest.Settings) { s.Required["main"], s.Approvals, s.Admin = nil, 2, true })
	k.Server.SetRole("kim", "write")
	k.Server.SetRole("lee", "admin")
	row := func() (string, string) {
		pr, err := k.Client.PullRequest(k.Context(), Repo, "feature/a", "main")
		require.NoError(k, err)
		at := pr.Row("main")
		return at.State, at.Why(pr, "main")
	}
	for _, c := range []struct {
		change func(*forgetest.Pull)
		state  string
	}{
		{func(p *forgetest.Pull) { p.Draft = true }, githost.PullDraft},
		{func(p *forgetest.Pull) { p.Draft, p.Base = false, "release" }, githost.PullRetargeted},
		{func(p *forgetest.Pull) { p.Base, p.Open = "main", false }, githost.PullClosed},
		{func(p *forgetest.Pull) { p.Open = true }, githost.PullUnapproved},
	} {
		k.Server.ChangePull(Repo, "feature/a", "ann", "edited", c.change)
		state, _ := row()
		require.Equal(k, c.state, state)
		if state == githost.PullRetargeted {
			continue // main itself demands them
		}
		_, err := k.Client.Merge(k.Context(), m)
		require.ErrorIs(k, err, githost.ErrDenied)
	}
	for _, c := range []struct{ author, says string }{
		{"guest", "2 approvals by people"}, {"kim", "1 approval by somebody"}, {"kim", "1 approval by somebody"},
	} {
		require.NoError(k, k.Server.Review(Repo, "feature/a", c.author, "APPROVED", "", ""))
		_, why := row()
		require.Contains(k, why, "waits for "+c.says)
		_, err := k.Client.Merge(k.Context(), m)
		require.ErrorContains(k, err, why)
	}
	require.NoError(k, k.Server.Review(Repo, "feature/a", "lee", "APPROVED", "", ""))
	state, _ := row()
	require.NotEqual(k, githost.PullUnapproved, state)
	_, err := k.Client.Merge(k.Context(), m)
	require.NoError(k, err)
}

// CI passes what has the first file of a kit.
func CI(p forgetest.Push) forgetest.Outcome {
	if _, err := p.File("file1.txt"); err != nil {
		return forgetest.Outcome{Conclusion: "failure", Title: err.Error()}
	}
	return forgetest.Outcome{Conclusion: "success", Title: "fine", After: time.Millisecond}
}

// Journey shows that a push, CI, a review and a merge send signed webhooks that the client decodes. What a host sends besides is
// shown before the merge; the webhooks after it are returned.
func Journey(k *Kit, besides func(got <-chan Delivered, approved Delivered)) <-chan Delivered {
	k.Helper()
	got := k.Webhooks()
	head := k.Commit("feature/a")
	require.Equal(k, head, k.Next(got, Kind(githost.HookPush, "")).Hook.SHA)
	k.Pull("feature/a")
	require.Equal(k, head, k.Next(got, Kind(githost.HookCI, "passed")).Hook.SHA)
	require.NoError(k, k.Server.Review(Repo, "feature/a", "kim", "APPROVED", "", ""))
	approved := k.Next(got, Kind(githost.HookReview, "approved"))
	require.Equal(k, head, approved.Hook.SHA)
	besides(got, approved)
	require.NoError(k, k.Server.Merge(Repo, "feature/a"))
	require.Equal(k, k.Server.Heads(Repo)["main"], k.Next(got, Kind(githost.HookMerged, "")).Hook.MergeSHA)
	require.Error(k, k.Server.Merge(Repo, "feature/a"))
	return got
}

// FaultsOfWebhooks shows that webhooks are lost, doubled and sent again by hand, which may give a new id.
func FaultsOfWebhooks(k *Kit, keepsID bool) {
	k.Helper()
	got, sha, ci := k.Webhooks(), strings.Repeat("a", 40), Kind(githost.HookCI, "")
	k.Server.SetFaults(fakehttp.Faults{HookLost: 1})
	k.Server.SetStatus(Repo, sha, "lost", "success")
	k.Server.SetFaults(fakehttp.Faults{HookDoubled: 1})
	k.Server.SetStatus(Repo, sha, "twice", "success")
	first, second := k.Next(got, ci), k.Next(got, ci)
	require.Equal(k, []string{"twice", first.ID}, []string{first.Hook.Action, second.ID})
	k.Server.SetFaults(fakehttp.Faults{})
	require.NoError(k, k.Server.Redeliver(first.ID))
	third := k.Next(got, ci)
	require.Equal(k, keepsID, first.ID == third.ID)
	require.Equal(k, first.Hook, third.Hook)
	require.Error(k, k.Server.Redeliver("none"))
	require.Eventually(k, func() bool { return len(k.Server.Deliveries()) == 3 }, 10*time.Second, time.Millisecond)
}

// Settings shows that what the pages of settings of a repository and of main show is read as it is: the ways of merging, and what
// has to pass. none is the protection while nothing has to.
func Settings(k *Kit, methods []string, want githost.Repository, none githost.Protection, contexts ...string) {
	k.Helper()
	k.Server.SetSettings(Repo, func(s *forgetest.Settings) { s.Methods = methods })
	want.Name, want.DefaultBranch, want.Push = Repo, "main", true
	r, err := k.Client.Repository(k.Context(), Repo)
	require.NoError(k, err)
	require.Equal(k, want, r)
	_, err = k.Client.Repository(k.Context(), "acme/none")
	require.ErrorIs(k, err, githost.ErrNotFound)
	none.SHA = k.Server.Heads(Repo)["main"]
	for _, want := range []githost.Protection{none, {SHA: none.SHA, Protected: true, Contexts: contexts}} {
		b, err := k.Client.Protection(k.Context(), Repo, "main")
		require.NoError(k, err)
		require.Equal(k, want, b)
		k.Server.SetSettings(Repo, func(s *forgetest.Settings) { s.Required["main"] = contexts })
	}
	_, err = k.Client.Protection(k.Context(), Repo, "a/b?c")
	require.ErrorIs(k, err, githost.ErrNotFound)
}

// IsClassed looks what an error says of a later try, and whose sentinel its cause is.
func IsClassed(t testing.TB, err error, again bool, after time.Duration, is error, about string) {
	t.Helper()
	require.Error(t, err, about)
	require.Equal(t, again, fault.Retryable(err), "%s: %v", about, err)
	require.Equal(t, after, fault.After(err), about)
	if is != nil {
		require.ErrorIs(t, err, is)
	}
}
