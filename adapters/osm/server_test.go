package osm_test

import (
	"cmp"
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"
)

// apiPath is the path of the API.
const apiPath = "/api/0.6/trackpoints"

// visibility is the consent of the author of a trace.
type visibility string

// The visibilities.
const (
	identifiable visibility = "identifiable" // with name and author
	trackable    visibility = "trackable"    // in order and with times, nameless
)

// spot is a place and a time.
type spot struct {
	Lon, Lat float64
	At       time.Time
}

// upload is a file that somebody has uploaded.
type upload struct {
	ID               int
	User, Name, Desc string
	Visibility       visibility
	Segments         [][]spot
}

// fault names a failure of the server.
type fault string

// Faults.
const (
	tooMany       fault = "429"
	overBandwidth fault = "509"       // says when in its text
	unavailable   fault = "503"       // does not say when
	timedOut      fault = "500"       // a timeout of the database
	dropped       fault = "dropped"   // the connection breaks
	cutOff        fault = "cut off"   // after half of the page
	halfPage      fault = "broken"    // half a page that looks whole
	noGPX         fault = "no gpx"    // a page of maintenance, with status 200
	hang          fault = "hang"      // no answer until the client gives up
	moved         fault = "moved"     // a redirection
	elsewhere     fault = "elsewhere" // the next page is at another host
	blocked       fault = "403"       // the program is banned
	notFound      fault = "404"       // traces are switched off
)

// serverOptions of a server. Zero values are as openstreetmap.org is.
type serverOptions struct {
	Pages    bool // pages with numbers only: the older form
	PageSize int  // default 5000
	Gzip     bool // answers are compressed for clients that accept it
}

// request is one as it came in.
type request struct {
	Query url.Values
	Agent string
	At    time.Time
}

// server is OpenStreetMap's trackpoints API in memory: boxes and their limits, pages in both forms of the
// API, traces with names and without, and switches for failures. A page begins a new trk for a trace that
// goes on from the page before, and pages with cursors never split points of one moment, as of the real one.
type server struct {
	o serverOptions

	mu       sync.Mutex
	traces   []upload
	after    int // seconds that tooMany and overBandwidth require to wait
	faults   []fault
	requests []request
	now      int // requests under way
	most     int // of them at one time
}

// newServer makes one.
func newServer(o serverOptions, traces ...upload) *server {
	o.PageSize = cmp.Or(o.PageSize, 5000)
	return &server{o: o, traces: slices.Clone(traces), after: 7}
}

// Fail makes the next requests meet faults, one each.
func (s *server) Fail(faults ...fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Requests are all requests, oldest first.
func (s *server) Requests() []request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.requests)
}

// begin notes a request and gives the fault that it meets.
func (s *server) begin(r *http.Request) (f fault, after int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.requests = append(s.requests, request{Query: r.URL.Query(), Agent: r.UserAgent(), At: time.Now()})
	s.now++
	s.most = max(s.most, s.now)
	if len(s.faults) > 0 {
		f, s.faults = s.faults[0], s.faults[1:]
	}
	return f, s.after
}

func (s *server) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.now--
}

func (s *server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.URL.Path != apiPath || r.Method != http.MethodGet {
		refuse(w, http.StatusNotFound, "Not Found")
		return
	}
	fault, after := s.begin(r)
	defer s.end()
	if meet(w, r, fault, after) {
		return
	}
	q, wrong := parse(r.URL.Query())
	if wrong != "" {
		refuse(w, http.StatusBadRequest, wrong)
		return
	}
	s.answer(w, r, q, fault)
}

// meet answers with a fault, if it is one that has no page.
func meet(w http.ResponseWriter, r *http.Request, f fault, after int) bool {
	switch f {
	case tooMany:
		w.Header().Set("Retry-After", strconv.Itoa(after))
		refuse(w, http.StatusTooManyRequests, "Too Many Requests")
	case overBandwidth:
		w.WriteHeader(509)
		fmt.Fprintf(w, "You have downloaded too much data. Please try again in %d seconds.", after)
	case unavailable:
		refuse(w, http.StatusServiceUnavailable, "Database offline for maintenance")
	case timedOut:
		refuse(w, http.StatusInternalServerError, "execution expired")
	case dropped:
		drop(w)
	case noGPX:
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<!DOCTYPE html><html><body>We will be back soon.</body></html>")
	case hang:
		<-r.Context().Done()
	case moved:
		w.Header().Set("Location", "https://elsewhere.example"+apiPath)
		w.WriteHeader(http.StatusMovedPermanently)
	case blocked:
		refuse(w, http.StatusForbidden, "You are blocked: the User-Agent does not say who you are")
	case notFound:
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

// parse reads the parameters, or says what is wrong with them.
func parse(v url.Values) (q query, wrong string) {
	if n, _ := fmt.Sscanf(v.Get("bbox"), "%g,%g,%g,%g", &q.west, &q.south, &q.east, &q.north); n < 4 {
		return q, "The parameter bbox must be of the form min_lon,min_lat,max_lon,max_lat"
	}
	q.page = -1
	if v.Has("page") {
		q.page, _ = strconv.Atoi(v.Get("page"))
	}
	q.cursor, _ = strconv.Atoi(strings.TrimPrefix(v.Get("cursor"), "row-"))
	switch {
	case q.west < -180 || q.east > 180 || q.south < -90 || q.north > 90:
		wrong = "The latitudes must be between -90 and 90, and longitudes between -180 and 180"
	case (q.east-q.west)*(q.north-q.south) > 0.25:
		wrong = "The maximum bbox size is 0.25, and your request was too large. Either request a smaller area, or use planet.osm"
	}
	return q, wrong
}
