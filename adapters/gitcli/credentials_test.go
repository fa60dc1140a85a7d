//go:build linux

package gitcli_test

import (
	"bytes"
	"encoding/base64"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
)

// A token reaches its own host, and no argument, environment or call without a remote.
func TestCredentials(t *testing.T) {
	t.Parallel()
	const token = "canary-of-a-token"
	basic := base64.StdEncoding.EncodeToString([]byte("x-access-token:" + token))
	k := setup(t)
	back := serve(t, k.bare)
	var foreign, seen, requests atomic.Int64
	front := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests.Add(1)
		if r.Header.Get("Authorization") != "Basic "+basic {
			foreign.Add(1)
			http.Error(w, "sign in", http.StatusForbidden)
			return
		}
		for _, file := range []string{"environ", "cmdline"} { // of all that is behind this request
			names, _ := filepath.Glob("/proc/[0-9]*/" + file)
			for _, name := range names {
				body, err := os.ReadFile(name)
				if err != nil || !bytes.Contains(body, []byte(k.root)) {
					continue
				}
				seen.Add(1)
				if bytes.Contains(body, []byte(token)) || bytes.Contains(body, []byte(basic)) {
					t.Errorf("the token is in %s: %q", name, body)
				}
			}
		}
		back.ServeHTTP(w, r)
	}))
	defer front.Close()

	calls, logging := filepath.Join(t.TempDir(), "calls"), filepath.Join(t.TempDir(), "git")
	write(t, filepath.Dir(logging), "git", "#!/bin/sh\n{ echo \"call $*\"; env; ls -l /proc/self/fd; cat /proc/self/fd/3 2>/dev/null; } >>"+calls+"\nexec git \"$@\"\n")
	o := gitcli.Options{Root: k.root, Git: logging, Shared: true, Tokens: gitcli.FixedTokens(map[string]string{front.URL + "/": token, "https://git.example.org/": "another"})}
	g := openGit(t, o)
	k.g, k.space.CloneURL = g, front.URL+"/"+filepath.Base(k.bare)
	dir := k.open()
	commit(t, dir, "a.go", "package a\n")
	tip := k.take()
	k.push(tip.SHA, k.remoteHead())
	k.close()
	require.Zero(t, foreign.Load())
	require.GreaterOrEqual(t, seen.Load(), 2*requests.Load(), "the processes behind each request were looked at")

	log, err := os.ReadFile(calls)
	require.NoError(t, err)
	remote, local := 0, 0
	for _, call := range strings.Split(string(log), "\ncall ")[1:] {
		line, rest, _ := strings.Cut(call, "\n")
		environ, _, _ := strings.Cut(rest, "\ntotal ")
		require.NotContains(t, line+environ, token)
		require.NotContains(t, line+environ, basic)
		if strings.Contains(line, front.URL) {
			remote++
			require.Contains(t, rest, basic)
		} else {
			local++
			require.NotContains(t, rest, basic, line)
			require.NotContains(t, rest, "memfd", line)
			require.NotContains(t, rest, "SSH_AUTH_SOCK", line)
		}
	}
	require.Positive(t, remote)
	require.Positive(t, local)

	// Another host gets none.
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Header.Get("Authorization") != "" {
			t.Error("another host was sent the token")
		}
		http.NotFound(w, r)
	}))
	defer other.Close()
	k.space.CloneURL = other.URL + "/x.git"
	_, err = k.g.MainTip(t.Context(), k.space)
	require.Error(t, err)
}
