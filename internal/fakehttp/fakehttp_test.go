package fakehttp_test

import (
	"context"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

func start(t *testing.T) (*fakehttp.Switch, string) {
	t.Helper()
	s := fakehttp.New(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "well")
	}), func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/narrow") })
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	return s, srv.URL
}

// post posts, so that nothing is tried again by the client itself.
func post(ctx context.Context, t *testing.T, address string) (status int, body string, err error) {
	t.Helper()
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, strings.NewReader("what is wanted"))
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	raw, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(raw), err
}

// Each kind answers in its own way, only what is meant meets it, and it passes.
func TestKinds(t *testing.T) {
	t.Parallel()
	for kind, want := range map[fakehttp.Kind]int{fakehttp.Error: 500, fakehttp.Refuse: 403, fakehttp.Garbage: 200} {
		s, address := start(t)
		s.Sicken(kind)
		status, body, err := post(t.Context(), t, address+"/narrow")
		require.NoError(t, err, kind)
		require.Equal(t, want, status, kind)
		require.NotEqual(t, "well", body, kind)
		_, body, err = post(t.Context(), t, address+"/other")
		require.NoError(t, err, kind)
		require.Equal(t, "well", body, kind)
		s.Heal()
		_, body, err = post(t.Context(), t, address+"/narrow")
		require.NoError(t, err, kind)
		require.Equal(t, "well", body, kind)
		require.Equal(t, 1, s.Met(), kind)
	}
}

// A call that hangs, or gets a byte a second, ends when its client goes away or the
// server heals, and never with an answer.
func TestHanging(t *testing.T) {
	t.Parallel()
	for _, kind := range []fakehttp.Kind{fakehttp.Hang, fakehttp.Slow} {
		s, address := start(t)
		s.Sicken(kind)
		short, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		_, _, err := post(short, t, address+"/narrow")
		cancel()
		require.ErrorIs(t, err, context.DeadlineExceeded, kind)
		ended := make(chan error)
		go func() {
			_, _, err := post(t.Context(), t, address+"/narrow")
			ended <- err
		}()
		require.Eventually(t, func() bool { return s.Met() == 2 }, 10*time.Second, time.Millisecond)
		s.Heal()
		require.Error(t, <-ended, kind)
	}
}

// The slow one does send something.
func TestSlow(t *testing.T) {
	t.Parallel()
	s, address := start(t)
	s.Sicken(fakehttp.Slow)
	req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address+"/narrow", nil)
	require.NoError(t, err)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(t, err)
	defer resp.Body.Close()
	require.Equal(t, http.StatusOK, resp.StatusCode)
	n, err := io.ReadFull(resp.Body, make([]byte, 1))
	require.NoError(t, err)
	require.Equal(t, 1, n)
}
