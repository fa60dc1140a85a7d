package forgetest

import (
	"cmp"
	"crypto/sha1" //nolint:gosec // the hosts send this signature too; nobody should look at it
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// SetFaults sets the chances of failure.
func (s *Server) SetFaults(f fakehttp.Faults) {
	s.API.SetFaults(f)
	s.Sender.SetFaults(f)
}

// refuse answers what meets a fault.
func (s *Server) refuse(w http.ResponseWriter, _ *http.Request, f fakehttp.Fault) {
	no, known := s.faults[f]
	switch {
	case f == fakehttp.TooLarge:
		http.Error(w, "Payload too large", http.StatusRequestEntityTooLarge)
		return
	case !known:
		no = s.faults[fakehttp.ErrorBefore]
	case f == fakehttp.Primary && !s.gitea:
		w.Header().Set("X-RateLimit-Limit", "5000")
		w.Header().Set("X-RateLimit-Remaining", "0")
		w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(s.opt.Now().Add(2*time.Second).Unix(), 10))
	case f != fakehttp.Denied && f != fakehttp.ErrorBefore:
		w.Header().Set("Retry-After", "1")
	}
	if s.gitea && no.status == http.StatusTooManyRequests {
		http.Error(w, no.text, no.status)
		return
	}
	(&call{Server: s, w: w}).fail(no)
}

// event is the body of a webhook.
func (s *Server) event(r *repository, sender string, of object) object {
	of["repository"], of["sender"] = s.wireRepo(r), s.wireUser(sender)
	return of
}

// send sends a webhook in the background. The kind is the finer name of its event, as Gitea has it.
func (s *Server) send(kind string, payload object) {
	event := cmp.Or(s.events[kind], kind)
	body, err := json.Marshal(payload)
	if s.gitea {
		event += " " + kind
		body, err = json.MarshalIndent(payload, "", "  ")
	}
	if err == nil {
		s.Send(event, body)
	}
}

// Redeliver sends a webhook again, also one that was not received, as the host's button does:
// GitHub's under the same id, Gitea's under a new one.
func (s *Server) Redeliver(id string) error {
	if _, err := s.Sender.Redeliver(id, s.gitea); err != nil {
		return fmt.Errorf("forgetest: %w", err)
	}
	return nil
}

// signatures are those of a body, with SHA-1 and SHA-256; empty without a secret.
func (s *Server) signatures(body []byte) (old, signature string) {
	if s.opt.Secret == "" {
		return "", ""
	}
	return fakehttp.MAC(sha1.New, s.opt.Secret, body), fakehttp.MAC(sha256.New, s.opt.Secret, body)
}
