package planetest

import (
	"fmt"
	"net/http"
	"slices"
)

// Block makes an item a prerequisite of another, as a person would in the
// browser. Plane sends no webhook for that.
func (s *Server) Block(itemID, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blockedBy[itemID] = append(s.blockedBy[itemID], by)
}

// Unblock takes a prerequisite away, as a person would in the browser. Plane sends no
// webhook for that.
func (s *Server) Unblock(itemID, by string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.blockedBy[itemID] = slices.DeleteFunc(s.blockedBy[itemID], func(id string) bool { return id == by })
}

// relations answers in the form of the version in the options.
func (s *Server) relations(w http.ResponseWriter, i *Item) {
	if s.opt.Relations == "none" {
		noRoute(w)
		return
	}
	rows := []any{}
	for _, id := range s.blockedBy[i.ID] {
		if s.opt.Relations == "1.3.0" {
			rows = append(rows, id)
			continue
		}
		project := ""
		if o := s.item(id); o != nil {
			project = o.Project
		}
		rows = append(rows, map[string]any{"project_id": project, "issue_id": id})
	}
	out := map[string]any{"blocked_by": rows}
	for _, name := range []string{"blocking", "duplicate", "relates_to", "start_after", "start_before", "finish_after", "finish_before"} {
		out[name] = []any{}
	}
	reply(w, http.StatusOK, out)
}

// SetLabels gives a work item labels, as a person would.
func (s *Server) SetLabels(itemID string, names ...string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.item(itemID)
	i.Labels, i.Updated = names, s.opt.Now()
	s.hook("issue", "updated", s.wireIssue(i), map[string]any{"field": "label_ids", "old_value": nil, "new_value": nil}, Human)
}

// labelID is the id of a label.
func labelID(name string) string { return fmt.Sprintf("1abe1000-0000-4000-8000-%.6x", name) }
