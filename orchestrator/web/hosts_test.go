package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// getAs requests a path under a host name and returns the status.
func getAs(h http.Handler, host, path string) int {
	r := httptest.NewRequest(http.MethodGet, path, nil)
	r.Host = host
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w.Code
}

// A name that was made to lead here gets nothing; addresses, loopback names and
// configured names do.
func TestOnlyHosts(t *testing.T) {
	h := web.OnlyHosts(http.NotFoundHandler(), "box.example.org")
	for host, want := range map[string]int{
		"127.0.0.1": 404, "127.0.0.1:8080": 404, "[::1]:8080": 404, "[::1]": 404, "10.1.2.3:80": 404, "localhost:8080": 404, "LocalHost.": 404,
		"a.localhost": 404, "box.example.org": 404, "BOX.example.org.:443": 404,
		"evil.example.org": 421, "box.example.org.evil.net": 421, "notlocalhost": 421, "127.0.0.1.evil.net:8080": 421, "": 421, "[": 421, "1.2.3": 421,
	} {
		require.Equal(t, want, getAs(h, host, "/"), host)
	}
}

// With Hosts the handler is closed to other names, but for what is signed and
// what probes read; without it, it is open, as a program that embeds it expects.
func TestHosts(t *testing.T) {
	closed := setup(t, func(o *web.Options) { o.Hosts = []string{"box.example.org"} })
	for _, path := range []string{"/tasks", "/queue", "/dashboard/", "/nothing"} {
		require.Equal(t, http.StatusMisdirectedRequest, closed.as("evil.example.org", path), path)
	}
	for _, path := range []string{"/healthz", "/readyz", "/metrics"} {
		require.Equal(t, http.StatusOK, closed.as("evil.example.org", path), path)
	}
	require.Equal(t, http.StatusOK, closed.as("box.example.org", "/tasks"))
	require.Equal(t, http.StatusOK, setup(t, nil).as("any.example.org", "/tasks"))
}

// as requests a path under a host name.
func (k *kit) as(host, path string) int {
	k.Helper()
	r, err := http.NewRequestWithContext(k.Context(), http.MethodGet, k.url+path, nil)
	require.NoError(k, err)
	r.Host = host
	resp, err := http.DefaultClient.Do(r)
	require.NoError(k, err)
	require.NoError(k, resp.Body.Close())
	return resp.StatusCode
}
