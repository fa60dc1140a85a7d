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

// MoveTo takes a work item to another project, as a person does in the browser: under the former one it is
// not found any more.
func (s *Server) MoveTo(itemID, projectID string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if i, p := s.item(itemID), s.project(projectID); i != nil && p != nil {
		i.Project, i.State, i.StateName = p.id, p.states[0].ID, p.states[0].Name
	}
}

// ArchiveProject archives a project, or brings it back: until then it is there, and lists nothing.
func (s *Server) ArchiveProject(projectID string, is bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if p := s.project(projectID); p != nil {
		p.archived = is
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

// uuid matches what the addresses of projects and work items take.
var uuid = regexp.MustCompile(`^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$`)
