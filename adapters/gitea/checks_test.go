package gitea

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/forgetest/forgekit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// What the protection of main requires and nobody has reported is expected; without the
// protection nothing is.
func TestExpected(t *testing.T) {
	t.Parallel()
	bare := filepath.Join(t.TempDir(), "shop.git")
	out, err := exec.CommandContext(t.Context(), "sh", "-c", `git init -q --bare -b main "$0" && git -C "$0" update-ref refs/heads/main $(git -C "$0" -c user.name=k -c user.email=k@example.org commit-tree -m first $(git -C "$0" mktree </dev/null))`, bare).CombinedOutput()
	require.NoError(t, err, string(out))
	server := forgetest.NewGitea(forgetest.Options{Token: "t"})
	require.NoError(t, server.AddRepo("acme/shop", bare))
	srv := httptest.NewServer(server)
	t.Cleanup(func() { server.Close(); srv.Close() })
	c, err := New(Options{BaseURL: srv.URL, Token: "t", HTTPClient: forgekit.HTTP(0)})
	require.NoError(t, err)

	reported := []githost.Check{{Name: "ci / unit (push)"}, {Name: "lint"}}
	list := func(branch string) []githost.Check {
		p, err := c.Protection(t.Context(), "acme/shop", branch)
		require.NoError(t, err)
		return expected(p, branch, reported)
	}
	require.Empty(t, list("main"))
	server.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Required["main"] = []string{"ci / *", "lint", "deploy/*", "e2e"} })
	require.Equal(t, []githost.Check{
		{Name: "deploy/*", State: githost.CheckExpected, Kind: "required", Note: "required by the protection of main"},
		{Name: "e2e", State: githost.CheckExpected, Kind: "required", Note: "required by the protection of main"},
	}, list("main"))
	none, err := c.Checks(t.Context(), "acme/shop", "none", strings.Repeat("a", 40))
	require.NoError(t, err)
	require.Empty(t, none)
}

func TestGlob(t *testing.T) {
	t.Parallel()
	for _, k := range []struct {
		pattern, name string
		fits          bool
	}{
		{"build", "build", true}, {"build", "builds", false}, {"*", "CI / build (push)", true}, {"CI / *", "CI / a / b (push)", true}, {"CI / *", "ci / a", false},
		{"go?", "go1", true}, {"go?", "go", false}, {"**/x", "a/b/x", true}, {"{unit,e2e} tests", "e2e tests", true}, {"{unit,e2e} tests", "unit,e2e tests", false},
		{"go[12]", "go2", true}, {"go[!12]", "go2", false}, {"go[!12]", "go3", true}, {"a.b(c)", "a.b(c)", true}, {"a.b", "axb", false}, {"[z-a]", "[z-a]", true}, {"[z-a]", "z", false},
	} {
		require.Equal(t, k.fits, glob(k.pattern)(k.name), "%s %s", k.pattern, k.name)
	}
}

// The newest status of each context and account counts, on whichever page it is; a warning passes, with a note. Gitea's
// own workflows have no account, and who has one is not theirs, whatever page the status leads to.
func TestStatusPages(t *testing.T) {
	t.Parallel()
	pages := map[string]string{
		"1": `{"id":1,"context":"a","status":"failure","target_url":"/acme/shop/actions/runs/3/jobs/5"},{"id":5,"context":"a","status":"success","target_url":"/acme/shop/actions/runs/4","creator":{"id":7,"login":"mallory"}},{"id":2,"context":"b","status":"warning","description":"old","target_url":"javascript:alert(1)"}`,
		"2": `{"id":4,"context":"a","status":"success","description":"fine","target_url":"/acme/shop/actions/runs/3/jobs/5"},{"id":3,"context":"c","status":"skipped","target_url":"https://ci.example.org/7"}`,
		"3": `{"id":1,"context":"a","status":"failure","target_url":"/acme/shop/actions/runs/3/jobs/5"}`, // nothing new
		"4": `{"id":9,"context":"d","status":"failure"}`,
	}
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/branches/main") {
			fmt.Fprint(w, `{"name":"main","commit":{"id":"a1a1a1a1"}}`)
			return
		}
		fmt.Fprintf(w, `[%s]`, pages[r.URL.Query().Get("page")])
	}))
	t.Cleanup(srv.Close)
	c, err := New(Options{BaseURL: srv.URL, Token: "t", HTTPClient: forgekit.HTTP(0)})
	require.NoError(t, err)
	list, err := c.Checks(t.Context(), "acme/shop", "main", "a1a1a1a1")
	require.NoError(t, err)
	require.Equal(t, []githost.Check{
		{Name: "a", State: githost.CheckPassed, Kind: "status", App: githost.AppActions, Provenance: stage.Provenance{Issuer: "app/actions"}, URL: srv.URL + "/acme/shop/actions/runs/3/jobs/5", Note: "fine"},
		{Name: "a", State: githost.CheckPassed, Kind: "status", Provenance: stage.Provenance{Issuer: "user/mallory"}, URL: srv.URL + "/acme/shop/actions/runs/4"},
		{Name: "b", State: githost.CheckPassed, Kind: "status", Note: "passed with a warning: old"},
		{Name: "c", State: githost.CheckPassed, Kind: "status", URL: "https://ci.example.org/7"},
	}, list)
}
