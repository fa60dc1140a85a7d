package githubtest

import (
	"encoding/json"
	"net/http"
	"slices"
)

// Settings holds what a repository's pages of settings show.
type Settings struct {
	Push, Admin bool // of the token
	Archived    bool
	CloneURL    string              // empty = as of github.com
	Methods     []string            // of merging: merge, squash, rebase
	DeleteHead  bool                // branches are deleted when they are merged
	Required    map[string][]string // checks that must be green, by protected branch
	Rules       map[string][]string // checks that rulesets demand, by branch
	Queue       bool                // a ruleset demands the merge queue
	Hooks       []Hook
	Standing    string // mergeable_state of open pull requests; empty = as their branches are
	Refusal     string // GitHub's words with which every merge is refused
}

// Hook is a registered webhook. What is sent goes to SetHookURL all the same.
type Hook struct {
	URL, ContentType, Secret string
	Events                   []string
	Active                   bool
	Last                     int // HTTP status of its last delivery; 0 = none
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

func (s *Server) describe(w http.ResponseWriter, _ *http.Request, repo *repository) {
	with := repo.settings
	if with.CloneURL == "" {
		with.CloneURL = "https://github.com/" + repo.called + ".git"
	}
	reply(w, http.StatusOK, map[string]any{
		"id": 1, "full_name": repo.called, "clone_url": with.CloneURL, "default_branch": repo.First(), "archived": with.Archived,
		"delete_branch_on_merge": with.DeleteHead,
		"permissions":            map[string]bool{"admin": with.Admin, "maintain": with.Admin, "push": with.Push, "pull": true},
		"allow_merge_commit":     slices.Contains(with.Methods, "merge"),
		"allow_squash_merge":     slices.Contains(with.Methods, "squash"),
		"allow_rebase_merge":     slices.Contains(with.Methods, "rebase"),
	})
}

func (s *Server) branch(w http.ResponseWriter, r *http.Request, repo *repository) {
	name := r.PathValue("branch")
	sha := repo.Heads()[name]
	if sha == "" {
		fail(w, http.StatusNotFound, "Branch not found")
		return
	}
	contexts, protected := repo.settings.Required[name]
	level := map[bool]string{true: "everyone", false: "off"}[len(contexts) > 0]
	demanded := map[string]any{"enforcement_level": level, "contexts": append([]string{}, contexts...)}
	reply(w, http.StatusOK, map[string]any{
		"name": name, "commit": map[string]any{"sha": sha}, "protected": protected,
		"protection": map[string]any{"enabled": protected, "required_status_checks": demanded},
	})
}

// mayHook answers who may not see webhooks, as if there were no such page.
func mayHook(w http.ResponseWriter, repo *repository) bool {
	if !repo.settings.Admin {
		fail(w, http.StatusNotFound, "Not Found")
	}
	return repo.settings.Admin
}

func (h Hook) wire(id int) map[string]any {
	status, message := "active", any("OK")
	if h.Last == 0 {
		status, message = "unused", nil
	} else if h.Last/100 != 2 {
		status, message = "invalid_response", "Invalid HTTP Response: "+http.StatusText(h.Last)
	}
	var code any
	if h.Last != 0 {
		code = h.Last
	}
	return map[string]any{
		"type": "Repository", "id": id, "name": "web", "active": h.Active, "events": h.Events,
		"config":        map[string]any{"url": h.URL, "content_type": h.ContentType, "insecure_ssl": "0", "secret": "********"},
		"last_response": map[string]any{"code": code, "status": status, "message": message},
	}
}

func (s *Server) listHooks(w http.ResponseWriter, _ *http.Request, repo *repository) {
	if !mayHook(w, repo) {
		return
	}
	rows := []any{}
	for i, h := range repo.settings.Hooks {
		rows = append(rows, h.wire(i+1))
	}
	reply(w, http.StatusOK, rows)
}

func (s *Server) addHook(w http.ResponseWriter, r *http.Request, repo *repository) {
	if !mayHook(w, repo) {
		return
	}
	var in struct {
		Config struct {
			URL         string
			ContentType string `json:"content_type"`
			Secret      string
		}
		Events []string
		Active bool
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Config.URL == "" {
		fail(w, http.StatusUnprocessableEntity, "Validation Failed", "url cannot be blank")
		return
	}
	for _, h := range repo.settings.Hooks {
		if h.URL == in.Config.URL {
			fail(w, http.StatusUnprocessableEntity, "Validation Failed", "Hook already exists on this repository")
			return
		}
	}
	h := Hook{URL: in.Config.URL, ContentType: in.Config.ContentType, Secret: in.Config.Secret, Events: in.Events, Active: in.Active}
	repo.settings.Hooks = append(repo.settings.Hooks, h)
	reply(w, http.StatusCreated, h.wire(len(repo.settings.Hooks)))
}
