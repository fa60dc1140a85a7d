package telegramtest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
)

// bot is the number of the bot, which its token begins with.
func (s *Server) bot() int {
	number, _, _ := strings.Cut(s.token, ":")
	id, _ := strconv.Atoi(number) // a token of another form is of no bot
	return id
}

// inbox holds what people have done, until the bot has taken it.
type inbox struct {
	update  int64
	updates []update
	queries map[string]bool // that can be answered still
	answers []Toast
	polls   int // calls of getUpdates: each ends the one before
	hook    string
	secret  string
}

type update struct {
	id   int64
	body map[string]any
}

// Toast is the answer to the press of a button.
type Toast struct {
	Text  string
	Alert bool
}

// User is somebody in the chat.
type User struct {
	ID   int64
	Name string
}

func (u User) wire() map[string]any {
	return map[string]any{"id": u.ID, "is_bot": false, "first_name": u.Name}
}

// Press has somebody press the button of a message that has a text. It returns false when there is none.
func (s *Server) Press(by User, message int, button string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		for _, b := range m.Buttons {
			if m.ID == message && b.Text == button {
				s.press(by, m, b.Data)
				return true
			}
		}
	}
	return false
}

func (s *Server) press(by User, m Message, data string) {
	id := strconv.FormatInt(1000+s.update, 10)
	s.queries[id] = true
	s.add(map[string]any{"callback_query": map[string]any{
		"id": id, "from": by.wire(), "message": s.wire(m), "chat_instance": m.Chat, "data": data,
	}})
}

// Expire makes all presses too old to be answered.
func (s *Server) Expire() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.queries)
}

// Reply has somebody write a reply to a message, and returns its number. With "[picture] " before it the text is beneath one.
func (s *Server) Reply(by User, message int, text string) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, m := range s.messages {
		if m.ID == message {
			s.last++
			said := s.wire(Message{ID: s.last, Chat: m.Chat, Text: text, Topic: m.Topic, At: time.Now()})
			said["from"], said["reply_to_message"] = by.wire(), s.wire(m)
			delete(said, "entities")
			if caption, beneath := strings.CutPrefix(text, "[picture] "); beneath {
				said["caption"], said["text"] = caption, ""
			}
			s.add(map[string]any{"message": said})
		}
	}
	return s.last
}

func (s *Server) add(body map[string]any) {
	s.update++
	body["update_id"] = s.update
	s.updates = append(s.updates, update{s.update, body})
}

// Waiting counts the updates that the bot has not confirmed.
func (s *Server) Waiting() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.updates)
}

// Toasts lists the answers to presses, oldest first.
func (s *Server) Toasts() []Toast {
	s.mu.Lock()
	defer s.mu.Unlock()
	return slices.Clone(s.answers)
}

// Push sends what waits to the webhook, and keeps what was not taken. It returns how the last was answered.
func (s *Server) Push(ctx context.Context, send func(*http.Request) (status int, err error)) (status int, err error) {
	for {
		s.mu.Lock()
		if len(s.updates) == 0 || s.hook == "" {
			s.mu.Unlock()
			return status, nil
		}
		next, to, secret := s.updates[0], s.hook, s.secret
		body, _ := json.Marshal(next.body) // texts and numbers
		s.mu.Unlock()
		r, err := http.NewRequestWithContext(ctx, http.MethodPost, to, bytes.NewReader(body))
		if err != nil {
			return 0, err
		}
		r.Header.Set("Content-Type", "application/json")
		if secret != "" {
			r.Header.Set("X-Telegram-Bot-Api-Secret-Token", secret)
		}
		if status, err = send(r); err != nil || status/100 != 2 {
			return status, err
		}
		s.confirm(next.id + 1)
	}
}

func (s *Server) confirm(offset int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.updates = slices.DeleteFunc(s.updates, func(u update) bool { return u.id < offset })
}

