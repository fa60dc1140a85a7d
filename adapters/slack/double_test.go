package slack_test

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	lib "github.com/slack-go/slack"
	"github.com/slack-go/slack/slacktest"
	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/faulttest"
)

// workspace is the library's own test server, with what that lacks: messages that are kept and edited, dialogs, failures.
// Its connections, their tickets and envelopes are the library's.
type workspace struct {
	*slacktest.Server

	mu        sync.Mutex
	messages  []message
	told      []string
	views     []view
	broken    map[string]faulttest.Kind
	numbers   int
	expired   bool   // no dialog can be opened any more
	meanwhile func() // before the next edit
	auth      []string
}

type message struct {
	id, text string
	blocks   lib.Blocks
}

type view struct {
	id, opener string
	lib.ModalViewRequest
}

func open(t *testing.T) *workspace {
	t.Helper()
	w := &workspace{broken: map[string]faulttest.Kind{}}
	w.Server = slacktest.NewTestServer(func(c slacktest.Customize) {
		for path, serve := range map[string]func(*http.Request) any{
			"/chat.postMessage": w.post, "/chat.update": w.update, "/chat.postEphemeral": w.tell, "/views.open": w.open,
		} {
			c.Handle(path, func(rw http.ResponseWriter, r *http.Request) { w.answer(rw, r, path, serve) })
		}
	})
	w.Start()
	t.Cleanup(w.Stop)
	go func() { //nolint:gocritic // what clients acknowledge is read, else the server stands
		for range w.SeenFeed {
		}
	}()
	return w
}

func (w *workspace) answer(rw http.ResponseWriter, r *http.Request, path string, serve func(*http.Request) any) {
	w.mu.Lock()
	if do := w.meanwhile; do != nil && path == "/chat.update" {
		w.meanwhile = nil
		w.mu.Unlock()
		do()
		w.mu.Lock()
	}
	defer w.mu.Unlock()
	rw.Header().Set("Content-Type", "application/json")
	out := any(failure("channel_not_found"))
	switch w.broken[path] {
	case faulttest.Passing:
		rw.WriteHeader(http.StatusBadGateway)
		return
	case faulttest.Later:
		rw.Header().Set("Retry-After", "7")
		rw.WriteHeader(http.StatusTooManyRequests)
		return
	case faulttest.Final:
	default:
		out = serve(r)
	}
	_ = json.NewEncoder(rw).Encode(out)
}

func failure(code string) map[string]any { return map[string]any{"ok": false, "error": code} }

func (w *workspace) read(r *http.Request) (m message, err string) {
	w.auth = append(w.auth, r.FormValue("token")+r.Header.Get("Authorization"))
	m.text = r.FormValue("text")
	if json.Unmarshal([]byte(r.FormValue("blocks")), &m.blocks) != nil {
		return m, "invalid_blocks"
	}
	for _, b := range m.blocks.BlockSet {
		if rich, ok := b.(*lib.RichTextBlock); ok && strings.TrimSpace(words(rich)) == "" {
			return m, "no_text"
		}
	}
	if text := shown(m); len(text) > 13000 || m.text == "" {
		return m, "msg_too_long"
	}
	return m, ""
}

func (w *workspace) post(r *http.Request) any {
	m, wrong := w.read(r)
	if wrong != "" {
		return failure(wrong)
	}
	w.numbers++
	stamp := fmt.Sprintf("1700000000.%06d", w.numbers)
	m.id = r.FormValue("channel") + "/" + stamp
	w.messages = append(w.messages, m)
	return map[string]any{"ok": true, "channel": r.FormValue("channel"), "ts": stamp}
}

func (w *workspace) update(r *http.Request) any {
	m, wrong := w.read(r)
	m.id = r.FormValue("channel") + "/" + r.FormValue("ts")
	i := slices.IndexFunc(w.messages, func(x message) bool { return x.id == m.id })
	switch {
	case wrong != "":
		return failure(wrong)
	case i < 0:
		return failure("message_not_found")
	}
	w.messages[i] = m
	return map[string]any{"ok": true, "channel": r.FormValue("channel"), "ts": r.FormValue("ts")}
}

func (w *workspace) tell(r *http.Request) any {
	w.told = append(w.told, html.UnescapeString(r.FormValue("text")))
	return map[string]any{"ok": true, "message_ts": "1"}
}

