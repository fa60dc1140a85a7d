package app

import (
	"crypto/rand"
	"crypto/rsa"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
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
		{Settings{GitHub: github.Settings{Token: secret.New("ghp_of-a-person")}}, "ghp_of-a-person"},
		{Settings{GitHub: github.Settings{AppID: "1", AppKey: secret.New(text), Installation: 7, URL: srv.URL}}, "ghs_of-the-app"},
	} {
		c.with.GitHub.CloneBase = base
		v := &Service{Settings: c.with}
		require.NoError(t, v.openNeighbours(c.with.neighbours(projectfile.Neighbours{}), nil, os.Getenv))
		got, err := v.gitTokens()(t.Context(), base+"acme/app.git")
		require.NoError(t, err)
		require.Equal(t, map[string]string{base: c.want}, got)
		if c.with.GitHub.AppKey.IsSet() {
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
	getenv := func(name string) string {
		return map[string]string{"HOST_TOKEN": "of-the-host", "BOARD_TOKEN": "of-the-board"}[name]
	}
	open := func(at, env string, kind projectfile.Kind) (BoardHost, error) {
		r := projectfile.Neighbours{Boards: []projectfile.Board{{Name: "cards", Kind: projectfile.KindLabels, Host: at, TokenEnv: env}}}
		if at != task.HostGitHub {
			r.Hosts = []projectfile.Host{{Name: at, Kind: kind, URL: srv.URL, TokenEnv: "HOST_TOKEN"}}
		}
		v := &Service{Projects: &task.Projects{}}
		err := v.openNeighbours(v.Settings.neighbours(r), nil, getenv)
		return v.Boards["cards"], err
	}
	for _, kind := range []projectfile.Kind{projectfile.KindGitHub, projectfile.KindGitea} {
		for env, want := range map[string]string{"": "of-the-host", "BOARD_TOKEN": "of-the-board"} {
			b, err := open("forge", env, kind)
			require.NoError(t, err)
			require.NoError(t, b.Identify(t.Context()))
			require.Regexp(t, " "+want+"$", signed)
		}
	}
	_, err := open(task.HostGitHub, "", "")
	require.ErrorContains(t, err, "the board cards: github: ")
	b, err := open(task.HostGitHub, "BOARD_TOKEN", "")
	require.NoError(t, err)
	require.Equal(t, "https://github.com/acme/app/issues/7", b.ItemURL("", "github.com/acme/app#7"))
}
