package orchestrator

import (
	"fmt"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Project is one entry of the project registry: it maps a tracker project to a
// repository and says how work is done there.
type Project struct {
	TrackerProject string // id of the project on the board
	SyncProject    string // id of the project that statuses and comments go to; empty = TrackerProject
	Repo           string // owner/name on the git host
	CloneURL       string
	WebURL         string // base of links to the repository; may be empty
	Prefix         string // of work item ids, e.g. GPX
	Main           string // protected branch; default "main"
	SelfHosting    bool   // the repository of this service itself
	CINone         bool   // the repository has no CI
	Contexts       []string
	Agents         map[stage.Role]string    // preset or command for each role
	Required       map[stage.Stage][]string // files that must exist to leave a stage
	Gates          map[stage.Stage][]string // further checks to leave a stage, by name
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

// Space is the workspace of one task of the project.
func (p Project) Space(t Task) work.Space {
	return work.Space{
		Repo: p.Repo, CloneURL: p.CloneURL, Main: p.Main, Branch: t.Branch,
		WorkItem: t.WorkItemID, Docs: p.Docs(t.WorkItemID),
	}
}

// Projects is the project registry. It is immutable.
type Projects struct {
	list      []Project
	byTracker map[string]int
	byRepo    map[string]int
}

var (
	prefixForm = regexp.MustCompile(`^[A-Z][A-Z0-9]{0,11}$`)
	repoForm   = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]*/[A-Za-z0-9][A-Za-z0-9._-]*$`)
)

// NewProjects checks the entries and makes a registry. An error names the
// entry, the field and what it should be.
func NewProjects(list ...Project) (*Projects, error) {
	p := &Projects{byTracker: map[string]int{}, byRepo: map[string]int{}}
	for i, e := range list {
		if e.Main == "" {
			e.Main = "main"
		}
		if err := e.check(); err != nil {
			return nil, fmt.Errorf("project %d (%s): %w", i+1, e.Repo, err)
		}
		if _, twice := p.byTracker[e.TrackerProject]; twice {
			return nil, fmt.Errorf("project %d (%s): tracker_project %q is registered twice", i+1, e.Repo, e.TrackerProject)
		}
		if _, twice := p.byRepo[strings.ToLower(e.Repo)]; twice {
			return nil, fmt.Errorf("project %d: repo %q is registered twice", i+1, e.Repo)
		}
		p.byTracker[e.TrackerProject] = i
		p.byRepo[strings.ToLower(e.Repo)] = i
		p.list = append(p.list, e)
	}
	return p, nil
}

func (p Project) check() error {
	switch {
	case p.TrackerProject == "":
		return fmt.Errorf("tracker_project is missing: the id of the project on the board")
	case !repoForm.MatchString(p.Repo):
		return fmt.Errorf("repo is %q, want owner/name", p.Repo)
	case p.CloneURL == "":
		return fmt.Errorf("clone_url is missing")
	case !prefixForm.MatchString(p.Prefix):
		return fmt.Errorf("prefix is %q, want capitals and digits such as GPX, at most 12", p.Prefix)
	default:
		return nil
	}
}

// All lists the entries in the order of the file.
func (p *Projects) All() []Project { return append([]Project(nil), p.list...) }

// ByTracker finds the entry of a tracker project.
func (p *Projects) ByTracker(id string) (Project, bool) {
	i, ok := p.byTracker[id]
	if !ok {
		return Project{}, false
	}
	return p.list[i], true
}

// ByRepo finds the entry of a repository, whatever the case of its letters.
func (p *Projects) ByRepo(repo string) (Project, bool) {
	i, ok := p.byRepo[strings.ToLower(repo)]
	if !ok {
		return Project{}, false
	}
	return p.list[i], true
}
