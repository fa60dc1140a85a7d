//go:build linux

package egress_test

import (
	"context"
	"encoding/pem"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/agentcli"
	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/internal/gittest"
	"github.com/signalbox-dev/signalbox/internal/jail/jailtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// registry is a host that serves a file, a module of Go, and a repository; it is called by a
// name, because nobody goes to 127.0.0.1 by a proxy.
func registry(t *testing.T) (address, ca string) {
	t.Helper()
	dir := t.TempDir()
	write := func(name, body string) {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o755))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(body), 0o644))
	}
	write("x", "fetched")
	write("example.com/m/@v/v1.0.0.info", `{"Version":"v1.0.0"}`)
	write("example.com/m/@v/v1.0.0.mod", "module example.com/m\n")
	for _, args := range [][]string{
		{"init", "--quiet", "--bare", "repo.git"}, {"clone", "--quiet", "repo.git", "work"},
		{"-C", "work", "commit", "--quiet", "--allow-empty", "-m", "first"},
		{"-C", "work", "push", "--quiet", "origin", "HEAD:main"}, {"-C", "repo.git", "symbolic-ref", "HEAD", "refs/heads/main"}, {"-C", "repo.git", "update-server-info"},
	} {
		gittest.Run(t, dir, args...)
	}
	srv := httptest.NewTLSServer(http.FileServer(http.Dir(dir)))
	t.Cleanup(srv.Close)
	ca = filepath.Join(t.TempDir(), "ca.pem")
	require.NoError(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: srv.Certificate().Raw}), 0o644))
	_, port, err := net.SplitHostPort(hostOf(srv))
	require.NoError(t, err)
	return "registry.example.com:" + port, ca
}

// always is a resolver that has this machine for every name.
type always struct{}

func (always) LookupNetIP(context.Context, string, string) ([]netip.Addr, error) {
	return []netip.Addr{netip.MustParseAddr("127.0.0.1")}, nil
}

// The tools that agents use go by the proxy, in each jail, and none of them comes out otherwise.
// What was refused is in the result, and each host once in the steps.
func TestJailedTools(t *testing.T) {
	for _, tool := range []string{"curl", "git", "go", "node", "npm"} {
		if _, err := exec.LookPath(tool); err != nil {
			jailtest.Skip(t, tool, err)
		}
	}
	at, ca := registry(t)
	t.Setenv("SSL_CERT_FILE", ca)
	t.Setenv("NODE_EXTRA_CA_CERTS", ca)
	_, port, err := net.SplitHostPort(at)
	require.NoError(t, err)
	gateway := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte("gateway")) }))
	t.Cleanup(gateway.Close)
	pass := uint16(gateway.Listener.Addr().(*net.TCPAddr).Port)
	link := &egress.Link{
		Allowed: func(string, stage.Role) []string { return []string{at, "127.0.0.1:" + port} }, Pass: func() []uint16 { return []uint16{pass} },
		Options: egress.Options{Resolver: always{}},
	}
	body := `set -e
export CURL_CA_BUNDLE=$SSL_CERT_FILE GIT_SSL_CAINFO=$SSL_CERT_FILE GOFLAGS=-mod=mod GONOSUMDB=* GONOSUMCHECK=1 GOTOOLCHAIN=local
test "$(curl -fsS https://` + at + `/x)" = fetched
git clone -q https://` + at + `/repo.git && git -C repo log --oneline
GOPROXY=https://` + at + ` go list -m -json example.com/m@v1.0.0
node -e '
const u = new URL(process.env.HTTPS_PROXY), c = require("http").request({host: u.hostname, port: u.port, method: "CONNECT", path: "` + at + `", headers: {"Proxy-Authorization": "Basic " + btoa(u.username + ":" + u.password)}})
c.on("connect", (r, s) => { console.log("node", r.statusCode); process.exit(r.statusCode == 200 ? 0 : 1) }).end()'
npm view --strict-ssl=false --fetch-retries=0 --registry https://` + at + ` nothing 2>&1 | tee npm.log | grep E404 || { cat npm.log; exit 8; }
test "$(curl -fsS http://127.0.0.1:` + gateway.URL[strings.LastIndexByte(gateway.URL, ':')+1:] + `/)" = gateway
curl -sS -m 9 https://evil.example.org/ && exit 3
curl -sS -m 9 https://evil.example.org/again && exit 3
curl -sS -m 9 --noproxy '*' -k https://127.0.0.1:` + port + `/x && exit 4
env -u HTTPS_PROXY -u https_proxy -u ALL_PROXY -u all_proxy git clone -q https://` + at + `/repo.git again && exit 5
echo done`
	for _, kind := range []string{jailtest.Landlock, work.BoxBubblewrap} { // in a container the tools are its image's
		t.Run(kind, func(t *testing.T) {
			pattern := filepath.Join(os.TempDir(), "signalbox-out-*")
			before, err := filepath.Glob(pattern) // another program's, or of one that was killed
			require.NoError(t, err)
			box := jailtest.Box(t, kind, []string{"/proc/self/exe", "agent-shim"})
			j := jailtest.System(box).And(work.Jail{Proxied: true})
			self, err := os.Executable()
			require.NoError(t, err)
			j.Read = append(j.Read, self)
			dir := t.TempDir()
			r, err := agentcli.New(agentcli.Options{
				LogDir: filepath.Join(dir, "logs"), StateDir: filepath.Join(dir, "state"), HomeDir: filepath.Join(dir, "homes"),
				Shim: []string{"/proc/self/exe", "agent-shim"}, Jail: &j, Links: []agentcli.Link{link},
			})
			require.NoError(t, err)
			c := work.Command{TaskID: 1, Run: 1, Attempt: 1, Repo: "acme/app", Role: stage.Developer, Dir: t.TempDir()}
			script := filepath.Join(c.Dir, "agent")
			require.NoError(t, os.WriteFile(script, []byte("#!/bin/bash\n"+body), 0o700))
			c.Jail, c.Agent = work.Jail{Write: []string{c.Dir}}, work.Agent{Use: script, Timeout: 2 * time.Minute}
			res := r.Run(t.Context(), c)
			log, err := os.ReadFile(res.LogPath)
			require.NoError(t, err)
			require.Equal(t, work.ResultOK, res.Kind, "%s\n%s", res.Reason, log)
			require.Equal(t, []work.Refusal{{Host: "evil.example.org:443", Times: 2}}, res.Refused)
			steps, err := filepath.Glob(filepath.Join(dir, "logs", "*", "*.steps*"))
			require.NoError(t, err)
			require.Len(t, steps, 1)
			said, err := os.ReadFile(steps[0])
			require.NoError(t, err)
			require.Equal(t, 1, strings.Count(string(said), "refused: evil.example.org:443"), string(said))
			left, err := filepath.Glob(pattern)
			require.NoError(t, err)
			require.Subset(t, before, left)
		})
	}
}
