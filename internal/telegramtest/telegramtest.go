// Package telegramtest is a Telegram Bot API server in memory, for tests and
// demonstrations: messages, their buttons and edits, getUpdates and webhooks, with
// the real answers and errors, and switches for failures.
package telegramtest

import (
	"fmt"
	"html"
	"io"
	"net/http"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
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
	Topic  int       `json:"topic,omitempty"`

	Buttons []Button `json:"buttons,omitempty"` // of the inline keyboard, row by row
	Forced  bool     `json:"forced,omitempty"`  // clients open a reply to it
}

// Button is one of an inline keyboard.
type Button struct {
	Text string `json:"text"`
	Data string `json:"callback_data"`
}

// Fault names what a call meets.
type Fault = fakehttp.Fault

// Faults.
const (
	None        = fakehttp.None
	TooMany     = fakehttp.TooMany // see SetRetryAfter
	ErrorBefore = fakehttp.ErrorBefore
	ErrorAfter  = fakehttp.ErrorAfter
	Dropped     = fakehttp.Dropped
	HangBefore  = fakehttp.Hung
	HangAfter   = fakehttp.TimeOut

	BadGateway  Fault = "502"          // an HTML page of a proxy
	Blocked     Fault = "blocked"      // 403: the bot was blocked
	NoChat      Fault = "no chat"      // 400
	NotEditable Fault = "not editable" // edits: 400
)

// Server is an http.Handler, whose calls can be made to fail.
type Server struct {
	*fakehttp.API

	token string

	mu       sync.Mutex
	last     int
	after    int // seconds
	messages []Message
	moved    map[string]int // where groups have gone that are supergroups now
	inbox
}

// New makes a server with one bot.
func New(token string) *Server {
	s := &Server{token: token, after: 1, moved: map[string]int{}, inbox: inbox{queries: map[string]bool{}}}
	s.API = &fakehttp.API{
		Serve: http.HandlerFunc(s.serve), Call: called, World: &s.mu, Admit: s.admit, Refuse: s.refuse, BodyMax: bodyMax,
	}
	return s
}

// called is the method of a call, in lower case.
func called(r *http.Request) string {
	_, method, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	return strings.ToLower(method)
}

// SetRetryAfter sets how many seconds the answer TooMany requires to wait; 1 at first.
func (s *Server) SetRetryAfter(seconds int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.after = seconds
}

// Break makes one method of the Bot API fail from now on; None heals it.
func (s *Server) Break(method string, f Fault) { s.API.Break(strings.ToLower(method), f) }

// Calls counts the calls of a method.
func (s *Server) Calls(method string) int { return s.Requests()[strings.ToLower(method)] }

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
		out[i].Before, out[i].Buttons = slices.Clone(out[i].Before), slices.Clone(out[i].Buttons)
	}
	return out
}

// Delete removes a message, as a person would.
func (s *Server) Delete(id int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.messages = slices.DeleteFunc(s.messages, func(m Message) bool { return m.ID == id })
}

func (s *Server) admit(w http.ResponseWriter, r *http.Request) bool {
	token, _, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != s.token {
		reply(w, fail(http.StatusUnauthorized, "Unauthorized"))
		return false
	}
	return true
}

func (s *Server) serve(w http.ResponseWriter, r *http.Request) {
	args, err := arguments(r)
	if err != nil {
		reply(w, bad("can't parse the request"))
		return
	}
	if rec, ok := w.(*fakehttp.Recorder); ok && called(r) == "getupdates" {
		s.polls++
		mine := s.polls
		rec.Rest = func() { reply(w, s.poll(r.Context(), args, mine)) }
		return
	}
	reply(w, s.call(called(r), args))
}

// refuse answers what meets a fault.
func (s *Server) refuse(w http.ResponseWriter, r *http.Request, f Fault) {
	a := fail(http.StatusInternalServerError, "Internal Server Error")
	switch f {
	case TooMany:
		s.mu.Lock()
		defer s.mu.Unlock()
		a = fail(http.StatusTooManyRequests, fmt.Sprintf("Too Many Requests: retry after %d", s.after))
		a.Parameters = map[string]int{"retry_after": s.after}
	case Blocked:
		a = fail(http.StatusForbidden, "Forbidden: bot was blocked by the user")
	case NoChat:
		a = bad("chat not found")
	case NotEditable:
		a = bad("message can't be edited")
	case fakehttp.TooLarge:
		a = bad("can't parse the request")
	case BadGateway:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html><h1>502</h1>"+html.EscapeString(r.URL.Path)+"</html>") // as proxies do
		return
	}
	reply(w, a)
}
