package telegram

import (
	"fmt"
	"html"
	"strings"
	"unicode/utf16"

	"github.com/signalbox-dev/signalbox/messenger"
)

// Bounds of a message's text, in UTF-16 code units after its markup is read.
const (
	textMax  = 4096 // what Telegram takes
	titleMax = 1024
	linkMax  = 1024 // a longer link is left out: half of one leads nowhere
	noteMax  = 40   // the note about lines that are left out, with its newline
)

// cut marks a text that was too long.
const cut = "…"

// render makes the HTML of a message: the title bold, everything escaped, and no
// longer than Telegram takes. Lines that do not fit are left out from the end,
// and a note says how many; the title and the link stay.
func render(m messenger.Message) string {
	var out []string
	left := textMax
	add := func(before, text, after string) {
		out = append(out, before+html.EscapeString(text)+after)
		left -= length(text) + 1 // and the newline
	}
	if title := strings.TrimSpace(clean(m.Title)); title != "" {
		add("<b>", shorten(title, titleMax), "</b>")
	}
	link := strings.TrimSpace(clean(m.Link))
	if length(link) > linkMax {
		link = ""
	}
	if link != "" {
		left -= length(link) + 1
	}
	for _, line := range fit(m.Lines, left) {
		add("", line, "")
	}
	if link != "" {
		out = append(out, html.EscapeString(link))
	}
	if text := strings.Join(out, "\n"); strings.TrimSpace(text) != "" {
		return text
	}
	return cut // Telegram refuses an empty message
}

// fit takes as many lines as there is room for, each with its newline. When it
// leaves lines out it adds a note; a first line that is too long is shortened.
func fit(lines []string, room int) []string {
	var out []string
	need := 0
	for _, line := range lines {
		need += length(clean(line)) + 1
	}
	if need > room {
		room -= noteMax
	}
	for i, line := range lines {
		line = clean(line)
		n := length(line) + 1
		if n <= room {
			out = append(out, line)
			room -= n
			continue
		}
		if i == 0 {
			out = append(out, shorten(line, room-1))
			i++
		}
		if i < len(lines) {
			out = append(out, fmt.Sprintf(cut+" (%d more lines)", len(lines)-i))
		}
		return out
	}
	return out
}

func clean(s string) string { return strings.ReplaceAll(strings.ToValidUTF8(s, "\ufffd"), "\x00", "") }

// length counts UTF-16 code units.
func length(s string) int {
	n := 0
	for _, r := range s {
		n += utf16.RuneLen(r)
	}
	return n
}

// shorten cuts a text to a number of code units, on a whole character.
func shorten(s string, limit int) string {
	if length(s) <= limit {
		return s
	}
	n := 0
	for i, r := range s {
		if n += utf16.RuneLen(r); n > limit-1 {
			return s[:i] + cut
		}
	}
	return s
}
