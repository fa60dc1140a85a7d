package projectfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/projectfile"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

const good = `
projects:
  - tracker_project: 3c9e
    repo: acme/gpxflow
    clone_url: https://git.example.org/acme/gpxflow.git
    prefix: GPX
    more_boards:
      - {tracker_project: 4d0f, prefix: WEB, sync_project: 5e1a}
    ci: [build, e2e]
    agents:
      developer: {use: claude, model: opus, args: [--effort, high], env: [NPM_TOKEN], timeout: 90m, stall: 20m, budget_usd: 2.5}
      architect: {model: opus, egress: []}
      reviewer: {use: "my-agent --strict", independent: true}
    required_files:
      analysis: [brief.md]
    commands:
      licences: [./bin/licences, --strict]
    protected: [infra/**]
    gates:
      development: [licences, check_tests_passed]
  - tracker_project: 77aa
    sync_project: 77bb
    repo: acme/shop
    clone_url: git@git.example.org:acme/shop.git
    prefix: SHP
    main: trunk
    self_hosting: true
    ci: none
    monitor: [https://shop.example.org/health]
    keep: [node_modules, web/.cache]
    egress: [packages, "*.internal.example.org:8443"]
    wip: 5
    protected: none
    verify: [[go, test, ./...], [./bin/e2e, --all]]
    probe: {staging: "https://staging.example.org/version#build.commit", production: "https://example.org/version"}
    writes: {tester: ["tests/**", "**/*_test.go"]}
    reviewers: ["lint[bot]"]
    starters: [c0ffee00-3333-4333-8333-000000000001]
    approvers: [ann@example.org, "host:kim", role:admin]
    releasers: [root@example.org]
    separate: true
    cancelled_is_stop: true
    prompts:
      developer: |
        {{.Default}}
        Run make test:

          make test
      reviewer: "Review {{.Branch}} against {{.Main}}."
    deploy:
      staging: |
        make staging
        make smoke
      credential: {env: DEPLOY_TOKEN, command: [/etc/box/mint, --short], revoke: [/etc/box/revoke]}
    hooks:
      after_create: [[npm, ci], [./bin/setup]]
      before_run: [[./bin/services, up]]
      after_run:
        - [./bin/services, down]
      timeout: 90s
`

