package main

import (
	"cmp"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"math/rand/v2"
	"net/http"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// stranger sends requests that nobody honest sends, as a seed says.
type stranger struct {
	*world
	rand  *rand.Rand
	item  string
	calls []string // such as GET /tasks/{id}
	hooks [][]byte // of board and host, as they have sent them
}

// pick chooses one.
func pick[T any](s *stranger, list ...T) T { return list[s.rand.IntN(len(list))] }

// word is a piece of a request that is no piece of one.
func (s *stranger) word() string {
	return pick(s, "", "-1", "0", "9999999999999999999999", "../../etc/passwd", "..%2f..%2fetc%2fpasswd", "%00", "a\r\nX-Injected: 1", "'; drop table tasks; --",
		"<script>alert(1)</script>", "NaN", "1e400", "\xff\xfe", "{{.}}", "$(id)", "\u202e", strings.Repeat("ё", 2000), "GPX-1", "1", "1/../2")
}

// body is a webhook as it was sent, damaged somewhere, or nothing that anybody sends.
func (s *stranger) body() []byte {
	switch s.rand.IntN(8) {
	case 0:
		return []byte(pick(s, "", "null", "[]", "{}", "\"x\"", strings.Repeat("[", 100_000), `{"event":`+strings.Repeat(`{"a":`, 20_000), s.word()))
	case 1:
		return fmt.Appendf(nil, `{"event":%q,"action":%q,"data":{"id":%q,"project":%q,"state":%s}}`,
			pick(s, "issue", "issue_comment"), pick(s, "created", "updated", s.word()), pick(s, s.item, s.word()), s.places["HOS"].id,
			pick(s, "1", "null", "[]", `{"id":7}`, `"x"`))
	case 2:
		return fmt.Appendf(nil, `{"ref":%q,"action":%q,"state":%q,"sha":%q,"number":%s,"repository":{"full_name":"acme/hos"},"sender":{"login":%q}}`,
			"refs/heads/"+s.word(), s.word(), pick(s, "success", "failure", s.word()), pick(s, strings.Repeat("0", 40), s.word()), pick(s, "1", "-1", "null", `"1"`, "1e9"), s.word())
	}
	b := slices.Clone(pick(s, s.hooks...))
	for range 1 + s.rand.IntN(4) {
		i := s.rand.IntN(len(b))
		switch s.rand.IntN(4) {
		case 0:
			b[i] = byte(s.rand.IntN(256))
		case 1:
			b = append(b[:i:i], b[min(len(b), i+s.rand.IntN(40)):]...)
		case 2:
			b = slices.Concat(b[:i], []byte(s.word()), b[i:])
		default:
			b = b[:i+1]
		}
		if len(b) == 0 {
			break
		}
	}
	return b
}

var inBraces = regexp.MustCompile(`\{[^}]*\}`)

// request is one of all.
func (s *stranger) request() (*http.Request, error) {
	method, path, _ := strings.Cut(pick(s, s.calls...), " ")
	path = inBraces.ReplaceAllStringFunc(path, func(string) string { return url.PathEscape(s.word()) })
	query := url.Values{}
	for range s.rand.IntN(3) {
		query.Set(pick(s, "limit", "after", "repo", "bbox", "stage", "q", "format", "since", s.word()), s.word())
	}
	body := s.body()
	method = pick(s, method, method, method, method, "GET", "POST", "HEAD", "PUT", "DELETE", "OPTIONS", "PATCH", "TRACE")
	req, err := http.NewRequestWithContext(s.Context(), method, "http://"+s.addr+path+"?"+query.Encode(), strings.NewReader(string(body)))
	if err != nil {
		return nil, err
	}
	req.Header.Set("Content-Type", pick(s, "application/json", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "text/plain", "x"))
	if strings.HasPrefix(path, "/webhooks/") && s.rand.IntN(3) > 0 { // signed, as by a neighbour that has gone mad
		req.Method, body = "POST", s.body()
		req.Body, req.ContentLength = io.NopCloser(strings.NewReader(string(body))), int64(len(body))
		req.Header.Set("Content-Type", "application/json")
		req.Header.Set("X-GitHub-Event", pick(s, "push", "pull_request", "check_run", "status", "workflow_run", s.word()))
		for header, by := range map[string][2]string{
			"X-Hub-Signature-256": {"sha256=", "GITHUB_WEBHOOK_SECRET"}, "X-Plane-Signature": {"", "PLANE_WEBHOOK_SECRET"},
		} {
			mac := hmac.New(sha256.New, []byte(s.env[by[1]]))
			mac.Write(body)
			req.Header.Set(header, by[0]+hex.EncodeToString(mac.Sum(nil)))
		}
	}
	switch s.rand.IntN(4) {
	case 0:
		req.Header.Set("Authorization", "Bearer "+s.word())
	case 1: // somebody who may read all
		if req.Method == http.MethodGet {
			req.Header.Set("Authorization", "Bearer "+s.env["ADMIN_TOKEN"])
		}
	}
	for name, values := range req.Header {
		if strings.ContainsAny(values[0], "\r\n\x00") {
			req.Header.Set(name, "x")
		}
	}
	return req, nil
}

// Thousands of requests that nobody honest sends (HOSTILE of them), among them signed ones, end no process, find no answer of 500,
// take no memory and begin nothing; a card that is at work meanwhile is done.
func TestHostileRequests(t *testing.T) {
	t.Parallel()
	n, _ := strconv.Atoi(cmp.Or(os.Getenv("HOSTILE"), "4000"))
	w := newWorld(t, nil, &place{prefix: "HOS"})
	var api struct{ Paths map[string]map[string]any }
	require.True(t, w.get("/openapi.json", &api))
	calls := []string{
		"GET /dashboard/tasks/{id}", "GET /dashboard/board", "POST /dashboard/session", "POST /dashboard/tasks/{id}/decide", "GET /{x}",
		"GET /api/gps-tracks", "GET /api/gps-tracks/{id}", "GET /api/gps-tracks/tiles/{z}/{x}/{y}", "POST /api/gps-tracks/cache/clear",
	}
	for path, methods := range api.Paths {
		for method := range methods {
			calls = append(calls, strings.ToUpper(method)+" "+path)
		}
	}
	slices.Sort(calls)
	for range len(calls) / 2 {
		calls = append(calls, "POST /webhooks/tracker", "POST /webhooks/githost")
	}
	var hooks [][]byte
	for _, pattern := range []string{"../../adapters/plane/testdata/hooks/*.json", "../../adapters/github/testdata/hooks/*.json"} {
		files := matches(t, pattern)
		for _, name := range files {
			body := contents(t, name)
			hooks = append(hooks, body)
		}
	}
	item := w.cardIn("HOS", "Work on", "To Analyse")
	before := w.memory()
	var mu sync.Mutex
	answers := map[int]int{}
	var all sync.WaitGroup
	for seed := range uint64(8) {
		s := &stranger{world: w, rand: rand.New(rand.NewPCG(seed, 1)), item: item, calls: calls, hooks: hooks}
		client := from(byte(1+seed), 5*time.Second) // a stream has no end
		all.Go(func() {
			defer client.CloseIdleConnections()
			for range n / 8 {
				req, err := s.request()
				if err != nil {
					continue
				}
				status := 0
				if resp, err := client.Do(req); err == nil {
					status = resp.StatusCode
					_, _ = io.Copy(io.Discard, resp.Body)
					_ = resp.Body.Close()
				}
				mu.Lock()
				answers[status]++
				if status == http.StatusInternalServerError {
					t.Logf("500: %s %s", req.Method, req.URL)
				}
				mu.Unlock()
			}
		})
	}
	w.approve(item)
	w.until("the card is done", func() bool { return w.column(item) == "Monitoring after Deploy" || w.column(item) == "Done" })
	all.Wait()
	rise := w.memory() - before
	t.Logf("%d requests were answered with %v; the process took %d MiB more", n, answers, rise>>20)
	require.Zero(t, answers[http.StatusInternalServerError])
	require.Greater(t, answers[http.StatusAccepted], n/1000, "some are taken")
	require.Less(t, answers[0], n/10, "most are answered")
	require.Less(t, rise, int64(128<<20))
	require.Len(t, w.tasks(""), 1)
	require.NotContains(t, w.read("server.log"), "panic")
	w.owesNothing()
}
