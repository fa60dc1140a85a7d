package web_test

import (
	"bytes"
	"fmt"
	"io"
	"log/slog"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

const ciOf = `{"state":"success","sha":"%s","repository":{"full_name":"%s"}}`

// dial opens a connection from an address of this machine.
func (k *kit) dial(from string) net.Conn {
	k.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}, Timeout: 10 * time.Second}
	conn, err := d.DialContext(k.Context(), "tcp", strings.TrimPrefix(k.url, "http://"))
	require.NoError(k, err)
	k.Cleanup(func() { conn.Close() })
	return conn
}

// post begins a webhook of GitHub, of which size bytes will come, and sends some.
func (k *kit) post(from, sig string, size, sent int) net.Conn {
	k.Helper()
	conn := k.dial(from)
	_, err := fmt.Fprintf(conn, "POST /webhooks/githost HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nX-GitHub-Event: status\r\nX-Hub-Signature-256: %s\r\nContent-Length: %d\r\n\r\n", sig, size)
	require.NoError(k, err)
	_, err = conn.Write(make([]byte, sent))
	require.NoError(k, err)
	return conn
}

// crowd holds as many bodies as one sender may.
func (k *kit) crowd(from string) {
	k.Helper()
	refused := make(chan struct{}, 100)
	for n := 0; ; n++ {
		require.Less(k, n, 100, "nobody is refused")
		conn := k.post(from, "sha256="+strings.Repeat("0", 64), 1000, 1)
		go func() {
			if line := make([]byte, 12); conn.SetReadDeadline(time.Now().Add(time.Minute)) == nil {
				if _, err := io.ReadFull(conn, line); err == nil && string(line) == "HTTP/1.1 503" {
					refused <- struct{}{}
				}
			}
		}()
		select {
		case <-refused:
			return
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// readStatus reads an answer's version and status, such as HTTP/1.1 202.
func (k *kit) readStatus(conn net.Conn) string {
	k.Helper()
	require.NoError(k, conn.SetReadDeadline(time.Now().Add(20*time.Second)))
	line := make([]byte, 12)
	_, err := io.ReadFull(conn, line)
	require.NoError(k, err)
	return string(line)
}

// Without the form of a signature nothing of the body is waited for.
func TestUnsignedBodyIsNotRead(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	for _, sig := range []string{"", "sha256=", "sha256=abc", "sha1=" + strings.Repeat("0", 64), strings.Repeat("0", 64)} {
		require.Equal(t, "HTTP/1.1 401", k.readStatus(k.post("127.0.0.1", sig, 24<<20, 0)), sig)
	}
}

// A sender with as many bodies as one may have is refused, and others are not.
func TestBodiesOfOneSender(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	forged := "sha256=" + strings.Repeat("0", 64)
	k.crowd("127.0.0.9")
	require.Equal(t, "HTTP/1.1 503", k.readStatus(k.post("127.0.0.9", forged, 10, 10)))
	k.is(http.StatusAccepted, k.github("g1", "status", fmt.Appendf(nil, ciOf, strings.Repeat("a", 40), "acme/app")))
}

// Large bodies share a bound, and leave room for ordinary webhooks.
func TestBytesOfUnverifiedBodies(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	forged := "sha256=" + strings.Repeat("0", 64)
	large := func() answer { return k.github("g2", "status", bytes.Repeat([]byte(" "), 1<<20)) }
	senders := 0
	require.Eventually(t, func() bool { // a body without room is refused, and what it had is free again
		senders++
		conn := k.post(fmt.Sprintf("127.0.1.%d", senders), forged, 16<<20, 0)
		go func() { _, _ = conn.Write(make([]byte, 16<<20-1)) }()
		a := large()
		return a.status == http.StatusServiceUnavailable && a.header.Get("Retry-After") != ""
	}, 20*time.Second, 50*time.Millisecond)
	k.is(http.StatusAccepted, k.github("g1", "status", fmt.Appendf(nil, ciOf, strings.Repeat("a", 40), "acme/app")))
}

// A project with a secret of its own is spoken for by that alone, and it speaks for no other.
func TestSecretsOfProjects(t *testing.T) {
	t.Parallel()
	k := setup(t, func(o *web.Options) {
		secrets := signature.Secrets{{Value: "common"}, {Value: "new", Repo: "acme/app"}, {Value: "old", Repo: "acme/app"}, {Value: "other", Repo: "acme/other"}}
		o.Sources = sources(t, secrets, secrets)
	})
	for i, c := range []struct {
		secret string
		want   int
	}{{"new", 202}, {"old", 202}, {"common", 403}, {"other", 403}, {"nobody", 401}} {
		k.is(c.want, k.githubBy(c.secret, c.secret, "status", fmt.Appendf(nil, ciOf, strings.Repeat(fmt.Sprint(i), 40), "acme/app")))
		k.is(c.want, k.planeBy(c.secret, c.secret, issue("state", moved(fmt.Sprint(i)))))
	}
	require.Len(t, k.jobs(), 4)
}

// lines is a log that counts.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}

// Bad signatures make a line a minute, not a line each.
func TestRefusalsAreLoggedOnce(t *testing.T) {
	t.Parallel()
	var log lines
	k := setup(t, func(o *web.Options) { o.Log = slog.New(slog.NewTextHandler(&log, nil)) })
	for range 50 {
		k.is(http.StatusUnauthorized, k.do(http.MethodPost, "/webhooks/githost", map[string]string{"Content-Type": "application/json"}, "{}"))
	}
	require.Equal(t, 1, strings.Count(log.String(), "webhooks were refused"), log.String())
}

// A webhook of the board that finds no room breaks its connection: nothing else makes
// Plane send it again.
func TestFullForTheBoard(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	k.crowd("127.0.0.1")
	require.ErrorIs(t, k.broken("1"), io.EOF)
}

// projectID is the board that is registered, in Plane's form.
const projectID = "00000000-0000-4000-8000-00000000000a"

// itemID is the id of a work item.
func itemID(n string) string { return "00000000-0000-4000-8000-" + strings.Repeat("0", 12-len(n)) + n }

// probing is a tracker that looks whether the address is there before it sends.
type probing struct{ *plane.Client }

func (probing) Habits() signature.Habits { return signature.Habits{Limit: 1000, Probe: true} }

// A sender that probes by HEAD is answered; others have nothing there but what they send.
func TestProbesAreAnswered(t *testing.T) {
	p, err := plane.New(plane.Options{BaseURL: "http://plane.example.org", Workspace: "w", Token: "t", Secrets: signature.Of(planeSecret)})
	require.NoError(t, err)
	h, _ := handler(t, func(o *web.Options) { o.Sources[0].Tracker = probing{p} })
	for path, want := range map[string]int{"plane": http.StatusOK, "github": http.StatusMethodNotAllowed} {
		w := httptest.NewRecorder()
		h.ServeHTTP(w, httptest.NewRequest(http.MethodHead, "/webhooks/"+path, nil))
		require.Equal(t, want, w.Code, path)
	}
}

// broken sends a webhook of the board, and returns how its connection has ended.
func (k *kit) broken(item string) error {
	k.Helper()
	body := planetest.Encode(issue("state", map[string]any{"id": itemID(item), "project": projectID}))
	req, err := http.NewRequestWithContext(k.Context(), http.MethodPost, k.url+"/webhooks/tracker", bytes.NewReader(body))
	require.NoError(k, err)
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("X-Plane-Signature", sign(planeSecret, body))
	resp, err := http.DefaultClient.Do(req)
	if err == nil {
		resp.Body.Close()
	}
	return err
}
