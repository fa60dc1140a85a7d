package planetest

import (
	"net/http"
	"slices"
	"time"
)

func (s *Server) member(id string) (Member, bool) {
	n := slices.IndexFunc(s.members, func(m Member) bool { return m.ID == id })
	if n < 0 {
		return Member{}, false
	}
	return s.members[n], true
}

func (m Member) wire() map[string]any {
	return map[string]any{
		"id": m.ID, "display_name": m.Name, "email": m.Email, "first_name": m.Name, "last_name": "", "avatar": "", "avatar_url": nil,
	}
}

// listMembers answers with a plain array, as Plane does.
func (s *Server) listMembers(w http.ResponseWriter) {
	rows := []any{}
	for _, m := range s.members {
		row := m.wire()
		row["role"] = m.Role
		rows = append(rows, row)
	}
	reply(w, http.StatusOK, rows)
}

// activities lists what has happened to a work item, in the order of the request.
func (s *Server) activities(w http.ResponseWriter, r *http.Request, p *project, i *Item) {
	if s.opt.NoLog {
		noRoute(w)
		return
	}
	row := func(at time.Time, verb, actor string) map[string]any {
		return map[string]any{
			"id": s.id(), "verb": verb, "actor": actor, "field": nil,
			"old_value": nil, "new_value": nil, "old_identifier": nil, "new_identifier": nil,
			"created_at": stamp(at), "epoch": float64(at.Unix()),
		}
	}
	rows := []any{row(i.Created, "created", i.Creator)}
	for _, c := range s.changes {
		if c.Item != i.ID {
			continue
		}
		id := func(name string) any {
			for _, st := range p.states {
				if st.Name == name {
					return st.ID
				}
			}
			return nil
		}
		moved := row(c.At, "updated", c.Actor)
		moved["field"], moved["old_value"], moved["new_value"] = "state", c.From, c.To
		moved["old_identifier"], moved["new_identifier"] = id(c.From), id(c.To)
		touched := row(c.At, "updated", Human)
		touched["field"], touched["new_value"] = "priority", "high"
		rows = append(rows, moved, touched)
	}
	if r.URL.Query().Get("order_by") == "-created_at" {
		slices.Reverse(rows)
	}
	paginate(w, r, rows)
}
