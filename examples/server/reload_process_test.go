package main

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
)

// hangUp has the server read its registry again, as kill -HUP does, and waits until the log
// has some words once more.
func (w *world) hangUp(words string) {
	w.Helper()
	before := strings.Count(w.read("server.log"), words)
	cmd, _ := w.process()
	require.NoError(w, cmd.Process.Signal(syscall.SIGHUP))
	w.until("the log says: "+words, func() bool { return strings.Count(w.read("server.log"), words) > before })
}

// The registry of a server that runs: a repository is added, a bad file changes nothing, a
// webhook's secret is replaced, a repository goes and comes back.
func TestReloadOfTheRegistry(t *testing.T) {
	const read, wrong = "the project registry was read again", "the project registry is wrong"
	secret := filepath.Join(t.TempDir(), "hook")
	w := newWorld(t, map[string]string{"AGENT_ENV": "WORLD_DIR", "WORLD_HOOK_FILE": secret}, &place{prefix: "GPX"}, &place{prefix: "SHP"})
	both := w.read("projects.yaml")
	one := both[:strings.Index(both, "  - {tracker_project: \""+w.places["SHP"].id)]
	process, _ := w.process()

	w.write("projects.yaml", one)
	w.hangUp(read)
	added := w.cardIn("SHP", "begins when its board is known", "To Analyse")
	w.write("projects.yaml", both+"    wip: 3\n")
	w.hangUp(wrong)
	require.Equal(t, http.StatusUnprocessableEntity, w.post("/admin/reload"))
	require.Contains(t, w.checks()["registry file"], "projects.yaml:4: ")
	known := w.cardIn("GPX", "works by the registry of before", "To Analyse")
	w.approve(known)
	require.Zero(t, w.task(added).ID)

	w.write("projects.yaml", both)
	w.hangUp(read)
	require.Equal(t, "ok", w.checks()["registry file"])
	w.approve(added)
	w.until("both are done", func() bool { return w.isOver(known) && w.isOver(added) })
	require.Contains(t, w.page("/dashboard/repos"), "acme/shp")

	w.write("projects.yaml", strings.Replace(both, "repo: acme/shp,", "repo: acme/shp, githost_secret_env: [WORLD_HOOK],", 1))
	_, errs, code := w.command("reload")
	require.Equal(t, 1, code)
	require.Contains(t, errs, "WORLD_HOOK cannot be read from the file")
	const first, second = "Secret-Number-One-of-128-bits", "Secret-Number-Two-of-128-bits"
	for _, c := range []struct {
		secret  string
		answers []int // to the first, the second and the common one
	}{{first, []int{200, 401, 403}}, {second, []int{401, 200, 403}}} {
		require.NoError(t, os.WriteFile(secret, []byte(c.secret), 0o600))
		out, errs, code := w.command("reload")
		require.Zero(t, code, errs)
		require.Equal(t, "projects: 2\n", out)
		require.Equal(t, c.answers, []int{w.ping(first), w.ping(second), w.ping(w.env["GITHUB_WEBHOOK_SECRET"])})
	}
	item := w.cardIn("GPX", "says "+second, "To Analyse")
	w.analysed(item)
	require.Equal(t, "says "+strings.Repeat("*", len(second)), w.task(item).Title)

	w.write("projects.yaml", strings.Replace(one, "repo: acme/gpx,", "repo: acme/moved,", 1))
	out, errs, code := w.command("reload")
	require.Zero(t, code, errs)
	require.Equal(t, "projects: 1\nadded: acme/moved\nremoved: acme/gpx, acme/shp\n", out)
	w.until("readiness warns", func() bool {
		return strings.HasPrefix(w.checks()["registry"], "warning: 1 live task belongs to a board or repository that is not registered (of acme/gpx): ")
	})
	w.move(item, "Approved")
	w.write("projects.yaml", both)
	require.Equal(t, http.StatusOK, w.post("/admin/reload"))
	w.over(item)
	w.until("nothing is warned of", func() bool { return w.checks()["registry"] == "ok" })
	now, _ := w.process()
	require.Equal(t, process.Process.Pid, now.Process.Pid)
	require.NoError(t, now.Process.Signal(syscall.Signal(0)), "it has run all the time")
}

// ping is the answer to a webhook of acme/shp, signed with a secret.
func (w *world) ping(secret string) int {
	w.Helper()
	body := `{"ref":"refs/heads/main","before":"` + strings.Repeat("a", 40) + `","after":"` + strings.Repeat("b", 40) + `","repository":{"full_name":"acme/shp"},"sender":{"login":"kim"}}`
	mac := hmac.New(sha256.New, []byte(secret))
	mac.Write([]byte(body))
	req, err := http.NewRequestWithContext(w.Context(), http.MethodPost, "http://"+w.addr+"/webhooks/githost", strings.NewReader(body))
	require.NoError(w, err)
	for name, value := range map[string]string{"Content-Type": "application/json", "X-GitHub-Event": "push", "X-GitHub-Delivery": secret, "X-Hub-Signature-256": "sha256=" + hex.EncodeToString(mac.Sum(nil))} {
		req.Header.Set(name, value)
	}
	resp, err := http.DefaultClient.Do(req)
	require.NoError(w, err)
	require.NoError(w, resp.Body.Close())
	return resp.StatusCode
}
