// Package telegramtest is a Telegram Bot API server in memory, for tests and
// demonstrations: sendMessage, editMessageText, deleteMessage and getMe, with
// the real answers and errors, and switches for failures.
package telegramtest

import (
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"
)

// Message is a message as the chat has it.
type Message struct {
	ID     int       `json:"message_id"`
	Chat   string    `json:"chat"`
	Text   string    `json:"text"` // as sent, with markup
	HTML   bool      `json:"html"` // the markup is HTML
	Silent bool      `json:"silent"`
	NoLink bool      `json:"no_link"` // without a preview of links
	Edits  int       `json:"edits"`
	Before []string  `json:"before,omitempty"` // earlier texts, oldest first
	At     time.Time `json:"at"`
}

// Fault names what a call meets.
type Fault string

// Faults.
const (
	None        Fault = ""
	TooMany     Fault = "429"          // see SetRetryAfter
	ErrorBefore Fault = "500 before"   // nothing happens
	ErrorAfter  Fault = "500 after"    // the message is sent all the same
	Dropped     Fault = "dropped"      // the connection breaks, nothing happens
	HangBefore  Fault = "hang before"  // no answer until the client gives up, nothing happens
	HangAfter   Fault = "hang after"   // no answer either, but the message is sent
	BadGateway  Fault = "502"          // an HTML page of a proxy
	Blocked     Fault = "403"          // the bot was blocked
	NoChat      Fault = "no chat"      // 400
	NotEditable Fault = "not editable" // edits: 400
)

// Server is an http.Handler.
type Server struct {
	token string

	mu       sync.Mutex
	last     int
	after    int // seconds
	messages []Message
	faults   []Fault          // of the next calls
	broken   map[string]Fault // by method
	calls    map[string]int
	moved    map[string]int // where groups have gone that are supergroups now
}

// New makes a server with one bot.
func New(token string) *Server {
	return &Server{token: token, after: 1, calls: map[string]int{}, moved: map[string]int{}, broken: map[string]Fault{}}
}

// SetRetryAfter sets how many seconds the answer TooMany requires to wait; 1 at first.
func (s *Server) SetRetryAfter(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = seconds
}

// Fail makes the next calls meet faults, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Break makes one method of the Bot API fail from now on; None heals it.
func (s *Server) Break(method string, f Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.broken[strings.ToLower(method)] = f
}

// Upgrade makes a supergroup of a group: its old id is answered with the new one, and
// nothing that it showed can be edited any more.
func (s *Server) Upgrade(group string, supergroup int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.moved[group] = supergroup
}

// Messages lists what the chats show, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := slices.Clone(s.messages)
	for i := range out {
		out[i].Before = slices.Clone(out[i].Before)
	}
	return out
}

// Calls counts the calls of a method.
func (s *Server) Calls(method string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.calls[strings.ToLower(method)]
}

// Delete removes a message, as a person would.
func (s *Server) Delete(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m Message) bool { return m.ID == id })
}

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != s.token {
		reply(w, refuse(http.StatusUnauthorized, "Unauthorized"))
		return
	}
	args, err := arguments(r)
	if err != nil {
		reply(w, refuse(http.StatusBadRequest, "Bad Request: can't parse the request"))
		return
	}
	result, fault := s.handle(strings.ToLower(method), args)
	switch fault {
	case HangBefore, HangAfter:
		<-r.Context().Done()
	case Dropped:
		drop(w)
	case BadGateway:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><h1>502</h1>" + html.EscapeString(r.URL.Path) + "</html>")) // as proxies do
	default:
		reply(w, result)
	}
}

// handle counts a call and gives its answer, or the fault that has none.
func (s *Server) handle(method string, args map[string]string) (answer, Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls[method]++
	fault := s.broken[method]
	if fault == None && len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	switch fault {
	case None:
		return s.call(method, args), None
	case TooMany:
		a := refuse(http.StatusTooManyRequests, fmt.Sprintf("Too Many Requests: retry after %d", s.after))
		a.Parameters = map[string]int{"retry_after": s.after}
		return a, fault
	case ErrorAfter, HangAfter:
		s.call(method, args)
		return refuse(http.StatusInternalServerError, "Internal Server Error"), fault
	case Blocked:
		return refuse(http.StatusForbidden, "Forbidden: bot was blocked by the user"), fault
	case NoChat:
		return refuse(http.StatusBadRequest, "Bad Request: chat not found"), fault
	case NotEditable:
		return refuse(http.StatusBadRequest, "Bad Request: message can't be edited"), fault
	default:
		return refuse(http.StatusInternalServerError, "Internal Server Error"), fault
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
