package planetest

import (
	"cmp"
	"errors"
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

// AddState adds a column to a project, at the end.
func (s *Server) AddState(projectID, name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.add(State{ID: s.id(), Name: name})
	}
}

// add adds a column behind the others.
func (p *project) add(st State) {
	st.Sequence = 15000
	if n := len(p.states); n > 0 {
		st.Sequence += p.states[n-1].Sequence
	}
	p.states = append(p.states, st)
}

// RemoveState takes a column away, as a person does in the browser: not the one where items are made, nor one with items.
func (s *Server) RemoveState(projectID, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	p := s.project(projectID)
	if p == nil {
		return errors.New("planetest: no such project")
	}
	return s.removeState(p, func(st State) bool { return strings.EqualFold(st.Name, name) })
}

var errNoState = errors.New("planetest: no such column")

// removeState removes a column, or says in Plane's words why not.
func (s *Server) removeState(p *project, is func(State) bool) error {
	at := slices.IndexFunc(p.states, is)
	switch {
	case at < 0:
		return errNoState
	case at == 0:
		return errors.New("Default state cannot be deleted")
	case slices.ContainsFunc(s.items, func(i *Item) bool { return i.State == p.states[at].ID && i.Gone == "" }):
		return errors.New("The state is not empty, only empty states can be deleted")
	}
	p.states = slices.Delete(p.states, at, at+1)
	return nil
}

func (s *Server) deleteState(w http.ResponseWriter, p *project, id string) {
	switch err := s.removeState(p, func(st State) bool { return st.ID == id }); {
	case errors.Is(err, errNoState):
		missing(w)
	case err != nil:
		reply(w, http.StatusBadRequest, map[string]string{"error": err.Error()})
	default:
		w.WriteHeader(http.StatusNoContent)
	}
}

func (st State) wire() map[string]any {
	g := cmp.Or(st.Group, group(st.Name))
	return map[string]any{"id": st.ID, "name": st.Name, "group": g, "color": st.Color, "sequence": st.Sequence}
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
	p.add(st)
	reply(w, http.StatusOK, p.states[len(p.states)-1].wire())
}
