// Package osmtest is OpenStreetMap's trackpoints API in memory, for tests and
// demonstrations: boxes and their limits, pages in both forms of the API, traces
// of every visibility, and switches for failures.
//
// Its quirks are those of the real one: a page begins a new trk for a trace that
// goes on from the page before; points of public and private traces lie in one
// trk without times, in the order of their coordinates; numbers are written as
// 5.0e-05; pages with cursors never split points of one moment, so their sizes
// vary.
package osmtest

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// Path is where the API answers.
const Path = "/api/0.6/trackpoints"

// Visibility is what the author of a trace allows.
type Visibility string

// The visibilities.
const (
	Identifiable Visibility = "identifiable" // with name and author
	Trackable    Visibility = "trackable"    // in order and with times, nameless
	Public       Visibility = "public"       // points of nobody
	Private      Visibility = "private"      // likewise, and not listed elsewhere
)

// Point is where and when.
type Point struct {
	Lon, Lat float64
	At       time.Time
}

// Trace is a file that somebody has uploaded.
type Trace struct {
	ID               int
	User, Name, Desc string
	Visibility       Visibility
	Segments         [][]Point
}

// Fault is what a request meets.
type Fault string

// Faults.
const (
	None        Fault = ""
	TooMany     Fault = "429"       // see SetRetryAfter
	Bandwidth   Fault = "509"       // says when in its text
	Unavailable Fault = "503"       // does not say when
	ErrorFault  Fault = "500"       // a timeout of the database
	Dropped     Fault = "dropped"   // the connection breaks
	CutOff      Fault = "cut off"   // after half of the page
	Broken      Fault = "broken"    // half a page that looks whole
	NoGPX       Fault = "no gpx"    // a page of maintenance, with status 200
	Hang        Fault = "hang"      // no answer until the client gives up
	Moved       Fault = "moved"     // a redirection
	Elsewhere   Fault = "elsewhere" // the next page is at another host
	Stuck       Fault = "stuck"     // the next page is this one
	Blocked     Fault = "403"       // the program is banned
	NotFound    Fault = "404"       // traces are switched off
)

// Options are how a server behaves. Zero values are as openstreetmap.org is.
type Options struct {
	Pages    bool    // pages with numbers only, and points of nobody: the older form
	PageSize int     // default 5000
	MaxArea  float64 // square degrees, default 0.25
	Gzip     bool    // answers are compressed for clients that accept it
}

// Request is a request as it came in.
type Request struct {
	Query  url.Values
	Agent  string
	At     time.Time
	Points int // that were sent
}

// Server is an http.Handler.
type Server struct {
	o Options

	mu       sync.Mutex
	traces   []Trace
	after    int // seconds
	faults   []Fault
	requests []Request
	now      int // requests under way
	most     int
}

// New makes a server.
func New(o Options, traces ...Trace) *Server {
	if o.PageSize == 0 {
		o.PageSize = 5000
	}
	if o.MaxArea == 0 {
		o.MaxArea = 0.25
	}
	return &Server{o: o, traces: slices.Clone(traces), after: 7}
}

// SetRetryAfter sets how many seconds the answers TooMany and Bandwidth require to wait; 7 at
// first.
func (s *Server) SetRetryAfter(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = seconds
}

// Fail makes the next requests meet faults, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Add uploads traces.
func (s *Server) Add(traces ...Trace) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.traces = append(s.traces, traces...)
}

// Requests are all requests, oldest first.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// MostAtOnce is how many requests were under way at one time, at most.
func (s *Server) MostAtOnce() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.most
}

// begin notes a request and gives the fault that it meets.
func (s *Server) begin(r *http.Request) (f Fault, at, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, Request{Query: r.URL.Query(), Agent: r.UserAgent(), At: time.Now()})
	s.now++
	s.most = max(s.most, s.now)
	if len(s.faults) > 0 {
		f, s.faults = s.faults[0], s.faults[1:]
	}
	return f, len(s.requests) - 1, s.after
}

