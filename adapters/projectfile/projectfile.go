// Package projectfile reads the project registry from a YAML file. Errors name
// the file, the line and the field.
package projectfile

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/goccy/go-yaml"
	"github.com/goccy/go-yaml/ast"
	"github.com/goccy/go-yaml/parser"

	"github.com/signalbox-dev/signalbox/adapters/egress"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/yamlplace"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Registry holds what a file says.
type Registry struct {
	Projects   *task.Projects
	Neighbours Neighbours
	Pipeline   stage.Pipeline // of PipelineName beside the file, else the built-in one
	// HookSecrets are the secrets of projects that have their own, by repository.
	HookSecrets map[string]HookSecrets

	name string
	tree *ast.File
}

// Placed adds the file and the line to an error about a field of an entry.
func (r Registry) Placed(err error) error {
	var wrong *task.FieldError
	if !errors.As(err, &wrong) {
		return err
	}
	return &yamlplace.Error{File: r.name, Line: yamlplace.Line(r.tree, "projects", wrong.Entry, wrong.Field), Err: err}
}

// HookSecrets names the variables of the environment that hold the secrets of a
// project's webhooks; two are valid while one is replaced. None = the common secret.
type HookSecrets struct{ Tracker, Host []string }

// file is the form of the file.
type file struct {
	Hosts    []Host   `yaml:"hosts"`
	Boards   []Board  `yaml:"boards"`
	People   []person `yaml:"people"`
	Projects []entry  `yaml:"projects"`
}

type entry struct {
	TrackerProject string              `yaml:"tracker_project"`
	SyncProject    string              `yaml:"sync_project"`
	Board          string              `yaml:"board"` // name of an entry of boards; empty = where the settings say
	Host           string              `yaml:"host"`  // github, git, or the name of an entry of hosts
	Repo           string              `yaml:"repo"`
	Path           string              `yaml:"path"` // the repository's name at the host, where that is another one
	CloneURL       string              `yaml:"clone_url"`
	WebURL         string              `yaml:"web_url"`
	Prefix         string              `yaml:"prefix"`
	Chat           string              `yaml:"chat"` // where its messages go; empty = where the settings say
	MoreBoards     []board             `yaml:"more_boards"`
	Main           string              `yaml:"main"`
	Merge          githost.MergeMethod `yaml:"merge"` // merge, squash or rebase; empty = as the repository allows
	SelfHosting    bool                `yaml:"self_hosting"`
	CI             ci                  `yaml:"ci"`
	Pipeline       lanes               `yaml:"pipeline"` // the lanes of its tasks; empty = the whole pipeline
	Agents         map[string]agent    `yaml:"agents"`
	Prompts        prompts             `yaml:"prompts"` // the team's assignments, by role
	Deploy         recipes             `yaml:"deploy"`  // how the deployer deploys
	Hooks          hooks               `yaml:"hooks"`   // commands around agents' runs, in their checkouts
	RequiredFiles  map[string][]string `yaml:"required_files"`
	Commands       map[string][]string `yaml:"commands"`  // command checks by name
	Gates          map[string][]string `yaml:"gates"`     // further checks by stage
	Keep           []string            `yaml:"keep"`      // ignored directories that survive between attempts of a role
	Writes         map[string][]string `yaml:"writes"`    // what a role's commits may change besides, by role
	Protected      protected           `yaml:"protected"` // none, or patterns besides the default ones
	Verify         [][]string          `yaml:"verify"`    // commands that are run on what the tester calls good
	Probe          probe               `yaml:"probe"`     // addresses at which deployments say which commit they run
	Starters       []string            `yaml:"starters"`  // ids, e-mail addresses or role:NAME; empty = any person
	Approvers      []string            `yaml:"approvers"` // or host:ACCOUNT
	Releasers      []string            `yaml:"releasers"`
	Separate       bool                `yaml:"separate"`  // who has started a task does not approve it
	Reviewers      []string            `yaml:"reviewers"` // accounts whose reviews count although they are bots or may not write
	// Egress are hosts that agents and checks may reach, with ORCH_EGRESS=allow-list; nil = task.DefaultEgress.
	Egress        []string `yaml:"egress"`
	CancelledStop bool     `yaml:"cancelled_is_stop"` // a column that ends work at the tracker is a STOP
	WIP           *int     `yaml:"wip"`               // tasks in work at a time; nil = task.DefaultWIP
	Monitor       []string `yaml:"monitor"`
	TrackerSecret []string `yaml:"tracker_secret_env"` // variables of the environment
	HostSecret    []string `yaml:"githost_secret_env"`
}

// probe are the addresses by deployment; each may have a fragment, the field of a JSON object.
type probe struct {
	Staging    string `yaml:"staging"`
	Production string `yaml:"production"`
}

