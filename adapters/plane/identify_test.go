package plane_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

func TestIdentify(t *testing.T) {
	t.Parallel()
	c, s := replay(t, map[string]answer{"GET /api/v1/users/me/": {file: "users_me"}})
	_, err := c.Own(ourselves)
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	identify(t, c)
	require.Equal(t, 2, s.times("GET /api/v1/users/me/"), "once for each token")
	for account, want := range map[string]bool{ourselves: true, kim: false, "": false} {
		own, err := c.Own(account)
		require.NoError(t, err)
		require.Equal(t, want, own, account)
	}
	h, err := c.Decode("issue", []byte(`{"event":"issue","action":"updated","data":{"id":"`+itemID+`","project":"`+projectID+`"},"activity":{"field":"state","actor":{"id":"`+ourselves+`"}}}`))
	require.NoError(t, err)
	require.True(t, h.Self)

	c, _ = replay(t, map[string]answer{"GET /api/v1/users/me/": {status: 403, file: "error_403_token"}})
	err = c.Identify(t.Context())
	require.ErrorContains(t, err, "Token: ")
	require.ErrorContains(t, err, "the token of the role reviewer: ")
	require.NotContains(t, err.Error(), "plane_api")

	c, _ = replay(t, map[string]answer{"GET /api/v1/users/me/": {text: `{}`}})
	require.ErrorContains(t, c.Identify(t.Context()), "without an id")
	_, err = c.Own("")
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	h, err = c.Decode("issue", []byte(`{"event":"issue","action":"updated","data":{"id":"`+itemID+`","project":"`+projectID+`"}}`))
	require.NoError(t, err)
	require.False(t, h.Self, "nobody is not ourselves")
}

// A role's token that Plane refuses can change nothing: its account need not be
// known. Any other failure may hide an account of ours.
func TestIdentifyWithoutARole(t *testing.T) {
	t.Parallel()
	revoked := func(o *plane.Options) { o.RoleTokens = map[stage.Role]string{stage.Reviewer: "revoked"} }
	c, _ := setup(t, revoked)
	require.ErrorContains(t, c.Identify(t.Context()), "the token of the role reviewer: ")
	own, err := c.Own(bot)
	require.NoError(t, err)
	require.True(t, own)

	c, board := setup(t)
	board.Fail(fakehttp.None, fakehttp.TooMany) // the second token meets it
	require.Error(t, c.Identify(t.Context()))
	_, err = c.Own(bot)
	require.ErrorIs(t, err, tracker.ErrUnidentified)
	identify(t, c)
	own, err = c.Own(reviewer)
	require.NoError(t, err)
	require.True(t, own)

	c, _ = setup(t, func(o *plane.Options) { o.Token = "revoked" })
	require.Error(t, c.Identify(t.Context()))
	_, err = c.Own("")
	require.ErrorIs(t, err, tracker.ErrUnidentified, "the token that sets statuses")
}

func TestNewRefuses(t *testing.T) {
	good := plane.Options{BaseURL: "https://plane.example.org", Workspace: "acme", Token: "t"}
	for want, change := range map[string]func(*plane.Options){
		"BaseURL":   func(o *plane.Options) { o.BaseURL = "plane.example.org" },
		"Workspace": func(o *plane.Options) { o.Workspace = "a/b" },
		"Token":     func(o *plane.Options) { o.Token = "" },
	} {
		o := good
		change(&o)
		_, err := plane.New(o)
		require.ErrorContains(t, err, want)
	}
}
