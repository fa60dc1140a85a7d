// Package accesstest is the conformance suite of access.Store.
package accesstest

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Run tests stores. open gives an empty one; second a further handle on the same rows, such as
// another process has.
func Run(t *testing.T, open func(*testing.T) (first, second access.Store)) {
	at := time.Date(2031, 5, 4, 8, 0, 0, 123_000, time.UTC)
	t.Run("tokens", func(t *testing.T) {
		s, other := open(t)
		list, err := s.Tokens(t.Context())
		require.NoError(t, err)
		require.Empty(t, list)
		operator := access.Grant{Role: access.Operator, Repos: []string{"acme/app", "acme/web"}}
		bea := access.Token{Name: "bea", Hash: access.Hash("b"), Grant: operator, Made: at, Expires: at.Add(time.Hour)}
		ann := access.Token{Name: "ann", Hash: access.Hash("a"), Grant: access.Grant{Role: access.Admin}, Made: at}
		for _, token := range []access.Token{bea, ann} {
			added, err := s.AddToken(t.Context(), token)
			require.NoError(t, err)
			require.True(t, added)
		}
		twice := access.Token{Name: "ann", Hash: access.Hash("x"), Grant: access.Grant{Role: access.Viewer}, Made: at}
		added, err := other.AddToken(t.Context(), twice)
		require.NoError(t, err)
		require.False(t, added, "the name is taken")
		list, err = other.Tokens(t.Context())
		require.NoError(t, err)
		require.Equal(t, []access.Token{ann, bea}, list)
		for _, want := range []bool{true, false} {
			dropped, err := s.DropToken(t.Context(), "ann")
			require.NoError(t, err)
			require.Equal(t, want, dropped)
		}
		list, err = other.Tokens(t.Context())
		require.NoError(t, err)
		require.Equal(t, []access.Token{bea}, list)
	})
	t.Run("sessions", func(t *testing.T) {
		s, other := open(t)
		one := access.Session{
			ID: access.Hash("1"), Name: "ann", Via: access.ViaToken, Credential: access.Hash("a"),
			From: "192.0.2.1", Began: at, Seen: at,
		}
		two := access.Session{
			ID: access.Hash("2"), Name: "bea", Via: access.ViaProvider, Groups: []string{"devs", "tëam"},
			Began: at.Add(time.Second), Seen: at,
		}
		for _, session := range []access.Session{two, one} {
			require.NoError(t, s.AddSession(t.Context(), session))
		}
		list, err := other.Sessions(t.Context())
		require.NoError(t, err)
		require.Equal(t, []access.Session{one, two}, list)
		require.NoError(t, s.TouchSession(t.Context(), one.ID, at.Add(time.Minute)))
		found, ok, err := other.Session(t.Context(), one.ID)
		require.NoError(t, err)
		require.True(t, ok)
		one.Seen = at.Add(time.Minute)
		require.Equal(t, one, found)
		require.NoError(t, other.DropSessions(t.Context(), one.ID, "nothing"))
		require.NoError(t, s.TouchSession(t.Context(), one.ID, at))
		_, ok, err = s.Session(t.Context(), one.ID)
		require.NoError(t, err)
		require.False(t, ok, "one that is gone stays so")
		require.NoError(t, s.DropSessions(t.Context()))
		list, err = s.Sessions(t.Context())
		require.NoError(t, err)
		require.Equal(t, []access.Session{two}, list)
	})
}
