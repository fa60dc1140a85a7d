package gitea_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
)

const permissionCall = "GET " + below + "/collaborators/{login}/permission"

// reviewed has a pull request that kim, who may write, has approved.
func reviewed(t *testing.T) *kit {
	k := setup(t)
	k.Approved()
	return k
}

func (k *kit) reviews() []githost.Review {
	k.Helper()
	list, err := k.client.Reviews(k.Context(), repo, "feature/a", "main")
	require.NoError(k, err)
	return list
}

// judged are the states of reviews, each with what its author may.
func judged(list []githost.Review) (out []string) {
	for _, r := range list {
		out = append(out, fmt.Sprintf("%s %s", r.State, r.Permission))
	}
	return out
}

// A token that does not administer the repository does not see what others may do, but
// which reviews are official: of an author the newest is.
func TestOfficialReviews(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	require.NoError(t, k.Server.Review(repo, "feature/a", "kim", "REQUEST_CHANGES", "", "no"))
	require.NoError(t, k.Server.Review(repo, "feature/a", "guest", "APPROVED", "", ""))
	require.Equal(t, []string{"dismissed write", "changes_requested write", "approved read"}, judged(k.reviews()), "a judgement dismisses the former ones")
}

// An administrator's token reads permissions, and they are cached for a while.
func TestPermissionIsRemembered(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Admin = true })
	require.Equal(t, githost.PermissionWrite, k.reviews()[0].Permission)
	k.Server.SetRole("kim", "none")
	require.Equal(t, githost.PermissionWrite, k.reviews()[0].Permission)
	k.Clock.Add(int64(time.Hour))
	require.Equal(t, githost.PermissionNone, k.reviews()[0].Permission, "official or not")
	k.Server.SetRole("kim", "admin")
	k.Clock.Add(int64(time.Hour))
	require.Equal(t, githost.PermissionAdmin, k.reviews()[0].Permission)
	k.Server.Break(permissionCall, fakehttp.TooMany)
	k.Clock.Add(int64(time.Hour))
	_, err := k.client.Reviews(t.Context(), repo, "feature/a", "main")
	require.ErrorContains(t, err, "what kim may do in acme/shop")
}

// What is no review, or not one yet, is none; a dismissed one is.
func TestKindsOfReviews(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	old := k.Server.Heads(repo)["feature/a"]
	head := k.Commit("feature/a")
	require.NotEqual(t, old, head)
	for _, state := range []string{"PENDING", "REQUEST_REVIEW", "COMMENT", "DISMISSED"} {
		require.NoError(t, k.Server.Review(repo, "feature/a", "lee", state, head, state))
	}
	list := k.reviews()
	require.Equal(t, []string{"approved write", "commented ", "dismissed read"}, judged(list), "nobody is looked up for a comment")
	require.Equal(t, []string{old, head, head}, []string{list[0].SHA, list[1].SHA, list[2].SHA}, "a stale review keeps its commit")
}

// Deleted accounts and those of the server itself may do nothing; no name reaches a path.
func TestStrangers(t *testing.T) {
	t.Parallel()
	k := reviewed(t)
	k.Server.SetSettings(repo, func(s *forgetest.Settings) { s.Admin = true })
	for _, author := range []string{"ghost", "Ghost", "gitea-actions[bot]", "a/../kim", ".."} {
		require.NoError(t, k.Server.Review(repo, "feature/a", author, "APPROVED", "", ""))
	}
	list := k.reviews()[1:]
	require.Len(t, list, 5)
	for i, want := range []githost.Permission{githost.PermissionNone, githost.PermissionNone, githost.PermissionUnknown, githost.PermissionUnknown, githost.PermissionUnknown} {
		require.Equal(t, want, list[i].Permission, list[i].Author)
		require.Equal(t, i == 2, list[i].Bot)
	}
}
