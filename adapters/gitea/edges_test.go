package gitea_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
)

var (
	head40 = strings.Repeat("a1", 20)
	third  = githost.Merge{Repo: repo, Number: 3, HeadSHA: head40}
	asked  = githost.NewPullRequest{Repo: repo, Head: "feature/a", Base: "main", Title: "T"}
)

// answering makes a client of a server that answers by a function.
func answering(t *testing.T, f http.HandlerFunc) *gitea.Client {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	return client(t, gitea.Options{BaseURL: srv.URL, HTTPClient: forgekit.HTTP(0)})
}
