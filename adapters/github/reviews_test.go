package github_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

const permissionCall = "GET /repos/{owner}/{repo}/collaborators/{login}/permission"

// reviewed has a pull request that kim, who may write, has approved.
func reviewed(t *testing.T) *kit {
	k := setup(t, forgetest.Options{})
	k.commit("feature/a")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	k.server.SetRole("kim", "write")
	require.NoError(t, k.server.Review(repo, "feature/a", "kim", "APPROVED", "", ""))
	return k
}

func (k *kit) permission() githost.Permission {
	k.Helper()
	list, err := k.client.Reviews(k.Context(), repo, "feature/a")
	require.NoError(k, err)
	require.Len(k, list, 1)
	return list[0].Permission
}

// Where the token may not look, a review counts for nothing; where the answer may
// still come, it is waited for.
func TestPermissionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	k.server.Break(permissionCall, forgetest.TooMany)
	_, err := k.client.Reviews(t.Context(), repo, "feature/a")
	require.ErrorContains(t, err, "what kim may do in acme/shop")
	k.server.Break(permissionCall, forgetest.Denied)
	require.Equal(t, githost.PermissionUnknown, k.permission())
}

// A permission is cached for a while, and no longer.
func TestPermissionIsRemembered(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	require.Equal(t, githost.PermissionWrite, k.permission())
	k.server.SetRole("kim", "read")
	require.Equal(t, githost.PermissionWrite, k.permission())
	k.clock.Add(int64(time.Hour))
	require.Equal(t, githost.PermissionRead, k.permission())
}

// An account that is gone may do nothing, and an association proves nothing.
func TestStrangers(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	k.commit("feature/a")
	_, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	k.server.SetRole("member", "read") // the fake says MEMBER of every account with a role
	for _, author := range []string{"ghost", "member", "a/../kim"} {
		require.NoError(t, k.server.Review(repo, "feature/a", author, "APPROVED", "", ""))
	}
	list, err := k.client.Reviews(t.Context(), repo, "feature/a")
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, githost.PermissionNone, list[0].Permission)
	require.Equal(t, githost.PermissionRead, list[1].Permission)
	require.Equal(t, githost.PermissionUnknown, list[2].Permission)
}

// A pull request is read with its readiness: what people do to it, and the approvals that its base demands and it has.
func TestReadiness(t *testing.T) {
	t.Parallel()
	k := setup(t, forgetest.Options{})
	head := k.commit("feature/a")
	pr, err := k.client.OpenPullRequest(t.Context(), githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"})
	require.NoError(t, err)
	number := pr.Number
	m := githost.Merge{Repo: repo, Number: number, HeadSHA: head, Title: "T"}
	k.server.SetSettings(repo, func(s *forgetest.Settings) { s.Required["main"], s.Approvals, s.Admin = nil, 2, true })
	k.server.SetRole("kim", "write")
	k.server.SetRole("lee", "admin")
	row := func() (string, string) {
		pr, err := k.client.PullRequest(t.Context(), repo, "feature/a")
		require.NoError(t, err)
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
		k.server.ChangePull(repo, "feature/a", "ann", "edited", c.change)
		state, _ := row()
		require.Equal(t, c.state, state)
		if state == githost.PullRetargeted {
			continue // main itself demands them
		}
		_, err := k.client.Merge(t.Context(), m)
		require.ErrorIs(t, err, githost.ErrDenied)
	}
	for _, c := range []struct{ author, says string }{{"guest", "2 approvals by people"}, {"kim", "1 approval by somebody"}, {"kim", "1 approval by somebody"}} {
		require.NoError(t, k.server.Review(repo, "feature/a", c.author, "APPROVED", "", ""))
		_, why := row()
		require.Contains(t, why, "waits for "+c.says)
		_, err := k.client.Merge(t.Context(), m)
		require.ErrorContains(t, err, why)
	}
	require.NoError(t, k.server.Review(repo, "feature/a", "lee", "APPROVED", "", ""))
	state, _ := row()
	require.NotEqual(t, githost.PullUnapproved, state)
	_, err = k.client.Merge(t.Context(), m)
	require.NoError(t, err)
}
