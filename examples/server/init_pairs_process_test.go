package main

import (
	"net/http"
	"net/http/httptest"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/internal/planetest"
)

// Whatever pair of board and host init offers, its card goes through every stage. On a board of labels
// a card of people's own goes there as well, found without a webhook, over a kill of the server.
func TestEveryPairIsRehearsed(t *testing.T) {
	t.Parallel()
	boards := map[string][]string{"own": nil, "labels": {"--labels"}, "plane": {"--plane", "--plane-workspace", "w"}}
	for _, host := range []string{"git", "github", "gitea"} {
		for board, flags := range boards {
			if host == "git" && board == "labels" {
				continue // it has no issues
			}
			t.Run(host+" and "+board, func(t *testing.T) {
				t.Parallel()
				n := newNewcomer(t)
				bare := filepath.Join(t.TempDir(), "shop.git")
				n.git(n.dir, "clone", "--quiet", "--bare", n.dir, bare)
				n.env = []string{"ORCH_CI_POLL=500ms", "BOARD_WEBHOOK_SECRET=webhook-secret-of-128-bits"}
				var issues *forgetest.Issues
				mux := http.NewServeMux()
				outer := httptest.NewServer(mux)
				t.Cleanup(outer.Close)
				args := append([]string{"init", "--agent", "rehearse", "--listen", n.addr, "--public-url", "http://" + n.addr}, flags...)
				if board == "plane" {
					plane := planetest.New(planetest.Options{Workspace: "w", RateLimit: 6000, Tokens: map[string]string{"plane-token": "bot"}, Secret: "webhook-secret-of-128-bits", HookURL: "http://" + n.addr + "/webhooks/tracker"})
					t.Cleanup(plane.Close)
					plane.AddProject("SHOP", "Backlog", "Todo", "In Progress", "Done")
					mux.Handle("/plane/", http.StripPrefix("/plane", plane))
					n.env = append(n.env, "ORCH_PLANE_TOKEN=plane-token", "ORCH_PLANE_WEBHOOK_SECRET=webhook-secret-of-128-bits")
					args = append(args, "--plane-url", outer.URL+"/plane")
				}
				switch host {
				case "git":
					args = append(args, "--ci", "true")
				case "github":
					at := forgetest.NewGitHub(forgetest.Options{Token: "github-token", CI: conclude, Secret: "webhook-secret-of-128-bits"})
					t.Cleanup(at.Close)
					require.NoError(t, at.AddRepo("acme/shop", bare))
					at.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Admin = true })
					issues = at.Issues()
					at.SetHookURL("http://" + n.addr + "/webhooks/issues")
					mux.Handle("/github/", http.StripPrefix("/github", at))
					n.git(n.dir, "remote", "add", "origin", "https://github.com/acme/shop.git")
					n.env = append(n.env, "ORCH_GITHUB_TOKEN=github-token", "ORCH_GITHUB_WEBHOOK_SECRET=webhook-secret-of-128-bits")
					args = append(args, "--github", "--github-url", outer.URL+"/github", "--clone-url", bare)
				case "gitea":
					at := forgetest.NewGitea(forgetest.Options{Token: "gitea-token", CI: conclude, Secret: "webhook-secret-of-128-bits"})
					t.Cleanup(at.Close)
					require.NoError(t, at.AddRepo("acme/shop", bare))
					at.SetSettings("acme/shop", func(s *forgetest.Settings) { s.Admin = true })
					issues = at.Issues()
					at.SetHookURL("http://" + n.addr + "/webhooks/issues")
					mux.Handle("/gitea/", http.StripPrefix("/gitea", at))
					n.env = append(n.env, "GITEA_TOKEN=gitea-token", "GITEA_WEBHOOK_SECRET=webhook-secret-of-128-bits")
					args = append(args, "--gitea", outer.URL+"/gitea", "--repo", "acme/shop", "--clone-url", bare)
				}
				said, ok := n.do(args...)
				require.True(t, ok, said)
				require.Equal(t, board != "own", strings.Contains(said, "the last webhook came at"), said)
				require.Contains(t, said, "went through every stage, and nothing is left of it")
				require.Contains(t, said, map[string]string{"own": "Cards: http://", "labels": "Cards are the issues of acme/shop:", "plane": "serve"}[board])
				require.Contains(t, said, "/dashboard/session#"+n.token())
				require.Equal(t, board == "own", strings.Contains(said, "drag one to To Analyse"))
				require.Empty(t, n.left())
				if board == "labels" {
					n.labelToDone(issues)
				}
			})
		}
	}
}

// labelToDone takes an issue to Done by its labels alone.
func (n *newcomer) labelToDone(issues *forgetest.Issues) {
	n.Helper()
	n.env = append(n.env, "ORCH_RECONCILE_INTERVAL=500ms")
	serve := func() (*exec.Cmd, *lines) {
		cmd, log := n.command("serve")
		require.NoError(n, cmd.Start())
		n.until("the server gets ready", func() bool {
			var into any
			return n.get("/readyz", &into)
		})
		return cmd, log
	}
	has := func(number int, label string) bool {
		return slices.ContainsFunc(issues.Issue("acme/shop", number).Labels, func(l forgetest.Label) bool { return l.Name == label })
	}
	cmd, _ := serve()
	number := issues.Open("acme/shop", "kim", "My first card", "what is wanted")
	require.NoError(n, issues.Label("acme/shop", number, "kim", "status/To Analyse"))
	n.until("the analyst finishes", func() bool { return has(number, "status/In Review") })
	require.NoError(n, cmd.Process.Kill())
	_ = cmd.Wait() // it was killed
	cmd, log := serve()
	require.NoError(n, issues.Label("acme/shop", number, "kim", "status/Approved"))
	n.until("it is done", func() bool { return has(number, "status/Done") })
	require.NoError(n, cmd.Process.Signal(syscall.SIGTERM))
	require.NoError(n, cmd.Wait(), log)
}
