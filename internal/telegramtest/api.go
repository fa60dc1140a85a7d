package telegramtest

import (
	"cmp"
	"encoding/json"
	"html"
	"mime"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"
)

// answer is the envelope of every answer.
type answer struct {
	OK          bool           `json:"ok"`
	Result      any            `json:"result,omitempty"`
	ErrorCode   int            `json:"error_code,omitempty"`
	Description string         `json:"description,omitempty"`
	Parameters  map[string]int `json:"parameters,omitempty"`
}

func fail(code int, text string) answer { return answer{ErrorCode: code, Description: text} }

func bad(text string) answer { return fail(http.StatusBadRequest, "Bad Request: "+text) }

func reply(w http.ResponseWriter, a answer) {
	w.Header().Set("Content-Type", "application/json")
	if after := a.Parameters["retry_after"]; after > 0 {
		w.Header().Set("Retry-After", strconv.Itoa(after))
	}
	if a.ErrorCode != 0 {
		w.WriteHeader(a.ErrorCode)
	}
	_ = json.NewEncoder(w).Encode(a) // a client that hung up needs no answer
}

// bodyMax is more than any call has.
const bodyMax = 1 << 20

// arguments reads a call's parameters from a form, a multipart form, a JSON body
// or the query. Values that are objects come as JSON.
func arguments(r *http.Request) (map[string]string, error) {
	out := map[string]string{}
	kind, _, _ := mime.ParseMediaType(r.Header.Get("Content-Type")) // none is a form
	if kind == "application/json" {
		var body map[string]json.RawMessage
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		for name, raw := range body {
			var text string
			if json.Unmarshal(raw, &text) != nil {
				text = string(raw)
			}
			out[name] = text
		}
		return out, nil
	}
	// Without parameters there may be a multipart form without a part.
	if err := r.ParseMultipartForm(bodyMax); err != nil && r.Form == nil {
		return nil, err
	}
	for name := range r.Form {
		out[name] = r.Form.Get(name)
	}
	return out, nil
}

// call answers one method. The lock is held.
func (s *Server) call(method string, args map[string]string) answer {
	if to := s.moved[args["chat_id"]]; to != 0 {
		a := bad("group chat was upgraded to a supergroup chat")
		a.Parameters = map[string]int{"migrate_to_chat_id": to}
		return a
	}
	switch method {
	case "getme":
		return answer{OK: true, Result: map[string]any{"id": s.bot(), "is_bot": true, "first_name": "box", "username": "signalbox_bot"}}
	case "getchat":
		if args["chat_id"] == "" {
			return bad("chat_id is empty")
		}
		return answer{OK: true, Result: map[string]any{"id": 1, "type": "group", "title": "the team"}}
	case "sendmessage":
		return s.send(args)
	case "editmessagetext":
		return s.edit(args)
	case "deletemessage":
		return s.remove(args)
	case "editmessagereplymarkup":
		return s.editMarkup(args)
	case "answercallbackquery":
		return s.answerQuery(args)
	case "setwebhook", "deletewebhook":
		return s.setHook(args)
	default:
		return fail(http.StatusNotFound, "Not Found: method not found")
	}
}

func (s *Server) send(args map[string]string) answer {
	if args["chat_id"] == "" {
		return bad("chat_id is empty")
	}
	if wrong := cmp.Or(wrongText(args), wrongMarkup(args)); wrong != "" {
		return bad(wrong)
	}
	s.last++
	m := Message{
		ID: s.last, Chat: args["chat_id"], Text: args["text"], HTML: args["parse_mode"] == "HTML",
		Silent: args["disable_notification"] == "true", NoLink: noLink(args), At: time.Now(),
	}
	m.Topic, _ = strconv.Atoi(args["message_thread_id"]) // none is none
	m.Buttons, m.Forced = markupOf(args)
	s.messages = append(s.messages, m)
	return answer{OK: true, Result: s.wire(m)}
}

