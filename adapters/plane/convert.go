package plane

import (
	"encoding/json"
	"html"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/tracker"
)

// wireItem is a work item of the REST API.
type wireItem struct {
	ID        string   `json:"id"`
	Name      string   `json:"name"`
	HTML      string   `json:"description_html"`
	Sequence  int64    `json:"sequence_id"`
	State     stateID  `json:"state"`
	Project   string   `json:"project"`
	UpdatedAt wireTime `json:"updated_at"`
}

type wireComment struct {
	ID             string   `json:"id"`
	Actor          string   `json:"actor"`
	HTML           string   `json:"comment_html"`
	ExternalSource string   `json:"external_source"`
	CreatedAt      wireTime `json:"created_at"`
}

// stateID is a state given as its id, or expanded to an object.
type stateID string

// UnmarshalJSON reads both forms; null is no state.
func (s *stateID) UnmarshalJSON(raw []byte) error {
	var object struct{ ID string }
	if len(raw) > 0 && raw[0] == '{' {
		err := json.Unmarshal(raw, &object)
		*s = stateID(object.ID)
		return err
	}
	var id *string
	if err := json.Unmarshal(raw, &id); err != nil {
		return err
	}
	if id != nil {
		*s = stateID(*id)
	}
	return nil
}

// wireTime is a moment in any zone; one that cannot be read is none.
type wireTime struct{ time.Time }

// UnmarshalJSON is lenient: a missing time must not hide an item.
func (t *wireTime) UnmarshalJSON(raw []byte) error {
	var text string
	if json.Unmarshal(raw, &text) != nil {
		return nil
	}
	if at, err := time.Parse(time.RFC3339Nano, text); err == nil {
		t.Time = at.UTC()
	}
	return nil
}

// convert makes an item of the board that it is on.
func (c *Client) convert(w wireItem, b board) tracker.Item {
	return tracker.Item{
		ID: w.ID, ProjectID: w.Project, Sequence: w.Sequence, Title: strings.ToValidUTF8(w.Name, "\ufffd"), Description: StripHTML(w.HTML),
		Status: b.keys[string(w.State)], StatusName: b.names[string(w.State)], UpdatedAt: w.UpdatedAt.Time,
		URL: strings.TrimSuffix(c.opt.BaseURL, "/") + "/" + c.opt.Workspace + "/projects/" + w.Project + "/issues/" + w.ID,
	}
}

func sortComments(list []tracker.Comment) {
	slices.SortStableFunc(list, func(a, b tracker.Comment) int { return a.CreatedAt.Compare(b.CreatedAt) })
}

// EscapeHTML makes a fragment that shows a plain text: paragraphs at blank
// lines, line breaks elsewhere.
func EscapeHTML(text string) string {
	text = strings.ReplaceAll(strings.ToValidUTF8(text, "\ufffd"), "\x00", "")
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(part), "\n", "<br/>") + "</p>")
	}
	return b.String()
}

// StripHTML gives the text of a fragment: blocks and line breaks become new
// lines, scripts and styles vanish, entities are resolved.
func StripHTML(fragment string) string {
	var b strings.Builder
	for fragment != "" {
		text, rest, found := strings.Cut(fragment, "<")
		b.WriteString(text)
		if !found {
			break
		}
		tag, after, closed := strings.Cut(rest, ">")
		name := tagName(tag)
		if !closed || name == "" { // a "<" of the text
			b.WriteByte('<')
			fragment = rest
			continue
		}
		fragment = after
		switch name {
		case "script", "style":
			_, fragment, _ = strings.Cut(fragment, "</"+name)
			_, fragment, _ = strings.Cut(fragment, ">")
		case "br", "p", "/p", "div", "/div", "li", "tr", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "/pre", "blockquote", "/blockquote", "hr":
			b.WriteByte('\n')
		}
	}
	return tidy(html.UnescapeString(b.String()))
}

// tagName is the lower-case name in a tag; empty when it is no tag.
func tagName(tag string) string {
	name, _, _ := strings.Cut(strings.ToLower(strings.TrimSuffix(tag, "/")), " ")
	bare := strings.TrimPrefix(name, "/")
	if bare == "" || !(bare[0] == '!' || bare[0] >= 'a' && bare[0] <= 'z') {
		return ""
	}
	return name
}

// tidy trims lines and drops blank ones in a row.
func tidy(text string) string {
	var lines []string
	for line := range strings.SplitSeq(strings.ReplaceAll(text, "\u00a0", " "), "\n") {
		line = strings.TrimSpace(line)
		if line != "" || len(lines) > 0 && lines[len(lines)-1] != "" {
			lines = append(lines, line)
		}
	}
	return strings.Trim(strings.Join(lines, "\n"), "\n\u200b\ufeff ")
}
