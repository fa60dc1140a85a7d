package fakehttp

import (
	"bytes"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"
)

// Fault names what one call of an interface meets.
type Fault string

// Faults of calls.
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
	TimeOut     Fault = "time-out" // the request is carried out, and no answer comes until the client gives up
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, Secondary, Primary, ErrorBefore, ErrorAfter, Dropped, DroppedLate, TimeOut float64 // of calls

	HookLost      float64       // a webhook is never sent
	HookDoubled   float64       // a webhook is sent twice, with one id
	HookReordered float64       // a webhook is sent after the next one, or after a second
	HookDelay     time.Duration // at most; webhooks overtake each other
}

// API serves the REST interface of a double, one request at a time, and makes calls meet
// faults: one call is sick, where a Switch makes the whole server so.
type API struct {
	Mux   *http.ServeMux
	World sync.Locker // held while a request is carried out
	Done  <-chan struct{}
	// Admit reports whether a request may go on, and has answered when it may not.
	Admit func(http.ResponseWriter, *http.Request) bool
	// Refuse answers what meets a fault, in the words of the host. What breaks off or
	// hangs has no answer.
	Refuse func(http.ResponseWriter, Fault)

	mu      sync.Mutex
	rand    *rand.Rand
	chances Faults
	next    []Fault
	broken  map[string]Fault // by call
}

// Seed begins chance anew.
func (a *API) Seed(seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rand = rand.New(rand.NewPCG(seed, 2))
}

// SetFaults sets the chances of failure.
func (a *API) SetFaults(f Faults) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.chances = f
}

// Fail makes the next calls meet faults, one each.
func (a *API) Fail(faults ...Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next = append(a.next, faults...)
}

// Break makes one call fail from now on; None heals it. The call is its pattern in Mux.
func (a *API) Break(call string, f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		a.broken = map[string]Fault{}
	}
	a.broken[call] = f
}

func (a *API) fault(r *http.Request) Fault {
	_, call := a.Mux.Handler(r)
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken[call] != None {
		return a.broken[call]
	}
	if len(a.next) > 0 {
		f := a.next[0]
		a.next = a.next[1:]
		return f
	}
	x := a.rand.Float64()
	for _, c := range []struct {
		chance float64
		fault  Fault
	}{
		{a.chances.TooMany, TooMany}, {a.chances.Secondary, Secondary}, {a.chances.Primary, Primary},
		{a.chances.ErrorBefore, ErrorBefore}, {a.chances.ErrorAfter, ErrorAfter},
		{a.chances.Dropped, Dropped}, {a.chances.DroppedLate, DroppedLate}, {a.chances.TimeOut, TimeOut},
	} {
		if x < c.chance {
			return c.fault
		}
		x -= c.chance
	}
	return None
}

// bodyMax bounds a request.
const bodyMax = 1 << 20

// ServeHTTP implements http.Handler.
func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A connection that breaks is only noticed once the body was read.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, bodyMax))
	if err != nil {
		http.Error(w, "Payload too large", http.StatusRequestEntityTooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	if a.serve(w, r) != TimeOut {
		return
	}
	select {
	case <-r.Context().Done():
	case <-a.Done:
	}
	drop(w)
}

// serve answers under the world's lock, and returns what the call met.
func (a *API) serve(w http.ResponseWriter, r *http.Request) Fault {
	a.World.Lock()
	defer a.World.Unlock()
	if !a.Admit(w, r) {
		return None
	}
	fault := a.fault(r)
	switch fault {
	case None:
		a.Mux.ServeHTTP(w, r)
	case Dropped:
		drop(w)
	case DroppedLate, TimeOut:
		a.Mux.ServeHTTP(&discard{header: http.Header{}}, r)
		if fault == DroppedLate {
			drop(w)
		}
	case ErrorAfter:
		a.Mux.ServeHTTP(&discard{header: http.Header{}}, r)
		a.Refuse(w, fault)
	default:
		a.Refuse(w, fault)
	}
	return fault
}

// drop breaks the connection.
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
