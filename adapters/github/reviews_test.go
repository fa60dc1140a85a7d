package github_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

const permissionCall = "GET /repos/{owner}/{repo}/collaborators/{login}/permission"

// reviewed has a pull request that kim, who may write, has approved.
func reviewed(t *testing.T) *kit {
	k := setup(t)
	k.Approved()
	return k
}

func (k *kit) permission() githost.Permission {
	k.Helper()
	list, err := k.client.Reviews(k.Context(), repo, "feature/a", "main")
	require.NoError(k, err)
	require.Len(k, list, 1)
	return list[0].Permission
}

// Where the token may not look, a review counts for nothing; where the answer may
// still come, it is waited for.
func TestPermissionThatCannotBeRead(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	k.Server.Break(permissionCall, fakehttp.TooMany)
	_, err := k.client.Reviews(t.Context(), repo, "feature/a", "main")
	require.ErrorContains(t, err, "what kim may do in acme/shop")
	k.Server.Break(permissionCall, fakehttp.Denied)
	require.Equal(t, githost.PermissionUnknown, k.permission())
}

// A permission is cached for a while, and no longer.
func TestPermissionIsRemembered(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	require.Equal(t, githost.PermissionWrite, k.permission())
	k.Server.SetRole("kim", "read")
	require.Equal(t, githost.PermissionWrite, k.permission())
	k.Clock.Add(int64(time.Hour))
	require.Equal(t, githost.PermissionRead, k.permission())
}

// An account that is gone may do nothing, and an association proves nothing.
func TestStrangers(t *testing.T) {
	t.Parallel()
	k := setup(t)
	k.Commit("feature/a")
	k.Pull("feature/a")
	k.Server.SetRole("member", "read") // the fake says MEMBER of every account with a role
	for _, author := range []string{"ghost", "member", "a/../kim"} {
		require.NoError(t, k.Server.Review(repo, "feature/a", author, "APPROVED", "", ""))
	}
	list, err := k.client.Reviews(t.Context(), repo, "feature/a", "main")
	require.NoError(t, err)
	require.Len(t, list, 3)
	require.Equal(t, githost.PermissionNone, list[0].Permission)
	require.Equal(t, githost.PermissionRead, list[1].Permission)
	require.Equal(t, githost.PermissionUnknown, list[2].Permission)
}

// A pull request is read with its readiness: what people do to it, and the approvals that its base demands and it has.
func TestReadiness(t *testing.T) {
	t.Parallel()
	forgekit.Readiness(open(t))
}
