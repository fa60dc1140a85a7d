package giteatest

import (
	"maps"
	"net/http"
	"slices"
)

func (s *Server) branchRoutes() routes {
	return routes{
		"GET /branches": s.listBranches, "GET /branches/{branch...}": s.branch, "DELETE /branches/{branch...}": s.deleteBranch,
	}
}

func (s *Server) listBranches(w http.ResponseWriter, r *http.Request, repo *repository) {
	heads := repo.Heads()
	rows := []any{}
	for _, name := range slices.Sorted(maps.Keys(heads)) {
		rows = append(rows, wireBranch(repo, name, heads[name]))
	}
	pages(w, r, rows)
}

func (s *Server) branch(w http.ResponseWriter, r *http.Request, repo *repository) {
	name := r.PathValue("branch")
	if sha := repo.Heads()[name]; sha != "" {
		reply(w, http.StatusOK, wireBranch(repo, name, sha))
		return
	}
	notFound(w)
}

func wireBranch(repo *repository, name, sha string) map[string]any {
	contexts, protected := repo.settings.Required[name]
	return map[string]any{
		"name": name, "commit": map[string]any{"id": sha, "message": ""}, "protected": protected,
		"user_can_push": !protected, "user_can_merge": repo.settings.Push, "required_approvals": repo.settings.Approvals,
		"enable_status_check": len(contexts) > 0, "status_check_contexts": append([]string{}, contexts...),
	}
}

func (s *Server) deleteBranch(w http.ResponseWriter, r *http.Request, repo *repository) {
	name := r.PathValue("branch")
	_, protected := repo.settings.Required[name]
	switch {
	case repo.Heads()[name] == "":
		notFound(w)
	case name == repo.First():
		fail(w, http.StatusForbidden, "can not delete default or pull request target branch")
	case protected:
		fail(w, http.StatusForbidden, "branch protected")
	case repo.Remove(name) != nil:
		fail(w, http.StatusInternalServerError, "")
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}
