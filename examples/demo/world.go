package main

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// Secrets of the demonstration; they protect nothing.
const (
	planeToken     = "plane_api_demo"
	planeSecret    = "plane_wh_of_the_demo-of-128-bits"
	githubToken    = "ghp_demo"
	githubSecret   = "demo-webhook-secret-of-128-bits"
	telegramToken  = "42:demo"
	adminToken     = "demo-operator-token-of-128-bits"
	bot            = "b07b07b0-0000-4000-8000-000000000001"
	telegramChatID = "1"
)

// project is a repository and its place on the board.
type project struct {
	prefix, repo string
	self         bool // it hosts the service: deployments are confirmed by hand
	watched      bool // it has an address with its health
	id           string
}

// world is everything outside the service.
type world struct {
	o        options
	dir      string
	board    *planetest.Server
	host     *forgetest.Server
	chat     *telegramtest.Server
	projects []*project
	page     net.Listener
	replicas []*replica
	service  string       // address of the service: the replica's, or the balancer's
	balancer net.Listener // nil for a single replica
	turn     atomicInt
	schema   string // of the tables, when the database is PostgreSQL
	began    time.Time
	looker   looker
}

func listen(ctx context.Context, address string) (net.Listener, error) {
	var lc net.ListenConfig
	return lc.Listen(ctx, "tcp", address)
}

// newWorld makes repositories, board, host and chat.
func newWorld(ctx context.Context, o options, dir string) (*world, error) {
	w := &world{
		o: o, dir: dir, began: time.Now(), schema: fmt.Sprintf("signalbox_demo_%d", time.Now().UnixNano()),
		chat: telegramtest.New(telegramToken),
		// A self-hosted Plane whose operator has raised the limit (API_KEY_RATE_LIMIT=6000/minute): the demo
		// plays an hour of work in a minute, and looks at its boards each second.
		board: planetest.New(planetest.Options{
			Workspace: "demo", RateLimit: 6000, Seed: o.seed,
			Tokens: map[string]string{planeToken: bot}, Secret: planeSecret,
		}),
		projects: []*project{
			{prefix: "GPX", repo: "acme/gpxflow"},
			{prefix: "SHP", repo: "acme/shop", self: true},
			{prefix: "OPS", repo: "acme/ops", watched: true},
		},
	}
	w.board.AddMember(planetest.Member{ID: planetest.Human, Name: "Kim", Role: planetest.Normal})
	w.host = forgetest.NewGitHub(forgetest.Options{Token: githubToken, Secret: githubSecret, Seed: o.seed, CI: w.ci})
	w.host.SetFaults(fakehttp.Faults{HookLost: o.lose})
	w.board.SetFaults(fakehttp.Faults{HookLost: o.lose})
	var err error
	if w.page, err = listen(ctx, fmt.Sprintf("127.0.0.1:%d", o.port)); err != nil {
		return w, err
	}
	if err := w.addresses(ctx); err != nil {
		return w, err
	}
	w.board.SetHookURL("http://" + w.service + "/webhooks/tracker")
	w.host.SetHookURL("http://" + w.service + "/webhooks/github")
	for _, p := range w.projects {
		p.id = w.board.AddProject(p.prefix, planetest.StandardStates()...)
		bare := w.bare(p)
		if err := errors.Join(w.seed(ctx, bare, p), w.host.AddRepo(p.repo, bare)); err != nil {
			return w, err
		}
	}
	return w, errors.Join(os.MkdirAll(w.outer(), 0o700), w.registry())
}

// addresses gives every replica an address and a data directory.
func (w *world) addresses(ctx context.Context) error {
	for n := range w.o.replicas {
		free, err := listen(ctx, "127.0.0.1:0")
		if err != nil {
			return err
		}
		r := &replica{address: free.Addr().String(), data: filepath.Join(w.dir, "data")}
		if n > 0 {
			r.data += fmt.Sprint("-", n+1)
		}
		w.replicas = append(w.replicas, r)
		if err := free.Close(); err != nil {
			return err
		}
	}
	w.service = w.replicas[0].address
	if w.o.replicas == 1 {
		return nil
	}
	var err error
	if w.balancer, err = listen(ctx, "127.0.0.1:0"); err == nil {
		w.service = w.balancer.Addr().String()
	}
	return err
}

