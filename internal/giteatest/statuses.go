package giteatest

import (
	"net/http"
	"slices"
)

func (s *Server) statusRoutes() routes {
	return routes{
		"GET /commits/{sha}/status": s.combined, "GET /commits/{sha}/statuses": s.listStatuses, "POST /statuses/{sha}": s.createStatus,
	}
}

// combined counts only what is on the page.
func (s *Server) combined(w http.ResponseWriter, r *http.Request, repo *repository) {
	part, _, _ := page(r, s.latest(repo, r.PathValue("sha")))
	state, rows := "pending", []any(nil)
	if len(part) > 0 {
		state = "success"
	}
	for _, st := range part {
		rows = append(rows, st.wire())
		if st.state != "success" {
			state = st.state
		}
	}
	reply(w, http.StatusOK, map[string]any{
		"state": state, "sha": r.PathValue("sha"), "total_count": len(rows), "statuses": rows, "repository": wireRepo(repo),
	})
}

func (s *Server) listStatuses(w http.ResponseWriter, r *http.Request, repo *repository) {
	rows := []any{}
	for _, st := range slices.Backward(s.statuses[repo.name+" "+r.PathValue("sha")]) {
		rows = append(rows, st.wire())
	}
	pages(w, r, rows)
}

func (s *Server) createStatus(w http.ResponseWriter, r *http.Request, repo *repository) {
	var in struct{ State, Context, Description string }
	if !decode(w, r, &in) {
		return
	}
	if !slices.Contains(states(), in.State) {
		fail(w, http.StatusUnprocessableEntity, "invalid state")
		return
	}
	st := s.storeStatus(repo, r.PathValue("sha"), status{context: in.Context, state: in.State, description: in.Description})
	reply(w, http.StatusCreated, st.wire())
}

// wire calls status what the webhook calls state.
func (st status) wire() map[string]any {
	return map[string]any{
		"id": st.id, "context": st.context, "status": st.state, "description": st.description, "target_url": st.target,
		"created_at": stamp(st.at), "updated_at": stamp(st.at),
	}
}
