package orchestrator

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Project is one entry of the project registry: it maps a tracker project to a
// repository and says how work is done there.
type Project struct {
	TrackerProject string // id of the project on the board; of the first of several
	SyncProject    string // id of the project that statuses and comments go to; empty = TrackerProject
	Host           string // where the repository is hosted: HostGitHub (the default) or HostGit
	Repo           string // owner/name on the git host; of a plain one, its name here
	CloneURL       string
	WebURL         string  // base of links to the repository; may be empty
	Prefix         string  // of work item ids, e.g. GPX
	MoreBoards     []Board // that feed the repository too
	Main           string  // protected branch; default "main"
	SelfHosting    bool    // the repository of this service itself
	CINone         bool    // the repository has no CI
	Contexts       []string
	CI             [][]string               // commands that the service runs as CI, where nobody else does (HostGit)
	Agents         map[stage.Role]string    // preset or command for each role
	Required       map[stage.Stage][]string // files that must exist to leave a stage
	Gates          map[stage.Stage][]string // further checks to leave a stage, by name
	Commands       []gates.Gate             // checks of the repository's own, which Gates may name
	People         People                   // who may do what on the board
	Reviewers      []string                 // accounts of the git host whose reviews count although they are bots or may not write
	Keep           []string                 // see work.Space
	Writes         map[stage.Role][]string  // what roles may change besides; see stage.Paths
	Protected      Protected                // files whose changes a person has to see
	Verify         [][]string               // commands that the service runs itself before a task leaves testing
	Probe          Probe                    // where its deployments say which commit they run
	WIP            int                      // tasks in work at a time; 0 = DefaultWIP
	Monitor        []string                 // addresses that are looked at after a deployment
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

// DefaultWIP is how many tasks of a repository are in work at a time where its entry
// says nothing.
const DefaultWIP = 3

// Places is how many tasks of the repository are in work at a time.
func (p Project) Places() int { return cmp.Or(p.WIP, DefaultWIP) }

// Docs is the directory of a work item's artefacts in the repository.
func (p Project) Docs(workItemID string) string { return "docs/work/" + workItemID }

// Sync is the tracker project that statuses and comments go to.
func (p Project) Sync() string {
	if p.SyncProject != "" {
		return p.SyncProject
	}
	return p.TrackerProject
}

// policy is what gates read of the entry.
func (p Project) policy() gates.Policy {
	return gates.Policy{
		CINone: p.noCI(), Plain: p.Plain(), Required: p.Required, Contexts: p.contexts(), Reviewers: p.Reviewers,
		Protected: p.Protected.patterns(), Verify: lines(p.Verify), Probe: p.Probe.byStage(),
	}
}

// Protected says which files of a repository a person has to see before a change of them
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

// Space is the workspace of one task of the project.
func (p Project) Space(t Task) work.Space {
	return work.Space{
		Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main, Branch: t.Branch,
		WorkItem: t.WorkItemID, Task: t.ID, Identity: identity(t), Docs: p.Docs(t.WorkItemID), Head: t.State.Head, Keep: p.Keep,
	}
}

var (
	prefixForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,11}$`)
	repoForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// FieldError says what is wrong with one field of one entry.
type FieldError struct {
	Entry int    // from 0
	Repo  string // of the entry; may be empty
	Field string
	Text  string
}

// Error names the entry, the field and what it should be.
func (e *FieldError) Error() string {
	return fmt.Sprintf("project %d (%s): %s: %s", e.Entry+1, e.Repo, e.Field, e.Text)
}

func checkPrefix(prefix string) (wrong string) {
	if !prefixForm.MatchString(prefix) {
		return fmt.Sprintf("is %q, want capitals and digits such as GPX, at most 12", prefix)
	}
	return ""
}

// check returns the first field that is wrong, and why.
func (p Project) check() (field, wrong string) {
	switch {
	case p.TrackerProject == "":
		return "tracker_project", "is missing: the id of the project on the board"
	case !repoForm.MatchString(p.Repo):
		return "repo", fmt.Sprintf("is %q, want owner/name", p.Repo)
	case p.CloneURL == "":
		return "clone_url", "is missing: what git clones from"
	}
	if wrong := checkPrefix(p.Prefix); wrong != "" {
		return "prefix", wrong
	}
	if field, wrong := p.checkHost(); wrong != "" {
		return field, wrong
	}
	prefixes := []string{p.Prefix}
	for _, b := range p.MoreBoards {
		wrong := checkPrefix(b.Prefix)
		switch {
		case b.TrackerProject == "":
			return "more_boards", "a board has no tracker_project: the id of the project on the board"
		case wrong != "":
			return "more_boards", "the prefix of " + b.TrackerProject + " " + wrong
		case slices.Contains(prefixes, b.Prefix):
			return "more_boards", fmt.Sprintf("two boards have the prefix %s, and so would their work items, branches and documents: give each board one of its own", b.Prefix)
		}
		prefixes = append(prefixes, b.Prefix)
	}
	if p.WIP < 0 {
		return "wip", fmt.Sprintf("is %d, want 1 or more: how many tasks are in work at a time (leave it out for %d, or write 1000 for no limit)", p.WIP, DefaultWIP)
	}
	if field, wrong := p.People.check(); wrong != "" {
		return field, wrong
	}
	if err := work.CheckKeep(p.Keep); err != nil {
		return "keep", err.Error()
	}
	if err := stage.CheckPatterns(p.Protected.More); err != nil {
		return "protected", err.Error()
	}
	if slices.ContainsFunc(p.Verify, func(argv []string) bool { return len(argv) == 0 || argv[0] == "" }) {
		return "verify", "has an empty command, want lists of an executable and its arguments such as [go, test, ./...]"
	}
	if wrong := p.Probe.check(); wrong != "" {
		return "probe", wrong
	}
	for _, role := range slices.Sorted(maps.Keys(p.Writes)) {
		if err := stage.CheckWrites(role, p.Writes[role]); err != nil {
			return "writes", fmt.Sprintf("%s: %v", role, err)
		}
	}
	return "", ""
}