// outer returns what agents may change beside their checkouts: they deploy to there.
func (w *world) outer() string { return filepath.Join(w.dir, "outer") }

// strikes is a file that agents and hooks of the git host leave where the server is to be killed.
func (w *world) strikes() string { return filepath.Join(w.outer(), "strike") }

// origin is where the git host keeps its repositories.
func (w *world) origin() string { return filepath.Join(w.dir, "origin") }

func (w *world) bare(p *project) string {
	return filepath.Join(w.origin(), strings.ReplaceAll(p.repo, "/", "--")+".git")
}

// close ends everything.
func (w *world) close() {
	w.board.Close()
	w.host.Close()
	for _, l := range []net.Listener{w.page, w.balancer} {
		if l != nil {
			_ = l.Close()
		}
	}
}

// scaled is a span of the demonstration's time.
func (w *world) scaled(d time.Duration) time.Duration {
	return time.Duration(float64(d) / w.o.speed)
}

// ci is the git host's continuous integration: it looks whether the code builds.
func (w *world) ci(p forgetest.Push) forgetest.Outcome {
	after := w.scaled(1200 * time.Millisecond)
	item := strings.Join(strings.SplitN(strings.TrimPrefix(p.Branch, "feature/"), "-", 3)[:2], "-")
	body, err := p.File("src/" + strings.ToLower(item) + ".txt")
	switch {
	case err != nil && isUndo(p.Branch):
		return forgetest.Outcome{Conclusion: "success", Title: "built and tested without it", After: after}
	case err != nil:
		return forgetest.Outcome{Conclusion: "failure", Title: "there is no code", After: after}
	case strings.Contains(string(body), "does not build"):
		return forgetest.Outcome{Conclusion: "failure", Title: "src/" + strings.ToLower(item) + ".txt does not build", After: after}
	}
	return forgetest.Outcome{Conclusion: "success", Title: "built and tested", After: after}
}

// seed makes a bare repository with a first commit on main.
func (w *world) seed(ctx context.Context, bare string, p *project) error {
	const begin = `set -e
mkdir -p "$(dirname "$1")"
git init --quiet --bare --initial-branch=main "$1"
git clone --quiet "$1" "$1.seed" 2>/dev/null
cd "$1.seed"
git checkout --quiet -B main
mkdir -p .github/workflows src
echo "# $2" >README.md
printf %s "$3" >.github/workflows/ci.yml
echo "the beginning" >src/begin.txt
git add --all
git commit --quiet -m "Begin"
git push --quiet origin main
cd / && rm -rf "$1.seed"
`
	if err := script(ctx, bare, begin, bare, p.repo, workflow); err != nil || w.o.kills == 0 {
		return err
	}
	strikes := fmt.Sprintf("#!/bin/sh\n[ $(($(od -An -N1 -tu1 /dev/urandom) %% 2)) = 0 ] && : >%s && sleep 0.05\n:\n", w.strikes())
	hook := func(name string) error { // the server is killed within some of its pushes
		return os.WriteFile(filepath.Join(bare, "hooks", name), []byte(strikes), 0o700) //nolint:gosec // it is run
	}
	return errors.Join(hook("pre-receive"), hook("post-receive"))
}

// workflow is how every repository has its CI configured.
const workflow = "on: [push, pull_request]\n"

// script runs a shell script as a person who works in a bare repository's folder.
func script(ctx context.Context, bare, text string, args ...string) error {
	cmd := exec.CommandContext(ctx, "sh", append([]string{"-c", text, "sh"}, args...)...)
	cmd.Env = []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(bare), "GIT_CONFIG_NOSYSTEM=1", "GIT_CONFIG_GLOBAL=/dev/null",
		"GIT_AUTHOR_NAME=Kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=Kim", "GIT_COMMITTER_EMAIL=kim@example.org",
	}
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("%s: %w: %s", strings.Join(args, " "), err, out)
	}
	return nil
}

