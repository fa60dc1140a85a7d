package planetest

import (
	"bytes"
	"io"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Fault names what an API call meets.
type Fault string

// Faults of API calls.
const (
	None        Fault = ""
	TooMany     Fault = "429" // with Retry-After
	Denied      Fault = "403"
	ErrorBefore Fault = "500 before"   // nothing happens
	ErrorAfter  Fault = "500 after"    // the request is carried out all the same
	Dropped     Fault = "dropped"      // the connection breaks before anything happens
	DroppedLate Fault = "dropped late" // it breaks after the request was carried out
	Held        Fault = "held"         // nothing happens for Faults.Hold, then the connection breaks
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, ErrorBefore, ErrorAfter, Dropped, DroppedLate, Held float64 // of API calls

	Stale float64 // a work item is read as it was before its last change (a read replica that lags)

	HookLost      float64       // a webhook is never sent
	HookDoubled   float64       // a webhook is sent twice
	HookReordered float64       // a webhook waits until another one was sent, or Hold has passed
	HookDelay     time.Duration // at most; webhooks overtake each other

	Hold time.Duration // default 1 s
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
// "PATCH work-items/*" or "POST work-items/*/comments".
func (s *Server) Break(call string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[call] = f
}

// named returns the name of a request in Break and Requests.
func named(r *http.Request) string {
	_, path, inside := strings.Cut(r.URL.Path, "/projects/")
	if path = strings.Trim(path, "/"); !inside || path == "" {
		return r.Method + " " + strings.Trim(strings.TrimPrefix(r.URL.Path, "/api/v1"), "/")
	}
	_, path, _ = strings.Cut(path, "/")
	return r.Method + " " + strings.Join(shape(strings.Split(path, "/")), "/")
}

// Requests counts the API calls that were made, by what Break calls them; those outside of a
// project by their path, as in "GET users/me".
func (s *Server) Requests() map[string]int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return maps.Clone(s.requests)
}

// Pending counts the faults of Fail that no call has met yet.
func (s *Server) Pending() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.next)
}

// fault draws what a call meets.
func (s *Server) fault() Fault {
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
		{s.faults.TooMany, TooMany},
		{s.faults.ErrorBefore, ErrorBefore},
		{s.faults.ErrorAfter, ErrorAfter},
		{s.faults.Dropped, Dropped},
		{s.faults.DroppedLate, DroppedLate},
		{s.faults.Held, Held},
	} {
		if x < c.chance {
			return c.fault
		}
		x -= c.chance
	}
	return None
}

// chance draws whether something happens that happens so often.
func (s *Server) chance(p float64) bool { return p > 0 && s.rand.Float64() < p }

// hold is how long a connection is held.
func (s *Server) hold() time.Duration {
	if s.faults.Hold > 0 {
		return s.faults.Hold
	}
	return time.Second
}

// ServeHTTP implements http.Handler. Nothing is sent or received under the
// lock: a client that is slow holds up nobody else.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		reply(w, http.StatusRequestEntityTooLarge, map[string]string{"error": "REQUEST_BODY_TOO_LARGE"})
		return
	}
	fault, answer, hold := s.answer(r, body)
	switch fault {
	case TooMany:
		tooMany(w, time.Second)
	case Denied:
		reply(w, http.StatusForbidden, map[string]string{"detail": "You do not have permission to perform this action."})
	case ErrorBefore, ErrorAfter:
		reply(w, http.StatusInternalServerError, map[string]string{"error": "Something went wrong please try again later"})
	case Held:
		select {
		case <-time.After(hold):
		case <-r.Context().Done():
		case <-s.group.Context().Done():
		}
		drop(w)
	case Dropped, DroppedLate:
		drop(w)
	default:
		if answer.rest != nil {
			answer.rest()
		}
		answer.send(w)
	}
}

// answer draws the fault of a call, and carries out the request unless the fault
// comes first.
func (s *Server) answer(r *http.Request, body []byte) (Fault, *recorder, time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests[named(r)]++
	fault := s.broken[named(r)]
	if fault == None {
		fault = s.fault()
	}
	rec := &recorder{header: http.Header{}, status: http.StatusOK}
	switch fault {
	case None, ErrorAfter, DroppedLate:
		s.route(rec, r, body)
	}
	return fault, rec, s.hold()
}

// IsComment reports whether a request reads or writes comments.
func IsComment(r *http.Request) bool { return strings.Contains(r.URL.Path, "/comments/") }

// IsStatus reports whether a request changes a work item, as setting its state does.
func IsStatus(r *http.Request) bool { return r.Method == http.MethodPatch }

// drop breaks the connection without an answer.
func drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusBadGateway) // what a proxy would make of it
}

// recorder keeps an answer until it is sent, if ever.
type recorder struct {
	header http.Header
	status int
	body   bytes.Buffer
	rest   func() // what is still to be done, without the lock; nil: nothing
}

func (r *recorder) Header() http.Header         { return r.header }
func (r *recorder) Write(p []byte) (int, error) { return r.body.Write(p) }
func (r *recorder) WriteHeader(status int)      { r.status = status }

func (r *recorder) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes()) // a client that hung up needs no answer
}

// limited applies Options.RateLimit to a token, and answers when it is used up.
func (s *Server) limited(w http.ResponseWriter, token string) bool {
	limit, now := s.opt.RateLimit, s.opt.Now()
	if limit < 0 {
		return false
	}
	calls := slices.DeleteFunc(s.calls[token], func(at time.Time) bool { return now.Sub(at) >= time.Minute })
	if len(calls) >= limit {
		s.calls[token] = calls
		tooMany(w, time.Minute-now.Sub(calls[0]))
		return true
	}
	s.calls[token] = append(calls, now)
	w.Header().Set("X-RateLimit-Remaining", strconv.Itoa(limit-len(calls)-1))
	w.Header().Set("X-RateLimit-Reset", strconv.FormatInt(now.Add(time.Minute).Unix(), 10))
	return false
}

// tooMany answers without the headers that admitted calls get.
func tooMany(w http.ResponseWriter, wait time.Duration) {
	w.Header().Set("Retry-After", strconv.Itoa(int((wait+time.Second-1)/time.Second)))
	reply(w, http.StatusTooManyRequests, map[string]any{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"})
}

// Delivery is one attempt to send a webhook.
type Delivery struct {
	ID, Event string
	Body      []byte
	Status    int // HTTP; 0 = no connection
}

// Deliveries lists the attempts that were made.
func (s *Server) Deliveries() []Delivery {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.sent)
}
