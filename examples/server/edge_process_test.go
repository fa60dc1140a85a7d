package main

import (
	"bufio"
	"bytes"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// hook posts a webhook of the git host to an address of the server, signed with a secret.
func (w *world) hook(address, secret, id, event, body string) int {
	w.Helper()
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+address+"/webhooks/githost", strings.NewReader(body))
	require.NoError(w, err)
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	for name, value := range map[string]string{
		"Content-Type": "application/json", "X-GitHub-Event": event, "X-GitHub-Delivery": id, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil)),
	} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w, err)
	require.NoError(w, resp.Body.Close())
	return resp.StatusCode
}

// memory returns what the server's process has taken of the system, in bytes; it never
// falls, so it is the peak.
func (w *world) memory() int64 {
	w.Helper()
	resp, err := http.Get("http://" + w.addr + "/metrics")
	require.NoError(w, err)
	defer resp.Body.Close()
	for s := bufio.NewScanner(resp.Body); s.Scan(); {
		if text, ok := strings.CutPrefix(s.Text(), "go_memstats_sys_bytes "); ok {
			n, err := strconv.ParseFloat(text, 64)
			require.NoError(w, err)
			return int64(n)
		}
	}
	require.Fail(w, "there is no go_memstats_sys_bytes")
	return 0
}

// from is a client with an address of its own.
func from(n byte, patience time.Duration) *http.Client {
	dialer := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 1, n)}}
	return &http.Client{Timeout: patience, Transport: &http.Transport{DialContext: dialer.DialContext}}
}

// flood sends bodies at once, from several addresses, and gives the answers by status; 0
// is a connection that was broken.
func (w *world) flood(n, size int, signature string) map[int]int {
	w.Helper()
	body := make([]byte, size)
	var mu sync.Mutex
	out := map[int]int{}
	var all sync.WaitGroup
	for i := range n {
		all.Go(func() {
			client := from(byte(1+i%12), time.Minute)
			defer client.CloseIdleConnections()
			req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+w.addr+"/webhooks/githost", bytes.NewReader(body))
			if err != nil {
				return
			}
			req.Header.Set("Content-Type", "application/json")
			if signature != "" {
				req.Header.Set("X-Hub-Signature-256", signature)
			}
			status := 0
			if resp, err := client.Do(req); err == nil {
				status = resp.StatusCode
				_, _ = io.Copy(io.Discard, resp.Body)
				_ = resp.Body.Close()
			}
			mu.Lock()
			defer mu.Unlock()
			out[status]++
		})
	}
	all.Wait()
	return out
}

// Strangers cannot make the service take memory, nor keep it from an honest webhook.
func TestStrangersTakeNoMemory(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "EDG"})
	before := w.memory()
	unsigned := w.flood(500, 1<<20, "")
	require.Empty(t, unsigned[http.StatusAccepted]+unsigned[http.StatusOK])
	done := make(chan struct{})
	var forged map[int]int
	go func() {
		defer close(done)
		forged = w.flood(60, 24<<20, "sha256="+strings.Repeat("0", 64))
	}()
	taken := 0
	for n := 0; ; n++ { // while they come, and once after
		over := closed(done)
		body := fmt.Sprintf(`{"state":"success","sha":"%040x","repository":{"full_name":"acme/edg"}}`, n)
		require.Equal(t, http.StatusAccepted, w.hook(w.addr, w.env["GITHUB_WEBHOOK_SECRET"], fmt.Sprint("honest-", n), "status", body))
		if taken++; over {
			break
		}
		time.Sleep(20 * time.Millisecond)
	}
	require.Empty(t, forged[http.StatusAccepted]+forged[http.StatusOK])
	rise := w.memory() - before
	t.Logf("the process took %d MiB more; unsigned %v, forged %v, honest %d", rise>>20, unsigned, forged, taken)
	require.LessOrEqual(t, rise, int64(128<<20))
}

// With a listener of their own webhooks come in there alone, and nothing else does.
func TestWebhooksHaveTheirOwnListener(t *testing.T) {
	t.Parallel()
	free, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	hooks := free.Addr().String()
	require.NoError(t, free.Close())
	w := newWorld(t, map[string]string{"HOOKS_LISTEN": hooks, "RECONCILE_ENABLED": "false"}, &place{prefix: "HKS"})
	status := func(method, address, path string) int {
		req, err := http.NewRequestWithContext(t.Context(), method, "http://"+address+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		return resp.StatusCode
	}
	for _, path := range []string{"/webhooks/tracker", "/webhooks/githost"} {
		require.Equal(t, http.StatusNotFound, status(http.MethodPost, w.addr, path), path)
		require.Equal(t, http.StatusUnsupportedMediaType, status(http.MethodPost, hooks, path), path)
	}
	for _, path := range []string{"/", "/dashboard/", "/queue", "/tasks", "/events", "/readyz", "/metrics", "/api/gps-tracks"} {
		require.Equal(t, http.StatusNotFound, status(http.MethodGet, hooks, path), path)
	}
	for _, address := range []string{w.addr, hooks} {
		require.Equal(t, http.StatusOK, status(http.MethodGet, address, "/healthz"))
	}
	w.board.SetHookURL("http://" + hooks + "/webhooks/tracker")
	item := w.cardIn("HKS", "Come in", "To Analyse")
	w.until("the webhook begins a task", func() bool { return len(w.tasks(item)) == 1 })
}

// Nothing in the data directory can be read by other users, although the directory itself
// can, and although an older version has left files that could.
func TestDataIsPrivate(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "PRV"})
	item := w.cardIn("PRV", "x", "To Analyse")
	w.approve(item)
	w.until("the task goes on", func() bool { return len(w.runs("PRV-1")) > 1 })
	w.end(syscall.SIGKILL)
	data := w.data
	require.NoError(t, os.Chmod(data, 0o755))
	files := []string{"signalbox.db", "signalbox.db-wal", "signalbox.db-shm"}
	for _, name := range files {
		require.NoError(t, os.Chmod(filepath.Join(data, name), 0o644)) //nolint:gosec // what an older version has left
	}
	w.start()
	list, err := os.ReadDir(data)
	require.NoError(t, err)
	seen := map[string]bool{}
	for _, e := range list {
		info, err := e.Info()
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, e.Name())
		seen[e.Name()] = true
	}
	for _, name := range files {
		require.True(t, seen[name], name)
	}
	w.end(syscall.SIGTERM)
	require.NoError(t, os.RemoveAll(data))
	require.NoError(t, os.Mkdir(data, 0o755)) //nolint:gosec // as a volume is
	w.start()
	for _, name := range files {
		info, err := os.Stat(filepath.Join(data, name))
		require.NoError(t, err)
		require.Zero(t, info.Mode().Perm()&0o077, name)
	}
}