// registry writes the project registry.
func (w *world) registry() error {
	var b strings.Builder
	fmt.Fprintf(&b, "people: [{name: kim@example.org, telegram: %d}]\nprojects:\n", kim.ID)
	for _, p := range w.projects {
		fmt.Fprintf(&b, "  - tracker_project: %q\n    repo: %s\n    clone_url: %q\n    prefix: %s\n    self_hosting: %t\n    web_url: %q\n",
			p.id, p.repo, w.bare(p), p.prefix, p.self, "https://github.example.org/"+p.repo)
		b.WriteString("    agents:\n")
		for _, role := range stage.Roles() {
			fmt.Fprintf(&b, "      %s: {model: %s, timeout: 90s}\n", role, models()[string(role)])
		}
		if p.watched {
			fmt.Fprintf(&b, "    monitor: [\"http://%s/health/%s\"]\n", w.page.Addr(), p.prefix)
		}
	}
	return os.WriteFile(filepath.Join(w.dir, "projects.yaml"), []byte(b.String()), 0o600)
}

// jobTTL is how long a replica's claims live without a heartbeat.
const jobTTL = 3 * time.Second

// environ is the environment of a replica's process.
func (w *world) environ(r *replica) []string {
	base := "http://" + w.page.Addr().String()
	scaled := func(d, least time.Duration) string { return max(w.scaled(d), least).String() }
	settings := map[string]string{
		"LINKS": w.links(), "DATA_DIR": r.data, "LISTEN": r.address, "PUBLIC_URL": "http://" + w.service, "ADMIN_TOKEN": adminToken,
		"DATABASE_URL": w.o.database, "DATABASE_SCHEMA": w.schema, "PROJECTS": filepath.Join(w.dir, "projects.yaml"),
		"MAX_CONCURRENCY": "4", "LOG_LEVEL": "debug", "POLL": "50ms", "JOB_TTL": jobTTL.String(),
		"AGENT": "/proc/self/exe agent", "AGENT_ENV": "DEMO_*", "JAIL_WRITE": w.outer(), "AGENT_TERM_GRACE": "1s",
		"AGENT_TIMEOUT": "90s", "AGENT_RETRY_DELAYS": w.scaled(2*time.Second).String() + ",5s,5s", "STATUS_DEFER": "40ms",
		"RECONCILE_INTERVAL": scaled(5*time.Second, 500*time.Millisecond),
		"CI_POLL":            scaled(time.Second, 100*time.Millisecond), // ten times that while webhooks come
		"SERIAL_GATE_REPOS":  "*",
		"MERGE_DEFER_DELAY":  scaled(10*time.Second, 500*time.Millisecond),
		"MERGE_DEFER_MAX":    "35",
		"MONITOR_WINDOW":     scaled(5*time.Second, time.Second),
		"MONITOR_INTERVAL":   scaled(500*time.Millisecond, 100*time.Millisecond),
		"TRACKER":            "plane",
		"GITHUB_URL":         base + "/github", "GITHUB_TOKEN": githubToken, "GITHUB_WEBHOOK_SECRET": githubSecret,
		"PLANE_URL": base + "/plane", "PLANE_WORKSPACE": "demo", "PLANE_TOKEN": planeToken, "PLANE_WEBHOOK_SECRET": planeSecret,
		"TELEGRAM_URL": base + "/telegram", "TELEGRAM_TOKEN": telegramToken, "TELEGRAM_CHAT_ID": telegramChatID,
	}
	if kind := os.Getenv("ORCH_JAIL"); kind != "" {
		settings["JAIL"] = kind
	}
	env := []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + w.dir, "ORCH_CONFIG=none",
		"DEMO_DIR=" + w.outer(), fmt.Sprintf("DEMO_SPEED=%g", w.o.speed), "DEMO_SERVICE=" + w.service,
	}
	if w.o.kills > 0 {
		env = append(env, "DEMO_STRIKES="+w.strikes())
	}
	for name, value := range settings {
		env = append(env, "ORCH_"+name+"="+value)
	}
	return env
}

// handler serves the outside world: the page, and the three services.
func (w *world) handler(k *keeper) http.Handler {
	mux := http.NewServeMux()
	for name, service := range map[string]http.Handler{"/plane": w.board, "/github": w.host, "/telegram": w.chat} {
		mux.Handle(name+"/", http.StripPrefix(name, k.struck(service)))
	}
	mux.HandleFunc("GET /health/{project}", w.health)
	w.pages(mux)
	tracks(mux, w.o.seed)
	known, replicas := web.OnlyHosts(mux), w.balance()
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if r.Host == w.service {
			replicas.ServeHTTP(rw, r)
			return
		}
		known.ServeHTTP(rw, r)
	})
}
