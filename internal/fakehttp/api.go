package fakehttp

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"maps"
	"math/rand/v2"
	"net/http"
	"strings"
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
	TooLarge    Fault = "413"           // of a body beyond BodyMax, and no chance
	ErrorBefore Fault = "500 before"    // nothing happens
	ErrorAfter  Fault = "500 after"     // the request is carried out all the same
	Dropped     Fault = "dropped"       // the connection breaks before anything happens
	DroppedLate Fault = "dropped late"  // it breaks after the request was carried out
	Held        Fault = "held"          // nothing happens for Faults.Hold, then the connection breaks
	Hung        Fault = "hang"          // nothing happens, and no answer comes until the client gives up
	TimeOut     Fault = "time-out"      // the request is carried out, and no answer comes until the client gives up
)

// Faults are chances, between 0 and 1, that hold until they are set anew.
type Faults struct {
	TooMany, Secondary, Primary, ErrorBefore, ErrorAfter, Dropped, DroppedLate, Held, TimeOut float64 // of calls

	HookLost      float64       // a webhook is never sent
	HookDoubled   float64       // a webhook is sent twice
	HookReordered float64       // a webhook is sent after the next one, or after Hold
	HookDelay     time.Duration // at most; webhooks overtake each other

	Hold time.Duration // default 1 s
}

// hold is how long a connection or a webhook is held.
func (f Faults) hold() time.Duration {
	if f.Hold > 0 {
		return f.Hold
	}
	return time.Second
}

// API serves the REST interface of a double, one request at a time, and makes calls meet
// faults: one call is sick, where a Switch makes the whole server so. Nothing is sent or
// received while the world is locked: a client that is slow holds up nobody else.
type API struct {
	Serve http.Handler
	Call  func(*http.Request) string // the name of a call, as in Break
	World sync.Locker                // held while a request is carried out
	Done  <-chan struct{}
	// Admit reports whether a request may go on, and has answered when it may not; nil = each may.
	Admit func(http.ResponseWriter, *http.Request) bool
	// Refuse answers what meets a fault, in the words of the host. What breaks off or
	// hangs has no answer.
	Refuse func(http.ResponseWriter, *http.Request, Fault)
	// BodyMax bounds a request, in bytes.
	BodyMax int64
	// Tags has reads tagged as GitHub does, and answered with 304 while the tag holds.
	Tags bool

	mu       sync.Mutex
	rand     *rand.Rand
	chances  Faults
	next     []Fault
	broken   map[string]Fault // by call
	requests map[string]int   // by call
	same     int              // of them, answered with 304
}

// Seed begins chance anew.
func (a *API) Seed(seed uint64) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.rand = rand.New(rand.NewPCG(seed, 2))
}

// SetFaults sets the chances of failure; without a Seed nothing fails by chance.
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

// Pending counts the faults of Fail that no call has met yet.
func (a *API) Pending() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return len(a.next)
}

// Break makes one call fail from now on; None heals it.
func (a *API) Break(call string, f Fault) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.broken == nil {
		a.broken = map[string]Fault{}
	}
	a.broken[call] = f
}

// Requests counts the calls that were admitted, by what Break calls them.
func (a *API) Requests() map[string]int {
	a.mu.Lock()
	defer a.mu.Unlock()
	return maps.Clone(a.requests)
}

// Counted counts the calls that GitHub would count against its limit: all but those answered with 304.
func (a *API) Counted() int {
	a.mu.Lock()
	defer a.mu.Unlock()
	n := -a.same
	for _, calls := range a.requests {
		n += calls
	}
	return n
}

