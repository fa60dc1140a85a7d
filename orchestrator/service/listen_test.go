package service

import (
	"context"
	"io"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// askVariable names the socket that this test, run as another user, calls.
const askVariable = "SIGNALBOX_TEST_SOCKET"

func ask(socket string) string {
	var d net.Dialer
	dial := func(ctx context.Context, _, _ string) (net.Conn, error) { return d.DialContext(ctx, "unix", socket) }
	req, err := http.NewRequest(http.MethodGet, "http://localhost/", http.NoBody)
	if err != nil {
		return err.Error()
	}
	req.Header.Set("X-User", "boss")
	req.Header.Set("X-Forwarded-For", "203.0.113.7")
	resp, err := (&http.Client{Transport: &http.Transport{DialContext: dial}}).Do(req)
	if err != nil {
		return err.Error()
	}
	defer resp.Body.Close()
	body, _ := io.ReadAll(resp.Body)
	return string(body)
}

// At a unix socket a header of a person, and of a sender, is believed of the users who are named, whom the kernel tells.
func TestPeersOfASocket(t *testing.T) {
	if socket := os.Getenv(askVariable); socket != "" {
		_, _ = os.Stdout.WriteString(">" + ask(socket) + "<")
		return
	}
	dir, err := os.MkdirTemp("/tmp", "sb") //nolint:usetesting // short, and another user reaches it
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	socket := filepath.Join(dir, "http")
	own := limit.UserOf(uint32(os.Getuid()))
	serve := func(t *testing.T, trusted string) {
		t.Helper()
		var one limit.Trusted
		require.NoError(t, one.UnmarshalText([]byte(trusted)))
		guard := access.New(access.Options{Proxy: access.Proxy{User: "X-User", From: []limit.Trusted{one}}})
		h := limit.Behind(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			p, err := guard.Identify(r)
			require.NoError(t, err)
			_, _ = io.WriteString(w, p.Name+" from "+p.From)
		}), []limit.Trusted{one})
		l, err := Listen(t.Context(), SocketKind+socket)
		require.NoError(t, err)
		_, err = Listen(t.Context(), SocketKind+socket)
		require.ErrorContains(t, err, "is served already")
		l.(*net.UnixListener).SetUnlinkOnClose(false) // as of a server that was killed
		srv := (&Service{Log: slog.New(slog.DiscardHandler)}).server(h)
		go func() { _ = srv.Serve(l) }()
		t.Cleanup(func() { _ = srv.Close() })
	}
	for trusted, want := range map[string]string{
		own: "boss from 203.0.113.7", "uid:4000000": " from " + own, "127.0.0.0/8": " from " + own, "0.0.0.0/0": " from " + own,
	} {
		t.Run(trusted, func(t *testing.T) {
			serve(t, trusted)
			require.Equal(t, want, ask(socket))
		})
	}
	t.Run("another user of the machine", func(t *testing.T) {
		if os.Getuid() != 0 {
			t.Skip("only root becomes another user")
		}
		serve(t, own)
		program := filepath.Join(dir, "test")
		self, err := os.ReadFile("/proc/self/exe")
		require.NoError(t, err)
		require.NoError(t, os.WriteFile(program, self, 0o755))
		cmd := exec.Command(program, "-test.run=^TestPeersOfASocket$")
		cmd.Dir, cmd.Env = dir, []string{askVariable + "=" + socket}
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		out, err := cmd.Output()
		require.NoError(t, err)
		_, said, _ := strings.Cut(string(out), ">")
		require.True(t, strings.HasPrefix(said, " from uid:65534<"), "%s", out)
	})
	for _, wrong := range []string{"uid:", "uid:root", "uid:-1", "10.0.0.1", "nonsense"} {
		require.Error(t, new(limit.Trusted).UnmarshalText([]byte(wrong)), wrong)
	}
}
