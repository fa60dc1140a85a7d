package giteatest

import (
	"net/http"
	"slices"
)

// Self is the account of the service's token.
const Self = "signalbox-bot"

// Settings holds what a repository's pages of settings show.
type Settings struct {
	Push, Admin bool // of the token
	Archived    bool
	CloneURL    string              // empty = as of git.example.org
	Methods     []string            // of merging: merge, squash, rebase, rebase-merge, fast-forward-only
	Required    map[string][]string // checks that must be green, by protected branch; patterns
	Approvals   int                 // official ones that a merge into a protected branch needs
	Hooks       []Hook
	Refusal     string // Gitea's words with which every merge is refused
}

// Hook is a registered webhook. What is sent goes to SetHookURL all the same.
type Hook struct {
	URL, ContentType, Secret string
	Events                   []string // as they are listed: one by one
	Active                   bool
}

// SetSettings changes the settings of a repository.
func (s *Server) SetSettings(repo string, change func(*Settings)) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if r := s.repo(repo); r != nil {
		change(&r.settings)
	}
}

// Settings are those of a repository.
func (s *Server) Settings(repo string) (out Settings) {
	s.SetSettings(repo, func(now *Settings) { out = *now; out.Hooks = slices.Clone(now.Hooks) })
	return out
}

// SetRole sets what an account may do in all repositories: admin, write, read or none.
// An account without a role may read, as on a public repository.
func (s *Server) SetRole(login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles[login] = role
}

func (s *Server) role(login string) string {
	if role, set := s.roles[login]; set {
		return role
	}
	return "read"
}

func (s *Server) mayWrite(login string) bool {
	return s.role(login) == "write" || s.role(login) == "admin"
}

func (s *Server) repoRoutes() routes {
	return routes{
		"GET ":       s.describe,
		"GET /hooks": s.listHooks, "POST /hooks": s.addHook,
		"GET /collaborators/{login}/permission": s.permission,
	}
}

func (s *Server) describe(w http.ResponseWriter, _ *http.Request, repo *repository) {
	reply(w, http.StatusOK, wireRepo(repo))
}

// permission answers to administrators of the repository for every account that exists,
// and to others for their own; "ghost" does not exist.
func (s *Server) permission(w http.ResponseWriter, r *http.Request, repo *repository) {
	login := r.PathValue("login")
	switch {
	case !repo.settings.Admin && login != Self:
		fail(w, http.StatusForbidden, "Only admins can query all permissions, "+
			"repo admins can query all repo permissions, collaborators can query only their own")
	case login == "ghost":
		notFound(w)
	default:
		reply(w, http.StatusOK, map[string]any{"permission": s.role(login), "role_name": s.role(login), "user": wireUser(login)})
	}
}

// mayHook answers who may not see webhooks.
func mayHook(w http.ResponseWriter, repo *repository) bool {
	if !repo.settings.Admin {
		fail(w, http.StatusForbidden, "user should be an owner or a collaborator with admin write of a repository")
	}
	return repo.settings.Admin
}

func (h Hook) wire(id int) map[string]any {
	return map[string]any{
		"id": id, "type": "gitea", "branch_filter": "*", "active": h.Active, "events": h.Events, "authorization_header": "",
		"config": map[string]any{"url": h.URL, "content_type": h.ContentType},
	}
}

func (s *Server) listHooks(w http.ResponseWriter, r *http.Request, repo *repository) {
	if !mayHook(w, repo) {
		return
	}
	rows := []any{}
	for i, h := range repo.settings.Hooks {
		rows = append(rows, h.wire(i+1))
	}
	pages(w, r, rows)
}

// addHook makes a webhook; Gitea makes a second one for the same address too.
func (s *Server) addHook(w http.ResponseWriter, r *http.Request, repo *repository) {
	if !mayHook(w, repo) {
		return
	}
	var in struct {
		Type   string
		Config map[string]string
		Events []string
		Active bool
	}
	if !decode(w, r, &in) {
		return
	}
	for _, name := range []string{"url", "content_type"} {
		if in.Config[name] == "" {
			fail(w, http.StatusUnprocessableEntity, "Missing config option: "+name)
			return
		}
	}
	h := Hook{
		URL: in.Config["url"], ContentType: in.Config["content_type"], Secret: in.Config["secret"],
		Events: listed(in.Events), Active: in.Active,
	}
	repo.settings.Hooks = append(repo.settings.Hooks, h)
	reply(w, http.StatusCreated, h.wire(len(repo.settings.Hooks)))
}

// listed are the events of a webhook as they are listed; pull_request is many.
func listed(asked []string) (out []string) {
	for _, e := range asked {
		if out = append(out, e); e == "pull_request" {
			out = append(out, "pull_request_assign", "pull_request_label", "pull_request_milestone", "pull_request_comment",
				"pull_request_review", "pull_request_review_request", "pull_request_sync")
		}
	}
	return out
}
