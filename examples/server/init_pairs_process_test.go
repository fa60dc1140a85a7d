package main

import (
	"net/http"
	"net/http/httptest"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/gitea/giteatest"
	"github.com/signalbox-dev/signalbox/adapters/github/githubtest"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
)

// Whatever pair of board and host init offers, its card goes through every stage.
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
				mux := http.NewServeMux()
				outer := httptest.NewServer(mux)
				t.Cleanup(outer.Close)
				args := append([]string{"init", "--agent", "rehearse", "--listen", n.addr, "--public-url", "https://box.example.org"}, flags...)
				if board == "plane" {
					plane := planetest.New(planetest.Options{Workspace: "w", RateLimit: 6000, Tokens: map[string]string{"plane-token": "bot"}, Secret: "webhook-secret-of-128-bits"})
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
					at := githubtest.New(githubtest.Options{Token: "github-token", CI: conclude})
					t.Cleanup(at.Close)
					require.NoError(t, at.AddRepo("acme/shop", bare))
					at.SetSettings("acme/shop", func(s *githubtest.Settings) { s.Admin = true })
					mux.Handle("/github/", http.StripPrefix("/github", at))
					n.git(n.dir, "remote", "add", "origin", "https://github.com/acme/shop.git")
					n.env = append(n.env, "ORCH_GITHUB_TOKEN=github-token", "ORCH_GITHUB_WEBHOOK_SECRET=webhook-secret-of-128-bits")
					args = append(args, "--github", "--github-url", outer.URL+"/github", "--clone-url", bare)
				case "gitea":
					at := giteatest.New(giteatest.Options{Token: "gitea-token", CI: conclude})
					t.Cleanup(at.Close)
					require.NoError(t, at.AddRepo("acme/shop", bare))
					at.SetSettings("acme/shop", func(s *giteatest.Settings) { s.Admin = true })
					mux.Handle("/gitea/", http.StripPrefix("/gitea", at))
					n.env = append(n.env, "GITEA_TOKEN=gitea-token", "GITEA_WEBHOOK_SECRET=webhook-secret-of-128-bits")
					args = append(args, "--gitea", outer.URL+"/gitea", "--repo", "acme/shop", "--clone-url", bare)
				}
				said, ok := n.do(args...)
				require.True(t, ok, said)
				require.Contains(t, said, "went through every stage, and nothing is left of it")
				require.Empty(t, n.left())
			})
		}
	}
}
