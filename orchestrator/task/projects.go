package task

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
)

// Projects is the project registry. All parts of a service hold the same one; Replace
// changes what it says for all of them at once. It is safe for concurrent use.
//
// A job reads its project once, as a value, and works by that to its end. Features look at
// the registry again in the middle of it (whether a gate covers a repository, how many places
// it has); what they hold by another answer than the job began with is put right by their
// loops, which Engine.Replace has look at all tasks again, as at a start.
type Projects struct{ now atomic.Pointer[registered] }

// registered holds what a registry says. It is never changed.
type registered struct {
	list      []Project
	byTracker map[string]int
	byRepo    map[string]int
	byHost    map[place]int
}

// place is where a repository is hosted.
type place struct{ host, path string }

func placeOf(host, path string) place { return place{host, strings.ToLower(path)} }

// NewProjects checks the entries and makes a registry. An error is a FieldError: it names
// the entry, the field and what it should be.
func NewProjects(list ...Project) (*Projects, error) {
	r := &registered{byTracker: map[string]int{}, byRepo: map[string]int{}, byHost: map[place]int{}}
	for i, e := range list {
		e.Main = cmp.Or(e.Main, "main")
		if field, wrong := e.check(); wrong != "" {
			return nil, &FieldError{Entry: i, Repo: e.Repo, Field: field, Text: wrong}
		}
		for n, id := range e.trackerProjects() {
			if _, twice := r.byTracker[id]; twice {
				of := []string{"tracker_project", "more_boards"}[min(n, 1)]
				return nil, &FieldError{Entry: i, Repo: e.Repo, Field: of, Text: fmt.Sprintf("%q is registered twice", id)}
			}
			r.byTracker[id] = i
		}
		if _, twice := r.byRepo[strings.ToLower(e.Repo)]; twice {
			text := fmt.Sprintf("%q is registered twice; several boards of a repository are one entry with more_boards, "+
				"and one of the same name at another host gets a name of its own here and its name there as path", e.Repo)
			return nil, &FieldError{Entry: i, Repo: e.Repo, Field: "repo", Text: text}
		}
		at := placeOf(e.HostName(), e.HostPath())
		if _, twice := r.byHost[at]; twice {
			text := fmt.Sprintf("%q is registered twice at %s", e.HostPath(), e.HostName())
			return nil, &FieldError{Entry: i, Repo: e.Repo, Field: "path", Text: text}
		}
		r.byHost[at] = i
		r.byRepo[strings.ToLower(e.Repo)] = i
		r.list = append(r.list, e)
	}
	p := &Projects{}
	p.now.Store(r)
	return p, nil
}

// at reads the registry; a zero one has no entry.
func (p *Projects) at() *registered { return cmp.Or(p.now.Load(), &registered{}) }

// Replace makes the registry say what another one says at present.
func (p *Projects) Replace(with *Projects) { p.now.Store(with.at()) }

// Now returns a registry with the entries of this one at present, which does not change: for
// callers that read several times and need consistent answers.
func (p *Projects) Now() *Projects {
	out := &Projects{}
	out.Replace(p)
	return out
}

// Boards lists an entry for each board, in the order of the file; see Project.On.
func (p *Projects) Boards() (out []Project) {
	for _, e := range p.at().list {
		for _, id := range e.trackerProjects() {
			out = append(out, e.On(id))
		}
	}
	return out
}

// All lists the entries, one for each repository, in the order of the file.
func (p *Projects) All() []Project { return slices.Clone(p.at().list) }

// ByTracker finds the entry of a tracker project, as of that board; see Project.On.
func (p *Projects) ByTracker(id string) (Project, bool) {
	r := p.at()
	i, ok := r.byTracker[id]
	if !ok {
		return Project{}, false
	}
	return r.list[i].On(id), true
}

// ByRepo finds the entry of a repository, whatever the case of its letters.
func (p *Projects) ByRepo(repo string) (Project, bool) {
	r := p.at()
	i, ok := r.byRepo[strings.ToLower(repo)]
	if !ok {
		return Project{}, false
	}
	return r.list[i], true
}

// ByHost finds the entry of a repository by its host and its path there, whatever the case
// of its letters.
func (p *Projects) ByHost(host, path string) (Project, bool) {
	r := p.at()
	i, ok := r.byHost[placeOf(host, path)]
	if !ok {
		return Project{}, false
	}
	return r.list[i], true
}