// board is a further one of the repository.
type board struct {
	TrackerProject string `yaml:"tracker_project"`
	SyncProject    string `yaml:"sync_project"`
	Prefix         string `yaml:"prefix"`
}

// protected is "none", or patterns.
type protected struct{ task.Protected }

// UnmarshalYAML reads both forms.
func (p *protected) UnmarshalYAML(raw []byte) error {
	var word string
	if yaml.Unmarshal(raw, &word) == nil {
		if word != "none" {
			return fmt.Errorf(`protected is %q, want none, or a list of paths such as [infra/**, Makefile]`, word)
		}
		p.None = true
		return nil
	}
	return yaml.Unmarshal(raw, &p.More)
}

// Load reads a file. Its hosts and boards may be of further kinds, too.
func Load(name string, further ...Kind) (Registry, error) {
	body, err := os.ReadFile(name)
	if err != nil {
		return Registry{}, fmt.Errorf("the project registry cannot be read; signalbox init writes one, ORCH_PROJECTS says where: %w", err)
	}
	return Parse(name, body, further...)
}

// Parse reads what a file of a name has, or would have, with the pipeline beside it.
func Parse(name string, body []byte, further ...Kind) (Registry, error) {
	pipeline, err := LoadPipeline(name)
	if err != nil {
		return Registry{}, err
	}
	fail := func(line int, err error) (Registry, error) {
		return Registry{}, &yamlplace.Error{File: name, Line: line, Err: err}
	}
	tree, err := parser.ParseBytes(body, 0)
	if err != nil {
		return fail(yamlplace.Of(err), errors.New(yamlplace.Short(err)))
	}
	var f file
	if err := yaml.UnmarshalWithOptions(body, &f, yaml.Strict()); err != nil {
		return fail(yamlplace.Of(err), errors.New(yamlplace.Short(err)))
	}
	if len(f.Projects) == 0 {
		return fail(0, errors.New("projects: no project is registered"))
	}
	out := Registry{Pipeline: pipeline, HookSecrets: map[string]HookSecrets{}, name: name, tree: tree}
	accounts, at, err := accountsOf(f.People)
	if err != nil {
		return fail(yamlplace.Line(tree, "people", at, ""), err)
	}
	out.Neighbours = Neighbours{f.Hosts, f.Boards}
	if list, entry, field, err := out.Neighbours.fill(further); err != nil {
		return Registry{}, placed(name, tree, list, entry, field, err)
	}
	var list []task.Project
	for i, e := range f.Projects {
		p, field, err := e.convert(pipeline)
		if err == nil {
			field, err = out.Neighbours.place(e, &p)
		}
		if err != nil {
			return fail(yamlplace.Line(tree, "projects", i, field), fmt.Errorf("project %d (%s): %w", i+1, e.Repo, err))
		}
		p.People.Accounts = accounts
		list = append(list, p)
		out.HookSecrets[p.Repo] = HookSecrets{Tracker: e.TrackerSecret, Host: e.HostSecret}
	}
	if out.Projects, err = task.NewProjects(list...); err == nil {
		err = out.checkAgents()
	}
	if err != nil {
		return Registry{}, out.Placed(err)
	}
	return out, nil
}

