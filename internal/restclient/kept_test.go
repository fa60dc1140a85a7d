package restclient_test

import (
	"crypto/sha256"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/restclient"
)

// tagged is a server whose answers have tags, and a client of it.
type tagged struct {
	t      *testing.T
	body   string
	header http.Header
	status int
	same   int // answers of "not modified"
	asked  []string
	http   *http.Client
	url    string
}

func newTagged(t *testing.T) *tagged {
	s := &tagged{t: t, body: `{"n":1}`, header: http.Header{}, status: http.StatusOK, http: restclient.Transport(nil)}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.asked = append(s.asked, r.Header.Get("If-None-Match"))
		for name := range s.header {
			w.Header().Set(name, s.header.Get(name))
		}
		w.Header().Set("ETag", fmt.Sprintf(`W/"%x"`, sha256.Sum256([]byte(s.body))))
		w.Header().Set("X-Ratelimit-Remaining", fmt.Sprint(len(s.asked)))
		if s.status == http.StatusOK && r.Header.Get("If-None-Match") == w.Header().Get("ETag") {
			s.same++
			w.Header().Del("Link")
			w.WriteHeader(http.StatusNotModified)
			return
		}
		w.WriteHeader(s.status)
		_, _ = w.Write([]byte(s.body))
	}))
	t.Cleanup(server.Close)
	s.url = server.URL
	return s
}

// get reads, with a credential.
func (s *tagged) get(token string) (string, http.Header) {
	s.t.Helper()
	client := restclient.Client{
		Service: "forge", Base: s.url, HTTP: s.http, Now: time.Now,
		Sign:   func(r *http.Request, token string) { r.Header.Set("X-Api-Key", token) },
		Refuse: func(restclient.Call, *restclient.Error, *http.Response, []byte) error { return nil },
	}
	var out any
	header, err := client.Do(s.t.Context(), restclient.Call{Method: http.MethodGet, Path: "/a", Token: token, Out: &out})
	if err != nil {
		return err.Error(), nil
	}
	return fmt.Sprint(out), header
}

// What has not changed is read at the server all the same, and comes with what that says now; what has changed is seen at
// once, whatever age it was given.
func TestNotModified(t *testing.T) {
	s := newTagged(t)
	s.header.Set("Cache-Control", "private, max-age=60")
	s.header.Set("Link", `<x>; rel="next"`)
	for want := range 3 {
		got, header := s.get("a")
		require.Equal(t, "map[n:1]", got)
		require.Equal(t, fmt.Sprint(want+1), header.Get("X-Ratelimit-Remaining"))
		require.Equal(t, `<x>; rel="next"`, header.Get("Link"))
		require.Equal(t, want, s.same)
	}
	s.body = `{"n":2}`
	got, _ := s.get("a")
	require.Equal(t, "map[n:2]", got)
	s.status = http.StatusNotFound
	got, _ = s.get("a")
	require.Contains(t, got, "GET /a")
	s.status = http.StatusOK
	got, _ = s.get("a")
	require.Equal(t, "map[n:2]", got)
	require.Empty(t, s.asked[len(s.asked)-1], "an answer that is gone is not kept")
}

// No credential is given what another has read, nor its tag.
func TestCredentialsShareNothing(t *testing.T) {
	s := newTagged(t)
	s.get("a")
	s.get("b")
	require.Equal(t, []string{"", ""}, s.asked)
	s.get("a")
	require.Equal(t, 1, s.same)
}

// What may change behind its tag, or may not be kept, or is too much, is read anew.
func TestNotKept(t *testing.T) {
	for name, change := range map[string]func(*tagged){
		"a full page":    func(s *tagged) { s.body = "[" + strings.Repeat("1,", 29) + "1]" },
		"not to keep":    func(s *tagged) { s.header.Set("Cache-Control", "no-store") },
		"varies by all":  func(s *tagged) { s.header.Set("Vary", "*") },
		"more than 1 MB": func(s *tagged) { s.body = `"` + strings.Repeat("x", 1<<20) + `"` },
	} {
		t.Run(name, func(t *testing.T) {
			s := newTagged(t)
			change(s)
			first, _ := s.get("a")
			again, _ := s.get("a")
			require.Equal(t, []string{"", ""}, s.asked)
			require.Equal(t, first, again)
			require.NotContains(t, first, "GET /a")
		})
	}
}

// What is kept is bounded by bytes: the oldest goes first.
func TestKeptIsBounded(t *testing.T) {
	s := newTagged(t)
	s.body = `"` + strings.Repeat("x", 1<<19) + `"`
	for i := range 40 {
		s.get(fmt.Sprint(i))
	}
	s.get("39")
	s.get("8")
	s.get("0")
	require.NotEmpty(t, s.asked[40])
	require.Empty(t, s.asked[41])
	require.Empty(t, s.asked[42])
}
