// Package modeltest imitates the model APIs that coding agents call, on a port of this
// machine: Anthropic's Messages, OpenAI's Responses and Chat Completions, and Gemini's
// generateContent. A script is the model: it answers each request with words, a call of one
// of the agent's own tools, or a fault, and chooses the tokens that are counted.
//
// The base URL of each API is the server's URL, with "/v1" after it for OpenAI's.
package modeltest

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
)

// Dialect is an API.
type Dialect string

// Dialects.
const (
	Anthropic Dialect = "anthropic" // POST /v1/messages
	Responses Dialect = "responses" // POST /v1/responses
	Chat      Dialect = "chat"      // POST /v1/chat/completions
	Gemini    Dialect = "gemini"    // POST /v1beta/models/{model}:generateContent and :streamGenerateContent
)

// Request holds what an agent has sent.
type Request struct {
	Dialect Dialect // empty: it is none of the calls that are imitated, and was answered 404
	Path    string
	Model   string
	Signed  bool // it carries a key or a token, whatever that says; others are refused
	Stream  bool
	Text    string   // all words of the conversation, with what tools have answered
	Tools   []string // names of the tools that the model may call; none: an aside, such as a title for the session
	Results int      // calls of tools that have been answered

	form object // schema of the JSON that is wanted in place of words; nil: none
}

// Turn is an answer of the model. The first of Fault, File, Command that is set counts.
type Turn struct {
	Text    string // words, said beside the call of a tool too
	Command string // is run by the agent's shell
	File    File   // is written by the agent's tool for files
	Fault   Fault
	Usage   Usage
}

// File is a file to be written, by an absolute path.
type File struct{ Path, Body string }

// Usage are the tokens of one answer. They are disjoint; each dialect adds them up as its
// API does.
type Usage struct{ Input, CacheRead, CacheCreate, Output int64 }

// Script is the model. It is called by several requests at a time.
type Script func(Request) Turn

// Steps is a model that takes one turn after the other, however often it is asked for the
// same one, and the last from then on. Asides cost no tokens, and meet the fault of the
// first turn.
func Steps(turns ...Turn) Script {
	return func(q Request) Turn {
		if len(q.Tools) == 0 {
			return Turn{Text: "An aside.", Fault: turns[0].Fault}
		}
		return turns[min(q.Results, len(turns)-1)]
	}
}

// Server imitates all dialects. It is safe for concurrent use.
type Server struct {
	URL    string // http://127.0.0.1:port
	http   *httptest.Server
	script Script
	ended  chan struct{}

	mu   sync.Mutex
	seen []Request
}

// New starts a server.
func New(script Script) *Server {
	s := &Server{script: script, ended: make(chan struct{})}
	s.http = httptest.NewServer(s)
	s.URL = s.http.URL
	return s
}

// Close ends the server and the answers that hang.
func (s *Server) Close() {
	close(s.ended)
	s.http.CloseClientConnections()
	s.http.Close()
}

// Requests are those that came so far, in their order.
func (s *Server) Requests() []Request {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.seen)
}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body) // half a request is recorded as such
	q := read(r, body)
	s.mu.Lock()
	s.seen = append(s.seen, q)
	s.mu.Unlock()
	if q.Dialect == "" {
		other(w, r)
		return
	}
	if !q.Signed {
		fail(w, q, unsigned)
		return
	}
	turn := s.script(q)
	a := answer{Turn: turn, q: q, n: q.Results, call: callOf(q.Tools, turn)}
	if q.form != nil {
		a.Text = quoted(filled(q.form))
	}
	switch turn.Fault {
	case "", BreakOff:
		a.write(w)
	case Hang:
		w.WriteHeader(http.StatusOK)
		_ = http.NewResponseController(w).Flush() // it has gone if it cannot
		select {
		case <-r.Context().Done():
		case <-s.ended:
		}
	default:
		fail(w, q, turn.Fault)
	}
}

// other answers what agents send beside the conversation.
func other(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	switch {
	case strings.HasSuffix(r.URL.Path, "/count_tokens"):
		_, _ = io.WriteString(w, `{"input_tokens": 10}`)
	case strings.HasSuffix(r.URL.Path, ":countTokens"):
		_, _ = io.WriteString(w, `{"totalTokens": 10}`)
	case r.Header.Get("Upgrade") != "": // Codex goes on without a WebSocket
		w.WriteHeader(http.StatusUpgradeRequired)
	default:
		w.WriteHeader(http.StatusNotFound)
		_, _ = io.WriteString(w, `{"error": {"message": "not imitated"}}`)
	}
}

// answer is a turn on its way to the agent.
type answer struct {
	Turn
	q    Request
	n    int // of the answer in the conversation
	call call
}

// event is one event of a stream.
type event struct {
	name string // empty in dialects whose events have none
	data any
}

// write answers with the events of a stream, or with all in one object.
func (a answer) write(w http.ResponseWriter) {
	write := map[Dialect]func(answer) ([]event, any){
		Anthropic: anthropic,
		Responses: responses,
		Chat:      chat,
		Gemini:    gemini,
	}[a.q.Dialect]
	events, whole := write(a)
	if !a.q.Stream {
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(whole) // the agent may have gone
		return
	}
	if a.Fault == BreakOff {
		events = events[:(len(events)+1)/2]
	}
	w.Header().Set("Content-Type", "text/event-stream")
	for _, e := range events {
		if e.name != "" {
			fmt.Fprintf(w, "event: %s\n", e.name)
		}
		body, ok := e.data.(string)
		if !ok {
			body = quoted(e.data)
		}
		fmt.Fprintf(w, "data: %s\n\n", body)
	}
	if a.Fault == BreakOff {
		control := http.NewResponseController(w)
		_ = control.Flush() // it has gone if it cannot
		if conn, _, err := control.Hijack(); err == nil {
			_ = conn.Close()
		}
	}
}
