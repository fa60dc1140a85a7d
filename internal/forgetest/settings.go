package forgetest

import (
	"cmp"
	"net/http"
	"slices"
	"strings"
)

// Settings holds what a repository's pages of settings show.
type Settings struct {
	Push, Admin bool // of the token
	Archived    bool
	CloneURL    string              // empty = as of github.com, or git.example.org
	Methods     []string            // of merging: merge, squash, rebase; at Gitea rebase-merge, fast-forward-only too
	Required    map[string][]string // checks that must be green, by protected branch; at Gitea patterns
	Hooks       []Hook
	Refusal     string // the host's words with which every merge is refused
	Approvals   int    // that a merge into a protected branch needs

	// Of GitHub.

	DeleteHead bool                // branches are deleted when they are merged
	Rules      map[string][]string // checks that rulesets demand, by branch; name@number: of an app
	Queue      bool                // a ruleset demands the merge queue; see ProtectedQueue

	ProtectedQueue bool // it is the branch's protection that does, which no list of rules shows

	Conversations bool   // have to be resolved before a merge
	Standing      string // mergeable_state of open pull requests; empty = as their branches are
}

// Hook is a registered webhook. What is sent goes to SetHookURL all the same.
type Hook struct {
	URL, ContentType, Secret string
	Events                   []string // at Gitea as they are listed: one by one
	Active                   bool
	Last                     int // GitHub: HTTP status of its last delivery; 0 = none
}

// SetSettings changes the settings of a repository.
func (s *Server) SetSettings(repo string, change func(*Settings)) {
	defer s.lock()()
	if r := s.repo(repo); r != nil {
		change(&r.settings)
	}
}

// Settings are those of a repository.
func (s *Server) Settings(repo string) (out Settings) {
	s.SetSettings(repo, func(now *Settings) { out = *now; out.Hooks = slices.Clone(now.Hooks) })
	return out
}

// wireRepo is a repository; one that has nothing but issues has no branches and settings.
func (s *Server) wireRepo(r *repository) object {
	_, short, _ := strings.Cut(r.called, "/")
	out := object{
		"id": r.id, "name": short, "full_name": r.called, "owner": s.wireUser(owner(r.called)), "html_url": s.web + r.called,
	}
	if r.Repo == nil {
		return out
	}
	address := cmp.Or(r.settings.CloneURL, s.clones+r.called+".git")
	out["clone_url"], out["default_branch"], out["archived"], out["private"] = address, r.First(), r.settings.Archived, s.gitea
	if s.gitea {
		s.wireRights(r, out)
	}
	return out
}

// wireRights adds what may be done in a repository, which GitHub shows on the repository's own page alone.
func (s *Server) wireRights(r *repository, out object) {
	with := r.settings
	may := object{"admin": with.Admin, "push": with.Push, "pull": true}
	out["permissions"] = may
	if !s.gitea {
		may["maintain"], out["delete_branch_on_merge"] = with.Admin, with.DeleteHead
	}
	for method, field := range s.allows {
		out[field] = slices.Contains(with.Methods, method)
	}
}

func (c *call) describe() {
	out := c.wireRepo(c.at)
	c.wireRights(c.at, out)
	c.ok(out)
}

// wireUser is an account. Those of Gitea itself have ids below zero: here, all that are called
// like "lint[bot]", and Ghost.
func (s *Server) wireUser(login string) object {
	p := s.person(login)
	id, kind := 1000+len(login), "User"
	if strings.HasSuffix(login, "[bot]") {
		kind = "Bot"
	}
	switch {
	case !s.gitea:
		return object{"id": id, "login": login, "type": kind}
	case kind == "Bot":
		id = -2
	case login == "Ghost":
		id = -1
	}
	return object{"id": id, "login": login, "username": login, "full_name": p.Name, "email": p.Email}
}

// person returns the account of a login; empty: none was added.
func (s *Server) person(login string) Person {
	for _, p := range s.people {
		if strings.EqualFold(p.Login, login) {
			return p
		}
	}
	return Person{}
}

func (c *call) getPerson() {
	p := c.person(c.r.PathValue("login"))
	if p.Login == "" {
		c.fail(c.notFound)
		return
	}
	out := c.wireUser(p.Login)
	out["email"] = p.Email
	if !c.gitea {
		out["name"] = p.Name
	}
	c.ok(out)
}

// mayHook answers who may not see webhooks.
func (c *call) mayHook() bool {
	if !c.at.settings.Admin {
		c.fail(c.noHooks)
	}
	return c.at.settings.Admin
}

func (c *call) listHooks() {
	if !c.mayHook() {
		return
	}
	rows := []any{}
	for i, h := range c.at.settings.Hooks {
		rows = append(rows, c.wireHook(h, i+1))
	}
	c.list(rows)
}

// addHook makes a webhook; Gitea makes a second one for the same address too.
func (c *call) addHook() {
	var in struct {
		Config map[string]string
		Events []string
		Active bool
	}
	if !c.mayHook() || !c.decode(&in) {
		return
	}
	h := Hook{
		URL: in.Config["url"], ContentType: in.Config["content_type"], Secret: in.Config["secret"], Events: in.Events, Active: in.Active,
	}
	switch hooks := c.at.settings.Hooks; {
	case c.gitea && (h.URL == "" || h.ContentType == ""):
		name := map[bool]string{true: "url", false: "content_type"}[h.URL == ""]
		c.fail(refusal{status: http.StatusUnprocessableEntity, text: "Missing config option: " + name})
		return
	case c.gitea:
		h.Events = listed(in.Events)
	case h.URL == "":
		c.fail(invalid("url cannot be blank"))
		return
	case slices.ContainsFunc(hooks, func(o Hook) bool { return o.URL == h.URL }):
		c.fail(invalid("Hook already exists on this repository"))
		return
	}
	c.at.settings.Hooks = append(c.at.settings.Hooks, h)
	c.reply(http.StatusCreated, c.wireHook(h, len(c.at.settings.Hooks)))
}
