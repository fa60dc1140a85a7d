package planetest

import (
	"net/http"
	"slices"
	"strconv"
	"time"
)

// Fault is what an API call meets.
type Fault string

// Faults of API calls.
const (
	None        Fault = ""
	TooMany     Fault = "429"        // with Retry-After
	ErrorBefore Fault = "500 before" // nothing happens
	ErrorAfter  Fault = "500 after"  // what was asked for happens all the same
	Dropped     Fault = "dropped"    // the connection breaks before anything happens
	DroppedLate Fault = "dropped late"
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, ErrorBefore, ErrorAfter, Dropped, DroppedLate float64 // of API calls

	HookLost    float64       // a webhook is never sent
	HookDoubled float64       // a webhook is sent twice
	HookDelay   time.Duration // at most; webhooks overtake each other
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
	}{{s.faults.TooMany, TooMany}, {s.faults.ErrorBefore, ErrorBefore}, {s.faults.ErrorAfter, ErrorAfter}, {s.faults.Dropped, Dropped}, {s.faults.DroppedLate, DroppedLate}} {
		if x < c.chance {
			return c.fault
		}
		x -= c.chance
	}
	return None
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	fault := s.fault()
	switch fault {
	case TooMany:
		w.Header().Set("Retry-After", strconv.Itoa(1))
		reply(w, http.StatusTooManyRequests, map[string]any{"error_code": 5900, "error_message": "RATE_LIMIT_EXCEEDED"})
	case ErrorBefore:
		reply(w, http.StatusInternalServerError, map[string]string{"error": "Something went wrong please try again later"})
	case Dropped:
		drop(w)
	case ErrorAfter, DroppedLate:
		s.route(&discard{header: http.Header{}}, r)
		if fault == DroppedLate {
			drop(w)
			return
		}
		reply(w, http.StatusInternalServerError, map[string]string{"error": "Something went wrong please try again later"})
	default:
		s.route(w, r)
	}
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