func (s *Server) end(at, points int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
	s.requests[at].Points = points
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != Path || r.Method != http.MethodGet {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	fault, at, after := s.begin(r)
	sent := 0
	defer func() { s.end(at, sent) }()
	if agent := r.UserAgent(); agent == "" || strings.HasPrefix(agent, "Go-http-client") {
		fault = Blocked
	}
	if meet(w, r, fault, after) {
		return
	}
	q, wrong := s.query(r.URL.Query())
	if wrong != "" {
		refuse(w, http.StatusBadRequest, wrong)
		return
	}
	sent = s.answer(w, r, q, fault)
}

// meet answers with a fault, if it is one that has no page.
func meet(w http.ResponseWriter, r *http.Request, f Fault, after int) bool {
	switch f {
	case TooMany:
		w.Header().Set("Retry-After", strconv.Itoa(after))
		refuse(w, http.StatusTooManyRequests, "Too Many Requests")
	case Bandwidth:
		w.WriteHeader(509)
		fmt.Fprintf(w, "You have downloaded too much data. Please try again in %d seconds.", after)
	case Unavailable:
		refuse(w, http.StatusServiceUnavailable, "Database offline for maintenance")
	case ErrorFault:
		refuse(w, http.StatusInternalServerError, "execution expired")
	case Dropped:
		drop(w)
	case NoGPX:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><html><body>We will be back soon.</body></html>")
	case Hang:
		<-r.Context().Done()
	case Moved:
		w.Header().Set("Location", "https://elsewhere.example"+Path)
		w.WriteHeader(http.StatusMovedPermanently)
	case Blocked:
		refuse(w, http.StatusForbidden, "You are blocked: the User-Agent does not say who you are")
	case NotFound:
		refuse(w, http.StatusNotFound, "Traces are not available")
	default:
		return false
	}
	return true
}

// drop breaks the connection without an answer.
func drop(w http.ResponseWriter) {
	if h, ok := w.(http.Hijacker); ok {
		if conn, _, err := h.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}

func refuse(w http.ResponseWriter, status int, text string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("Error", text)
	w.WriteHeader(status)
	fmt.Fprint(w, text)
}

// query is a request that can be answered.
type query struct {
	west, south, east, north float64
	page                     int // -1: not given
	cursor                   int // row to begin with
}

// query reads the parameters, or says what is wrong with them.
func (s *Server) query(v url.Values) (q query, wrong string) {
	if !v.Has("bbox") {
		return q, "The parameter bbox is required"
	}
	parts := strings.Split(v.Get("bbox"), ",")
	if len(parts) != 4 {
		return q, "The parameter bbox must be of the form min_lon,min_lat,max_lon,max_lat"
	}
	for i, to := range []*float64{&q.west, &q.south, &q.east, &q.north} {
		*to, _ = strconv.ParseFloat(parts[i], 64) // as Ruby does: what is no number is 0
	}
	q.page = -1
	if v.Has("page") {
		q.page, _ = strconv.Atoi(v.Get("page"))
	}
	q.cursor, _ = strconv.Atoi(strings.TrimPrefix(v.Get("cursor"), "row-"))
	switch {
	case v.Has("page") && q.page < 0:
		wrong = "Page number must be greater than or equal to 0"
	case q.west > q.east:
		wrong = "The minimum longitude must be less than the maximum longitude, but it wasn't"
	case q.south > q.north:
		wrong = "The minimum latitude must be less than the maximum latitude, but it wasn't"
	case q.west < -180 || q.east > 180 || q.south < -90 || q.north > 90:
		wrong = "The latitudes must be between -90 and 90, and longitudes between -180 and 180"
	case (q.east-q.west)*(q.north-q.south) > s.o.MaxArea:
		wrong = fmt.Sprintf("The maximum bbox size is %v, and your request was too large. Either request a smaller area, or use planet.osm", s.o.MaxArea)
	}
	return q, wrong
}
