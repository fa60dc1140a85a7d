package planetest

import (
	"net/http"
	"regexp"
	"time"
)

// SetRole sets what an account is in a project; without it, a member.
func (s *Server) SetRole(projectID, account string, role int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.roles[account] = role
	}
}

// may reports whether an account may make a request in a project: who is no member nothing, a
// guest reads and comments.
func (p *project) may(account, method string, comments bool) bool {
	switch role, set := p.roles[account]; {
	case !set:
		return true
	case role == Guest:
		return method == http.MethodGet || comments
	default:
		return role > Guest
	}
}

// Remove takes a work item off the board, as a person does in the browser.
func (s *Server) Remove(itemID string, why Gone) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.item(itemID); i != nil {
		i.Gone = why
	}
}

// Restore brings an archived work item back.
func (s *Server) Restore(itemID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.item(itemID); i != nil && i.Gone == Archived {
		i.Gone = ""
	}
}

// Stall makes each comment that is posted from now on wait so long between the look for its
// external id and its insertion, as when the table is locked: nothing in the database refuses a
// second one.
func (s *Server) Stall(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.stall = d
}

// stalled inserts a comment that was looked for a while ago, and answers.
func (s *Server) stalled(w http.ResponseWriter, itemID string, c Comment, wait time.Duration) {
	select {
	case <-time.After(wait):
	case <-s.group.Context().Done():
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if i := s.item(itemID); i != nil {
		reply(w, http.StatusCreated, s.wireComment(i, s.addComment(i, c)))
	}
}

// uuid is what the addresses of projects and work items take.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
