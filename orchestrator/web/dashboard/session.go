package dashboard

import (
	"cmp"
	"errors"
	"net/http"
	"net/url"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

const formMax = 64 << 10

// byPage is the principal that the journal names; where several people may be one, with the name that this one has typed.
func byPage(r *http.Request) stage.Principal {
	p := access.Of(r.Context())
	by := p.By(stage.ViaDashboard)
	by.Name = p.Called(rightsOf(r).Name)
	return by
}

// resultText returns the text for the result of a changing request, which is in the address
// of the page that follows.
func resultText(key string) string {
	return map[string]string{
		"retry": "The retry is queued.", "stop": "STOP is queued.", "undo": "The undo is queued.",
		"unfrozen": "The freeze has ended.", "not-frozen": "The repository was not frozen.",
		"resumed": "The agent is used again.", "not-paused": "The agent was not paused.",
		"hasten": "What had failed is tried now.", "again": "The effect is made again.",
		"made": "The card is made.", "edited": "The card is saved.", "moved": "The card is moved.",
		"said": "The comment is saved.", "unsaid": "The comment is deleted.",
		"attached": "The files are on the card.", "detached": "The file is removed.",
		"archived": "The card is archived.", "restored": "The card is on the board again.", "deleted": "The card is deleted.",
		"blocked": "The card waits for another one now.", "unblocked": "The card does not wait for that one any more.",
		"reason": admin.NeedsReason, "in": "You are signed in.", "out": "You are signed out.", "decided": "Your decision is queued.",
	}[key]
}

// home is the path of the dashboard's beginning, with what was taken away before this handler.
func home(r *http.Request) string {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return strings.TrimSuffix(path, strings.TrimPrefix(r.URL.Path, "/"))
}

// identify finds who has sent a request: by the token of a form before anything else.
func (s *server) identify(r *http.Request) (access.Principal, error) {
	if r.Method == http.MethodPost {
		limit := int64(formMax)
		if strings.HasPrefix(r.URL.Path, "/board/") {
			limit = cardFormMax
		}
		if strings.HasSuffix(r.URL.Path, "/files") { // which ParseForm does not read
			limit = uploadMax
		}
		r.Body = http.MaxBytesReader(nil, r.Body, limit)
		if err := r.ParseForm(); err != nil {
			return access.Principal{}, &access.Refusal{
				Status: http.StatusRequestEntityTooLarge, Text: "The form is too large or cannot be read.",
			}
		}
		joinComments(r.PostForm)
		if given := r.PostForm.Get("token"); given != "" {
			p, err := s.Access.ByToken(r, given)
			s.refused(r, err)
			return p, err
		}
	}
	return s.Access.Identify(r)
}

// refuse shows why a page is not shown; who is nobody may sign in there.
func (s *server) refuse(w http.ResponseWriter, r *http.Request, err error) {
	var no *access.Refusal
	if errors.As(err, &no) && no.Status == http.StatusUnauthorized {
		next := ""
		if r.Method == http.MethodGet {
			next = strings.TrimPrefix(r.URL.RequestURI(), "/")
		}
		s.askToken(w, r, no, local(next))
		return
	}
	if no != nil {
		no.Header(w.Header())
	}
	s.fail(w, r, err)
}

// signIn is the page with the field for the token.
type signIn struct {
	Wrong    string // why the last try was refused
	Next     string // where to go then, relative to the beginning
	Provider bool   // people can sign in elsewhere
}

func (s *server) signInView(wrong, next string, status int) view {
	form := signIn{wrong, next, s.Access.Provider != nil}
	return view{Name: "session", Title: "Sign in", Nav: "session", Still: true, Status: status, Data: form}
}

func (s *server) askToken(w http.ResponseWriter, r *http.Request, no *access.Refusal, next string) {
	no.Header(w.Header())
	s.render(w, r, s.frame(r, s.signInView(no.Text, next, no.Status)))
}

// session is a page for everybody, which shows to people who they are.
func (s *server) session(w http.ResponseWriter, r *http.Request) {
	r = r.WithContext(access.With(r.Context(), s.reader(r)))
	f := s.frame(r, s.signInView("", local(r.URL.Query().Get("next")), 0))
	if f.Who != "" {
		f.Title = "You are " + f.Who
	}
	s.render(w, r, f)
}

// local lets addresses of the dashboard through and nothing else.
func local(next string) string {
	u, err := url.Parse(next)
	elsewhere := err != nil || u.IsAbs() || u.Host != ""
	if elsewhere || strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n") || strings.Contains(next, "..") {
		return ""
	}
	return next
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMax)
	next := local(r.PostFormValue("next"))
	_, err := s.Access.SignIn(w, r, r.PostFormValue("token"), home(r))
	s.refused(r, err)
	var no *access.Refusal
	switch {
	case errors.As(err, &no):
		s.askToken(w, r, no, next)
	case err != nil:
		s.fail(w, r, err)
	default:
		seeOther(w, root(r)+cmp.Or(next, "?said=in"))
	}
}

// sendAway sends a person to the identity provider.
func (s *server) sendAway(w http.ResponseWriter, r *http.Request) {
	if err := s.Access.SendAway(w, r, home(r), local(r.URL.Query().Get("next"))); err != nil {
		s.refuse(w, r, err)
	}
}

// comeBack takes a person from the identity provider. The page leads on by itself: browsers do
// not send a strict cookie along a way that has begun elsewhere.
func (s *server) comeBack(w http.ResponseWriter, r *http.Request) {
	p, next, err := s.Access.ComeBack(w, r, home(r))
	if err != nil {
		s.refuse(w, r, err)
		return
	}
	f := s.frame(r.WithContext(access.With(r.Context(), p)), view{Name: "arrived", Title: "You are signed in", Nav: "session", Still: true})
	f.Onward = root(r) + cmp.Or(local(next), "?said=in")
	s.render(w, r, f)
}

// refused logs, once a minute, how many tokens were refused.
func (s *server) refused(r *http.Request, err error) {
	if err == nil {
		return
	}
	if n, say := s.tally.Count(s.Engine.Now()); say {
		s.Log.Warn("tokens were refused", "path", r.URL.Path, "remote", limit.Sender(r), "since_last_line", n)
	}
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMax)
	if err := s.Access.SignOut(w, r, home(r), r.PostFormValue("all") != ""); err != nil {
		s.fail(w, r, err)
		return
	}
	seeOther(w, root(r)+"?said=out")
}
