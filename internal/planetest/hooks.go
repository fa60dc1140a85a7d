package planetest

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// attempts is how often Plane tries to reach a receiver.
const attempts = 6

// hook sends a webhook in the background.
func (s *Server) hook(event, action string, data map[string]any, activity map[string]any, actor string) {
	if s.closed || s.hookURL == "" || s.chance(s.faults.HookLost) {
		return
	}
	if activity == nil {
		activity = map[string]any{"field": nil, "old_value": nil, "new_value": nil}
	}
	activity["actor"] = map[string]any{"id": actor, "display_name": "someone"}
	if m, ok := s.member(actor); ok {
		activity["actor"] = m.wire()
	}
	activity["old_identifier"], activity["new_identifier"] = nil, nil
	body := Encode(map[string]any{
		"event": event, "action": action, "webhook_id": "b0000000-0000-4000-8000-000000000001",
		"workspace_id": "a0000000-0000-4000-8000-000000000001", "data": data, "activity": activity,
	})
	copies := 1
	if s.chance(s.faults.HookDoubled) {
		copies = 2
	}
	var turn <-chan struct{} // nil = at once
	if s.chance(s.faults.HookReordered) {
		turn = s.passed
	}
	url, hold := s.hookURL, s.hold()
	for range copies {
		var delay time.Duration
		if s.faults.HookDelay > 0 {
			delay = time.Duration(s.rand.Int64N(int64(s.faults.HookDelay)))
		}
		s.group.Go("webhook", func(ctx context.Context) {
			if await(ctx, turn, hold) {
				s.deliver(ctx, url, event, body, delay)
			}
		})
	}
}

// await waits for the turn, at most for so long; it is false when the server is
// closed meanwhile.
func await(ctx context.Context, turn <-chan struct{}, atMost time.Duration) bool {
	if turn == nil {
		return true
	}
	select {
	case <-turn:
	case <-time.After(atMost):
	case <-ctx.Done():
		return false
	}
	return true
}

// deliver tries until there is any HTTP answer at all.
func (s *Server) deliver(ctx context.Context, url, event string, body []byte, delay time.Duration) {
	for range attempts {
		if run.Sleep(ctx, run.Real{}, delay) != nil {
			return
		}
		s.mu.Lock()
		id := s.id() // new for each attempt
		if s.hookURL != "" {
			url = s.hookURL
		}
		s.mu.Unlock()
		status := s.post(ctx, url, id, event, body)
		s.mu.Lock()
		s.sent = append(s.sent, Delivery{ID: id, Event: event, Body: body, Status: status})
		if status != 0 { // let those through that wait for a later one
			close(s.passed)
			s.passed = make(chan struct{})
		}
		s.mu.Unlock()
		if status != 0 {
			return
		}
		delay = s.opt.RetryWait
	}
}

func (s *Server) post(ctx context.Context, url, id, event string, body []byte) int {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return 0
	}
	req.Header.Set("Content-Type", "application/json")
	req.Header.Set("User-Agent", "Autopilot")
	req.Header.Set("X-Plane-Delivery", id)
	req.Header.Set("X-Plane-Event", event)
	if s.opt.Secret != "" {
		mac := hmac.New(sha256.New, []byte(s.opt.Secret))
		mac.Write(body)
		req.Header.Set("X-Plane-Signature", hex.EncodeToString(mac.Sum(nil)))
	}
	resp, err := s.opt.Hooks.Do(req)
	if err != nil {
		return 0
	}
	defer resp.Body.Close()
	_, _ = io.Copy(io.Discard, io.LimitReader(resp.Body, 1<<20)) // the answer does not matter
	return resp.StatusCode
}

// wireIssue is a work item as webhooks show it.
func (s *Server) wireIssue(i *Item) map[string]any {
	state := map[string]any{"id": i.State, "name": i.StateName, "color": "#60646C", "group": group(i.StateName)}
	return map[string]any{
		"id": i.ID, "name": i.Name, "description_html": i.HTML, "sequence_id": i.Sequence, "project": i.Project,
		"state": state, "labels": []any{}, "assignees": []any{}, "parent": nil, "priority": "none",
		"created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "deleted_at": nil, "created_by": i.Creator,
	}
}

func (s *Server) wireComment(i *Item, c Comment) map[string]any {
	return map[string]any{
		"id": c.ID, "comment_html": c.HTML, "issue": i.ID, "project": i.Project,
		"actor": c.Actor, "created_by": c.Actor, "access": "INTERNAL",
		"external_source": optional(c.ExternalSource), "external_id": optional(c.ExternalID),
		"created_at": stamp(c.At), "updated_at": stamp(c.At), "attachments": []any{}, "parent": nil,
	}
}

func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func stamp(t time.Time) string { return t.UTC().Format("2006-01-02T15:04:05.000000Z") }

// Encode writes JSON as Python's json.dumps does: ", " and ": " between, and
// nothing but ASCII.
func Encode(v any) []byte {
	raw, err := json.Marshal(v)
	var plain any
	if err == nil {
		dec := json.NewDecoder(bytes.NewReader(raw))
		dec.UseNumber()
		err = dec.Decode(&plain)
	}
	if err != nil {
		return []byte("null")
	}
	var b bytes.Buffer
	dump(&b, plain)
	return b.Bytes()
}

func dump(b *bytes.Buffer, v any) {
	switch v := v.(type) {
	case map[string]any:
		keys := make([]string, 0, len(v))
		for k := range v {
			keys = append(keys, k)
		}
		slices.Sort(keys)
		b.WriteByte('{')
		for i, k := range keys {
			if i > 0 {
				b.WriteString(", ")
			}
			quote(b, k)
			b.WriteString(": ")
			dump(b, v[k])
		}
		b.WriteByte('}')
	case []any:
		b.WriteByte('[')
		for i, e := range v {
			if i > 0 {
				b.WriteString(", ")
			}
			dump(b, e)
		}
		b.WriteByte(']')
	case string:
		quote(b, v)
	case bool:
		b.WriteString(strconv.FormatBool(v))
	case nil:
		b.WriteString("null")
	default:
		fmt.Fprint(b, v) // json.Number
	}
}

func quote(b *bytes.Buffer, s string) {
	b.WriteByte('"')
	for _, r := range s {
		switch {
		case r == '"' || r == '\\':
			b.WriteByte('\\')
			b.WriteRune(r)
		case r == '\n':
			b.WriteString(`\n`)
		case r == '\r':
			b.WriteString(`\r`)
		case r == '\t':
			b.WriteString(`\t`)
		case r == '\b':
			b.WriteString(`\b`)
		case r == '\f':
			b.WriteString(`\f`)
		case r < 0x20 || r > 0x7e && r < 0x10000:
			fmt.Fprintf(b, `\u%04x`, r)
		case r >= 0x10000:
			hi, lo := utf16.EncodeRune(r)
			fmt.Fprintf(b, `\u%04x\u%04x`, hi, lo)
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('"')
}
