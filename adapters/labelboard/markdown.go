package labelboard

import (
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/tracker"
)

// What a comment of ours ends with, around its key.
const (
	markBegin = "<!-- signalbox:"
	markEnd   = " -->"
)

// mark is the end of a comment. An escaped key has no ">", so that it cannot end the mark.
func mark(key string) string { return markBegin + url.PathEscape(key) + markEnd }

// keyOf is the key that a comment ends with. It is no proof of who has posted it.
func keyOf(body string) (key string, ok bool) {
	body = strings.TrimSpace(body)
	last := body[strings.LastIndexByte(body, '\n')+1:]
	text, begins := strings.CutPrefix(last, markBegin)
	text, ends := strings.CutSuffix(text, markEnd)
	key, err := url.PathUnescape(text)
	return key, begins && ends && err == nil
}

// markdownMax bounds a comment, in bytes; GitHub takes 65536 characters.
const markdownMax = 60_000

// markdown is a comment as it is posted.
func markdown(n tracker.NewComment) string {
	var parts []string
	for _, l := range n.Links {
		parts = append(parts, "["+escape(l.Name)+"]("+address(l.URL)+")")
	}
	if n.Note != "" {
		parts = append(parts, escape(n.Note))
	}
	small := ""
	if len(parts) > 0 {
		small = "\n\n" + strings.Join(parts, " · ")
	}
	body := escape(n.Body)
	for rest := []rune(n.Body); len(body)+len(small) > markdownMax && len(rest) > 0; {
		rest = rest[:len(rest)*3/4]
		body = escape(string(rest) + "…")
	}
	return body + small + "\n\n" + mark(n.Key)
}

// address is a link's, without what could end it.
func address(link string) string {
	return strings.NewReplacer(
		"(", "%28", ")", "%29", "<", "%3C", ">", "%3E", "[", "%5B", "]", "%5D", "\\", "%5C", "`", "%60",
		" ", "%20", "\n", "%0A", "\r", "%0D", "\t", "%09",
	).Replace(link)
}

// split is written between two characters that are a mention or a reference together: an escape
// does not help, since the hosts look for these in what is left when the markup is gone.
const split = "&#8203;"

// escape writes a text so that it shows as it is: without markup, mentions, references and links.
func escape(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n", "\x00", "").Replace(strings.ToValidUTF8(text, "\ufffd"))
	var b strings.Builder
	for n, line := range strings.Split(strings.Trim(text, "\n"), "\n") {
		if n > 0 {
			b.WriteByte('\n')
		}
		escapeLine(&b, line)
	}
	return b.String()
}

func escapeLine(b *strings.Builder, line string) {
	begins := true // nothing but blanks and digits was before
	digits := false
	for n := range len(line) {
		ch := line[n]
		switch {
		case begins && !digits && ch == ' ':
			b.WriteString("&#32;")
			continue
		case begins && !digits && ch == '\t':
			b.WriteString("&#9;")
			continue
		case strings.IndexByte("\\`*_[]<>|~$&#", ch) >= 0,
			ch == '!' && n > 0 && line[n-1] == '<', // no HTML comment, not even to those who do not read markdown
			begins && !digits && strings.IndexByte("-+=:", ch) >= 0,
			begins && digits && strings.IndexByte(".)", ch) >= 0:
			b.WriteByte('\\')
		}
		b.WriteByte(ch)
		if splits(line, n) {
			b.WriteString(split)
		}
		digits = begins && ch >= '0' && ch <= '9'
		begins = digits
	}
}

// splits reports whether the character at a place and the next one must not stand together: @name, #1, !1, GH-1, ://, www.
func splits(line string, n int) bool {
	if n+1 == len(line) {
		return false
	}
	next := line[n+1]
	digit := next >= '0' && next <= '9'
	behind := func(word string) bool { return n >= len(word) && strings.EqualFold(line[n-len(word):n], word) }
	switch line[n] {
	case '@':
		return digit || next >= 'a' && next <= 'z' || next >= 'A' && next <= 'Z' || next == '_' || next == '-'
	case '#', '!':
		return digit
	case '-':
		return digit && behind("gh")
	case ':':
		return next == '/'
	case '.':
		return behind("www")
	}
	return false
}

// unescape is the text of what escape has written.
func unescape(text string) string {
	var b strings.Builder
	for text != "" {
		switch {
		case strings.HasPrefix(text, split):
			text = text[len(split):]
			continue
		case strings.HasPrefix(text, "&#32;"):
			b.WriteByte(' ')
			text = text[len("&#32;"):]
			continue
		case strings.HasPrefix(text, "&#9;"):
			b.WriteByte('\t')
			text = text[len("&#9;"):]
			continue
		case text[0] == '\\' && len(text) > 1 && text[1] < 0x80 && strings.IndexByte("\\`*_[]<>|~$&#!-+=:.)", text[1]) >= 0:
			text = text[1:]
		}
		b.WriteByte(text[0])
		text = text[1:]
	}
	return b.String()
}

// visible is a text without HTML comments, which nobody sees, and without blanks around it. In code they are seen; what is code is told
// only where there is nothing else that decides it: no tag, no table, no backquote but those of fences and of spans within a line. A
// comment that never ends hides the rest where it begins a line or an entry, and is seen elsewhere, as CommonMark and both hosts have it.
func visible(text string) string {
	text = strings.NewReplacer("\r\n", "\n", "\r", "\n").Replace(strings.ToValidUTF8(text, "\ufffd"))
	const lead = `^[ \t>*+.)\d-]*`
	const comment = `(?ms)(?:` + lead + `)?<!--(?:-?>|.*?-->)|` + lead + `<!--.*`
	parts := regexp.MustCompile(comment + "|^```[^`\n]*\n.*?^ {0,3}```+[ \t]*$|`[^`|\n]+`")
	quotes := regexp.MustCompile("(?s)^[^`]*<!--.*`").MatchString
	if slices.ContainsFunc(parts.FindAllString(text, -1), quotes) ||
		regexp.MustCompile("`|~~~|\\\\\x00|<(?:[a-zA-Z/?]|![^-])").MatchString(parts.ReplaceAllString(text, "\x00")) {
		parts = regexp.MustCompile(comment + `|<!--.*`)
	}
	return strings.TrimSpace(parts.ReplaceAllStringFunc(text, func(part string) string {
		if part[0] == '`' {
			return part
		}
		return part[:strings.Index(part, "<!--")]
	}))
}
