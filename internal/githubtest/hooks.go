package githubtest

import (
	"crypto/sha1" //nolint:gosec // GitHub sends this signature too; nobody should look at it
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
)

// Fault names what an API call meets.
type Fault = fakehost.Fault

// Faults of API calls.
const (
	None        = fakehost.None
	TooMany     = fakehost.TooMany
	Secondary   = fakehost.Secondary   // with Retry-After
	Primary     = fakehost.Primary     // with X-RateLimit-Reset
	Denied      = fakehost.Denied      // for good
	ErrorBefore = fakehost.ErrorBefore // nothing happens
	ErrorAfter  = fakehost.ErrorAfter  // the request is carried out all the same
	Dropped     = fakehost.Dropped     // the connection breaks before anything happens
	DroppedLate = fakehost.DroppedLate
	Hang        = fakehost.Hang // the request is carried out, and no answer comes until the client gives up
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults = fakehost.Faults

// SetFaults sets the chances of failure.
func (s *Server) SetFaults(f Faults) {
	s.api.SetFaults(f)
	s.hooks.SetFaults(f)
}

// Fail makes the next API calls meet faults, one each.
func (s *Server) Fail(faults ...Fault) { s.api.Fail(faults...) }

// Break makes one call fail from now on; None heals it. The call is called as in
// "PUT /repos/{owner}/{repo}/pulls/{number}/merge".
func (s *Server) Break(call string, f Fault) { s.api.Break(call, f) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }

func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	if !strings.HasPrefix(r.URL.Path, files) && !s.mayEnter(r) {
		fail(w, http.StatusUnauthorized, "Bad credentials")
		return false
	}
	return true
}

func (s *Server) refuse(w http.ResponseWriter, f Fault) {
	switch f {
	case TooMany:
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusTooManyRequests, "You have exceeded a secondary rate limit.")
	case Secondary:
		w.Header().Set("Retry-After", "1")
		fail(w, http.StatusForbidden, "You have exceeded a secondary rate limit. Please wait a few minutes before you try again.")
	case Denied:
		fail(w, http.StatusForbidden, "Resource not accessible by personal access token")
	case Primary:
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(s.opt.Now().Add(2*time.Second).Unix(), 10))
		fail(w, http.StatusForbidden, "API rate limit exceeded for user ID 7.")
	default:
		fail(w, http.StatusInternalServerError, "Server Error")
	}
}

// Delivery is one webhook that was sent.
type Delivery = fakehost.Delivery

// Deliveries lists the webhooks that were sent.
func (s *Server) Deliveries() []Delivery { return s.hooks.Deliveries() }

// hook sends a webhook in the background.
func (s *Server) hook(event string, payload map[string]any) {
	if body, err := json.Marshal(payload); err == nil {
		s.hooks.Send(event, body)
	}
}

// Redeliver sends a webhook again, also one that was not received, under the
// same id. GitHub does so only on request.
func (s *Server) Redeliver(id string) error {
	if _, err := s.hooks.Redeliver(id, false); err != nil {
		return fmt.Errorf("githubtest: %w", err)
	}
	return nil
}

// head sets the headers of a webhook.
func (s *Server) head(h http.Header, d Delivery) {
	h.Set("User-Agent", "GitHub-Hookshot/0123abc")
	h.Set("X-GitHub-Event", d.Event)
	h.Set("X-GitHub-Delivery", d.ID)
	if s.opt.Secret != "" {
		h.Set("X-Hub-Signature", "sha1="+fakehost.MAC(sha1.New, s.opt.Secret, d.Body))
		h.Set("X-Hub-Signature-256", "sha256="+fakehost.MAC(sha256.New, s.opt.Secret, d.Body))
	}
}

func owner(repo string) string { name, _, _ := strings.Cut(repo, "/"); return name }
