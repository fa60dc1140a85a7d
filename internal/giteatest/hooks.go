package giteatest

import (
	"crypto/sha1" //nolint:gosec // Gitea sends this signature too; nobody should look at it
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/fakehost"
)

// Fault names what an API call meets.
type Fault = fakehost.Fault

// Faults of API calls. Gitea itself limits nobody: 429 is of a proxy in front of it.
const (
	None        = fakehost.None
	TooMany     = fakehost.TooMany     // with Retry-After
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
// "POST /api/v1/repos/{owner}/{repo}/pulls/{number}/merge".
func (s *Server) Break(call string, f Fault) { s.api.Break(call, f) }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) { s.api.ServeHTTP(w, r) }

func refuse(w http.ResponseWriter, f Fault) {
	switch f {
	case TooMany, fakehost.Secondary, fakehost.Primary:
		w.Header().Set("Retry-After", "1")
		http.Error(w, "Too Many Requests", http.StatusTooManyRequests)
	case Denied:
		fail(w, http.StatusForbidden, "token does not have at least one of required scope(s), "+
			"required=[write:repository], token scope=read:repository")
	default:
		fail(w, http.StatusInternalServerError, "")
	}
}

// Delivery is one webhook that was sent.
type Delivery = fakehost.Delivery

// Deliveries lists the webhooks that were sent. Event is X-Gitea-Event and, after a space,
// X-Gitea-Event-Type, which is the finer name.
func (s *Server) Deliveries() []Delivery { return s.hooks.Deliveries() }

// SetHookURL sets where webhooks go from now on.
func (s *Server) SetHookURL(url string) { s.hooks.SetURL(url) }

// hook sends a webhook in the background: an event, and its finer name.
func (s *Server) hook(event, kind string, payload map[string]any) {
	if body, err := json.MarshalIndent(payload, "", "  "); err == nil {
		s.hooks.Send(event+" "+kind, body)
	}
}

// Redeliver sends a webhook again, also one that was not received, as Gitea's button
// does: under a new id.
func (s *Server) Redeliver(id string) error {
	if _, err := s.hooks.Redeliver(id, true); err != nil {
		return fmt.Errorf("giteatest: %w", err)
	}
	return nil
}

// head sets the headers of a webhook: Gitea's, and what it imitates.
func (s *Server) head(h http.Header, d Delivery) {
	event, kind, _ := strings.Cut(d.Event, " ")
	families := []string{"X-Gitea-", "X-Gogs-", "X-GitHub-"}
	if s.opt.Forgejo {
		families = append(families, "X-Forgejo-")
	}
	signature := ""
	if s.opt.Secret != "" {
		signature = fakehost.MAC(sha256.New, s.opt.Secret, d.Body)
		h.Set("X-Hub-Signature", "sha1="+fakehost.MAC(sha1.New, s.opt.Secret, d.Body))
	}
	h.Set("X-Hub-Signature-256", "sha256="+signature) // empty without a secret, and there all the same
	for _, family := range families {
		h.Set(family+"Delivery", d.ID)
		h.Set(family+"Event", event)
		h.Set(family+"Event-Type", kind)
		if family != "X-GitHub-" {
			h.Set(family+"Signature", signature)
		}
	}
	h.Set("X-Gitea-Hook-Installation-Target-Type", "repository")
}
