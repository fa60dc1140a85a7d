package githubtest

import "net/http"

// Self is the account of the service's token.
const Self = "signalbox-bot"

// SetRole sets what an account may do in all repositories: admin, write, read or none.
// An account without a role may read, as on a public repository.
func (s *Server) SetRole(login, role string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.roles[login] = role
}

func (s *Server) role(login string) string {
	if role, set := s.roles[login]; set {
		return role
	}
	return "read"
}

// permission answers for an account that exists; "ghost" does not.
func (s *Server) permission(w http.ResponseWriter, r *http.Request, _ *repository) {
	login := r.PathValue("login")
	if login == "ghost" {
		fail(w, http.StatusNotFound, "ghost is not a user")
		return
	}
	reply(w, http.StatusOK, map[string]any{"permission": s.role(login), "role_name": s.role(login), "user": wireUser(login)})
}
