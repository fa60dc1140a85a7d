package planetest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that hung up needs no answer
}

func missing(w http.ResponseWriter) {
	reply(w, http.StatusNotFound, map[string]string{"error": "The requested resource does not exist."})
}

// route answers a request; the lock is held.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	if !strings.HasSuffix(r.URL.Path, "/") {
		http.Redirect(w, r, r.URL.Path+"/", http.StatusMovedPermanently)
		return
	}
	key := r.Header.Get("X-Api-Key")
	actor, known := s.opt.Tokens[key]
	switch {
	case key == "":
		reply(w, http.StatusUnauthorized, map[string]string{"detail": "Authentication credentials were not provided."})
		return
	case !known:
		reply(w, http.StatusForbidden, map[string]string{"detail": "Given API token is not valid"})
		return
	}
	w.Header().Set("X-RateLimit-Remaining", "59")
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/"), "/")
	switch {
	case len(path) == 2 && path[0] == "users" && path[1] == "me":
		reply(w, http.StatusOK, map[string]any{"id": actor, "display_name": "bot", "email": "bot@example.org"})
	case len(path) >= 4 && path[0] == "workspaces" && path[1] == s.opt.Workspace && path[2] == "projects":
		s.inProject(w, r, actor, path[3], path[4:])
	default:
		reply(w, http.StatusNotFound, map[string]string{"error": "Page not found."})
	}
}

func (s *Server) inProject(w http.ResponseWriter, r *http.Request, actor, projectID string, rest []string) {
	p := s.project(projectID)
	if p == nil {
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
		return
	}
	var i *Item
	if len(rest) >= 2 && rest[0] == "work-items" {
		if i = s.item(rest[1]); i == nil || i.Project != p.id {
			missing(w)
			return
		}
	}
	switch r.Method + " " + strings.Join(shape(rest), "/") {
	case "GET ":
		reply(w, http.StatusOK, map[string]any{"id": p.id, "identifier": p.identifier, "name": p.identifier})
	case "GET states":
		var rows []any
		for _, st := range p.states {
			rows = append(rows, map[string]any{"id": st.ID, "name": st.Name, "group": "started"})
		}
		paginate(w, r, rows)
	case "GET work-items":
		s.list(w, r, p)
	case "GET work-items/*":
		reply(w, http.StatusOK, s.restItem(i))
	case "PATCH work-items/*":
		s.patch(w, r, p, i, actor)
	case "GET work-items/*/comments":
		var rows []any
		for _, c := range s.comments {
			if c.Item == i.ID {
				rows = append(rows, s.wireComment(i, c))
			}
		}
		paginate(w, r, rows)
	case "POST work-items/*/comments":
		s.comment(w, r, i, actor)
	default:
		reply(w, http.StatusNotFound, map[string]string{"error": "Page not found."})
	}
}

// shape is a path with its ids left out.
func shape(path []string) []string {
	out := slices.Clone(path)
	if len(out) >= 2 {
		out[1] = "*"
	}
	return out
}

// paginate answers with a page, as Plane counts: next_cursor is always there,
// next_page_results says whether it means anything.
func paginate(w http.ResponseWriter, r *http.Request, rows []any) {
	size, page := 1000, 0
	if v := r.URL.Query().Get("per_page"); v != "" {
		size, _ = strconv.Atoi(v)
	}
	if v := r.URL.Query().Get("cursor"); v != "" {
		parts := strings.Split(v, ":")
		n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if err != nil || len(parts) != 3 {
			reply(w, http.StatusBadRequest, map[string]string{"detail": "Invalid cursor parameter."})
			return
		}
		page = n
	}
	if size < 1 || size > 1000 {
		reply(w, http.StatusBadRequest, map[string]string{"detail": "Invalid per_page value. Cannot exceed 1000."})
		return
	}
	from := min(page*size, len(rows))
	to := min(from+size, len(rows))
	reply(w, http.StatusOK, map[string]any{
		"grouped_by": nil, "sub_grouped_by": nil, "total_count": len(rows), "total_results": len(rows), "count": to - from,
		"total_pages": (len(rows) + size - 1) / size, "extra_stats": nil,
		"next_cursor": fmt.Sprintf("%d:%d:0", size, page+1), "prev_cursor": fmt.Sprintf("%d:%d:1", size, page-1),
		"next_page_results": to < len(rows), "prev_page_results": page > 0, "results": append([]any{}, rows[from:to]...),
	})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, p *project) {
	var items []*Item
	for _, i := range s.items {
		if i.Project == p.id {
			items = append(items, i)
		}
	}
	if r.URL.Query().Get("order_by") == "-updated_at" {
		slices.SortStableFunc(items, func(a, b *Item) int { return b.Updated.Compare(a.Updated) })
	}
	var rows []any
	for _, i := range items {
		rows = append(rows, s.restItem(i))
	}
	paginate(w, r, rows)
}

// restItem is a work item as the REST API shows it: the state as an id, times in
// the account's own zone.
func (s *Server) restItem(i *Item) map[string]any {
	zone := time.FixedZone("", 3*3600)
	out := s.wireIssue(i)
	out["state"] = i.State
	out["created_at"], out["updated_at"] = i.Created.In(zone).Format("2006-01-02T15:04:05.000000-07:00"), i.Updated.In(zone).Format("2006-01-02T15:04:05.000000-07:00")
	return out
}

// fields reads a JSON body.
func fields(w http.ResponseWriter, r *http.Request) (map[string]any, bool) {
	body, err := io.ReadAll(io.LimitReader(r.Body, 5<<20))
	var in map[string]any
	if err != nil || json.Unmarshal(body, &in) != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "The payload is not valid"})
		return nil, false
	}
	return in, true
}

// patch changes what it knows and ignores the rest, a state_id included.
func (s *Server) patch(w http.ResponseWriter, r *http.Request, p *project, i *Item, actor string) {
	in, ok := fields(w, r)
	if !ok {
		return
	}
	if id, given := in["state"].(string); given {
		n := slices.IndexFunc(p.states, func(st State) bool { return st.ID == id })
		if n < 0 {
			reply(w, http.StatusBadRequest, map[string]any{"non_field_errors": []string{"State is not valid please pass a valid state_id"}})
			return
		}
		s.move(i, p.states[n], actor, "state")
	}
	reply(w, http.StatusOK, s.restItem(i))
}

func (s *Server) comment(w http.ResponseWriter, r *http.Request, i *Item, actor string) {
	in, ok := fields(w, r)
	if !ok {
		return
	}
	text := func(name string) string { v, _ := in[name].(string); return v }
	c := Comment{Actor: actor, HTML: text("comment_html"), ExternalSource: text("external_source"), ExternalID: text("external_id")}
	for _, o := range s.comments {
		if c.ExternalID != "" && o.Item == i.ID && o.ExternalID == c.ExternalID && o.ExternalSource == c.ExternalSource {
			s.conflicts++
			reply(w, http.StatusConflict, map[string]string{"error": "Work item comment with the same external id and external source already exists", "id": o.ID})
			return
		}
	}
	reply(w, http.StatusCreated, s.wireComment(i, s.say(i, c)))
}