// find gives the index of the message that a call is about, or -1.
func (s *Server) find(args map[string]string) int {
	return slices.IndexFunc(s.messages, func(m Message) bool {
		return strconv.Itoa(m.ID) == args["message_id"] && m.Chat == args["chat_id"]
	})
}

func (s *Server) edit(args map[string]string) answer {
	i := s.find(args)
	if i < 0 {
		return bad("message to edit not found")
	}
	if wrong := cmp.Or(wrongText(args), wrongMarkup(args)); wrong != "" {
		return bad(wrong)
	}
	m := &s.messages[i]
	buttons, _ := markupOf(args)
	if m.Text == args["text"] && slices.Equal(m.Buttons, buttons) {
		return bad("message is not modified: specified new message content and reply markup " +
			"are exactly the same as a current content and reply markup of the message")
	}
	m.Before = append(m.Before, m.Text)
	m.Text, m.HTML, m.NoLink, m.Buttons = args["text"], args["parse_mode"] == "HTML", noLink(args), buttons
	m.Edits++
	return answer{OK: true, Result: s.wire(*m)}
}

func (s *Server) remove(args map[string]string) answer {
	i := s.find(args)
	if i < 0 {
		return bad("message to delete not found")
	}
	s.messages = slices.Delete(s.messages, i, i+1)
	return answer{OK: true, Result: true}
}

func noLink(args map[string]string) bool {
	var o struct {
		Disabled bool `json:"is_disabled"`
	}
	return json.Unmarshal([]byte(args["link_preview_options"]), &o) == nil && o.Disabled
}

func (s *Server) wire(m Message) map[string]any {
	text := m.Text
	if m.HTML {
		text = Plain(text)
	}
	id, _ := strconv.ParseInt(m.Chat, 10, 64) // a channel's name has none here
	return map[string]any{
		"message_id": m.ID, "date": m.At.Unix(), "chat": map[string]any{"id": id, "type": "private"}, "text": text,
		"message_thread_id": m.Topic,
		"from":              map[string]any{"id": s.bot(), "is_bot": true, "first_name": "signalbox"},
		"entities":          mention(m),
	}
}

// markup is a tag, or what begins like a tag or an entity.
var (
	markup = regexp.MustCompile(`<[^>]*>?`)
	entity = regexp.MustCompile(`&(?:lt|gt|amp|quot|#\d+|#x[0-9a-fA-F]+);`)
)

// wrongText returns why a text is refused; empty when it is not.
func wrongText(args map[string]string) string {
	text := args["text"]
	if args["parse_mode"] == "HTML" {
		if wrong := wrongHTML(text); wrong != "" {
			return "can't parse entities: " + wrong
		}
		text = Plain(text)
	}
	switch {
	case strings.TrimSpace(text) == "":
		return "message text is empty"
	case len(utf16.Encode([]rune(text))) > 4096:
		return "message is too long"
	default:
		return ""
	}
}

// wrongHTML checks that tags are known, nested and closed, and that nothing
// else looks like markup: a bare & or > is refused here although the real server
// may let it pass, because it is a sign of a text that was not escaped.
func wrongHTML(text string) string {
	var open []string
	for _, tag := range markup.FindAllString(text, -1) {
		name, closing := strings.CutPrefix(strings.Trim(tag, "<>"), "/")
		name, _, _ = strings.Cut(name, " ")
		switch {
		case !strings.HasSuffix(tag, ">") || !slices.Contains([]string{"b", "i", "u", "s", "code", "pre", "a", "blockquote"}, name):
			return "unsupported start tag"
		case !closing:
			open = append(open, name)
		case len(open) == 0 || open[len(open)-1] != name:
			return "unmatched end tag"
		default:
			open = open[:len(open)-1]
		}
	}
	if len(open) > 0 {
		return "can't find end tag corresponding to start tag"
	}
	if rest := entity.ReplaceAllString(markup.ReplaceAllString(text, ""), ""); strings.ContainsAny(rest, "&>") {
		return "unescaped character"
	}
	return ""
}

// Plain is a message's text without its markup.
func Plain(text string) string { return html.UnescapeString(markup.ReplaceAllString(text, "")) }
