// Package telegramtest is a Telegram Bot API server in memory, for tests and
// demonstrations: sendMessage, editMessageText, deleteMessage and getMe, with
// the real answers and errors, and switches for failures.
package telegramtest

import (
	"encoding/json"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"time"
	"unicode/utf16"
)

// Message is a message as the chat has it.
type Message struct {
	ID     int       `json:"message_id"`
	Chat   string    `json:"chat"`
	Text   string    `json:"text"` // as sent, with markup
	Silent bool      `json:"silent"`
	Edits  int       `json:"edits"`
	At     time.Time `json:"at"`
}

// Fault is what a call meets.
type Fault string

// Faults.
const (
	None        Fault = ""
	TooMany     Fault = "429"          // with retry_after 1
	ErrorBefore Fault = "500 before"   // nothing happens
	ErrorAfter  Fault = "500 after"    // the message is sent all the same
	Dropped     Fault = "dropped"      // the connection breaks, nothing happens
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
	messages []Message
	faults   []Fault // of the next calls
	calls    map[string]int
}

// New makes a server that knows one bot.
func New(token string) *Server { return &Server{token: token, calls: map[string]int{}} }

// Fail makes the next calls meet faults, one each.
func (s *Server) Fail(faults ...Fault) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.faults = append(s.faults, faults...)
}

// Messages lists what the chats show, oldest first.
func (s *Server) Messages() []Message {
	s.mu.Lock()
	defer s.mu.Unlock()
	return append([]Message(nil), s.messages...)
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
	for i := range s.messages {
		if s.messages[i].ID == id {
			s.messages = append(s.messages[:i], s.messages[i+1:]...)
			return
		}
	}
}

// answer is the envelope of every answer.
type answer struct {
	OK          bool            `json:"ok"`
	Result      any             `json:"result,omitempty"`
	ErrorCode   int             `json:"error_code,omitempty"`
	Description string          `json:"description,omitempty"`
	Parameters  *map[string]int `json:"parameters,omitempty"`
}

func refuse(code int, text string) answer { return answer{ErrorCode: code, Description: text} }

// ServeHTTP implements http.Handler.
func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	token, method, ok := strings.Cut(strings.TrimPrefix(r.URL.Path, "/bot"), "/")
	if !ok || token != s.token {
		reply(w, refuse(http.StatusUnauthorized, "Unauthorized"))
		return
	}
	_ = r.ParseMultipartForm(1 << 20) // other forms are read by FormValue
	s.mu.Lock()
	defer s.mu.Unlock()
	method = strings.ToLower(method)
	s.calls[method]++
	fault := None
	if len(s.faults) > 0 {
		fault, s.faults = s.faults[0], s.faults[1:]
	}
	switch fault {
	case None:
		reply(w, s.call(method, r))
	case TooMany:
		w.Header().Set("Retry-After", "1")
		a := refuse(http.StatusTooManyRequests, "Too Many Requests: retry after 1")
		a.Parameters = &map[string]int{"retry_after": 1}
		reply(w, a)
	case ErrorBefore:
		reply(w, refuse(http.StatusInternalServerError, "Internal Server Error"))
	case ErrorAfter:
		s.call(method, r)
		reply(w, refuse(http.StatusInternalServerError, "Internal Server Error"))
	case Blocked:
		reply(w, refuse(http.StatusForbidden, "Forbidden: bot was blocked by the user"))
	case NoChat:
		reply(w, refuse(http.StatusBadRequest, "Bad Request: chat not found"))
	case NotEditable:
		reply(w, refuse(http.StatusBadRequest, "Bad Request: message can't be edited"))
	case BadGateway:
		w.WriteHeader(http.StatusBadGateway)
		_, _ = w.Write([]byte("<html><h1>502</h1></html>"))
	default:
		drop(w)
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

func reply(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	if a.ErrorCode != 0 {
		w.WriteHeader(a.ErrorCode)
	}
	_ = json.NewEncoder(w).Encode(a) // a client that hung up needs no answer
}

func (s *Server) call(method string, r *http.Request) answer {
	switch method {
	case "getme":
		return answer{OK: true, Result: map[string]any{"id": 42, "is_bot": true, "first_name": "signalbox", "username": "signalbox_bot"}}
	case "sendmessage":
		return s.send(r)
	case "editmessagetext":
		return s.edit(r)
	default:
		return refuse(http.StatusNotFound, "Not Found: method not found")
	}
}

func wrongText(text string) string {
	switch {
	case text == "":
		return "Bad Request: message text is empty"
	case length(text) > 4096:
		return "Bad Request: message is too long"
	case strings.Count(text, "<b>") != strings.Count(text, "</b>"):
		return "Bad Request: can't parse entities: can't find end tag"
	default:
		return ""
	}
}

func (s *Server) send(r *http.Request) answer {
	text := r.FormValue("text")
	if wrong := wrongText(text); wrong != "" {
		return refuse(http.StatusBadRequest, wrong)
	}
	s.last++
	m := Message{ID: s.last, Chat: r.FormValue("chat_id"), Text: text, Silent: r.FormValue("disable_notification") == "true", At: time.Now()}
	s.messages = append(s.messages, m)
	return answer{OK: true, Result: wire(m)}
}

func (s *Server) edit(r *http.Request) answer {
	id, _ := strconv.Atoi(r.FormValue("message_id"))
	text := r.FormValue("text")
	for i := range s.messages {
		m := &s.messages[i]
		if m.ID != id || m.Chat != r.FormValue("chat_id") {
			continue
		}
		if wrong := wrongText(text); wrong != "" {
			return refuse(http.StatusBadRequest, wrong)
		}
		if m.Text == text {
			return refuse(http.StatusBadRequest, "Bad Request: message is not modified: specified new message content and reply markup are exactly the same as a current content and reply markup of the message")
		}
		m.Text = text
		m.Edits++
		return answer{OK: true, Result: wire(*m)}
	}
	return refuse(http.StatusBadRequest, "Bad Request: message to edit not found")
}

func wire(m Message) map[string]any {
	id, _ := strconv.ParseInt(m.Chat, 10, 64)
	return map[string]any{"message_id": m.ID, "date": m.At.Unix(), "chat": map[string]any{"id": id, "type": "private"}, "text": Plain(m.Text)}
}

// Plain is a message's text without its markup.
func Plain(text string) string {
	return strings.NewReplacer("<b>", "", "</b>", "", "&lt;", "<", "&gt;", ">", "&amp;", "&", "&#34;", `"`, "&#39;", "'").Replace(text)
}

// length counts UTF-16 code units of the text without its markup.
func length(text string) int { return len(utf16.Encode([]rune(Plain(text)))) }
