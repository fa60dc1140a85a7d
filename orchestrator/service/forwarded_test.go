package service

import (
	"bytes"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A proxy that nobody trusts makes all senders one; the log says so once.
func TestForwardedWithoutProxies(t *testing.T) {
	t.Parallel()
	var log bytes.Buffer
	s := &Service{Log: slog.New(slog.NewTextHandler(&log, nil))}
	h := s.served(http.NotFoundHandler())
	for _, from := range []string{"", "192.0.2.1", "192.0.2.2"} {
		r := httptest.NewRequest(http.MethodGet, "/", nil)
		if from != "" {
			r.Header.Set("X-Forwarded-For", from)
		}
		h.ServeHTTP(httptest.NewRecorder(), r)
	}
	require.Equal(t, 1, strings.Count(log.String(), "ORCH_TRUSTED_PROXIES"), log.String())
}