// poll holds a call of getUpdates until there is something, another comes, or its time is over.
func (s *Server) poll(ctx context.Context, args map[string]string, mine int) answer {
	offset, _ := strconv.ParseInt(args["offset"], 10, 64) // none is 0
	seconds, _ := strconv.Atoi(args["timeout"])
	s.confirm(offset)
	for end := time.Now().Add(time.Duration(seconds) * time.Second); ; {
		s.mu.Lock()
		list := []map[string]any{}
		for _, u := range s.updates[:min(len(s.updates), 100)] {
			list = append(list, u.body)
		}
		conflict, hook := s.polls != mine, s.hook
		s.mu.Unlock()
		switch {
		case hook != "":
			return fail(http.StatusConflict, "Conflict: can't use getUpdates method while webhook is active; "+
				"use deleteWebhook to delete the webhook first")
		case conflict:
			return fail(http.StatusConflict, "Conflict: terminated by other getUpdates request; "+
				"make sure that only one bot instance is running")
		case len(list) > 0 || !time.Now().Before(end) || ctx.Err() != nil:
			return answer{OK: true, Result: list}
		}
		select {
		case <-ctx.Done():
		case <-time.After(5 * time.Millisecond):
		}
	}
}

func (s *Server) setHook(args map[string]string) answer {
	if at := args["url"]; at != "" && !strings.HasPrefix(at, "https://") {
		return bad("bad webhook: An HTTPS URL must be provided for webhook")
	}
	s.hook, s.secret = args["url"], args["secret_token"]
	return answer{OK: true, Result: true}
}

func (s *Server) answerQuery(args map[string]string) answer {
	id := args["callback_query_id"]
	if !s.queries[id] {
		return bad("query is too old and response timeout expired or query ID is invalid")
	}
	if len([]rune(args["text"])) > 200 {
		return bad("MESSAGE_TOO_LONG")
	}
	delete(s.queries, id)
	s.answers = append(s.answers, Toast{args["text"], args["show_alert"] == "true"})
	return answer{OK: true, Result: true}
}

func (s *Server) editMarkup(args map[string]string) answer {
	i := s.find(args)
	if i < 0 {
		return bad("message to edit not found")
	}
	buttons, _ := markupOf(args)
	if slices.Equal(s.messages[i].Buttons, buttons) {
		return bad("message is not modified: specified new message content and reply markup " +
			"are exactly the same as a current content and reply markup of the message")
	}
	s.messages[i].Buttons = buttons
	return answer{OK: true, Result: s.wire(s.messages[i])}
}

// keyboard is a reply markup as it comes.
type keyboard struct {
	Rows  [][]Button `json:"inline_keyboard"`
	Force bool       `json:"force_reply"`
}

func markupOf(args map[string]string) (buttons []Button, forced bool) {
	var k keyboard
	_ = json.Unmarshal([]byte(args["reply_markup"]), &k) // wrongMarkup has looked
	return slices.Concat(k.Rows...), k.Force
}

// wrongMarkup returns why a reply markup is refused; empty when it is not.
func wrongMarkup(args map[string]string) string {
	text := args["reply_markup"]
	if text != "" && json.Unmarshal([]byte(text), &keyboard{}) != nil {
		return "can't parse reply keyboard markup JSON object"
	}
	buttons, _ := markupOf(args)
	for _, b := range buttons {
		if len(b.Data) == 0 || len(b.Data) > 64 || b.Text == "" {
			return "BUTTON_DATA_INVALID"
		}
	}
	return ""
}

var mentioned = regexp.MustCompile(`^<a href="tg://user\?id=(\d+)">(.*?)</a>`)

// mention is the entity of a mention that a message begins with.
func mention(m Message) []map[string]any {
	found := mentioned.FindStringSubmatch(m.Text)
	if !m.HTML || found == nil {
		return nil
	}
	id, _ := strconv.ParseInt(found[1], 10, 64) // digits
	return []map[string]any{{
		"type": "text_mention", "offset": 0, "length": len([]rune(Plain(found[2]))), "user": User{id, Plain(found[2])}.wire(),
	}}
}

// String is a message with its buttons, for people.
func (m Message) String() string {
	text := Plain(m.Text)
	for _, b := range m.Buttons {
		text += fmt.Sprintf(" [%s]", b.Text)
	}
	return text
}
