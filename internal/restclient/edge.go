package restclient

import (
	"net/http"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

// Edge verifies the webhooks of the server that a Client calls. An adapter that embeds one is half a receiver.
type Edge struct {
	scheme   signature.Scheme
	insecure bool
	secrets  atomic.Pointer[signature.Secrets]
}

// NewEdge makes one; insecure takes unsigned webhooks while there are no secrets.
func NewEdge(scheme signature.Scheme, secrets signature.Secrets, insecure bool) *Edge {
	e := &Edge{scheme: scheme, insecure: insecure}
	e.SetSecrets(secrets)
	return e
}

// SetSecrets replaces Options.Secrets for the webhooks that come from now on.
func (e *Edge) SetSecrets(s signature.Secrets) { e.secrets.Store(&s) }

// Signature implements the receivers of packages tracker and githost. Without secrets nothing
// passes, unless Options.Insecure is set.
func (e *Edge) Signature(h http.Header) (*signature.Check, error) {
	return e.scheme.Check(h.Get, *e.secrets.Load(), e.insecure, time.Time{})
}

// TakesUnsigned reports whether webhooks pass now that nobody has signed. It is no method, which
// adapters would have too.
func TakesUnsigned(e *Edge) bool { return len(*e.secrets.Load()) == 0 && e.insecure }
