// Package fakehttp makes servers of tests and demonstrations sick, as a whole or a call at a time,
// and sends their webhooks, which get lost, doubled and reordered.
package fakehttp

import (
	"io"
	"net/http"
	"slices"
	"sync"
	"time"
)

// Kind is how a server is sick. None of them carries out the request.
type Kind string

// Kinds of sickness.
const (
	Hang    Kind = "hang"    // it takes the request and never answers
	Slow    Kind = "slow"    // it answers with a byte a second, without end
	Error   Kind = "500"     // it has an internal error
	Refuse  Kind = "refuse"  // it forbids the request (403), whenever it comes
	Garbage Kind = "garbage" // a page of something in front of it, with status 200
)

// Kinds lists all kinds.
func Kinds() []Kind { return []Kind{Hang, Slow, Error, Refuse, Garbage} }

// Switch stands before a server and answers in its place while it is sick. It is safe
// for concurrent use.
type Switch struct {
	next  http.Handler
	meets func(*http.Request) bool

	mu     sync.Mutex
	kind   Kind // empty: well
	healed chan struct{}
	met    int
}

// New makes a switch, for a server that is well. meets returns which requests a sickness
// is for; nil = all.
func New(next http.Handler, meets func(*http.Request) bool) *Switch {
	return &Switch{next: next, meets: meets, healed: make(chan struct{})}
}

// Sicken makes the server sick.
func (s *Switch) Sicken(k Kind) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind = k
}

// Heal makes the server well. What hangs breaks off, as when a server is restarted.
func (s *Switch) Heal() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.kind = ""
	close(s.healed)
	s.healed = make(chan struct{})
}

// Met counts the requests that have met a sickness.
func (s *Switch) Met() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.met
}

// meet returns what a request meets, and until when.
func (s *Switch) meet(r *http.Request) (Kind, chan struct{}) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.kind == "" || s.meets != nil && !s.meets(r) {
		return "", nil
	}
	s.met++
	return s.kind, s.healed
}

// refused is a refusal in the words of each of the interfaces that are faked here.
const refused = `{"ok":false,"error_code":403,"description":"Forbidden: refused for good",` +
	`"detail":"refused for good","message":"refused for good"}`

func (s *Switch) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	kind, healed := s.meet(r)
	if kind == "" {
		s.next.ServeHTTP(w, r)
		return
	}
	_, _ = io.Copy(io.Discard, r.Body) // a client that goes away is seen only then
	switch kind {
	case Hang:
		pend(w, r, healed, "")
	case Slow:
		pend(w, r, healed, " ")
	case Refuse:
		answer(w, http.StatusForbidden, "application/json", refused)
	case Garbage:
		answer(w, http.StatusOK, "text/html", "<html><h1>Back soon</h1></html>")
	default:
		answer(w, http.StatusInternalServerError, "text/plain", "Internal Server Error")
	}
}

// pend writes drip each second, and breaks the connection when the server is well again
// or the client has gone.
func pend(w http.ResponseWriter, r *http.Request, healed <-chan struct{}, drip string) {
	every := time.NewTicker(time.Second)
	defer every.Stop()
	out := http.NewResponseController(w)
	for {
		select {
		case <-every.C:
			if drip != "" {
				_, _ = io.WriteString(w, drip)
				_ = out.Flush() // a client that has gone is seen below
			}
		case <-healed:
			if conn, _, err := out.Hijack(); err == nil {
				_ = conn.Close()
			}
			return
		case <-r.Context().Done():
			return
		}
	}
}

func answer(w http.ResponseWriter, status int, media, body string) {
	w.Header().Set("Content-Type", media)
	w.WriteHeader(status)
	_, _ = io.WriteString(w, body) // a client that hung up needs no answer
}

// Known reports whether there is such a kind.
func (k Kind) Known() bool { return slices.Contains(Kinds(), k) }
