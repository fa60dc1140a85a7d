package githubtest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha1" //nolint:gosec // GitHub sends this signature too; nobody should look at it
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault is what an API call meets.
type Fault string

// Faults of API calls.
const (
	None        Fault = ""
	TooMany     Fault = "429"
	Secondary   Fault = "403 secondary" // with Retry-After
	Primary     Fault = "403 primary"   // with X-RateLimit-Reset
	Denied      Fault = "403"           // for good
	ErrorBefore Fault = "500 before"    // nothing happens
	ErrorAfter  Fault = "500 after"     // the request is carried out all the same
	Dropped     Fault = "dropped"       // the connection breaks before anything happens
	DroppedLate Fault = "dropped late"
	Hang        Fault = "time-out" // the request is carried out, and no answer comes until the client gives up
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, Secondary, Primary, ErrorBefore, ErrorAfter, Dropped, DroppedLate, Hang float64 // of API calls

	HookLost      float64       // a webhook is never sent
	HookDoubled   float64       // a webhook is sent twice, with one id
	HookReordered float64       // a webhook is sent after the next one, or after a second
	HookDelay     time.Duration // at most; webhooks overtake each other
}

// SetFaults sets the chances of failure.
func (s *Server) SetFaults(f Faults) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = f
}

// Fail makes the next API calls meet faults, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.next = append(s.next, faults...)
}

// Break makes one call fail from now on; None heals it. The call is called as in
// "PUT /repos/{owner}/{repo}/pulls/{number}/merge".
func (s *Server) Break(call string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[call] = f
}

func (s *Server) fault(r *http.Request) Fault {
	if _, call := s.mux.Handler(r); s.broken[call] != None {
		return s.broken[call]
	}
	if len(s.next) > 0 {
		f := s.next[0]
		s.next = s.next[1:]
		return f
	}
	x := s.rand.Float64()
	for _, c := range []struct {
		chance float64
		fault  Fault
	}{
		{s.faults.TooMany, TooMany}, {s.faults.Secondary, Secondary}, {s.faults.Primary, Primary}, {s.faults.ErrorBefore, ErrorBefore},
		{s.faults.ErrorAfter, ErrorAfter}, {s.faults.Dropped, Dropped}, {s.faults.DroppedLate, DroppedLate}, {s.faults.Hang, Hang},
	} {
		if x < c.chance {
			return c.fault
		}
		x -= c.chance
	}
	return None
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A connection that breaks is only noticed once the body was read.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, 1<<20))
	if err != nil {
		fail(w, http.StatusRequestEntityTooLarge, "Payload too large")
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if s.serve(w, r) != Hang {
		return
	}
	select {
	case <-r.Context().Done():
	case <-s.group.Context().Done():
	}
	drop(w)
}

// serve answers under the lock, and says what the call met.
func (s *Server) serve(w http.ResponseWriter, r *http.Request) Fault {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !strings.HasPrefix(r.URL.Path, files) && !s.mayEnter(r) {
		fail(w, http.StatusUnauthorized, "Bad credentials")
		return None
	}
	fault := s.fault(r)
	switch fault {
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
	case ErrorBefore:
		fail(w, http.StatusInternalServerError, "Server Error")
	case Dropped:
		drop(w)
	case ErrorAfter:
		s.mux.ServeHTTP(&discard{header: http.Header{}}, r)
		fail(w, http.StatusInternalServerError, "Server Error")
	case DroppedLate:
		s.mux.ServeHTTP(&discard{header: http.Header{}}, r)
		drop(w)
	case Hang:
		s.mux.ServeHTTP(&discard{header: http.Header{}}, r)
	default:
		s.mux.ServeHTTP(w, r)
	}
	return fault
}

// drop breaks the connection without an answer.
func drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

// discard is where the answer goes that nobody will see.
type discard struct{ header http.Header }

func (d *discard) Header() http.Header         { return d.header }
func (d *discard) Write(p []byte) (int, error) { return len(p), nil }
func (d *discard) WriteHeader(int)             {}

// Delivery is one webhook that was sent.
type Delivery struct {
	ID, Event string
	Body      []byte
	Status    int // HTTP; 0 = no connection
}

// Deliveries lists the webhooks that were sent.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}

// reorderWait is how long a webhook waits for the one that shall overtake it.
const reorderWait = time.Second

// hook sends a webhook in the background; the lock is held.
func (s *Server) hook(event string, payload map[string]any) {
	body, err := json.Marshal(payload)
	if err != nil || s.hookURL == "" || s.rand.Float64() < s.faults.HookLost {
		return
	}
	s.ids++
	d := Delivery{ID: fmt.Sprintf("%08x-1111-11f0-8000-%012x", s.ids, s.opt.Seed&0xffffffffffff), Event: event, Body: body}
	s.hooks = append(s.hooks, d)
	overtaken := s.overtaken // by this one
	s.overtaken = nil
	var after chan struct{}
	if overtaken == nil && s.rand.Float64() < s.faults.HookReordered {
		after = make(chan struct{})
		s.overtaken = after
	}
	copies := 1
	if s.rand.Float64() < s.faults.HookDoubled {
		copies = 2
	}
	for range copies {
		s.send(d, after, overtaken)
		overtaken = nil
	}
}

// send delivers once in the background: after a channel is closed, if there is
// one, and closes another when it is done. The lock is held.
func (s *Server) send(d Delivery, after <-chan struct{}, done chan<- struct{}) {
	delay := time.Duration(0)
	if s.faults.HookDelay > 0 {
		delay = time.Duration(s.rand.Int64N(int64(s.faults.HookDelay)))
	}
	if after != nil {
		delay += reorderWait
	}
	url := s.hookURL
	s.group.Go("webhook", func(ctx context.Context) {
		if done != nil {
			defer close(done)
		}
		select {
		case <-ctx.Done():
			return
		case <-after: // never, when it is nil
		case <-time.After(delay):
		}
		d.Status = s.post(ctx, url, d.ID, d.Event, d.Body)
		s.mu.Lock()
		defer s.mu.Unlock()
		s.sent = append(s.sent, d)
	})
}

// Redeliver sends a webhook again, also one that was not received, under the
// same id. GitHub does so only on request.
func (s *Server) Redeliver(id string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, d := range s.hooks {
		if d.ID == id {
			s.send(d, nil, nil)
			return nil
		}
	}
	return fmt.Errorf("githubtest: no webhook has the id %q", id)
}

func (s *Server) post(ctx context.Context, url, id, event string, body []byte) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "GitHub-Hookshot/0123abc")
	req.Header.Set("X-GitHub-Event", event)
	req.Header.Set("X-GitHub-Delivery", id)
	if s.opt.Secret != "" {
		req.Header.Set("X-Hub-Signature", "sha1="+mac(sha1.New, s.opt.Secret, body))
		req.Header.Set("X-Hub-Signature-256", "sha256="+mac(sha256.New, s.opt.Secret, body))
	}
	resp, err := s.http.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // the answer does not matter
	return resp.StatusCode
}

func mac(h func() hash.Hash, secret string, body []byte) string {
	m := hmac.New(h, []byte(secret))
	m.Write(body)
	return hex.EncodeToString(m.Sum(nil))
}

func owner(repo string) string { name, _, _ := strings.Cut(repo, "/"); return name }
