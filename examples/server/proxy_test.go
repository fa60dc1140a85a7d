package main

import (
	"bufio"
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"encoding/pem"
	"io"
	"math/big"
	"net"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// proxied is a real server behind a real proxy with a recipe of packaging.
type proxied struct {
	*doer
	client *http.Client // comes from 127.0.0.2
	plain  string       // the proxy's address without TLS
	prefix string       // of the paths that it serves
}

const (
	site        = "https://box.example.org"
	proxySecret = "0f1e2d3c4b5a69788796a5b4c3d2e1f0"
	nobody      = "127.0.0.1:1" // signs people in
)

// free is an address of this machine that nothing listens at.
func free(t *testing.T) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer l.Close()
	return l.Addr().String()
}

// certify writes a certificate for box.example.org that is thrown away.
func certify(t *testing.T, dir string) *x509.CertPool {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	require.NoError(t, err)
	about := &x509.Certificate{SerialNumber: big.NewInt(1), DNSNames: []string{"box.example.org"}, NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true}
	der, err := x509.CreateCertificate(rand.Reader, about, about, key.Public(), key)
	require.NoError(t, err)
	secret, err := x509.MarshalPKCS8PrivateKey(key)
	require.NoError(t, err)
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	require.NoError(t, os.WriteFile(filepath.Join(dir, "cert.pem"), cert, 0o600))
	require.NoError(t, os.WriteFile(filepath.Join(dir, "key.pem"), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: secret}), 0o600))
	pool := x509.NewCertPool()
	require.True(t, pool.AppendCertsFromPEM(cert))
	return pool
}

// behind starts a server, and a proxy before it with a recipe in which addresses are the test's.
func behind(t *testing.T, recipe, gatekeeper string, env ...string) *proxied {
	t.Helper()
	name, _, _ := strings.Cut(strings.ToLower(recipe), "-")
	name = map[string]string{"nginx": "nginx", "nginx.conf": "nginx", "caddyfile": "caddy"}[name]
	program, err := exec.LookPath(name)
	if err != nil {
		t.Skip(name + " is not installed: apt-get install " + map[string]string{"nginx": "nginx-light", "caddy": "caddy"}[name])
	}
	prefix := ""
	if strings.Contains(recipe, "path") {
		prefix = "/box"
	}
	body := contents(t, "packaging/"+recipe)
	trusted, serve, as := "127.0.0.1/32", "signalbox serve", "root"
	var socket, uid string
	if strings.Contains(string(body), socketKind) {
		socket, uid = openSocket(t)
		trusted, serve, as = "uid:"+uid, "ORCH_LISTEN="+socketKind+socket+" signalbox serve", proxyUser
	}
	if gatekeeper != nobody {
		env = append(env, "ORCH_PROXY_USERS_FROM="+trusted)
		if socket == "" {
			env = append(env, "ORCH_PROXY_SECRET="+proxySecret)
		}
	}
	d := settled(t, append(env, "ORCH_HOSTS=box.example.org", "ORCH_PUBLIC_URL="+site+prefix, "ORCH_TRUSTED_PROXIES="+trusted)...)
	d.types("export ORCH_GITHUB_TOKEN=of-nobody ORCH_GITHUB_WEBHOOK_SECRET=github-webhook-secret-of-128-bits") // webhooks are received
	d.serves(serve)
	d.parts.dir = filepath.Join(d.home, "app")
	d.data = filepath.Join(d.parts.dir, "data")
	dir := t.TempDir()
	pool, secure, open := certify(t, dir), free(t), free(t)
	_, port, _ := net.SplitHostPort(secure)
	text := strings.NewReplacer(
		"127.0.0.1:8080", d.addr, "127.0.0.1:4180", gatekeeper, "/run/signalbox/http", socket, "/etc/ssl/signalbox/", dir+"/", "listen 443 ssl;", "listen "+secure+" ssl;", "listen 80;", "listen "+open+";",
		"\nbox.example.org {", "\nhttps://box.example.org:"+port+" {\n\tbind 127.0.0.1\n\ttls "+dir+"/cert.pem "+dir+"/key.pem",
	).Replace(string(body))
	args := []string{"-p", dir, "-c", "main.conf", "-e", "error.log"}
	if name == "caddy" {
		text = "{\n\tadmin off\n\tauto_https disable_redirects\n}\n" + text
		args = []string{"run", "--adapter", "caddyfile", "--config", "main.conf"}
	} else {
		text = "daemon off; pid nginx.pid; user " + as + ";\nevents {}\nhttp { access_log off; client_body_temp_path b; proxy_temp_path p; fastcgi_temp_path f; uwsgi_temp_path u; scgi_temp_path s;\n" + text + "}\n"
		if os.Geteuid() != 0 {
			text = strings.Replace(text, " user root;", "", 1)
		}
	}
	put(t, text, dir, "main.conf")
	cmd, said := exec.Command(program, args...), &lines{}
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, []string{"HOME=" + dir, "PATH=" + os.Getenv("PATH"), "SIGNALBOX_PROXY_SECRET=" + proxySecret}, said, said
	require.NoError(t, cmd.Start())
	t.Cleanup(func() {
		_ = cmd.Process.Signal(syscall.SIGTERM)
		_ = cmd.Wait() // by the signal
		if t.Failed() {
			t.Log(said.String())
		}
	})
	dialer := &net.Dialer{LocalAddr: &net.TCPAddr{IP: net.IPv4(127, 0, 0, 2)}}
	jar, err := cookiejar.New(nil)
	require.NoError(t, err)
	p := &proxied{doer: d, plain: open, prefix: prefix, client: &http.Client{
		Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: pool, ServerName: "box.example.org"}, DialContext: func(ctx context.Context, network, _ string) (net.Conn, error) {
			return dialer.DialContext(ctx, network, secure)
		}},
	}}
	p.until("the proxy answers", func() bool {
		resp, err := p.client.Get(site + prefix + "/healthz")
		if err == nil {
			_ = resp.Body.Close()
		}
		return err == nil && resp.StatusCode == http.StatusOK
	})
	return p
}

