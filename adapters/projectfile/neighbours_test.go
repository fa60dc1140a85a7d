package projectfile_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

const forge = `
hosts:
  - {name: forge, kind: gitea, url: "https://git.example.org/", token_env: FORGE_TOKEN, secret_env: [FORGE_HOOK]}
  - {name: enterprise, kind: github, url: "https://ghe.example.org/api/v3", clone_base: "https://ghe.example.org/", token_env: GHE_TOKEN}
boards:
  - {name: issues, kind: labels, host: forge}
  - {name: product, kind: plane, url: "https://plane.example.org", workspace: acme, token_env: PRODUCT_TOKEN}
projects:
`

// A project names its host and its board; ids of another tracker than the first carry its
// name, and those of people with them.
func TestNeighbours(t *testing.T) {
	r := parsed(t, forge+`
  - {host: forge, board: issues, repo: acme/app, prefix: APP, approvers: [kim, "role:admin", "ann@example.org"]}
  - {host: enterprise, board: product, tracker_project: 77aa, sync_project: 77bb, repo: ghe/app, path: acme/app, clone_url: "https://ghe.example.org/acme/app.git", prefix: GHE,
     more_boards: [{tracker_project: 88aa, prefix: OPS}]}
  - {tracker_project: 99aa, repo: acme/other, clone_url: u, prefix: OTH}
`)
	all := r.Projects.All()
	app, ghe, other := all[0], all[1], all[2]
	require.Equal(t, []string{"issues:acme/app", "issues:acme/app", "https://git.example.org/acme/app.git", "https://git.example.org/acme/app"},
		[]string{app.TrackerProject, app.Sync(), app.CloneURL, app.WebURL})
	require.Equal(t, []string{"issues:kim", "role:admin", "ann@example.org"}, app.People.Approvers)
	require.Equal(t, "https://git.example.org/acme/app/src/commit/abc/docs/work/APP-1/brief.md", app.FileURL("APP-1", "abc", "brief.md"))
	require.Equal(t, []string{"product:77aa", "product:77bb", "product:88aa"}, []string{ghe.TrackerProject, ghe.SyncProject, ghe.MoreBoards[0].TrackerProject})
	require.Equal(t, []string{"99aa", "", "github"}, []string{other.TrackerProject, other.Board, other.HostName()})
	for host, path := range map[string]string{"forge": "ACME/app", "enterprise": "acme/App", "github": "acme/other"} {
		_, ok := r.Projects.ByHost(host, path)
		require.True(t, ok, host)
	}
	p, _ := r.Projects.ByHost("enterprise", "acme/app")
	require.Equal(t, "ghe/app", p.Repo)
	_, ok := r.Projects.ByHost("github", "acme/app")
	require.False(t, ok, "another host has it")
	h, _ := r.Neighbours.Host("forge")
	require.Equal(t, []string{"https://git.example.org", "https://git.example.org/"}, []string{h.URL, h.CloneBase})
}

func TestNeighboursAreRefused(t *testing.T) {
	const entry = "projects:\n  - {tracker_project: a, repo: acme/x, clone_url: u, prefix: X"
	const host = "hosts:\n  - {name: forge, kind: gitea, url: 'https://git.example.org', token_env: FORGE_TOKEN}\n"
	for body, want := range map[string]string{
		"hosts:\n  - {name: Forge, kind: gitea}\n":                                                                      `p.yaml:2: host 1: name: is "Forge", want small letters`,
		"hosts:\n  - {name: github, kind: github}\n":                                                                    `p.yaml:2: host 1: name: "github" is taken`,
		"hosts:\n  - {name: forge, kind: gitlab}\n":                                                                     `host 1: kind: is "gitlab", want github or gitea (Forgejo too)`,
		"hosts:\n  - {name: forge, kind: gitea, token_env: T}\n":                                                        "host 1: url: is missing",
		"hosts:\n  - {name: forge, kind: gitea, url: 'https://kim:pw@x.org', token_env: T}\n":                           "host 1: url: has a user or a password in it",
		"hosts:\n  - {name: forge, kind: gitea, url: 'https://x.org', token_env: 3f9a-secret}\n":                        "host 1: token_env: want the name of a variable",
		"hosts:\n  - {name: ghe, kind: github, url: 'https://x.org/api', token_env: T}\n":                               "host 1: clone_base: is missing",
		host + "boards:\n  - {name: forge, kind: labels, host: forge}\n":                                                `p.yaml:4: board 1: name: "forge" is taken`,
		host + "boards:\n  - {name: issues, kind: labels, host: gitlab}\n":                                              `board 1: host: is "gitlab", want one of github, forge`,
		host + "boards:\n  - {name: plane2, kind: plane, url: x}\n":                                                     "board 1: url: is",
		host + "boards:\n  - {name: plane2, kind: plane, url: 'https://x.org', token_env: T}\n":                         "board 1: workspace: is missing",
		host + "boards:\n  - {name: jira, kind: jira}\n":                                                                `board 1: kind: is "jira"`,
		host + entry + ", board: issues}\n":                                                                             `p.yaml:4: project 1 (acme/x): board: is "issues", want the name of an entry of boards`,
		host + entry + ", path: ../x}\n":                                                                                `path: is "../x"`,
		host + entry + ", host: forge}\n  - {tracker_project: b, repo: acme/y, path: acme/x, host: forge, prefix: Y}\n": `path: "acme/x" is registered twice at forge`,
	} {
		if !strings.Contains(body, entry) {
			body += entry + "}\n"
		}
		err := refused(t, body, want)
		require.NotContains(t, err.Error(), "pw@")
		require.NotContains(t, err.Error(), "3f9a")
	}
}
