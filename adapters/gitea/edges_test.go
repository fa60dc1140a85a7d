package gitea_test

import (
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
)

var head40 = strings.Repeat("a1", 20)

// answering makes a client of a server that answers by a function.
func answering(t *testing.T, f http.HandlerFunc) *gitea.Client {
	t.Helper()
	srv := httptest.NewServer(f)
	t.Cleanup(srv.Close)
	c, err := gitea.New(gitea.Options{BaseURL: srv.URL, Token: token, HTTPClient: plainHTTP(0)})
	require.NoError(t, err)
	return c
}

func is(err, target error) bool { return errors.Is(err, target) }
