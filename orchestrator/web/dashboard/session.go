package dashboard

import (
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

const (
	cookieName = "signalbox_session"
	sessionFor = 12 * time.Hour
	byPage     = "operator (dashboard)" // who the journal names
	formMax    = 64 << 10
)

const (
	wordsOff   = "Changing requests are off: ORCH_ADMIN_TOKEN is not set."
	wordsToken = "This is not the operator's token."
)

// said is the text for the result of a changing request, which is in the address
// of the page that follows.
func said(key string) string {
	return map[string]string{
		"retry": "The retry is queued.", "stop": "STOP is queued.", "unfrozen": "The freeze has ended.", "not-frozen": "The repository was not frozen.",
		"in": "You are signed in.", "out": "You are signed out.",
	}[key]
}

// sign makes the value of a session's cookie. It holds no secret: only its end,
// signed with a key made of the token, so that another token ends all sessions.
func (s *server) sign(end int64) string {
	mac := hmac.New(sha256.New, s.key[:])
	fmt.Fprintf(mac, "%d", end)
	return fmt.Sprintf("%d.%s", end, hex.EncodeToString(mac.Sum(nil)))
}

func (s *server) signedIn(r *http.Request) bool {
	c, err := r.Cookie(cookieName)
	if err != nil || s.AdminToken == "" {
		return false
	}
	text, _, _ := strings.Cut(c.Value, ".")
	end, err := strconv.ParseInt(text, 10, 64)
	return err == nil && hmac.Equal([]byte(c.Value), []byte(s.sign(end))) && time.Unix(end, 0).After(s.Engine.Now())
}

// rightToken compares in constant time.
func (s *server) rightToken(given string) bool {
	sum := sha256.Sum256([]byte(given))
	return s.AdminToken != "" && subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1
}

// cookie is the session's cookie for the dashboard's own addresses.
func (s *server) cookie(r *http.Request, value string, age time.Duration) *http.Cookie {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return &http.Cookie{
		Name: cookieName, Value: value, Path: strings.TrimSuffix(path, strings.TrimPrefix(r.URL.Path, "/")), MaxAge: int(age.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// signIn is the page that asks for the token.
type signIn struct {
	Wrong string // why the last try was refused
	Next  string // where to go then, relative to the beginning
}

func (s *server) session(r *http.Request) (view, error) {
	return view{Name: "session", Title: "Sign in", Nav: "session", Still: true, Data: signIn{Next: local(r.URL.Query().Get("next"))}}, nil
}

// local lets addresses of the dashboard through and nothing else.
func local(next string) string {
	u, err := url.Parse(next)
	if err != nil || u.IsAbs() || u.Host != "" || strings.HasPrefix(next, "/") || strings.ContainsAny(next, "\\\r\n") || strings.Contains(next, "..") {
		return ""
	}
	return next
}

func (s *server) login(w http.ResponseWriter, r *http.Request) {
	r.Body = http.MaxBytesReader(w, r.Body, formMax)
	next := local(r.PostFormValue("next"))
	if !s.rightToken(r.PostFormValue("token")) {
		wrong := wordsToken
		if s.AdminToken == "" {
			wrong = wordsOff
		}
		s.Log.Warn("a sign-in was refused", "remote", r.RemoteAddr)
		s.render(w, s.frame(r, view{Name: "session", Title: "Sign in", Nav: "session", Still: true, Status: http.StatusForbidden, Data: signIn{Wrong: wrong, Next: next}}))
		return
	}
	http.SetCookie(w, s.cookie(r, s.sign(s.Engine.Now().Add(sessionFor).Unix()), sessionFor))
	if next == "" {
		next = "?said=in"
	}
	seeOther(w, root(r)+next)
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie(r, "", -time.Second))
	seeOther(w, root(r)+"?said=out")
}

// confirmation asks whether a changing request is meant.
type confirmation struct {
	Question, Effect string
	Action           string            // where the form is posted, relative to the beginning
	Fields           map[string]string // hidden
	Button           string
	Back             string
	Danger           bool
	Wrong            string
}

func (s *server) confirmTask(r *http.Request) (view, error) {
	id, err := number(r, "id")
	if err != nil {
		return view{}, err
	}
	t, err := s.Engine.Store.Task(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	back := fmt.Sprintf("tasks/%d", id)
	c := confirmation{
		Question: fmt.Sprintf("Run %s of %s again?", t.State.Stage, item(t.WorkItemID)), Back: back, Action: back + "/retry", Button: "Run it again",
		Effect: "The stage's agent starts again and retries are counted from zero. While a job is active nothing happens.",
	}
	if strings.HasSuffix(r.URL.Path, "/stop") {
		if !s.Stop {
			return view{}, notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
		}
		c.Question, c.Action, c.Button, c.Danger = fmt.Sprintf("Stop %s?", item(t.WorkItemID)), back+"/stop", "Stop the task", true
		c.Effect = "The agent is ended, the jobs are cancelled, the workspace and the branch are removed. Documents are kept. In the middle of a merge or deployment STOP waits until that has finished."
	}
	return view{Name: "confirm", Title: c.Question, Nav: "board", Still: true, Data: c}, nil
}

func (s *server) confirmUnfreeze(r *http.Request) (view, error) {
	repo := r.URL.Query().Get("repo")
	if _, known := s.Engine.Projects.ByRepo(repo); !known {
		return view{}, notFound("The repository is not registered.")
	}
	if s.Unfreeze == nil {
		return view{}, notFound("This program runs without the serial gate (ORCH_SERIAL_GATE_ENABLED).")
	}
	c := confirmation{
		Question: "Unfreeze " + repo + "?", Effect: "Tasks of the repository may begin again.", Action: "repos/unfreeze", Fields: map[string]string{"repo": repo},
		Button: "Unfreeze", Back: "repos",
	}
	return view{Name: "confirm", Title: c.Question, Nav: "repos", Still: true, Data: c}, nil
}

// act lets a changing request through that comes with a session or the token, and
// goes to where do says.
func (s *server) act(do func(r *http.Request) (next string, err error)) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, formMax)
		next, err := "", error(nil)
		switch {
		case s.AdminToken == "":
			err = &failure{http.StatusForbidden, wordsOff}
		case !s.signedIn(r) && !s.rightToken(r.PostFormValue("token")):
			err = &failure{http.StatusForbidden, wordsToken}
		default:
			next, err = do(r)
		}
		if err != nil {
			s.render(w, s.frame(r, s.failed(err)))
			return
		}
		s.Log.Info("an operator has acted", "path", r.URL.Path, "remote", r.RemoteAddr)
		seeOther(w, root(r)+next)
	}
}

func (s *server) doRetry(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tasks/%d?said=retry", id), s.Engine.Retry(r.Context(), id, byPage)
}

func (s *server) doStop(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err == nil && !s.Stop {
		err = notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tasks/%d?said=stop", id), s.Engine.Stop(r.Context(), id, byPage)
}

func (s *server) doUnfreeze(r *http.Request) (string, error) {
	repo := r.PostFormValue("repo")
	if _, known := s.Engine.Projects.ByRepo(repo); !known {
		return "", notFound("The repository is not registered.")
	}
	if s.Unfreeze == nil {
		return "", notFound("This program runs without the serial gate (ORCH_SERIAL_GATE_ENABLED).")
	}
	return unfreeze(r.Context(), s.Options, repo)
}

func unfreeze(ctx context.Context, o Options, repo string) (string, error) {
	if err := o.Engine.Audit(ctx, orchestrator.Act{Act: orchestrator.ActUnfreeze, By: byPage, Repo: repo}); err != nil {
		return "", err
	}
	was, _, err := o.Unfreeze(ctx, repo)
	switch {
	case err != nil:
		return "", errors.Join(errors.New("unfreeze"), err)
	case !was:
		return "repos?said=not-frozen", nil
	default:
		return "repos?said=unfrozen", nil
	}
}
