package projectfile_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A repository without a git host: where it is, and what the service runs as its CI.
func TestPlainRepository(t *testing.T) {
	const head = "projects:\n  - tracker_project: a\n    repo: acme/x\n    prefix: X\n"
	r := parsed(t, head+"    host: git\n    clone_url: /srv/git/x.git\n    ci: [[go, test, ./...], [./bin/lint, --all]]\n")
	p := r.Projects.All()[0]
	require.True(t, p.Plain())
	require.Equal(t, [][]string{{"go", "test", "./..."}, {"./bin/lint", "--all"}}, p.CI)
	require.Contains(t, p.Protected.More, "bin/lint", "who may change it decides what it says")
	r = parsed(t, head+"    clone_url: /srv/git/x.git\n    verify: [[make, test]]\n    commands: {lint: [npm, run, lint]}\n")
	for _, name := range []string{"Makefile", "rules.mk", "package.json"} {
		require.True(t, stage.MatchPath(r.Projects.All()[0].Policy().Protected, name), name)
	}
	for _, body := range []string{"", "    ci: none\n", "    ci: any\n", "    ci: []\n"} {
		r := parsed(t, head+"    host: git\n    clone_url: /srv/git/x.git\n"+body)
		require.Empty(t, r.Projects.All()[0].CI)
	}
	for _, url := range []string{"/srv/git/x.git", "file:///srv/git/x.git", "ssh://git@git.example.org/x.git", "git@git.example.org:x.git", "https://git.example.org/x.git"} {
		parsed(t, head+"    host: git\n    clone_url: "+url+"\n")
	}
	const git = head + "    clone_url: /srv/git/x.git\n    host: git\n"
	for body, want := range map[string]string{
		head + "    clone_url: u\n    host: gitlab\n":                         `p.yaml:6: project 1 (acme/x): host: is "gitlab", want github (the default), git for`,
		head + "    clone_url: u\n    ci: [[make]]\n":                         "p.yaml:6: project 1 (acme/x): ci: has commands, which the service runs only where a repository has no git host",
		git + "    ci: [build, test]\n":                                       "p.yaml:7: project 1 (acme/x): ci: names checks (build, test), and nobody reports any",
		git + "    ci: [[make], []]\n":                                        "p.yaml:7: project 1 (acme/x): ci: has an empty command",
		git + "    ci: {make: test}\n":                                        "with host: git, a list of commands such as",
		git + "    merge: rebase\n":                                           "p.yaml:7: project 1 (acme/x): merge: is for pull requests, and there are none",
		git + "    reviewers: [kim]\n":                                        "p.yaml:7: project 1 (acme/x): reviewers: names accounts of a git host, and the repository has none",
		git + "    githost_secret_env: [X_SECRET]\n":                          "p.yaml:7: project 1 (acme/x): githost_secret_env: there is no git host",
		head + "    host: git\n    clone_url: srv/x.git\n":                    "p.yaml:6: project 1 (acme/x): clone_url: is not what git can clone from: want an absolute path",
		head + "    host: git\n    clone_url: ext::sh\n":                      "p.yaml:6: project 1 (acme/x): clone_url: is not what git can clone from",
		head + "    host: git\n    clone_url: --upload-pack=x\n":              "clone_url: is not what git can clone from",
		head + "    host: git\n    clone_url: https://kim:pw@example.org/x\n": "p.yaml:6: project 1 (acme/x): clone_url: has a user or a password in it",
	} {
		require.NotContains(t, refused(t, body, want).Error(), "pw@", body)
	}
}
