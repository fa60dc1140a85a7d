package github_test

import (
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// A minted token is for one repository with the permissions that are named, and ends when it is
// revoked.
func TestMintedToken(t *testing.T) {
	t.Parallel()
	k, c, _ := appKit(t, map[string]string{"contents": "write", "metadata": "read"})
	token, expires, err := c.MintToken(t.Context(), repo, map[string]string{"contents": "read"})
	require.NoError(t, err)
	require.Equal(t, []string{token}, k.Server.Valid())
	require.WithinDuration(t, time.Now().Add(time.Hour), expires, time.Minute)
	own, err := c.Token(t.Context(), repo)
	require.NoError(t, err)
	require.NotEqual(t, token, own, "the service goes on with its own")
	require.NoError(t, c.RevokeToken(t.Context(), token))
	require.Equal(t, []string{own}, k.Server.Valid())
	require.NoError(t, c.RevokeToken(t.Context(), token), "again")

	for name, permissions := range map[string]map[string]string{"none": nil, "unknown": {"everything": "read"}, "level": {"contents": "all"}, "more than the app has": {"deployments": "write"}} {
		_, _, err := c.MintToken(t.Context(), repo, permissions)
		require.Error(t, err, name)
	}
	_, _, err = c.MintToken(t.Context(), "acme/none", map[string]string{"contents": "read"})
	require.ErrorIs(t, err, githost.ErrNotFound)
	require.Equal(t, []string{own}, k.Server.Valid())
	plain := client(t, github.Options{})
	_, _, err = plain.MintToken(t.Context(), repo, map[string]string{"contents": "read"})
	require.ErrorContains(t, err, "sign in as one")
}

// A token that may do more than it was minted for is not taken, and faults are what they are.
func TestMintingFails(t *testing.T) {
	t.Parallel()
	answer, status := "", http.StatusCreated
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_, _ = w.Write([]byte(`{"id": 1}`))
			return
		}
		w.WriteHeader(status)
		_, _ = w.Write([]byte(answer))
	}))
	t.Cleanup(srv.Close)
	_, file := appKey(t)
	c := appClient(t, srv.URL, file, time.Now)
	mint := func() (string, error) {
		token, _, err := c.MintToken(t.Context(), repo, map[string]string{"contents": "read"})
		return token, err
	}
	answer = `{"token": "ghs_wide", "repositories": [{"full_name": "acme/other"}, {"full_name": "` + repo + `"}]}`
	token, err := mint()
	require.ErrorContains(t, err, "not for "+repo+" alone")
	require.Equal(t, "ghs_wide", token, "for it to be revoked")
	answer = `{}`
	_, err = mint()
	require.Error(t, err)
	status = http.StatusServiceUnavailable
	_, err = mint()
	require.True(t, fault.Retryable(err), err)
	require.Error(t, c.RevokeToken(t.Context(), "ghs_wide"))
	status = http.StatusUnauthorized
	require.NoError(t, c.RevokeToken(t.Context(), "ghs_wide"), "it has ended")
}
