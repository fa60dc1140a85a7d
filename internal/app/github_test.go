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