// convert makes a project; an error comes with the field that it is about.
func (e entry) convert(pipeline stage.Pipeline) (p task.Project, field string, err error) {
	p = task.Project{
		TrackerProject: e.TrackerProject, SyncProject: e.SyncProject, Prefix: e.Prefix,
		Chat: e.Chat, Host: e.Host, Repo: e.Repo, Path: e.Path, CloneURL: e.CloneURL, WebURL: e.WebURL,
		Main: e.Main, Merge: e.Merge, SelfHosting: e.SelfHosting, CancelledIsStop: e.CancelledStop,
		CINone: e.CI.None, AllCI: e.CI.All, Contexts: e.CI.Contexts, Issuers: e.CI.Issuers, CI: e.CI.Commands, Reviewers: e.Reviewers,
		People: task.People{Starters: e.Starters, Releasers: e.Releasers, Separate: e.Separate},
		Keep:   e.Keep, Protected: e.Protected.Protected, Verify: e.Verify, Probe: task.Probe(e.Probe), Egress: e.Egress,
		Prompts: e.Prompts, Hooks: task.Hooks(e.Hooks),
		Deploy: task.Recipes{Staging: e.Deploy.Staging, Production: e.Deploy.Production, None: e.Deploy.none},
		Agents: map[stage.Role]work.Agent{}, Writes: map[stage.Role][]string{},
		Required: map[stage.Stage][]string{}, Gates: map[stage.Stage][]string{},
	}
	for _, who := range e.Approvers {
		if account, there := strings.CutPrefix(who, "host:"); there {
			p.People.AtHost = append(p.People.AtHost, account)
		} else {
			p.People.Approvers = append(p.People.Approvers, who)
		}
	}
	if p.Credential, err = e.Deploy.Credential.convert(p.Plain()); err != nil {
		return p, "deploy", fmt.Errorf("deploy: credential: %w", err)
	}
	if p.Lanes, err = e.Pipeline.convert(pipeline); err != nil {
		return p, "pipeline", fmt.Errorf("pipeline: %w", err)
	}
	if _, err := egress.Parse(e.Egress...); err != nil {
		return p, "egress", fmt.Errorf("egress: %w", err)
	}
	for _, b := range e.MoreBoards {
		p.MoreBoards = append(p.MoreBoards, task.Board(b))
	}
	if e.WIP != nil {
		if p.WIP = *e.WIP; p.WIP == 0 {
			return p, "wip", fmt.Errorf("wip: is 0, so that nothing would ever begin; "+
				"want 1 or more, or leave it out for %d", task.DefaultWIP)
		}
	}
	for role, patterns := range e.Writes { // NewProjects checks them
		if err := checkRole(pipeline, role); err != nil {
			return p, "writes", fmt.Errorf("writes: %s: %w", role, err)
		}
		p.Writes[stage.Role(role)] = patterns
	}
	for role := range e.Prompts {
		if err := checkRole(pipeline, string(role)); err != nil {
			return p, "prompts", fmt.Errorf("prompts: %w", err)
		}
	}
	for role, use := range e.Agents {
		if err := checkRole(pipeline, role); err != nil {
			return p, "agents", fmt.Errorf("agents: %w", err)
		}
		agent, err := use.convert()
		if err != nil {
			return p, "agents", fmt.Errorf("agents: %s: %w", role, err)
		}
		p.Agents[stage.Role(role)] = agent
	}
	for at, files := range e.RequiredFiles {
		if err := isStage(pipeline, at); err != nil {
			return p, "required_files", fmt.Errorf("required_files: %w", err)
		}
		p.Required[stage.Stage(at)] = files
	}
	for _, address := range e.Monitor {
		if u, err := url.Parse(address); err != nil || u.Host == "" || u.Scheme != "http" && u.Scheme != "https" {
			return p, "monitor", fmt.Errorf("monitor: %q, want an address such as https://example.org/health", address)
		}
	}
	p.Monitor = e.Monitor
	for field, names := range map[string][]string{"tracker_secret_env": e.TrackerSecret, "githost_secret_env": e.HostSecret} {
		if err := areVariables(names); err != nil {
			return p, field, fmt.Errorf("%s: %w", field, err)
		}
	}
	if p.Plain() && len(e.HostSecret) > 0 {
		return p, "githost_secret_env", errors.New("githost_secret_env: there is no git host (host: git), " +
			"and nobody who would send webhooks; leave it out")
	}
	for name, argv := range e.Commands {
		if len(argv) == 0 {
			return p, "commands", fmt.Errorf("commands: %s has no command: a list of the executable and its arguments", name)
		}
		p.Protected.More = append(p.Protected.More, program(argv)...)
		p.Commands = append(p.Commands, checks.Command(e.Prefix+"/"+name, argv...))
	}
	p.Protected.More = append(p.Protected.More, e.Hooks.programs()...)
	for _, argv := range append(slices.Clone(e.Verify), e.CI.Commands...) {
		p.Protected.More = append(p.Protected.More, program(argv)...)
	}
	for at, names := range e.Gates {
		if err := isStage(pipeline, at); err != nil {
			return p, "gates", fmt.Errorf("gates: %w", err)
		}
		for _, name := range names {
			if _, own := e.Commands[name]; own {
				name = e.Prefix + "/" + name
			}
			p.Gates[stage.Stage(at)] = append(p.Gates[stage.Stage(at)], name)
		}
	}
	return p, "", nil
}

// program are the files of the repository that a command runs, and that its program reads by itself: a change of them
// changes the result of the command.
func program(argv []string) []string {
	read := checks.ReadBy(argv)
	if len(argv) == 0 || !strings.Contains(argv[0], "/") || !filepath.IsLocal(path.Clean(argv[0])) {
		return read
	}
	return append(read, path.Clean(argv[0]))
}

// areVariables checks the names of the variables that hold a project's secrets. A name
// that looks like the secret itself is not repeated.
func areVariables(names []string) error {
	if len(names) > 2 {
		return fmt.Errorf("%d secrets, want one, or two while one is replaced", len(names))
	}
	for i, name := range names {
		if !variable.MatchString(name) {
			return fmt.Errorf("entry %d is no name of a variable such as GPX_HOOK_SECRET; "+
				"the secret itself does not belong into this file", i+1)
		}
	}
	return nil
}

var variable = regexp.MustCompile(`^[A-Z][A-Z0-9_]*$`)

func isStage(p stage.Pipeline, name string) error {
	if i := p.Info(stage.Stage(name)); i.Stage == "" || i.Sink {
		return fmt.Errorf("there is no stage %q", name)
	}
	return nil
}
