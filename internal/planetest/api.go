package planetest

import (
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// bodyMax bounds a request, in bytes.
const bodyMax = 5 << 20

func reply(w http.ResponseWriter, status int, v any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(v) // a client that hung up needs no answer
}

func missing(w http.ResponseWriter) {
	reply(w, http.StatusNotFound, map[string]string{"error": "The requested resource does not exist."})
}

func noRoute(w http.ResponseWriter) {
	reply(w, http.StatusNotFound, map[string]string{"error": "Page not found."})
}

// route answers a request; the lock is held.
func (s *Server) route(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // it has been read before
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
	if s.limited(w, key) {
		return
	}
	path := strings.Split(strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/v1/"), "/"), "/")
	switch {
	case len(path) == 2 && path[0] == "users" && path[1] == "me":
		reply(w, http.StatusOK, map[string]any{"id": actor, "display_name": actor, "email": actor + "@example.org"})
	case len(path) == 3 && path[0] == "workspaces" && path[1] == s.opt.Workspace && path[2] == "members" && r.Method == http.MethodGet:
		s.listMembers(w)
	case len(path) == 3 && path[0] == "workspaces" && path[1] == s.opt.Workspace && path[2] == "projects" && r.Method == http.MethodGet:
		var rows []any
		for _, p := range s.projects {
			rows = append(rows, wireProject(p))
		}
		paginate(w, r, rows)
	case len(path) >= 4 && path[0] == "workspaces" && path[1] == s.opt.Workspace && path[2] == "projects":
		s.inProject(w, r, body, actor, path[3], path[4:])
	case len(path) > 2 && path[0] == "workspaces" && path[1] != s.opt.Workspace:
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
	default:
		noRoute(w)
	}
}

func wireProject(p *project) map[string]any {
	return map[string]any{"id": p.id, "identifier": p.identifier, "name": p.identifier}
}

func (s *Server) inProject(w http.ResponseWriter, r *http.Request, body []byte, actor, projectID string, rest []string) {
	if !uuid.MatchString(projectID) || len(rest) >= 2 && !uuid.MatchString(rest[1]) {
		noRoute(w)
		return
	}
	call := r.Method + " " + strings.Join(shape(rest), "/")
	p := s.project(projectID)
	if p == nil || !p.may(actor, r.Method, len(rest) > 2 && rest[2] == "comments") {
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
		return
	}
	var i *Item
	if len(rest) >= 2 && rest[0] == "work-items" {
		if i = s.item(rest[1]); i != nil && i.Project != p.id {
			i = nil
		}
		if p.archived {
			i = nil
		}
		if (i == nil || i.Gone != "") && s.ofGone(w, r, call, i) {
			return
		}
	}
	if p.archived && r.Method == http.MethodGet && len(rest) == 1 {
		paginate(w, r, nil)
		return
	}
	switch call {
	case "GET ":
		reply(w, http.StatusOK, wireProject(p))
	case "GET states":
		var rows []any
		for n, st := range p.states {
			row := st.wire()
			row["default"] = n == 0
			rows = append(rows, row)
		}
		paginate(w, r, rows)
	case "POST states":
		addState(w, body, p, s.id())
	case "DELETE states/*":
		s.deleteState(w, p, rest[1])
	case "GET work-items":
		s.list(w, r, p)
	case "POST work-items":
		s.make(w, body, p, actor)
	case "DELETE work-items/*":
		i.Gone = Deleted
		w.WriteHeader(http.StatusNoContent)
	case "GET work-items/*":
		reply(w, http.StatusOK, s.restItem(i, expands(r)))
	case "PATCH work-items/*":
		s.patch(w, body, p, i, actor)
	case "GET work-items/*/activities":
		s.activities(w, r, p, i)
	case "GET work-items/*/relations":
		s.relations(w, i)
	case "GET work-items/*/comments":
		var rows []any
		for _, c := range s.comments {
			if c.Item == i.ID {
				rows = append(rows, s.wireComment(i, c))
			}
		}
		paginate(w, r, rows)
	case "POST work-items/*/comments":
		s.comment(w, body, i, actor)
	case "PATCH work-items/*/comments/*":
		s.editComment(w, body, i, rest[3], actor)
	default:
		noRoute(w)
	}
}

// ofGone answers a request about a work item that is gone (nil: it never was), as far as that is
// another answer: the item is missing, what hangs on it is not looked for.
func (s *Server) ofGone(w http.ResponseWriter, r *http.Request, call string, i *Item) bool {
	switch {
	case call == "GET work-items/*/comments", call == "GET work-items/*/activities":
		if i != nil && i.Gone == Archived {
			return false
		}
		paginate(w, r, nil)
	case call == "GET work-items/*/relations":
		s.relations(w, &Item{})
	case call == "POST work-items/*/comments":
		if i != nil {
			return false // a ghost
		}
		reply(w, http.StatusBadRequest, map[string]string{"error": "The payload is not valid"})
	case i != nil && i.Gone == Archived && r.Method == http.MethodPatch:
		return false
	default:
		missing(w)
	}
	return true
}

// shape is a path with its ids left out.
func shape(path []string) []string {
	out := slices.Clone(path)
	for at := 1; at < len(out); at += 2 {
		out[at] = "*"
	}
	return out
}

// paginate answers with a page, as Plane counts: next_cursor is always there,
// next_page_results reports whether it means anything.
func paginate(w http.ResponseWriter, r *http.Request, rows []any) {
	paginateBy(w, r, len(rows), func(i int) any { return rows[i] })
}

// paginateBy is paginate of so many rows that are made when they are shown.
func paginateBy(w http.ResponseWriter, r *http.Request, total int, row func(int) any) {
	size, page := 1000, 0
	if v := r.URL.Query().Get("per_page"); v != "" {
		size, _ = strconv.Atoi(v)
	}
	if v := r.URL.Query().Get("cursor"); v != "" {
		parts := strings.Split(v, ":")
		n, err := strconv.Atoi(parts[min(1, len(parts)-1)])
		if err != nil || n < 0 || len(parts) != 3 {
			reply(w, http.StatusBadRequest, map[string]string{"detail": "Invalid cursor parameter."})
			return
		}
		page = n
	}
	if size < 1 || size > 1000 {
		reply(w, http.StatusBadRequest, map[string]string{"detail": "Invalid per_page value. Cannot exceed 1000."})
		return
	}
	from := min(page*size, total)
	to := min(from+size, total)
	rows := []any{}
	for i := from; i < to; i++ {
		rows = append(rows, row(i))
	}
	reply(w, http.StatusOK, map[string]any{
		"grouped_by": nil, "sub_grouped_by": nil, "total_count": total, "total_results": total, "count": to - from,
		"total_pages": (total + size - 1) / size, "extra_stats": nil,
		"next_cursor": fmt.Sprintf("%d:%d:0", size, page+1), "prev_cursor": fmt.Sprintf("%d:%d:1", size, page-1),
		"next_page_results": to < total, "prev_page_results": page > 0, "results": rows,
	})
}

func (s *Server) list(w http.ResponseWriter, r *http.Request, p *project) {
	var items []*Item
	for _, i := range s.items {
		if i.Project == p.id && i.Gone == "" {
			items = append(items, i)
		}
	}
	if r.URL.Query().Get("order_by") == "-updated_at" {
		slices.SortStableFunc(items, func(a, b *Item) int { return b.Updated.Compare(a.Updated) })
	}
	only := strings.Split(r.URL.Query().Get("fields"), ",")
	paginateBy(w, r, len(items), func(n int) any {
		row := s.restItem(items[n], expands(r))
		if only[0] != "" {
			maps.DeleteFunc(row, func(name string, _ any) bool { return !slices.Contains(only, name) })
		}
		return row
	})
}

// expands lists the fields that the request has expanded to objects.
func expands(r *http.Request) []string { return strings.Split(r.URL.Query().Get("expand"), ",") }

// restItem is a work item as the REST API shows it: state and labels as ids unless they
// are expanded, times in the account's own zone.
func (s *Server) restItem(i *Item, expanded []string) map[string]any {
	zone := time.FixedZone("", 3*3600)
	out := s.wireIssue(i)
	if !slices.Contains(expanded, "state") {
		out["state"] = i.State
	}
	if !slices.Contains(expanded, "labels") {
		ids := []string{}
		for _, name := range i.Labels {
			ids = append(ids, labelID(name))
		}
		out["labels"] = ids
	}
	const form = "2006-01-02T15:04:05.000000-07:00"
	out["created_at"], out["updated_at"] = i.Created.In(zone).Format(form), i.Updated.In(zone).Format(form)
	return out
}

// fields reads a JSON body.
func fields(w http.ResponseWriter, body []byte) (map[string]any, bool) {
	var in map[string]any
	if json.Unmarshal(body, &in) != nil {
		reply(w, http.StatusBadRequest, map[string]string{"error": "The payload is not valid"})
		return nil, false
	}
	return in, true
}

// make adds a work item to the first column.
func (s *Server) make(w http.ResponseWriter, body []byte, p *project, actor string) {
	in, ok := fields(w, body)
	if !ok {
		return
	}
	name, _ := in["name"].(string)
	description, _ := in["description_html"].(string)
	i, err := s.addItem(actor, p, name, description)
	if err != nil {
		reply(w, http.StatusBadRequest, map[string]any{"name": []string{err.Error()}})
		return
	}
	reply(w, http.StatusCreated, s.restItem(i, nil))
}

// comment adds a comment. An external id is looked for in the whole project, as
// Plane does, not only in the work item.
func (s *Server) comment(w http.ResponseWriter, body []byte, i *Item, actor string) {
	in, ok := fields(w, body)
	if !ok {
		return
	}
	text := func(name string) string { v, _ := in[name].(string); return v }
	c := Comment{Actor: actor, HTML: text("comment_html"), ExternalSource: text("external_source"), ExternalID: text("external_id")}
	for _, o := range s.comments {
		same := o.ExternalID == c.ExternalID && o.ExternalSource == c.ExternalSource
		if same && c.ExternalID != "" && c.ExternalSource != "" && s.item(o.Item).Project == i.Project {
			const exists = "Work item comment with the same external id and external source already exists"
			reply(w, http.StatusConflict, map[string]string{"error": exists, "id": o.ID})
			return
		}
	}
	if late, ok := w.(*fakehttp.Recorder); ok && s.stall > 0 {
		wait := s.stall
		late.Rest = func() { s.stalled(late, i.ID, c, wait) }
		return
	}
	reply(w, http.StatusCreated, s.wireComment(i, s.addComment(i, c)))
}

// hasState reports whether any project has a column.
func (s *Server) hasState(id string) bool {
	return slices.ContainsFunc(s.projects, func(p *project) bool {
		return slices.ContainsFunc(p.states, func(st State) bool { return st.ID == id })
	})
}

// editComment gives a comment another text.
func (s *Server) editComment(w http.ResponseWriter, body []byte, i *Item, id, actor string) {
	in, ok := fields(w, body)
	if !ok {
		return
	}
	for n := range s.comments {
		if c := &s.comments[n]; c.ID == id && c.Item == i.ID {
			c.HTML, _ = in["comment_html"].(string)
			s.hook("issue_comment", "updated", s.wireComment(i, *c), nil, actor)
			reply(w, http.StatusOK, s.wireComment(i, *c))
			return
		}
	}
	reply(w, http.StatusNotFound, map[string]string{"error": "The required object does not exist."})
}

// group returns the group that Plane sorts a column into.
func group(column string) string {
	switch column {
	case "Backlog":
		return "backlog"
	case "Todo":
		return "unstarted"
	case "Done", "Shipped":
		return "completed"
	case "Cancelled":
		return "cancelled"
	}
	return "started"
}