// socketKind begins the address of a server at a unix socket.
const socketKind = "unix:"

// proxyUser names the account of Debian's nginx.
const proxyUser = "www-data"

// openSocket is the path of a socket that other users reach, and the number of the proxy's.
func openSocket(t *testing.T) (path, uid string) {
	t.Helper()
	u, err := user.Lookup(proxyUser)
	if err != nil || os.Geteuid() != 0 {
		t.Skip("nginx has to run as another user than the server: be root, where there is " + proxyUser)
	}
	dir, err := os.MkdirTemp("", "signalbox-socket-") //nolint:usetesting // what is below TempDir is closed to others
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o755))
	return filepath.Join(dir, "http"), u.Uid
}

// through makes requests at a unix socket.
func through(socket string) *http.Client {
	return &http.Client{Transport: &http.Transport{DialContext: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return new(net.Dialer).DialContext(ctx, "unix", socket)
	}}}
}

// send makes a request as a browser does.
func (p *proxied) send(method, path string, form url.Values, header map[string]string) (*http.Response, string) {
	p.Helper()
	req, err := http.NewRequestWithContext(p.Context(), method, site+p.prefix+path, strings.NewReader(form.Encode()))
	require.NoError(p, err)
	if form != nil {
		req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		req.Header.Set("Origin", site)
		req.Header.Set("Sec-Fetch-Site", "same-origin")
	}
	for name, value := range header {
		req.Header.Set(name, value)
	}
	resp, err := p.client.Do(req)
	require.NoError(p, err)
	body, err := io.ReadAll(resp.Body)
	require.NoError(p, err)
	require.NoError(p, resp.Body.Close())
	return resp, string(body)
}

// The recipes for proxies hold what they say, in real ones: a cookie for https alone, the
// address of the client, streams that are not held back, webhooks that get through.
func TestProxies(t *testing.T) {
	if testing.Short() {
		t.Skip("make long plays it")
	}
	t.Parallel()
	for _, recipe := range []string{"nginx.conf", "nginx-path.conf", "Caddyfile"} {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			p := behind(t, recipe, nobody)
			resp, _ := p.send(http.MethodGet, "/tasks", nil, map[string]string{"X-Forwarded-For": "127.0.0.1", "X-Forwarded-User": "kim"})
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "nobody is this machine itself")

			token := p.token()
			resp, _ = p.send(http.MethodPost, "/dashboard/session", url.Values{"token": {token}}, map[string]string{"X-Forwarded-For": "203.0.113.9"})
			require.Equal(t, http.StatusSeeOther, resp.StatusCode)
			require.Len(t, resp.Cookies(), 1)
			cookie := resp.Cookies()[0]
			require.Equal(t, "__Host-signalbox_session", cookie.Name)
			require.True(t, cookie.Secure)
			for _, page := range []string{"/dashboard/", "/dashboard/queue", "/dashboard/journal", "/dashboard/session"} {
				resp, body := p.send(http.MethodGet, page, nil, nil)
				require.Equal(t, http.StatusOK, resp.StatusCode, page)
				require.NotRegexp(t, `(href|src|action)="/`, body, "%s leads to where it is served", page)
			}
			for _, from := range []string{"/", "/dashboard", "/map"} {
				resp, _ := p.send(http.MethodGet, from, nil, nil)
				to, err := resp.Location()
				require.NoError(t, err, from)
				require.True(t, strings.HasPrefix(to.Path, p.prefix+"/"), "%s leads to %s", from, to)
			}
			said := p.types("signalbox session list")
			require.Contains(t, said, "127.0.0.2")
			require.NotContains(t, said, "203.0.113.9")

			req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, site+p.prefix+"/events", nil)
			require.NoError(t, err)
			req.Header.Set("Authorization", "Bearer "+token)
			stream, err := p.client.Do(req)
			require.NoError(t, err)
			defer stream.Body.Close()
			require.Equal(t, http.StatusOK, stream.StatusCode)
			p.begins()
			line, err := bufio.NewReader(stream.Body).ReadString('\n')
			require.NoError(t, err, "an event comes while the stream is open")
			require.NotEmpty(t, strings.TrimSpace(line))

			resp, _ = p.send(http.MethodPost, "/webhooks/githost", url.Values{"a": {strings.Repeat("x", 2<<20)}}, nil)
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "a large body gets to the signature")
			if recipe == "nginx.conf" {
				req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, "http://"+p.plain+"/webhooks/githost", nil)
				require.NoError(t, err)
				req.Host = "box.example.org"
				resp, err := http.DefaultTransport.RoundTrip(req)
				require.NoError(t, err)
				require.NoError(t, resp.Body.Close())
				require.Equal(t, []any{http.StatusPermanentRedirect, site + "/webhooks/githost"}, []any{resp.StatusCode, resp.Header.Get("Location")})
			}
		})
	}
}

