package messenger

import (
	"fmt"
	"strings"
	"unicode/utf16"
)

// Bounds of what Fit leaves, in UTF-16 code units.
const (
	titleMax = 1024
	linkMax  = 1024 // a longer link is left out: half of one leads nowhere
	noteMax  = 40   // the note about lines that are left out, with its newline
)

// cut marks a text that was too long.
const cut = "…"

// Fit is a message of valid text that has at most limit UTF-16 code units in all, newlines included. Lines that do
// not fit are left out from the end, and a note says how many; the title and the link stay.
func (m Message) Fit(limit int) Message {
	m.Title, m.Link = Shorten(strings.TrimSpace(clean(m.Title)), titleMax), strings.TrimSpace(clean(m.Link))
	if length(m.Link) > linkMax {
		m.Link = ""
	}
	for _, s := range []string{m.Title, m.Link} {
		if s != "" {
			limit -= length(s) + 1
		}
	}
	m.Lines = fit(m.Lines, limit)
	return m
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
			out = append(out, Shorten(line, room-1))
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

// Shorten makes a text valid, and cuts it to a number of UTF-16 code units, on a whole character.
func Shorten(s string, limit int) string {
	if s = clean(s); length(s) <= limit {
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
