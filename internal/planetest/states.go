package planetest

import (
	"net/http"
	"slices"
	"strings"
)

// States lists a project's columns.
func (s *Server) States(projectID string) []State {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		return slices.Clone(p.states)
	}
	return nil
}

// Column is a column of a board and what stands in it.
type Column struct {
	State State
	Items []Item // oldest first
}

// Board is a project's board as a page would show it; nil when there is no such
// project.
func (s *Server) Board(projectID string) []Column {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(projectID)
	if p == nil {
		return nil
	}
	board := make([]Column, len(p.states))
	for n, st := range p.states {
		board[n].State = st
		for _, i := range s.items {
			if i.State == st.ID && i.Gone == "" {
				board[n].Items = append(board[n].Items, *i)
			}
		}
	}
	return board
}

// AddState adds a column to a project, at the end.
func (s *Server) AddState(projectID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.states = append(p.states, State{ID: s.id(), Name: name})
	}
}

// RemoveState takes a column away; items that stand in it stay in a state that
// is not listed any more.
func (s *Server) RemoveState(projectID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.states = slices.DeleteFunc(p.states, func(st State) bool { return strings.EqualFold(st.Name, name) })
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
	if st.Name == "" || st.Color == "" {
		reply(w, http.StatusBadRequest, map[string]any{"color": []string{"This field is required."}})
		return
	}
	for _, other := range p.states {
		if other.Name == st.Name {
			const exists = "State with the same name already exists in the project"
			reply(w, http.StatusConflict, map[string]string{"error": exists, "id": other.ID})
			return
		}
	}
	p.states = append(p.states, st)
	reply(w, http.StatusOK, st.wire())
}
