package planetest

import "net/http"

// SetReadOnly says whether tokens may change the columns of a project: guests' may not.
func (s *Server) SetReadOnly(projectID string, readOnly bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.readOnly = readOnly
	}
}

func (st State) wire() map[string]any {
	g := st.Group
	if g == "" {
		g = group(st.Name)
	}
	return map[string]any{"id": st.ID, "name": st.Name, "group": g, "color": st.Color}
}

// addState makes a column; a project has one of each name.
func addState(w http.ResponseWriter, body []byte, p *project, id string) {
	in, ok := fields(w, body)
	if !ok {
		return
	}
	text := func(name string) string { t, _ := in[name].(string); return t }
	st := State{ID: id, Name: text("name"), Group: text("group"), Color: text("color")}
	switch {
	case p.readOnly:
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
		return
	case st.Name == "" || st.Color == "":
		reply(w, http.StatusBadRequest, map[string]any{"color": []string{"This field is required."}})
		return
	}
	for _, other := range p.states {
		if other.Name == st.Name {
			reply(w, http.StatusConflict, map[string]string{"error": "State with the same name already exists in the project", "id": other.ID})
			return
		}
	}
	p.states = append(p.states, st)
	reply(w, http.StatusOK, st.wire())
}
