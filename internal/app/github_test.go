package app

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
)

// Git signs in with what the client does: a token, or one of the app's installation. Nothing is
// fetched for another host.
func TestGitTokens(t *testing.T) {
	t.Parallel()
	const base = "https://github.com/"
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	require.NoError(t, err)
	text := string(pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)}))
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/app/installations/7/access_tokens" {
			t.Errorf("unexpected %s", r.URL.Path)
		}
		w.WriteHeader(http.StatusCreated)
		fmt.Fprint(w, `{"token":"ghs_of-the-app","expires_at":"2999-01-01T00:00:00Z"}`)
	}))
	t.Cleanup(srv.Close)
	for _, c := range []struct {
		with Settings
		want string
	}{
		{Settings{GitHubToken: secret.New("ghp_of-a-person")}, "ghp_of-a-person"},
		{Settings{GitHubAppID: "1", GitHubAppKey: secret.New(text), GitHubApp: 7, GitHubURL: srv.URL}, "ghs_of-the-app"},
	} {
		c.with.CloneBase = base
		v := &Service{Settings: c.with}
		v.access, err = c.with.hostAccesses(projectfile.Neighbours{}, nil, func(string) string { return "" })
		require.NoError(t, err)
		require.NoError(t, v.openHosts(v.access, nil))
		got, err := v.gitTokens()(t.Context(), base+"acme/app.git")
		require.NoError(t, err)
		require.Equal(t, map[string]string{base: c.want}, got)
		if c.with.GitHubAppKey.IsSet() {
			got, err = v.gitTokens()(t.Context(), "https://git.example.org/acme/app.git")
			require.NoError(t, err)
			require.Empty(t, got)
		}
	}
}

// A board of labels signs in with its own token, even where the service does not use the host; without
// one it signs in as its host does, but for an app, which has no account.
func TestTokensOfLabels(t *testing.T) {
	var signed string
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		signed = r.Header.Get("Authorization")
		fmt.Fprint(w, `{"login":"bot"}`)
	}))
	t.Cleanup(srv.Close)
	getenv := func(string) string { return "of-the-board" }
	v := &Service{}
	open := func(host, env string) error {
		b := projectfile.Board{Name: "cards", Kind: projectfile.KindLabels, Host: host, TokenEnv: env}
		return v.openBoards(projectfile.Neighbours{Boards: []projectfile.Board{b}}, nil, getenv)
	}
	for _, kind := range []projectfile.Kind{projectfile.KindGitHub, projectfile.KindGitea} {
		v.access = map[string]hostAccess{"forge": {Host: projectfile.Host{Name: "forge", Kind: kind, URL: srv.URL}, token: "of-the-host"}}
		require.NoError(t, v.openHosts(v.access, nil))
		for env, want := range map[string]string{"": "of-the-host", "BOARD_TOKEN": "of-the-board"} {
			require.NoError(t, open("forge", env))
			require.NoError(t, v.Boards["cards"].Identify(t.Context()))
			require.Regexp(t, " "+want+"$", signed)
		}
	}
	require.ErrorContains(t, open("github", ""), "the board cards: labelboard: Token is missing")
	require.NoError(t, open("github", "BOARD_TOKEN"))
	require.Equal(t, "https://github.com/acme/app/issues/7", v.Boards["cards"].ItemURL("", "github.com/acme/app#7"))
}
