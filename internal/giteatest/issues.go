package giteatest

import (
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/fakeissues"
)

// Issues are the issues of all repositories, with what people do to them; they have their
// numbers together with pull requests. A repository need not be added for them.
type Issues = fakeissues.Issues

// Person holds what the page of an account shows; see Issues.AddPerson.
type Person = fakeissues.Person

// Issues gives the issues of the server.
func (s *Server) Issues() *Issues { return s.issues }

// newIssues makes the issues of a server.
func (s *Server) newIssues() *Issues {
	return fakeissues.New(fakeissues.Host{
		Gitea: true, Mu: &s.mu, Now: s.opt.Now, Login: s.login,
		Send: func(kind string, payload map[string]any) {
			event := kind
			if kind == "issue_label" {
				event = "issues"
			}
			s.hook(event, kind, payload)
		},
		Pulls: func(repo string) (out []fakeissues.Pull) {
			for _, p := range s.pulls {
				if strings.EqualFold(p.Repo, repo) {
					out = append(out, fakeissues.Pull{Number: p.Number, Title: p.Title, Open: p.Open, At: p.Created})
				}
			}
			return out
		},
	})
}

// login is the account of a request's token; empty: it is none of a server that takes some only.
func (s *Server) login(r *http.Request) string {
	kind, token, _ := strings.Cut(r.Header.Get("Authorization"), " ")
	known := kind == "token" || kind == "Bearer"
	if login := s.opt.Accounts[token]; login != "" && known {
		return login
	}
	if s.opt.Token != "" && (token != s.opt.Token || !known) {
		return ""
	}
	return Self
}