func TestParse(t *testing.T) {
	r := parsed(t, good)
	gpx, ok := r.Projects.ByRepo("ACME/gpxflow")
	require.True(t, ok)
	require.Equal(t, []string{"build", "e2e"}, gpx.Contexts)
	require.Equal(t, "main", gpx.Main)
	require.Equal(t, map[stage.Role]work.Agent{
		stage.Developer: {
			Use: "claude", Model: "opus", Args: []string{"--effort", "high"}, Env: []string{"NPM_TOKEN"},
			Timeout: 90 * time.Minute, Stall: 20 * time.Minute, MicroUSD: 2_500_000,
		},
		stage.Architect: {Model: "opus", Egress: []string{}},
		stage.Reviewer:  {Use: "my-agent --strict", Independent: true},
	}, gpx.Agents)
	require.Equal(t, []string{"GPX/licences", "check_tests_passed"}, gpx.Gates[stage.Development])
	require.Equal(t, []string{"brief.md"}, gpx.Required[stage.Analysis])
	require.Len(t, gpx.Commands, 1)
	require.Equal(t, "GPX/licences", gpx.Commands[0].Name())
	web, ok := r.Projects.ByTracker("4d0f")
	require.True(t, ok)
	require.Equal(t, []string{"acme/gpxflow", "WEB", "5e1a", "GPX/licences"}, []string{web.Repo, web.Prefix, web.Sync(), web.Commands[0].Name()})
	require.Len(t, r.Projects.All(), 2)
	var boards []string
	for _, p := range r.Projects.Boards() {
		boards = append(boards, p.TrackerProject)
	}
	require.Equal(t, []string{"3c9e", "4d0f", "77aa"}, boards)
	shop, ok := r.Projects.ByTracker("77aa")
	require.True(t, ok)
	require.True(t, shop.SelfHosting && shop.CINone)
	require.Equal(t, []string{"node_modules", "web/.cache"}, shop.Keep)
	require.Equal(t, []string{"tests/**", "**/*_test.go"}, shop.Writes[stage.Tester])
	require.True(t, shop.Protected.None)
	require.Equal(t, []int{3, 5}, []int{gpx.Places(), shop.Places()})
	require.Equal(t, task.Probe{Staging: "https://staging.example.org/version#build.commit", Production: "https://example.org/version"}, shop.Probe)
	require.Equal(t, [][]string{{"go", "test", "./..."}, {"./bin/e2e", "--all"}}, shop.Verify)
	require.Equal(t, []string{"infra/**", "bin/licences"}, gpx.Protected.More)
	require.Equal(t, []string{"lint[bot]"}, shop.Reviewers)
	require.Equal(t, map[stage.Role]string{
		stage.Developer: "{{.Default}}\nRun make test:\n\n  make test\n", stage.Reviewer: "Review {{.Branch}} against {{.Main}}.",
	}, shop.Prompts)
	require.Equal(t, task.Credential{Env: "DEPLOY_TOKEN", Command: []string{"/etc/box/mint", "--short"}, Revoke: []string{"/etc/box/revoke"}}, shop.Credential)
	require.Equal(t, task.Recipes{Staging: "make staging\nmake smoke\n"}, shop.Deploy)
	require.Equal(t, task.Hooks{
		AfterCreate: [][]string{{"npm", "ci"}, {"./bin/setup"}}, BeforeRun: [][]string{{"./bin/services", "up"}}, AfterRun: [][]string{{"./bin/services", "down"}}, Timeout: 90 * time.Second,
	}, shop.Hooks)
	require.Subset(t, shop.Protected.More, []string{"bin/setup", "bin/services"})
	require.Equal(t, task.People{
		Starters: []string{"c0ffee00-3333-4333-8333-000000000001"}, Approvers: []string{"ann@example.org", "role:admin"}, AtHost: []string{"kim"},
		Releasers: []string{"root@example.org"}, Separate: true,
	}, shop.People)
	require.True(t, shop.CancelledIsStop)
	require.Equal(t, []string{"packages", "*.internal.example.org:8443"}, shop.EgressOf(stage.Tester))
	require.Empty(t, gpx.EgressOf(stage.Architect), "none")
	require.Equal(t, []string{"packages"}, gpx.EgressOf(stage.Developer), "the default")
	require.Equal(t, []string{"trunk", "77bb", "https://shop.example.org/health"}, []string{shop.Main, shop.Sync(), shop.Monitor[0]})
}

// A credential is a command of the operator or an app, and each with all that it needs.
func TestWrongCredentials(t *testing.T) {
	head := "projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: /srv/x.git\n    prefix: X\n"
	app := "github_app: {id: \"1\", key_file: /k.pem, permissions: {contents: write}}"
	for body, want := range map[string]string{
		"{}": "credential: env: is \"\", want the name of the variable", "{env: SIGNALBOX_X}": "credential: env: is",
		"{env: T}":                                    "want command, a program that prints a secret, or github_app, and not both",
		"{env: T, command: [/x], " + app + "}":        "and not both",
		"{env: T, command: [bin/mint], revoke: [/x]}": "p.yaml:6: project 1 (acme/x): deploy: credential: command: want the absolute path of a program of yours",
		"{env: T, command: [/x]}":                     "credential: revoke: want the absolute path",
		"{env: T, revoke: [/x], " + app + "}":         "credential: revoke: an app's tokens are revoked by GitHub",
		"{env: T, github_app: {id: \"1\"}}":           "credential: github_app: want {id: the App ID",
		"{env: T, secret: x}":                         "unknown field \"secret\"",
		"{env: T, github_app: {id: \"1\", key_file: /k.pem, permissions: {contents: all}}}": `the permission contents is "all", want read or write`,
	} {
		_ = refused(t, head+"    deploy: {credential: "+body+"}\n", want)
	}
	r := parsed(t, head+"    deploy: {credential: {env: T, "+app+"}}\n")
	require.Equal(t, task.Credential{Env: "T", AppID: "1", AppKey: "/k.pem", Permissions: map[string]string{"contents": "write"}}, r.Projects.All()[0].Credential)
	_ = refused(t, head+"    host: git\n    deploy: {credential: {env: T, "+app+"}}\n", "github_app: the repository is not on GitHub")
}

