package task

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Hosts that need no entry in the registry.
const (
	HostGitHub = "github"
	HostGit    = "git" // none: a path, or a URL that git clones from; see githost.Plain
)

// Project is one entry of the project registry: it maps a tracker project to a
// repository and says how work is done there.
type Project struct {
	TrackerProject  string // id of the project on the board; of the first of several
	Board           string // name of the tracker that has them; empty = the first
	SyncProject     string // id of the project that statuses and comments go to; empty = TrackerProject
	Host            string // name of where the repository is hosted: HostGitHub (the default), HostGit or an entry's
	Repo            string // its name here, owner/name
	Path            string // its name at the host, where that is another one
	CloneURL        string
	WebURL          string              // base of links to the repository; may be empty
	Pages           githost.Layout      // of the links; the zero value is GitHub's
	Prefix          string              // of work item ids, e.g. GPX
	MoreBoards      []Board             // that feed the repository too
	Main            string              // protected branch; default "main"
	Merge           githost.MergeMethod // how pull requests are merged; empty = as the repository allows
	SelfHosting     bool                // the repository of this service itself
	CancelledIsStop bool                // a column that is none of the pipeline's and ends work at the tracker is a STOP
	Lanes           Lanes               // that its tasks take
	CINone          bool                // the repository has no CI
	AllCI           bool                // checks that the host's rules do not demand count too
	Contexts        []string            // checks that CI has to report
	Issuers         map[string]string   // who has to report them, by name: see githost.Check.Issuer
	CI              [][]string          // commands that the service runs as CI, where nobody else does (HostGit)
	Agents          map[stage.Role]work.Agent
	Prompts         map[stage.Role]string    // the team's assignments; see package prompt
	Deploy          Recipes                  // how the deployer deploys
	Credential      Credential               // that each of its runs gets, minted for it; the zero value is none
	Hooks           Hooks                    // commands around agents' runs
	Required        map[stage.Stage][]string // files that must exist to leave a stage
	Gates           map[stage.Stage][]string // further checks to leave a stage, by name
	Commands        []gates.Gate             // checks of the repository's own, which Gates may name
	People          People                   // who may do what on the board
	Chat            string                   // where its messages go, as messenger.Message.To; empty = where all go
	Reviewers       []string                 // accounts of the git host whose reviews count although they are bots or may not write
	Keep            []string                 // see work.Workspace
	Writes          map[stage.Role][]string  // what roles may change besides; see stage.Paths
	Protected       Protected                // files whose changes a person has to see
	Verify          [][]string               // commands that the service runs itself before a task leaves testing
	Probe           Probe                    // where its deployments say which commit they run
	WIP             int                      // tasks in work at a time; 0 = DefaultWIP
	Egress          []string                 // hosts that agents and checks may reach, where the service limits them; nil = DefaultEgress
	Monitor         []string                 // addresses that are looked at after a deployment
}

// DefaultWIP is how many tasks of a repository are in work at a time where its entry
// says nothing.
const DefaultWIP = 3

// EgressOf are the hosts that the agent of a role may reach; no role: a check or a hook.
func (p Project) EgressOf(role stage.Role) []string {
	switch own := p.Agents[role].Egress; {
	case own != nil:
		return own
	case p.Egress != nil:
		return p.Egress
	default:
		return []string{"packages"} // the list of their registries
	}
}

// Places is how many tasks of the repository are in work at a time.
func (p Project) Places() int { return cmp.Or(p.WIP, DefaultWIP) }

// HostName is the name of where the repository is hosted.
func (p Project) HostName() string { return cmp.Or(p.Host, HostGitHub) }

// NamedHost is the name of a git host that the registry has beside the first; empty for others.
func (p Project) NamedHost() string {
	if p.HostName() == HostGitHub || p.Plain() {
		return ""
	}
	return p.Host
}

// HostPath is the name of the repository at its host.
func (p Project) HostPath() string { return cmp.Or(p.Path, p.Repo) }

// Plain reports whether the repository is git and nothing else: it has no pull requests,
// no reviews of people, no webhooks, and no CI but the commands of its entry.
func (p Project) Plain() bool { return p.Host == HostGit }

// WithoutCI reports whether nothing tests the repository.
func (p Project) WithoutCI() bool { return p.CINone || p.Plain() && len(p.CI) == 0 }

// requiredChecks are the checks that CI has to report.
func (p Project) requiredChecks() []string {
	if p.Plain() {
		return CommandLines(p.CI)
	}
	return p.Contexts
}

// NeedsCIRun reports whether the service is to run CI for a commit of a task. One that was red
// is run again when its results are needed again: it may have been the machine's fault.
func (p Project) NeedsCIRun(t Task, sha string) bool {
	ci := t.State.CI
	green := !slices.ContainsFunc(ci.Results, func(r stage.Verified) bool { return r.Exit != 0 })
	return p.Plain() && !p.WithoutCI() && (ci.SHA != sha || !green)
}

// Docs is the directory of a work item's artefacts in the repository.
func (p Project) Docs(workItemID string) string { return "docs/work/" + workItemID }

// Sync is the tracker project that statuses and comments go to.
func (p Project) Sync() string {
	if p.SyncProject != "" {
		return p.SyncProject
	}
	return p.TrackerProject
}

// Workspace is the workspace of one task of the project.
func (p Project) Workspace(t Task) work.Workspace {
	return work.Workspace{
		Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main, Branch: t.Branch,
		WorkItem: t.WorkItemID, Task: t.ID, Identity: Identity(t), Docs: p.Docs(t.WorkItemID), Head: t.State.Head, Keep: p.Keep,
	}
}

