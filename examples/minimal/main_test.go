package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// command runs a program to its end.
func command(t *testing.T, dir, name string, args ...string) string {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), "GIT_CONFIG_GLOBAL="+os.DevNull, "GIT_CONFIG_NOSYSTEM=1", "GOPROXY=off", "GOFLAGS=-mod=mod", "GOWORK=off")
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s %s: %s", name, args, out)
	return string(out)
}

// start runs a program until the test ends, with no way to other machines, and returns the
// process and the file that it logs to.
func start(t *testing.T, dir, name string, args ...string) (*exec.Cmd, string) {
	t.Helper()
	log, err := os.Create(filepath.Join(dir, "log"))
	require.NoError(t, err)
	cmd := exec.CommandContext(t.Context(), name, args...)
	cmd.Dir, cmd.Env, cmd.Stdout, cmd.Stderr = dir, append(os.Environ(), "HTTPS_PROXY=http://127.0.0.1:1", "LISTEN=127.0.0.1:0", "GITHUB_TOKEN=t"), log, log
	cmd.Cancel = func() error { return cmd.Process.Signal(os.Interrupt) } // it ends its own processes of git
	cmd.WaitDelay = 20 * time.Second
	require.NoError(t, cmd.Start())
	t.Cleanup(func() { _ = cmd.Wait(); _ = log.Close() }) // the test may have waited
	return cmd, log.Name()
}

// until waits for a condition.
func until(t *testing.T, log string, is func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(end) {
			said, _ := os.ReadFile(log)
			require.Fail(t, "it does not come to that", "%s", said)
		}
	}
}

// The program of this package fits on a page, starts, answers, and ends when it is told to.
func TestMinimal(t *testing.T) {
	t.Parallel()
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, "main.go", nil, 0)
	require.NoError(t, err)
	main, _ := parsed.Scope.Lookup("main").Decl.(*ast.FuncDecl)
	require.LessOrEqual(t, files.Position(main.End()).Line-files.Position(main.Pos()).Line+1, 40)

	dir := t.TempDir()
	program := filepath.Join(dir, "minimal")
	command(t, ".", "go", "build", "-o", program, ".")
	require.NoError(t, os.WriteFile(filepath.Join(dir, "projects.yaml"), []byte("projects:\n  - {tracker_project: acme/app, repo: acme/app, clone_url: \"https://github.com/acme/app.git\", prefix: APP}\n"), 0o600))
	cmd, log := start(t, dir, program)
	var address []string
	until(t, log, func() bool {
		said, err := os.ReadFile(log)
		require.NoError(t, err)
		address = regexp.MustCompile(`address=(127\S+)`).FindStringSubmatch(string(said))
		return address != nil
	})
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/readyz": http.StatusOK, "/dashboard/": http.StatusOK, "/webhooks/issues": http.StatusMethodNotAllowed} {
		resp, err := http.Get("http://" + address[1] + path)
		require.NoError(t, err)
		require.NoError(t, resp.Body.Close())
		require.Equal(t, want, resp.StatusCode, path)
	}
	require.NoError(t, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(t, cmd.Wait())
}

// A module of its own, with a tracker of its own in 60 lines, takes a card to Done.
func TestEmbedder(t *testing.T) {
	t.Parallel()
	root, err := filepath.Abs("../..")
	require.NoError(t, err)
	body, err := os.ReadFile("../embedder/main.go")
	require.NoError(t, err)
	require.LessOrEqual(t, strings.Count(string(body), "\n"), 60)
	doc, err := os.ReadFile("../../docs/embedding.md")
	require.NoError(t, err)
	require.Contains(t, string(doc), "```go\n"+string(body)+"```\n")
	sums, err := os.ReadFile("../../go.sum")
	require.NoError(t, err)
	dir := t.TempDir()
	for name, text := range map[string]string{
		"module/main.go": string(body), "module/go.sum": string(sums),
		"module/go.mod":                    "module embedder.example.org\n\ngo 1.26\n\nrequire github.com/signalbox-dev/signalbox v0.0.0\n\nreplace github.com/signalbox-dev/signalbox => " + root + "\n",
		"seed/README":                      "read me\n",
		"cards/to_analyse/42 Faster tiles": "The map is slow.\n",
	} {
		require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(dir, name)), 0o750))
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	command(t, filepath.Join(dir, "module"), "go", "build", "-o", "../embedder", ".")
	command(t, dir, "git", "init", "--quiet", "--bare", "--initial-branch=main", "app.git")
	seed := filepath.Join(dir, "seed")
	command(t, seed, "git", "init", "--quiet", "--initial-branch=main")
	command(t, seed, "git", "add", "--all")
	command(t, seed, "git", "-c", "user.name=kim", "-c", "user.email=kim@example.org", "commit", "--quiet", "--message=begin")
	command(t, seed, "git", "push", "--quiet", filepath.Join(dir, "app.git"), "main")

	_, log := start(t, dir, filepath.Join(dir, "embedder"), filepath.Join(dir, "app.git"), "127.0.0.1:0")
	at := func(status string) string { return filepath.Join(dir, "cards", status, "42 Faster tiles") }
	stands := func(status string) func() bool {
		return func() bool { _, err := os.Stat(at(status)); return err == nil }
	}
	until(t, log, stands("in_review"))
	require.NoError(t, os.Mkdir(filepath.Join(dir, "cards", "approved"), 0o750))
	require.NoError(t, os.Rename(at("in_review"), at("approved")))
	until(t, log, stands("done"))
	landed := command(t, filepath.Join(dir, "app.git"), "git", "ls-tree", "-r", "--name-only", "main")
	for _, file := range []string{"README", "requirements.md", "design.md", "rehearsal-APP-42.md", "test-report.md"} {
		require.Contains(t, landed, file)
	}
}