// Hosts are checked where they are written.
func TestWrongHosts(t *testing.T) {
	head := "projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: u\n    prefix: X\n"
	for body, want := range map[string]string{
		head + "    agents: {tester: {egress: [\"https://x.org\"]}}\n": `p.yaml:6: project 1 (acme/x): agents: tester: egress: "https://x.org", want a host such as proxy.example.org`,
		head + "    egress: [packages, \"*\"]\n":                       `p.yaml:6: project 1 (acme/x): egress: "*", want a host such as proxy.example.org, *.example.org, proxy.example.org:8443 or 192.0.2.7:443 (none of the link, or of a cloud's metadata), or one of the lists packages`,
	} {
		_ = refused(t, body, want)
	}
}

// refused parses a registry, which is to be refused with some words.
func refused(t *testing.T, body, want string) error {
	t.Helper()
	_, err := projectfile.Parse("p.yaml", []byte(body))
	require.ErrorContains(t, err, want, body)
	return err
}

// parsed parses a registry.
func parsed(t *testing.T, body string) projectfile.Registry {
	t.Helper()
	r, err := projectfile.Parse("p.yaml", []byte(body))
	require.NoError(t, err, body)
	return r
}

func TestErrorsNameFileLineAndField(t *testing.T) {
	head := "projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: u\n    prefix: X\n"
	for body, want := range map[string]string{
		"":                                        "p.yaml: projects: no project is registered",
		"projects: []":                            "no project is registered",
		"projects:\n  - repo: [":                  "p.yaml:2",
		"    rep: y\n":                            "p.yaml:6: unknown field",
		"    ci: sometimes\n":                     "want none, any, all, or a list",
		"    agents: {cook: x}\n":                 `p.yaml:6: project 1 (acme/x): agents: there is no role "cook"`,
		"    agents: {tester: \"'\"}":             "quote",
		"    agents: {tester: {run: x}}\n":        "agents: want the name of an agent or a command, as developer: claude, or as developer: {use: claude, model: opus}: unknown field \"run\"",
		"    agents: {tester: {use: \"'\"}}":      "p.yaml:6: project 1 (acme/x): agents: tester: use: a quote is not closed",
		"    agents: {tester: {model: --resume}}": `p.yaml:6: project 1 (acme/x): agents: tester: model: is "--resume", want a model's name`,
		"    agents: {tester: {timeout: -1m}}":    "agents: tester: timeout, stall: less than nothing",
		"    agents: {tester: {budget_usd: -1}}":  "agents: tester: budget_usd: is -1, want dollars",
		"    agents: {tester: {env: [a=b]}}":      `agents: tester: env: "a=b" is no name of a variable`,
		"    gates: {lunch: [x]}\n":               `there is no stage "lunch"`,
		"    required_files: {done: [x]}\n":       "there is no stage",
		"    monitor: [example.org]\n":            "p.yaml:6: project 1 (acme/x): monitor",
		"    commands: {c: []}\n":                 "commands: c has no command",
		"    githost_secret_env: [APP_HOOK]\n    agents: {tester: {env: [APP_HOOK]}}": `agents: tester: env: APP_HOOK is a secret of the service`,
		"    githost_secret_env: [3f9a-the-secret-itself]\n":                          "p.yaml:6: project 1 (acme/x): githost_secret_env: entry 1 is no name of a variable",
		"    tracker_secret_env: [A, B, C]\n":                                         "tracker_secret_env: 3 secrets, want one, or two",
		"    keep: [ok, ../x]\n":                                                      `p.yaml:6: project 1 (acme/x): keep: work: the name is not allowed: "../x", want a directory inside the repository`,
		"    writes: {tester: [ok, /x]}\n":                                            `p.yaml:6: project 1 (acme/x): writes: tester: "/x" is no pattern of paths inside the repository, want one such as tests/**`,
		"    protected: [ok, ../x]\n":                                                 `p.yaml:6: project 1 (acme/x): protected: "../x" is no pattern`,
		"    more_boards: [{tracker_project: b, prefix: X}]\n":                        "p.yaml:6: project 1 (acme/x): more_boards: two boards have the prefix X, and so would their work items, branches and documents: give each board one of its own",
		"    more_boards: [{tracker_project: b}]\n":                                   `more_boards: the prefix of b is "", want capitals and digits`,
		"    more_boards: [{prefix: Y}]\n":                                            "more_boards: a board has no tracker_project",
		"    more_boards: [{tracker_project: a, prefix: Y}]\n":                        `p.yaml:6: project 1 (acme/x): more_boards: "a" is registered twice`,
		"    more_boards: [{tracker_project: b, prefix: Y, repo: z}]\n":               "unknown field",
		"  - {tracker_project: b, repo: acme/X, clone_url: u, prefix: Y}\n":           `repo: "acme/X" is registered twice; several boards of a repository are one entry with more_boards`,
		"    wip: -1\n":                   "p.yaml:6: project 1 (acme/x): wip: is -1, want 1 or more: how many tasks are in work at a time (leave it out for 3, or write 1000 for no limit)",
		"    merge: queue\n":              "p.yaml:6: project 1 (acme/x): merge: is queue: a merge queue is used where the rules of main demand it; want merge",
		"    merge: fast\n":               `p.yaml:6: project 1 (acme/x): merge: is "fast", want merge, squash or rebase`,
		"    wip: 0\n":                    "p.yaml:6: project 1 (acme/x): wip: is 0, so that nothing would ever begin; want 1 or more, or leave it out for 3",
		"    wip: many\n":                 "p.yaml:6",
		"    protected: sometimes\n":      "want none, or a list of paths",
		"    verify: [[make], []]\n":      "p.yaml:6: project 1 (acme/x): verify: has an empty command",
		"    probe: {staging: ftp://x}\n": `p.yaml:6: project 1 (acme/x): probe: staging is "ftp://x", want an address`,
		"    probe: {production: \"https://u:p@x/version\"}\n":                                             "probe: production is",
		"    probe: https://x\n":                                                                           "p.yaml:6",
		"    prompts: {cook: x}\n":                                                                         `p.yaml:6: project 1 (acme/x): prompts: there is no role "cook"`,
		"    prompts: {tester: \"\"}\n":                                                                    "p.yaml:6: project 1 (acme/x): prompts.tester: is empty",
		"    prompts: {tester: {file: x}}\n":                                                               `prompts: want a text for each role, such as developer: "{{.Default}} Run make test before each commit."`,
		"    prompts: [x]\n":                                                                               "prompts: want a text for each role",
		"    prompts:\n      tester: |\n        a\n        {{.Titel}}\n":                                   "p.yaml:7: project 1 (acme/x): prompts.tester: line 2: there is no field .Titel, there are .Role, .WorkItem",
		"    prompts: {tester: \"{{if .Docs}}\"}\n":                                                        "p.yaml:6: project 1 (acme/x): prompts.tester: line 1: unexpected EOF: want text, fields such as {{.Docs}}",
		"    prompts: {tester: \"{{range 9}}{{end}}\"}\n":                                                  "prompts.tester: line 1: {{range 9}}{{end}} is not allowed: want text, fields",
		"    prompts: {tester: \"" + strings.Repeat("x", 9000) + "\"}\n":                                   "prompts.tester: has 9000 bytes, and at most 8192 are taken: say less, and name files of the repository for the rest",
		"    deploy: {prod: x}\n":                                                                          `p.yaml:6: deploy: want none, or texts, such as {staging: run make staging, production: run make production}, and credential where the deployer gets one: unknown field "prod"`,
		"    deploy: make deploy\n":                                                                        "deploy: want none, or texts",
		"    deploy: {staging: \"" + strings.Repeat("x", 9000) + "\"}\n":                                   "p.yaml:6: project 1 (acme/x): deploy: the recipe of deploy-staging has 9000 bytes, and at most 8192 are taken: name a file of the repository",
		"    hooks: {before: [[x]]}\n":                                                                     `p.yaml:6: hooks: want lists of commands, each a list of words, such as {after_create: [[npm, ci]], before_run: [[./bin/services, up]], after_run: [[./bin/services, down]], timeout: 90s}: unknown field "before"`,
		"    hooks: {after_create: [npm, ci]}\n":                                                           "hooks: want lists of commands, each a list of words",
		"    hooks: {after_create: npm ci}\n":                                                              "hooks: want lists of commands, each a list of words",
		"    hooks: {after_run: [[x]], timeout: soon}\n":                                                   "hooks: want lists of commands",
		"    hooks: {after_create: [[npm, ci], []]}\n":                                                     "p.yaml:6: project 1 (acme/x): hooks: after_create has an empty command, want lists of an executable and its arguments",
		"    hooks: {before_run: [[\"\"]]}\n":                                                              "hooks: before_run has an empty command",
		"    hooks: {after_run: [[]]}\n":                                                                   "hooks: after_run has an empty command",
		"    hooks: {after_run: [[x]], timeout: 11m}\n":                                                    "p.yaml:6: project 1 (acme/x): hooks: timeout is 11m0s, want at most 10m0s, such as 90s, or leave it out for 1m0s",
		"    hooks: {after_run: [[x]], timeout: -1s}\n":                                                    "hooks: timeout is -1s, want at most 10m0s",
		"    writes: {cook: [x]}\n":                                                                        `p.yaml:6: project 1 (acme/x): writes: cook: there is no role "cook"`,
		"    keep: [.git/lfs]\n":                                                                           `".git/lfs", want a directory inside the repository such as node_modules`,
		"    approvers: [\"role:\"]\n":                                                                     `p.yaml:6: project 1 (acme/x): approvers: has an empty entry, want ids of accounts, e-mail addresses, role:NAME, or for approvers host:ACCOUNT`,
		"projects:\n  - tracker_project: a\n    repo: acme\n    clone_url: u\n    prefix: X\n":             `p.yaml:3: project 1 (acme): repo: is "acme", want owner/name`,
		"projects:\n  - repo: acme/x\n    clone_url: u\n    prefix: X\n":                                   "tracker_project: is missing",
		"projects:\n  - tracker_project: a\n    repo: acme/x\n    prefix: X\n":                             "clone_url: is missing",
		"projects:\n  - tracker_project: a\n    repo: acme/x\n    clone_url: u\n    prefix: x y\n":         "p.yaml:5",
		"  - tracker_project: a\n    repo: acme/y\n    clone_url: u\n    prefix: Y\n":                      `p.yaml:6: project 2 (acme/y): tracker_project: "a" is registered twice`,
		"  - tracker_project: b\n    repo: ACME/X\n    clone_url: u\n    prefix: Y\n    self_hosting: x\n": "p.yaml:10",
	} {
		if strings.HasPrefix(body, " ") {
			body = head + body
		}
		require.ErrorContains(t, refused(t, body, want), "p.yaml", body)
	}
}

func TestLoad(t *testing.T) {
	name := filepath.Join(t.TempDir(), "projects.yaml")
	_, err := projectfile.Load(name)
	require.ErrorContains(t, err, "cannot be read")
	require.NoError(t, os.WriteFile(name, []byte(good), 0o600))
	r, err := projectfile.Load(name)
	require.NoError(t, err)
	require.Len(t, r.Projects.All(), 2)
}

func FuzzParse(f *testing.F) {
	f.Add([]byte(good))
	f.Fuzz(func(_ *testing.T, body []byte) {
		_, _ = projectfile.Parse("p.yaml", body)
	})
}

func Example() {
	_, err := projectfile.Parse("projects.yaml", []byte("projects:\n  - tracker_project: 3c9e\n    repo: gpxflow\n    clone_url: u\n    prefix: GPX\n"))
	fmt.Println(err)
	// Output: projects.yaml:3: project 1 (gpxflow): repo: is "gpxflow", want owner/name
}
