package app_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"
)

// Whatever takes the operator's token counts wrong ones together, by the sender that a
// proxy names.
func TestGuessesAreCountedTogether(t *testing.T) {
	h := open(t, "ORCH_ADMIN_TOKEN=the-operators-token-of-128-bits", "ORCH_TRUSTED_PROXIES=127.0.0.0/8,10.0.0.0/8").Handler
	wait := ""
	ask := func(path, token, sender string) int {
		r := httptest.NewRequest(http.MethodPost, path, nil)
		r.Host, r.RemoteAddr = "127.0.0.1:8080", "127.0.0.1:1"
		r.Header.Set("X-Forwarded-For", sender)
		if token != "" {
			r.Header.Set("Authorization", "Bearer "+token)
		}
		w := httptest.NewRecorder()
		h.ServeHTTP(w, r)
		wait = w.Header().Get("Retry-After")
		return w.Code
	}
	const empty, retry = "/api/gps-tracks/cache/clear", "/tasks/1/retry"
	for _, path := range []string{empty, retry, empty, retry, empty} {
		require.Equal(t, http.StatusUnauthorized, ask(path, "guess", "192.0.2.1"), path)
	}
	for _, path := range []string{empty, retry} {
		require.Equal(t, http.StatusTooManyRequests, ask(path, "guess", "192.0.2.1"), path)
		require.NotEmpty(t, wait)
		require.Equal(t, http.StatusUnauthorized, ask(path, "", "192.0.2.1"), "that is no guess")
		require.NotEqual(t, http.StatusTooManyRequests, ask(path, "the-operators-token-of-128-bits", "192.0.2.1"), "nobody is locked out")
		require.NotEqual(t, http.StatusTooManyRequests, ask(path, "the-operators-token-of-128-bits", "192.0.2.2"), path)
	}
}
