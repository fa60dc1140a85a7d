package planetest

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"
	"unicode/utf8"
)

// Move puts a work item into a column as a person would in the browser.
func (s *Server) Move(itemID, state string) error { return s.MoveAs(Human, itemID, state) }

// MoveAs is Move by an account. The browser saves twice, the state and then the place within the column, and
// Plane writes both webhooks after that: they show the time of the second.
func (s *Server) MoveAs(account, itemID, state string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := s.item(itemID)
	if i == nil || i.Gone != "" {
		return errors.New("planetest: no such work item")
	}
	for _, to := range s.project(i.Project).states {
		if strings.EqualFold(to.Name, state) {
			moved := s.move(i, to, account)
			if s.opt.Drag <= 0 {
				s.sort(i, moved, account)
				return nil
			}
			s.group.Go("drag", func(ctx context.Context) {
				select {
				case <-ctx.Done():
				case <-time.After(s.opt.Drag):
					s.mu.Lock()
					defer s.mu.Unlock()
					s.sort(i, moved, account)
				}
			})
			return nil
		}
	}
	return fmt.Errorf("planetest: the project has no column %q", state)
}

// sort is the second save of a drag.
func (s *Server) sort(i *Item, moved map[string]any, account string) {
	old := i.Sort
	i.Sort += 10000
	s.save(i, account)
	if moved != nil {
		moved["field"] = "state_id"
		s.hook("issue", "updated", s.wireIssue(i), moved, account)
	}
	s.hook("issue", "updated", s.wireIssue(i), map[string]any{"field": "sort_order", "old_value": old, "new_value": i.Sort}, account)
}

// move changes a state and logs it; the values for the webhook are nil where the item stands there already, which is saved
// all the same.
func (s *Server) move(i *Item, to State, actor string) (moved map[string]any) {
	s.save(i, actor)
	if i.State == to.ID {
		return nil
	}
	s.changes = append(s.changes, Change{Item: i.ID, From: i.StateName, To: to.Name, Actor: actor, At: i.Updated})
	moved = map[string]any{"old_value": i.State, "new_value": to.ID}
	i.State, i.StateName = to.ID, to.Name
	return moved
}

// save gives an item a new updated_at, whatever has changed.
func (s *Server) save(i *Item, actor string) {
	last := i.Updated
	if i.Updated, i.Editor = s.opt.Now(), actor; !i.Updated.After(last) {
		i.Updated = last.Add(time.Microsecond)
	}
}

// patch changes the known fields and ignores the rest, a state_id included.
func (s *Server) patch(w http.ResponseWriter, body []byte, p *project, i *Item, actor string) {
	in, ok := fields(w, body)
	if !ok {
		return
	}
	if id, given := in["state"].(string); given {
		n := slices.IndexFunc(p.states, func(st State) bool { return st.ID == id })
		switch elsewhere := s.hasState(id); {
		case n < 0 && elsewhere:
			reply(w, http.StatusBadRequest, map[string]any{"non_field_errors": []string{"State is not valid please pass a valid state_id"}})
			return
		case n < 0:
			reply(w, http.StatusBadRequest, map[string]any{"state": []string{fmt.Sprintf("Invalid pk %q - object does not exist.", id)}})
			return
		}
		if moved := s.move(i, p.states[n], actor); moved != nil {
			moved["field"] = "state"
			s.hook("issue", "updated", s.wireIssue(i), moved, actor)
		}
	}
	name, description := i.Name, i.HTML
	if v, given := in["name"].(string); given {
		if utf8.RuneCountInString(v) > TitleMax {
			why := fmt.Sprintf("Ensure this field has no more than %d characters.", TitleMax)
			reply(w, http.StatusBadRequest, map[string]any{"name": []string{why}})
			return
		}
		name = v
	}
	if v, given := in["description_html"].(string); given {
		description = v
	}
	s.save(i, actor)
	s.edit(i, name, description, actor)
	reply(w, http.StatusOK, s.restItem(i, nil))
}