// tag gives a read its tag, which is of the body and of what the answer varies by, and weak when it would be
// compressed; an answer that the client has becomes a 304, without its links.
func (a *API) tag(r *http.Request, rec *Recorder) {
	if r.Method != http.MethodGet || rec.status != http.StatusOK {
		return
	}
	sum := sha256.Sum256(append([]byte(r.Header.Get("Authorization")+"\n"+r.Header.Get("Accept")+"\n"), rec.body.Bytes()...))
	strong := fmt.Sprintf(`"%x"`, sum)
	tag := strong
	if strings.Contains(r.Header.Get("Accept-Encoding"), "gzip") {
		tag = "W/" + strong
	}
	about := http.Header{"Etag": {tag}, "Cache-Control": {"private, max-age=60, s-maxage=60"}, "Vary": {"Accept, Authorization, Cookie"}}
	if strings.Contains(r.Header.Get("If-None-Match"), strong) {
		a.mu.Lock()
		defer a.mu.Unlock()
		a.same++
		rec.status, rec.header = http.StatusNotModified, http.Header{}
		rec.body.Reset()
	}
	maps.Copy(rec.header, about)
}

// draw draws what a call meets, and how long it is held.
func (a *API) draw(call string) (Fault, time.Duration) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.requests == nil {
		a.requests = map[string]int{}
	}
	a.requests[call]++
	hold := a.chances.hold()
	if f := a.broken[call]; f != None {
		return f, hold
	}
	if len(a.next) > 0 {
		f := a.next[0]
		a.next = a.next[1:]
		return f, hold
	}
	if a.rand == nil {
		return None, hold
	}
	x := a.rand.Float64()
	for _, c := range []struct {
		chance float64
		fault  Fault
	}{
		{a.chances.TooMany, TooMany}, {a.chances.Secondary, Secondary}, {a.chances.Primary, Primary},
		{a.chances.ErrorBefore, ErrorBefore}, {a.chances.ErrorAfter, ErrorAfter}, {a.chances.Dropped, Dropped},
		{a.chances.DroppedLate, DroppedLate}, {a.chances.Held, Held}, {a.chances.TimeOut, TimeOut},
	} {
		if x < c.chance {
			return c.fault, hold
		}
		x -= c.chance
	}
	return None, hold
}

func (a *API) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	// A connection that breaks is only noticed once the body was read.
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, a.BodyMax))
	if err != nil {
		a.Refuse(w, r, TooLarge)
		return
	}
	r.Body = io.NopCloser(bytes.NewReader(body))
	fault, hold, answer := a.answer(r)
	switch fault {
	case None:
		if answer.Rest != nil {
			answer.Rest()
		}
		answer.send(w)
	case Held, Hung, TimeOut:
		var over <-chan time.Time // never
		if fault == Held {
			over = time.After(hold)
		}
		select {
		case <-over:
		case <-r.Context().Done():
		case <-a.Done:
		}
		drop(w)
	case Dropped, DroppedLate:
		drop(w)
	default:
		a.Refuse(w, r, fault)
	}
}

// answer draws what a call meets, and carries out the request unless the fault comes first.
func (a *API) answer(r *http.Request) (Fault, time.Duration, *Recorder) {
	a.World.Lock()
	defer a.World.Unlock()
	rec := &Recorder{header: http.Header{}, status: http.StatusOK}
	if a.Admit != nil && !a.Admit(rec, r) {
		return None, 0, rec
	}
	fault, hold := a.draw(a.Call(r))
	switch fault {
	case None, ErrorAfter, DroppedLate, TimeOut:
		a.Serve.ServeHTTP(rec, r)
		if a.Tags {
			a.tag(r, rec)
		}
	}
	return fault, hold, rec
}

// drop breaks the connection without an answer.
func drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
			return
		}
	}
	w.WriteHeader(http.StatusBadGateway) // a proxy's answer to that
}

// Recorder keeps an answer until it is sent, if ever. An API's handler writes to one.
type Recorder struct {
	Rest func() // does what is left without the lock; nil: nothing is

	header http.Header
	status int
	body   bytes.Buffer
}

func (r *Recorder) Header() http.Header { return r.header }

func (r *Recorder) Write(p []byte) (int, error) { return r.body.Write(p) }

func (r *Recorder) WriteHeader(status int) { r.status = status }

func (r *Recorder) send(w http.ResponseWriter) {
	maps.Copy(w.Header(), r.header)
	w.WriteHeader(r.status)
	_, _ = w.Write(r.body.Bytes()) // a client that hung up needs no answer
}
