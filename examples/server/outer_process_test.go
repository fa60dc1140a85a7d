package main

import (
	"bytes"
	"cmp"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// chatToken is that of the bot.
const chatToken = "1:chat-token"

// neighbours serves all of them, each behind a switch that makes it sick.
func (w *world) neighbours() http.Handler {
	w.Helper()
	remote, err := forgetest.Remote(w.path("origin"))
	require.NoError(w, err)
	w.sick = map[string]*fakehttp.Switch{}
	mux := http.NewServeMux()
	stand := func(name string, next http.Handler, meets func(*http.Request) bool) http.Handler {
		w.sick[name] = fakehttp.New(next, meets)
		return w.sick[name]
	}
	board := stand("plane.comments", stand("plane.status", w.recordCalls(w.board), planetest.IsStatus), planetest.IsComment)
	mux.Handle("/plane/", http.StripPrefix("/plane", stand("plane", board, nil)))
	mux.Handle("/github/", http.StripPrefix("/github", stand("github", w.gated(w.host), nil)))
	mux.Handle("/telegram/", http.StripPrefix("/telegram", stand("telegram", w.chat, nil)))
	mux.Handle("/git/", http.StripPrefix("/git", stand("git", remote, nil)))
	return mux
}

// holdMerges holds the merges of a repository up until release is called.
func (w *world) holdMerges(prefix string) (release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	repo, wait := w.places[prefix].repo, make(chan struct{})
	w.merge[repo] = wait
	delete(w.merging, repo)
	return func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		delete(w.merge, repo)
		close(wait)
	}
}

// isMerging reports whether the host has a call to merge that is held up.
func (w *world) isMerging(prefix string) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.merging[w.places[prefix].repo]
}

// accounts are those of the service on the board, by token: the shared one, and one for
// each role that has a token of its own in the settings.
func (w *world) accounts() map[string]string {
	out := map[string]string{}
	for name, token := range w.env {
		if role, ok := strings.CutPrefix(name, "PLANE_TOKEN"); ok {
			out[token] = strings.TrimLeft(strings.ToLower(role)+"-bot", "_-")
		}
	}
	return out
}

// call is a request of the service to the board.
type call struct{ method, path, token string }

// recordCalls records the requests to the board.
func (w *world) recordCalls(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		w.calls = append(w.calls, call{r.Method, r.URL.Path, r.Header.Get("X-Api-Key")})
		w.mu.Unlock()
		next.ServeHTTP(out, r)
	})
}

// gated holds merges up while the world says so.
func (w *world) gated(next http.Handler) http.Handler {
	return http.HandlerFunc(func(out http.ResponseWriter, r *http.Request) {
		w.mu.Lock()
		var wait chan struct{}
		for repo, c := range w.merge {
			if strings.Contains(r.URL.Path, "/"+repo+"/") {
				wait = c
			}
		}
		w.mu.Unlock()
		if wait != nil && r.Method == http.MethodPut && strings.HasSuffix(r.URL.Path, "/merge") {
			body, _ := io.ReadAll(r.Body) // a client that goes away is seen only then
			r.Body = io.NopCloser(bytes.NewReader(body))
			w.mu.Lock()
			for repo, c := range w.merge {
				w.merging[repo] = w.merging[repo] || c == wait
			}
			w.mu.Unlock()
			select {
			case <-wait:
			case <-r.Context().Done(): // the test has failed and is over
				return
			}
		}
		next.ServeHTTP(out, r)
	})
}

// found makes the repositories, the boards and the registry.
func (w *world) found(places []*place) {
	w.Helper()
	var b strings.Builder
	b.WriteString("projects:\n")
	for _, p := range places {
		w.places[p.prefix] = p
		p.repo = "acme/" + strings.ToLower(p.prefix)
		p.bare, p.id = filepath.Join(w.dir, "origin", p.prefix+".git"), w.board.AddProject(p.prefix, planetest.StandardStates()...)
		require.NoError(w, os.MkdirAll(p.bare, 0o700))
		w.git(p.bare, "init", "--quiet", "--bare", "--initial-branch=main")
		seed := filepath.Join(w.dir, "seed-"+p.prefix)
		w.git(w.dir, "clone", "--quiet", p.bare, seed)
		w.commit(seed, "README.md", "begin")
		if p.remote { // there is CI although it may not have been seen yet
			require.NoError(w, os.MkdirAll(filepath.Join(seed, ".github", "workflows"), 0o700))
			w.commit(seed, ".github/workflows/ci.yml", "on: push")
		}
		w.git(seed, "push", "--quiet", "origin", "HEAD:main")
		host := fmt.Sprintf("web_url: \"https://git.example.org/%s\"", p.repo)
		if p.plain {
			host = "host: git"
		} else {
			require.NoError(w, w.host.AddRepo(p.repo, p.bare))
		}
		from := p.bare
		if p.remote {
			from = w.outer.URL + "/git/" + p.prefix + ".git"
		}
		look := "http://" + w.addr + "/healthz"
		if look = cmp.Or(p.monitor, look); strings.HasPrefix(look, "/") {
			look = w.outer.URL + look
		}
		fmt.Fprintf(&b, "  - {tracker_project: %q, repo: %s, clone_url: %q, prefix: %s, self_hosting: %t, monitor: [%q], %s%s}\n",
			p.id, p.repo, from, p.prefix, p.self, look, host, p.more)
	}
	w.registry = b.String()
	w.write("projects.yaml", w.registry)
}