// A proxy that signs people in names them to the server, and nobody else does.
func TestForwardAuth(t *testing.T) {
	if testing.Short() {
		t.Skip("make long plays it")
	}
	t.Parallel()
	for _, recipe := range []string{"nginx-forward-auth.conf", "Caddyfile-forward-auth"} {
		t.Run(recipe, func(t *testing.T) {
			t.Parallel()
			gatekeeper := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
				if c, err := r.Cookie("signed"); err != nil || c.Value != "in" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				w.Header().Set("X-Auth-Request-Email", "ann@example.org")
				w.Header().Set("X-Auth-Request-Groups", "devs,staff")
				w.WriteHeader(http.StatusAccepted)
			}))
			t.Cleanup(gatekeeper.Close)
			p := behind(t, recipe, gatekeeper.Listener.Addr().String(), "ORCH_PROXY_USER_HEADER=X-Forwarded-User", "ORCH_PROXY_GROUPS_HEADER=X-Forwarded-Groups",
				"ORCH_ACCESS_ROLES=devs=operator@local/app")
			resp, _ := p.send(http.MethodGet, "/tasks", nil, map[string]string{"X-Forwarded-User": "ann@example.org", "X-Forwarded-Groups": "devs"})
			require.Equal(t, http.StatusFound, resp.StatusCode, "who is not signed in is sent away")
			require.Contains(t, resp.Header.Get("Location"), "/oauth2/start?rd=/tasks")
			signed := map[string]string{"Cookie": "signed=in", "X-Forwarded-Groups": "admins"}
			resp, _ = p.send(http.MethodGet, "/tasks", nil, signed)
			require.Equal(t, http.StatusOK, resp.StatusCode)
			resp, body := p.send(http.MethodPost, "/admin/reload", nil, signed)
			require.Equal(t, http.StatusForbidden, resp.StatusCode, "the groups are the proxy's")
			require.Contains(t, body, "ann@example.org")
			resp, _ = p.send(http.MethodGet, "/webhooks/../tasks", nil, map[string]string{"X-Forwarded-User": "ann@example.org"})
			require.NotEqual(t, http.StatusOK, resp.StatusCode, "who is not signed in reaches no page by an open path")
			base, client := "http://"+p.addr, http.DefaultClient
			if socket, is := strings.CutPrefix(p.addr, socketKind); is {
				base, client = "http://127.0.0.1", through(socket)
			}
			req, err := http.NewRequestWithContext(t.Context(), http.MethodPost, base+"/tasks/1/stop", nil)
			require.NoError(t, err)
			req.Header.Set("X-Forwarded-User", "ann@example.org")
			req.Header.Set("X-Forwarded-Groups", "devs")
			direct, err := client.Do(req)
			require.NoError(t, err)
			require.NoError(t, direct.Body.Close())
			require.Equal(t, http.StatusUnauthorized, direct.StatusCode, "another user of this machine is no proxy")
			resp, _ = p.send(http.MethodPost, "/webhooks/githost", url.Values{"a": {"b"}}, map[string]string{"X-Forwarded-User": "ann@example.org"})
			require.Equal(t, http.StatusUnauthorized, resp.StatusCode, "a webhook is judged by its signature")
		})
	}
}
