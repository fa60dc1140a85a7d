package plane

import (
	"html"
	"strings"

	"github.com/signalbox-dev/signalbox/tracker"
)

// EscapeHTML makes a fragment that shows a plain text: paragraphs at blank
// lines, line breaks elsewhere.
func EscapeHTML(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(strings.ToValidUTF8(text, "\ufffd"))
	var b strings.Builder
	for part := range strings.SplitSeq(strings.TrimSpace(text), "\n\n") {
		b.WriteString("<p>" + strings.ReplaceAll(html.EscapeString(part), "\n", "<br/>") + "</p>")
	}
	return b.String()
}

// commentHTML is a comment as Plane stores it. What its editor has no markup for, such as
// a part that unfolds, would lose its form when it is shown: the small print is a last
// paragraph.
func commentHTML(n tracker.NewComment) string {
	var parts []string
	for _, l := range n.Links {
		parts = append(parts, `<a href="`+html.EscapeString(l.URL)+`">`+html.EscapeString(l.Name)+"</a>")
	}
	if n.Note != "" {
		parts = append(parts, html.EscapeString(n.Note))
	}
	if len(parts) == 0 {
		return EscapeHTML(n.Body)
	}
	return EscapeHTML(n.Body) + "<p>" + strings.Join(parts, " · ") + "</p>"
}

// StripHTML gives the text of a fragment: blocks and line breaks become new
// lines, scripts, styles and comments vanish, entities are resolved. It takes
// time in proportion to the fragment's length, whatever is in it.
func StripHTML(fragment string) string {
	var b strings.Builder
	lineStart := true
	write := func(s string) {
		if s != "" {
			lineStart = strings.HasSuffix(s, "\n")
			b.WriteString(s)
		}
	}
	for fragment != "" {
		text, rest, found := strings.Cut(fragment, "<")
		write(text)
		if !found {
			break
		}
		name := tagName(rest)
		after, found := afterTag(name, rest)
		switch {
		case name == "": // a "<" of the text
			write("<")
			fragment = rest
			continue
		case !found: // no tag ends any more
			write("<" + rest)
			return tidy(html.UnescapeString(b.String()))
		}
		fragment = after
		write(space(name, lineStart))
	}
	return tidy(html.UnescapeString(b.String()))
}

// tagName is the lower-case name that follows a "<", with the slash of an end
// tag; empty when no tag follows.
func tagName(s string) string {
	if strings.HasPrefix(s, "!") {
		return "!"
	}
	n := 0
	if strings.HasPrefix(s, "/") {
		n = 1
	}
	start := n
	for n < len(s) && (isLetter(s[n]) || n > start && s[n] >= '0' && s[n] <= '9') {
		n++
	}
	if n == start {
		return ""
	}
	return strings.ToLower(s[:n])
}

func isLetter(c byte) bool { return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' }

// afterTag returns the rest behind a tag, and behind its contents where those are not for
// readers. Nothing is found when there is no tag, or no end of it.
func afterTag(name, rest string) (after string, found bool) {
	if name == "" {
		return "", false
	}
	if comment, ok := strings.CutPrefix(rest, "!--"); ok {
		_, after, _ = strings.Cut(comment, "-->")
		return after, true
	}
	end := tagEnd(rest)
	if end < 0 {
		return "", false
	}
	after = rest[end+1:]
	if name == "script" || name == "style" {
		after = afterEndTag(after, name)
	}
	return after, true
}

// tagEnd finds the ">" of a tag, which is none within a quoted value; when a
// quote never ends, it is the first one there is.
func tagEnd(s string) int {
	quote := byte(0)
	for i := range len(s) {
		switch c := s[i]; {
		case quote != 0:
			if c == quote {
				quote = 0
			}
		case c == '>':
			return i
		case (c == '"' || c == '\'') && i > 0 && s[i-1] == '=':
			quote = c
		}
	}
	return strings.IndexByte(s, '>')
}

// afterEndTag returns the rest behind an element's end tag: nothing without one.
func afterEndTag(s, name string) string {
	for {
		n := strings.Index(s, "</")
		if n < 0 {
			return ""
		}
		s = s[n+1:]
		if tagName(s) == "/"+name {
			_, rest, _ := strings.Cut(s, ">")
			return rest
		}
	}
}

// space is the white space that a tag stands for.
func space(name string, lineStart bool) string {
	switch strings.TrimPrefix(name, "/") {
	case "p", "div", "pre", "blockquote", "br", "hr":
		return "\n"
	case "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6":
		if !lineStart {
			return "\n"
		}
	case "td", "th":
		return " "
	}
	return ""
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
