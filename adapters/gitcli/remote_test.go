package gitcli_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/cgi"
	"net/http/httptest"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	classed "github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// server is a git remote over HTTP, by git's own back end, whose services can be made
// to fail.
type server struct {
	url  string
	back http.Handler

	mu    sync.Mutex
	fault map[string]string // by service
	asked map[string]int    // requests, by service
}

// serve serves a bare repository.
func serve(t testing.TB, bare string) *server {
	t.Helper()
	run(t, bare, "config", "http.receivepack", "true")
	s := &server{fault: map[string]string{}, asked: map[string]int{}, back: &cgi.Handler{
		Path: filepath.Join(run(t, bare, "--exec-path"), "git-http-backend"), Stderr: io.Discard,
		Env: []string{"GIT_PROJECT_ROOT=" + filepath.Dir(bare), "GIT_HTTP_EXPORT_ALL=1", "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null"},
	}}
	srv := httptest.NewServer(s)
	t.Cleanup(srv.Close)
	s.url = srv.URL + "/" + filepath.Base(bare)
	return s
}

// set makes a service meet a fault from now on: a status, "dropped", "page", or one
// of these behind "post " for the second request of a call alone; "" heals it.
func (s *server) set(service, fault string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.fault[service] = fault
}

// times counts the requests to a service.
func (s *server) times(service string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asked[service]
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	service := r.URL.Query().Get("service")
	if service == "" {
		service = r.URL.Path[strings.LastIndex(r.URL.Path, "/")+1:]
	}
	s.mu.Lock()
	fault := s.fault[service]
	s.asked[service]++
	if s.fault["git-upload-pack"] == "page" { // it is in front of everything
		fault = "page"
	}
	s.mu.Unlock()
	if second, ok := strings.CutPrefix(fault, "post "); ok {
		if fault = second; r.Method != http.MethodPost {
			fault = ""
		}
	}
	status, _ := strconv.Atoi(fault)
	switch fault {
	case "":
		s.back.ServeHTTP(w, r)
	case "page":
		_, _ = io.WriteString(w, "<html>sign in</html>")
	case "dropped":
		if conn, _, err := w.(http.Hijacker).Hijack(); err == nil {
			_ = conn.Close()
		}
	default:
		if status == http.StatusUnauthorized {
			w.Header().Set("WWW-Authenticate", `Basic realm="git"`)
		}
		http.Error(w, "no: "+fault, status)
	}
}

// opened is a task with a branch that was taken, over HTTP.
func opened(t *testing.T, o gitcli.Options) (k *kit, s *server, sha string) {
	t.Helper()
	k = setup(t)
	s = serve(t, k.bare)
	k.space.CloneURL = s.url
	o.Root = k.root
	g, err := gitcli.New(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	k.g = g
	k.open()
	return k, s, k.take().SHA
}

// What a real git says of real remotes is classified, for reading and for writing.
func TestRemotesThatFail(t *testing.T) {
	t.Parallel()
	k, s, sha := opened(t, gitcli.Options{})
	for fault, again := range map[string]bool{
		"400": false, "401": false, "403": false, "404": false, "405": false, "410": false, "422": false, "post 403": false, "post 413": false,
		"408": true, "425": true, "429": true, "500": true, "502": true, "503": true, "post 429": true, "post 503": true,
		"dropped": true, "post dropped": true, "page": true,
	} {
		s.set("git-receive-pack", fault)
		err := k.g.Push(t.Context(), k.space, sha, "")
		require.Error(t, err, fault)
		require.Equal(t, again, classed.Retryable(err), "%s: %v", fault, err)
		s.set("git-receive-pack", "")
		s.set("git-upload-pack", fault)
		_, err = k.g.MainTip(t.Context(), k.space)
		require.Error(t, err, fault)
		require.Equal(t, again, classed.Retryable(err), "%s: %v", fault, err)
		s.set("git-upload-pack", "")
	}
	k.push(sha, "")
}

// A remote's own hooks and settings refuse for good.
func TestRemotesThatRefuse(t *testing.T) {
	t.Parallel()
	for name, spoil := range map[string]func(k *kit){
		"a hook": func(k *kit) {
			write(k, k.bare, "hooks/pre-receive", "#!/bin/sh\necho 'not on a Friday: 503' >&2\nexit 1\n")
		},
		"an update":       func(k *kit) { write(k, k.bare, "hooks/update", "#!/bin/sh\nexit 1\n") },
		"a quota":         func(k *kit) { run(k, k.bare, "config", "receive.maxInputSize", "10") },
		"a name in use":   func(k *kit) { run(k, k.bare, "update-ref", "refs/heads/feature", "refs/heads/main") },
		"not for writing": func(k *kit) { run(k, k.bare, "config", "http.receivepack", "false") },
	} {
		k, _, sha := opened(t, gitcli.Options{})
		spoil(k)
		err := k.g.Push(t.Context(), k.space, sha, "")
		require.Error(t, err, name)
		require.False(t, classed.Retryable(err), "%s: %v", name, err)
		require.NotErrorIs(t, err, work.ErrMoved)
		require.Equal(t, name != "not for writing", errors.Is(err, work.ErrRefused), "%s: %v", name, err)
	}
	k, _, sha := opened(t, gitcli.Options{})
	write(k, k.bare, "refs/heads/feature/APP-1-cache.lock", "")
	require.True(t, classed.Retryable(k.g.Push(t.Context(), k.space, sha, "")), "another git is at work")
}

// Git takes a page of something in front of the remote for a repository without
// branches. Then nothing has moved, and nothing is gone.
func TestAPageIsNoRepository(t *testing.T) {
	t.Parallel()
	k, s, sha := opened(t, gitcli.Options{Shared: true})
	k.push(sha, "")
	s.set("git-upload-pack", "page")
	drop := k.g.Drop(t.Context(), k.space, "APP-1-7")
	push := k.g.Push(t.Context(), k.space, sha, sha)
	begin := k.g.Begin(t.Context(), k.space, nil)
	fresh := k.space
	fresh.WorkItem, fresh.Branch = "APP-2", "feature/APP-2"
	other := k.g.Begin(t.Context(), fresh, nil)
	for what, err := range map[string]error{"drop": drop, "push": push, "begin": begin, "begin another": other} {
		require.Error(t, err, what)
		require.True(t, classed.Retryable(err), "%s: %v", what, err)
		require.NotErrorIs(t, err, work.ErrMoved, what)
	}
	require.Equal(t, sha, k.remoteHead())
}

// What a remote refuses for good is not handed over again and again.
func TestHandOverIsRefused(t *testing.T) {
	t.Parallel()
	k, s, _ := opened(t, gitcli.Options{Shared: true})
	commit(t, k.open(), "a.go", "package a\n")
	s.set("git-receive-pack", "403")
	before := s.times("git-receive-pack")
	_, err := k.g.Take(t.Context(), k.space)
	require.Error(t, err)
	require.False(t, classed.Retryable(err))
	require.Equal(t, before+1, s.times("git-receive-pack"))
}

// Close loses nothing that was not taken yet when it is interrupted.
func TestCloseThatIsInterrupted(t *testing.T) {
	t.Parallel()
	k := setup(t)
	head := commit(t, k.open(), "a.go", "package a\n")
	ended, end := context.WithCancel(t.Context())
	end()
	require.ErrorIs(t, k.g.Close(ended, k.space), context.Canceled)
	k.close()
	require.Equal(t, head, k.take().SHA)
}
