package planetest

import (
	"bytes"
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"time"
	"unicode/utf16"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
)

// attempts is how often Plane tries to reach a receiver.
const attempts = 6

// hook sends a webhook in the background.
func (s *Server) hook(event, action string, data map[string]any, activity map[string]any, actor string) {
	if activity == nil {
		activity = map[string]any{"field": nil, "old_value": nil, "new_value": nil}
	}
	activity["actor"] = map[string]any{"id": actor, "display_name": "someone"}
	if m, ok := s.member(actor); ok {
		activity["actor"] = m.wire()
	}
	activity["old_identifier"], activity["new_identifier"] = nil, nil
	s.Send(event, Encode(map[string]any{
		"event": event, "action": action, "webhook_id": "b0000000-0000-4000-8000-000000000001",
		"workspace_id": workspaceID, "data": data, "activity": activity,
	}))
}

// head sets the headers of a webhook.
func (s *Server) head(h http.Header, d fakehttp.Delivery) {
	h.Set("User-Agent", "Autopilot")
	h.Set("X-Plane-Delivery", d.ID)
	h.Set("X-Plane-Event", d.Event)
	if s.opt.Secret != "" {
		h.Set("X-Plane-Signature", fakehttp.MAC(sha256.New, s.opt.Secret, d.Body))
	}
}

// wireIssue is a work item as webhooks show it.
func (s *Server) wireIssue(i *Item) map[string]any {
	labels := []any{}
	for _, name := range i.Labels {
		labels = append(labels, map[string]any{"id": labelID(name), "name": name, "color": "#60646C"})
	}
	state := map[string]any{"id": i.State, "name": i.StateName, "color": "#60646C", "group": group(i.StateName)}
	return map[string]any{
		"id": i.ID, "name": i.Name, "sequence_id": i.Sequence, "project": i.Project, "workspace": workspaceID,
		"description_html": i.HTML, "description_stripped": tags.ReplaceAllString(i.HTML, ""), "description_json": map[string]any{},
		"description": map[string]any{}, "description_binary": nil, "state": state, "labels": labels, "assignees": []any{},
		"parent": nil, "priority": "none", "sort_order": i.Sort, "is_draft": false,
		"estimate_point": nil, "type": nil, "external_source": nil, "external_id": nil,
		"created_at": stamp(i.Created), "updated_at": stamp(i.Updated), "deleted_at": nil, "created_by": i.Creator, "updated_by": i.Editor,
	}
}

const workspaceID = "a0000000-0000-4000-8000-000000000001"

var tags = regexp.MustCompile(`<[^>]*>`)

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
		b.WriteByte('{')
		for i, k := range slices.Sorted(maps.Keys(v)) {
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