// Writable returns what a job's commits may change.
func (p Project) Writable(t Task, l stage.Launch, i stage.Info) stage.Paths {
	return i.Writes(l, p.Docs(t.WorkItemID), p.Writes[l.Role])
}

// Policy returns what gates read of the entry.
func (p Project) Policy() gates.Policy {
	return gates.Policy{
		CINone: p.WithoutCI(), AllCI: p.AllCI, Plain: p.Plain(), Required: p.Required, Contexts: p.requiredChecks(), Issuers: p.Issuers,
		Reviewers: p.Reviewers,
		Protected: p.Protected.patterns(), Verify: CommandLines(p.Verify), Probe: p.Probe.ByStage(),
	}
}

// Board is a project of the tracker that feeds a repository beside the first.
type Board struct {
	TrackerProject, SyncProject string // as of Project
	Prefix                      string // no other board of the repository has it: ids, branches and documents carry it
}

// On is the entry as tasks see it whose cards are on a board: TrackerProject, SyncProject
// and Prefix are those of the board. A board that has left the entry is its own; an empty
// id is the first.
func (p Project) On(trackerProject string) Project {
	if trackerProject == "" || trackerProject == p.TrackerProject {
		return p
	}
	b := Board{TrackerProject: trackerProject, Prefix: p.Prefix}
	if i := slices.IndexFunc(p.MoreBoards, func(b Board) bool { return b.TrackerProject == trackerProject }); i >= 0 {
		b = p.MoreBoards[i]
	}
	p.TrackerProject, p.SyncProject, p.Prefix = b.TrackerProject, b.SyncProject, b.Prefix
	return p
}

// trackerProjects are the boards of an entry.
func (p Project) trackerProjects() []string {
	out := []string{p.TrackerProject}
	for _, b := range p.MoreBoards {
		out = append(out, b.TrackerProject)
	}
	return out
}

// Protected defines which files of a repository a person has to see before a change of them
// leaves development. The zero value has those of checks.DefaultProtected.
type Protected struct {
	None bool     // none at all
	More []string // patterns besides those; see stage.Paths
}

func (p Protected) patterns() []string {
	if p.None {
		return nil
	}
	return append(checks.DefaultProtected(), p.More...)
}

// Probe are addresses at which the deployments of a project say which commit they run: the
// body is the commit, or the field of a JSON object that the fragment names. Empty = the
// deployer's word is taken.
type Probe struct{ Staging, Production string }

// Lanes defines which lane of the pipeline a task takes, when it begins.
type Lanes struct {
	Default string      // empty = the whole pipeline
	Labels  []LabelLane // the first whose label the card has goes before Default
}

// LabelLane is the lane of cards with a label, in which case does not matter.
type LabelLane struct{ Label, Lane string }

// Of returns the lane of a card with labels; empty is the whole pipeline.
func (l Lanes) Of(labels []string) string {
	name := l.Default
	has := func(by LabelLane) bool {
		return slices.ContainsFunc(labels, func(label string) bool { return strings.EqualFold(label, by.Label) })
	}
	if at := slices.IndexFunc(l.Labels, has); at >= 0 {
		name = l.Labels[at].Lane
	}
	if name == stage.WholeLane {
		return ""
	}
	return name
}

// Check returns an error that reports a lane that a pipeline does not have.
func (l Lanes) Check(p stage.Pipeline) error {
	for _, by := range append([]LabelLane{{Lane: cmp.Or(l.Default, stage.WholeLane)}}, l.Labels...) {
		if err := p.CheckLane(by.Lane); err != nil {
			return err
		}
	}
	return nil
}

// Recipes are the team's instructions to the deployer, as plain text. Empty = there are none.
type Recipes struct {
	Staging, Production string
	None                bool // nothing is deployed: no deployer works
}

// Credential mints the deployer's secrets: by a command of the operator, or an app of GitHub.
type Credential struct {
	Env         string            // variable that has the secret; empty = there is no credential
	Command     []string          // an absolute path and arguments; prints the secret
	Revoke      []string          // the same; ends it
	AppID       string            // in the place of Command
	AppKey      string            // file with the app's private key, absolute
	Permissions map[string]string // of the app's tokens
}

// At returns the recipe of a stage's deployment.
func (r Recipes) At(s stage.Stage) string {
	switch s {
	case stage.DeployStaging:
		return r.Staging
	case stage.Deploy:
		return r.Production
	default:
		return ""
	}
}

// Hooks are commands that are run in an agent's checkout, beside its runs; see work.Hooks.
type Hooks struct {
	AfterCreate [][]string    // once for a task and role, as long as what they leave is kept
	BeforeRun   [][]string    // before each run
	AfterRun    [][]string    // after each run, whatever came of it
	Timeout     time.Duration // of each list; 0 = DefaultHookTime
}

// How long the commands of a hook may take together.
const (
	DefaultHookTime = time.Minute
	maxHookTime     = 10 * time.Minute
)

// ByStage returns the addresses by the stages whose deployments they show.
func (p Probe) ByStage() map[stage.Stage]string {
	out := map[stage.Stage]string{}
	for at, address := range map[stage.Stage]string{stage.DeployStaging: p.Staging, stage.Deploy: p.Production} {
		if address != "" {
			out[at] = address
		}
	}
	return out
}

// CommandLines are commands as people read them.
func CommandLines(commands [][]string) (list []string) {
	for _, argv := range commands {
		list = append(list, strings.Join(argv, " "))
	}
	return list
}
