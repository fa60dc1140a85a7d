package commitprobe_test

import (
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/commitprobe"
)

const commit = "aaa1111222233334444555566667777888899990"

func TestCommit(t *testing.T) {
	t.Parallel()
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(commit)) }))
	t.Cleanup(other.Close)
	mux := http.NewServeMux()
	for path, body := range map[string]string{
		"/text": commit + "\n", "/upper": strings.ToUpper(commit), "/short": commit[:7], "/json": `{"build": {"commit": "` + commit + `"}, "n": 1}`,
		"/page": "<html>welcome</html>", "/long": strings.Repeat("a", 70<<10), "/tiny": "abc",
	} {
		mux.HandleFunc(path, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
	}
	mux.HandleFunc("/down", func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusBadGateway) })
	mux.Handle("/here", http.RedirectHandler("/text", http.StatusFound))
	mux.Handle("/there", http.RedirectHandler(other.URL, http.StatusFound))
	mux.Handle("/round", http.RedirectHandler("/round", http.StatusFound))
	s := httptest.NewServer(mux)
	t.Cleanup(s.Close)
	r := commitprobe.New(nil)
	for path, want := range map[string]string{"/text": commit, "/upper": commit, "/short": commit[:7], "/json#build.commit": commit, "/here": commit} {
		got, err := r.Commit(t.Context(), s.URL+path)
		require.NoError(t, err, path)
		require.Equal(t, want, got, path)
	}
	for path, want := range map[string]string{
		"/page": `answers with "<html>`, "/long": "more than 65536 bytes", "/tiny": "7 to 64", "/down": "502", "/nowhere": "404", "/there": "leads to another host", "/round": "again and again",
		"/json": "want a commit", "/json#commit": "no text in the field commit", "/json#n": "no text in the field n", "/json#build.commit.x": "no text", "/text#commit": "no JSON with the field commit",
	} {
		_, err := r.Commit(t.Context(), s.URL+path)
		require.ErrorContains(t, err, want, path)
	}
	s.Close()
	_, err := r.Commit(t.Context(), s.URL+"/text")
	require.ErrorContains(t, err, "refused")
}
