package dashboard

import (
	"crypto/hmac"
	"crypto/sha256"
	"crypto/subtle"
	"encoding/hex"
	"fmt"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

const (
	cookieName = "signalbox_session"
	sessionFor = 12 * time.Hour
	formMax    = 64 << 10
)

// byPage is the principal that the journal names.
func byPage() stage.Principal { return orchestrator.OperatorBy(stage.ViaDashboard) }

const (
	wordsOff   = "Changing requests are off: ORCH_ADMIN_TOKEN is not set."
	wordsToken = "This is not the operator's token."
	wordsWait  = "Too many wrong tokens were sent. Wait before the next one."
)

// resultText returns the text for the result of a changing request, which is in the address
// of the page that follows.
func resultText(key string) string {
	return map[string]string{
		"retry": "The retry is queued.", "stop": "STOP is queued.", "unfrozen": "The freeze has ended.", "not-frozen": "The repository was not frozen.",
		"resumed": "The agent is used again.", "not-paused": "The agent was not paused.",
		"hasten": "What had failed is tried now.", "again": "The effect is made again.",
		"made": "The card is made.", "edited": "The card is saved.", "moved": "The card is moved.", "said": "The comment is saved.",
		"archived": "The card is archived.", "restored": "The card is on the board again.", "deleted": "The card is deleted.",
		"blocked": "The card waits for another one now.", "unblocked": "The card does not wait for that one any more.",
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

// checkToken compares the token of a form in constant time, and says why it is refused;
// empty: it is the operator's.
func (s *server) checkToken(w http.ResponseWriter, r *http.Request) (wrong string, status int) {
	given := r.PostFormValue("token")
	switch {
	case s.AdminToken == "":
		return wordsOff, http.StatusForbidden
	case given == "": // no guess
		return wordsToken, http.StatusForbidden
	}
	sum := sha256.Sum256([]byte(given))
	right, wait := s.Guesses.Try(limit.Sender(r), s.Engine.Now(), func() bool { return subtle.ConstantTimeCompare(sum[:], s.token[:]) == 1 })
	switch {
	case wait > 0:
		w.Header().Set("Retry-After", limit.RetryAfter(wait))
		return wordsWait, http.StatusTooManyRequests
	case !right:
		return wordsToken, http.StatusForbidden
	default:
		return "", 0
	}
}

// cookie is a cookie for the dashboard's own addresses.
func (s *server) cookie(r *http.Request, name, value string, age time.Duration) *http.Cookie {
	path, _, _ := strings.Cut(r.RequestURI, "?")
	return &http.Cookie{
		Name: name, Value: value, Path: strings.TrimSuffix(path, strings.TrimPrefix(r.URL.Path, "/")), MaxAge: int(age.Seconds()), HttpOnly: true,
		SameSite: http.SameSiteStrictMode, Secure: r.TLS != nil || r.Header.Get("X-Forwarded-Proto") == "https",
	}
}

// signIn is the page with the field for the token.
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
	if wrong, status := s.checkToken(w, r); wrong != "" {
		s.refused(r)
		s.render(w, s.frame(r, view{Name: "session", Title: "Sign in", Nav: "session", Still: true, Status: status, Data: signIn{Wrong: wrong, Next: next}}))
		return
	}
	http.SetCookie(w, s.cookie(r, cookieName, s.sign(s.Engine.Now().Add(sessionFor).Unix()), sessionFor))
	if next == "" {
		next = "?said=in"
	}
	seeOther(w, root(r)+next)
}

// refused logs, once a minute, how many tokens were refused.
func (s *server) refused(r *http.Request) {
	if n, say := s.tally.Count(s.Engine.Now()); say {
		s.Log.Warn("operators' tokens were refused", "path", r.URL.Path, "remote", limit.Sender(r), "since_last_line", n)
	}
}

func (s *server) logout(w http.ResponseWriter, r *http.Request) {
	http.SetCookie(w, s.cookie(r, cookieName, "", -time.Second))
	seeOther(w, root(r)+"?said=out")
}
