package checks

import (
	"html"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/gates"
)

// titleMaxDefault is the title limit of QG-0 in characters.
const titleMaxDefault = 200

// TitleMaxSetting is the variable that sets the limit. It is read at each call;
// an empty, non-numeric or non-positive value means the default.
const TitleMaxSetting = "ORCH_QG0_TITLE_MAX"

func titleMax(s gates.Facts, getenv func(string) string) int {
	if s.Policy.TitleMax > 0 {
		return s.Policy.TitleMax
	}
	n, err := strconv.Atoi(strings.TrimSpace(getenv(TitleMaxSetting)))
	if err != nil || n <= 0 {
		return titleMaxDefault
	}
	return n
}

// qg0 judges whether a work item is fit to start with.
func qg0(s gates.Facts, limit int) gates.Verdict {
	length := utf8.RuneCountInString(s.Task.Title)
	of := strconv.Itoa(length) + " of " + strconv.Itoa(limit) + " characters"
	title := gates.Evidence{Kind: "limit", Name: "title length", Note: of, OK: length <= limit}
	text := stripMarkup(s.Task.Description)
	said := strconv.Itoa(utf8.RuneCountInString(text)) + " characters"
	description := gates.Evidence{Kind: "field", Name: "description", Note: said, OK: text != ""}
	var wrong []string
	if blank(s.Task.Title) {
		title.OK = false
		wrong = append(wrong, "the title is empty")
	}
	if length > limit {
		wrong = append(wrong, "the title has "+strconv.Itoa(length)+" characters, the limit is "+strconv.Itoa(limit))
	}
	if text == "" {
		wrong = append(wrong, "the description is empty")
	}
	if len(wrong) > 0 {
		return gates.Redf("QG-0: %s", strings.Join(wrong, "; ")).With(title, description)
	}
	return gates.Greenf("title and description are fit to start with").With(title, description)
}

// blank reports whether nothing of a text can be seen.
func blank(s string) bool {
	return strings.Trim(s, " \t\r\n\u00a0\u200b\u200c\u200d\u2060\ufeff\u3000") == ""
}

// stripMarkup gives the text of an HTML fragment without its tags, with its
// entities resolved and blanks around it removed. Text without markup is kept.
func stripMarkup(s string) string {
	var b strings.Builder
	for s != "" {
		open := strings.IndexByte(s, '<')
		if open < 0 {
			b.WriteString(s)
			break
		}
		b.WriteString(s[:open])
		s = s[open:]
		end := strings.IndexByte(s, '>')
		if end < 0 || !tag(s[1:end]) {
			b.WriteByte('<') // a "<" of the text
			s = s[1:]
			continue
		}
		b.WriteByte(' ')
		s = s[end+1:]
	}
	text := html.UnescapeString(b.String())
	if blank(text) {
		return ""
	}
	return strings.TrimSpace(text)
}

// tag reports whether what stands between < and > is a tag or a comment.
func tag(s string) bool {
	s = strings.TrimPrefix(s, "/")
	return s != "" && (s[0] == '!' || s[0] == '?' || s[0] >= 'a' && s[0] <= 'z' || s[0] >= 'A' && s[0] <= 'Z')
}
