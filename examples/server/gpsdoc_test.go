package main

import (
	"log/slog"
	"net/http/httptest"
	"os"
	"os/exec"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/app"
)

// TestTracksDocument runs every command of docs/gps.md, in order, against the
// server, and compares what it prints. In the document … stands for anything.
func TestTracksDocument(t *testing.T) {
	if _, err := exec.LookPath("curl"); err != nil {
		t.Skip("curl is missing: the commands of docs/gps.md are not run")
	}
	environment(t)
	t.Setenv("ORCH_ADMIN_TOKEN", "the-operators-token-of-128-bits")
	settings, err := app.Load(os.Environ())
	require.NoError(t, err)
	service, err := app.Open(t.Context(), settings, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	defer service.Close()
	srv := httptest.NewServer(service.Handler)
	defer srv.Close()
	const documented = "http://localhost:8080"
	here := strings.NewReplacer(documented, srv.URL, "/tmp/", t.TempDir()+"/") // others may run the same commands
	text := contents(t, "../../docs/gps.md")
	ran := map[string]bool{}
	for _, block := range regexp.MustCompile("(?s)```console\n(.*?)```").FindAllStringSubmatch(string(text), -1) {
		for _, step := range strings.Split("\n"+block[1], "\n$ ")[1:] {
			command, want, _ := strings.Cut(step, "\n")
			cmd := exec.CommandContext(t.Context(), "sh", "-c", here.Replace(command))
			cmd.Dir = "../.."
			var errs strings.Builder
			cmd.Stderr = &errs
			out, err := cmd.Output()
			got := string(out)
			require.NoError(t, err, "%s\n%s\n%s", command, got, errs.String())
			require.Regexp(t, pattern(here.Replace(want)), strings.TrimSpace(strings.ReplaceAll(got, "\r", "")), command)
			require.NoError(t, service.Tracks.Refresh(t.Context()))
			for _, word := range regexp.MustCompile(`/api/gps-tracks[a-z/.-]*|examples/collect|--[a-z-]+`).FindAllString(command, -1) {
				ran[word] = true
			}
		}
	}
	for _, must := range []string{
		"/api/gps-tracks", "/api/gps-tracks/tiles/", "/api/gps-tracks/tiles.json", "/api/gps-tracks/health", "/api/gps-tracks/cache/clear",
		"examples/collect", "--dry-run", "--gc", "--file",
	} {
		require.True(t, ran[must], "docs/gps.md shows no command with %s", must)
	}
}

// pattern is a text in which … stands for anything and blanks for blanks.
func pattern(want string) string {
	quoted := regexp.QuoteMeta(strings.TrimSpace(want))
	quoted = strings.ReplaceAll(quoted, "…", "(?s:.*?)")
	return "^" + regexp.MustCompile(`[ \t]+`).ReplaceAllString(quoted, `[ \t]+`) + "$"
}