func (w *workspace) open(r *http.Request) any {
	var in struct {
		Trigger string               `json:"trigger_id"`
		View    lib.ModalViewRequest `json:"view"`
	}
	if json.NewDecoder(r.Body).Decode(&in) != nil || in.Trigger == "" || len(in.View.Title.Text) > 24 {
		return failure("invalid_arguments")
	}
	if w.expired {
		return failure("expired_trigger_id")
	}
	w.numbers++
	w.views = append(w.views, view{fmt.Sprintf("V%d", w.numbers), in.Trigger, in.View})
	return map[string]any{"ok": true}
}

// words are a rich text's.
func words(b *lib.RichTextBlock) (out string) {
	for _, e := range b.Elements {
		for _, x := range e.(*lib.RichTextSection).Elements {
			switch x := x.(type) {
			case *lib.RichTextSectionTextElement:
				out += x.Text
			case *lib.RichTextSectionLinkElement:
				out += x.URL
			}
		}
	}
	return out
}

func shown(m message) (out string) {
	for _, b := range m.blocks.BlockSet {
		if rich, ok := b.(*lib.RichTextBlock); ok {
			out += words(rich)
		}
	}
	return out
}

func links(m message) (out []string) {
	for _, e := range m.blocks.BlockSet[0].(*lib.RichTextBlock).Elements {
		for _, x := range e.(*lib.RichTextSection).Elements {
			if link, ok := x.(*lib.RichTextSectionLinkElement); ok {
				out = append(out, link.URL)
			}
		}
	}
	return out
}

func question(v view) string { return v.Blocks.BlockSet[0].(*lib.InputBlock).Label.Text }

func buttons(m message) (out []*lib.ButtonBlockElement) {
	for _, b := range m.blocks.BlockSet {
		if acts, ok := b.(*lib.ActionBlock); ok {
			for _, e := range acts.Elements.ElementSet {
				out = append(out, e.(*lib.ButtonBlockElement))
			}
		}
	}
	return out
}

func (w *workspace) all() []message {
	w.mu.Lock()
	defer w.mu.Unlock()
	return slices.Clone(w.messages)
}

// envelope comes over the socket.
func (w *workspace) envelope(payload map[string]any) {
	w.mu.Lock()
	w.numbers++
	body, _ := json.Marshal(map[string]any{ // it encodes
		"type": "interactive", "envelope_id": fmt.Sprintf("E%d", w.numbers), "accepts_response_payload": false, "payload": payload,
	})
	w.mu.Unlock()
	w.SendToWebsocket(string(body))
}

func (w *workspace) press(by messenger.Account, id, label string) {
	for _, m := range w.all() {
		for _, b := range buttons(m) {
			if m.id != id || b.Text.Text != label {
				continue
			}
			channel, stamp, _ := strings.Cut(id, "/")
			w.mu.Lock()
			w.numbers++
			trigger := fmt.Sprintf("T%d", w.numbers)
			w.mu.Unlock()
			w.envelope(map[string]any{
				"type": "block_actions", "trigger_id": trigger, "user": map[string]any{"id": by.ID, "name": by.Name},
				"channel": map[string]any{"id": channel}, "container": map[string]any{"type": "message", "message_ts": stamp},
				"message": map[string]any{"type": "message", "ts": stamp, "text": m.text, "blocks": m.blocks},
				"actions": []any{map[string]any{"type": "button", "action_id": b.ActionID, "block_id": "x", "value": b.Value, "action_ts": "1"}},
			})
		}
	}
}

// write fills in the newest dialog.
func (w *workspace) write(by messenger.Account, text string) {
	w.mu.Lock()
	v := w.views[len(w.views)-1]
	w.mu.Unlock()
	in := v.Blocks.BlockSet[0].(*lib.InputBlock)
	w.envelope(map[string]any{
		"type": "view_submission", "user": map[string]any{"id": by.ID, "name": by.Name},
		"view": map[string]any{
			"id": v.id, "type": "modal", "private_metadata": v.PrivateMetadata,
			"state": map[string]any{"values": map[string]any{in.BlockID: map[string]any{
				in.Element.(*lib.PlainTextInputBlockElement).ActionID: map[string]any{"type": "plain_text_input", "value": text},
			}}},
		},
	})
}

// acknowledged waits until so many envelopes are.
func (w *workspace) acknowledged(t *testing.T, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return len(w.GetSeenInboundMessages()) == n }, 5*time.Second, time.Millisecond)
}
