package telegram_test

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/telegram"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
)

// What never answers, breaks off or says something else may answer later.
func TestNoAnswer(t *testing.T) {
	t.Parallel()
	secure := httptest.NewTLSServer(http.NotFoundHandler())
	t.Cleanup(secure.Close)
	says := func(header, text string) string {
		srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			if header != "" {
				w.Header().Set("Content-Length", header)
			}
			_, _ = w.Write([]byte(text))
		}))
		t.Cleanup(srv.Close)
		return srv.URL
	}
	silent, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = silent.Close() })
	at := map[string]string{
		"refused": "http://127.0.0.1:1", "no such name": "http://nothing.invalid", "TLS": secure.URL, "time-out": "http://" + silent.Addr().String(),
		"broken off": says("1000", `{"ok":tr`), "a page": says("", "<html>sign in</html>"), "nothing": says("", ""),
		"no result": says("", `{"ok":true}`), "an empty result": says("", `{"ok":true,"result":{}}`), "null": says("", `{"ok":true,"result":null}`), "another's": says("", `{"status":"ok"}`),
	}
	for what, address := range at {
		client := &http.Client{Timeout: 300 * time.Millisecond, Transport: &http.Transport{DisableKeepAlives: true}}
		c, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", BaseURL: address, HTTPClient: client})
		require.NoError(t, err)
		_, err = c.Send(t.Context(), messenger.Message{Title: "x"})
		require.Error(t, err, what)
		require.True(t, fault.Retryable(err), "%s: %v", what, err)
		require.NotContains(t, err.Error(), "secret", what)
	}
	c, err := telegram.New(telegram.Options{Token: hidden, ChatID: "1", BaseURL: at["time-out"]})
	require.NoError(t, err)
	ctx, cancel := context.WithTimeout(t.Context(), time.Millisecond)
	defer cancel()
	_, err = c.Send(ctx, messenger.Message{Title: "x"})
	require.ErrorIs(t, err, context.DeadlineExceeded)
}
