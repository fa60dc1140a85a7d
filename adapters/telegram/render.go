package telegram

import (
	"html"
	"strings"

	"github.com/signalbox-dev/signalbox/messenger"
)

// textMax bounds a message's text, in UTF-16 code units after its markup is read.
const textMax = 4096

// render makes the HTML of a message: the title bold, everything escaped, and no longer than Telegram takes.
func render(m messenger.Message) string {
	m = m.Fit(textMax)
	out := m.Lines
	if m.Title != "" {
		out = append([]string{m.Title}, out...)
	}
	if m.Link != "" {
		out = append(out, m.Link)
	}
	text := html.EscapeString(strings.Join(out, "\n"))
	if title := html.EscapeString(m.Title); title != "" {
		text = "<b>" + title + "</b>" + strings.TrimPrefix(text, title)
	}
	if strings.TrimSpace(text) == "" {
		return "…" // Telegram refuses an empty message
	}
	return text
}
