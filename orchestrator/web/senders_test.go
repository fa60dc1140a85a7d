package web_test

import (
	"bufio"
	"fmt"
	"net"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// answer reads what a connection was answered, without the body.
func (k *kit) answer(conn net.Conn) *http.Response {
	k.Helper()
	require.NoError(k, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	resp, err := http.ReadResponse(bufio.NewReader(conn), nil)
	require.NoError(k, err)
	k.Cleanup(func() { conn.Close(); resp.Body.Close() }) // in this order: a stream has no end
	return resp
}

// ask sends a request from an address of this machine.
func (k *kit) ask(from, method, path, header string) *http.Response {
	k.Helper()
	conn := k.dial(from)
	_, err := fmt.Fprintf(conn, "%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: 0\r\n%s\r\n", method, path, header)
	require.NoError(k, err)
	return k.answer(conn)
}

// Whoever guesses the token is made to wait, and others are not.
func TestGuessesOfTheToken(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	right := "Authorization: Bearer " + admin + "\r\n"
	for i := range 5 {
		require.Equal(t, http.StatusUnauthorized, k.ask("127.0.0.2", "POST", "/tasks/1/retry", fmt.Sprintf("Authorization: Bearer guess-%d\r\n", i)).StatusCode)
	}
	for _, header := range []string{"Authorization: Bearer guess\r\n", right} {
		resp := k.ask("127.0.0.2", "POST", "/tasks/1/retry", header)
		require.Equal(t, http.StatusTooManyRequests, resp.StatusCode)
		require.NotEmpty(t, resp.Header.Get("Retry-After"))
	}
	require.Equal(t, http.StatusUnauthorized, k.ask("127.0.0.2", "POST", "/tasks/1/retry", "").StatusCode, "that is no guess")
	require.Equal(t, http.StatusNotFound, k.ask("127.0.0.3", "POST", "/tasks/1/retry", right).StatusCode, "the token is right, and there is no such task")
}

// One client cannot take all streams.
func TestStreamsOfOneSender(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	for range 10 {
		require.Equal(t, http.StatusOK, k.ask("127.0.0.2", "GET", "/events", "").StatusCode)
	}
	require.Equal(t, http.StatusServiceUnavailable, k.ask("127.0.0.2", "GET", "/events", "").StatusCode)
	require.Equal(t, http.StatusOK, k.ask("127.0.0.3", "GET", "/events", "").StatusCode)
}
