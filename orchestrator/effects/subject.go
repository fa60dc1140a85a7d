package effects

import (
	"regexp"
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// subjectMax is the length of a title in a subject, in characters.
const subjectMax = 200

var (
	skips      = regexp.MustCompile(`(?i)\[([^\]]*\b(?:skip|no)\b[^\]]*)\]`)                    // [skip ci], [no ci]
	noCI       = regexp.MustCompile(`(?i)\*{3}(no_ci)\*{3}`)                                    // of Azure
	trailers   = regexp.MustCompile(`(?i)\b(skip-checks|request-checks)\s*:`)                   // of GitHub
	references = regexp.MustCompile(`(?i)(#|\bgh-|/(?:issues|pull|pulls|merge_requests)/)(\d)`) // fixes #1 closes it
)

// subject is the one line under which a task is merged: its title, without what means
// something to git hosts and CI. A card's title is anybody's text.
func subject(t task.Task) string {
	text := strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Cf, r) { // marks that are not seen, and turn text around
			return -1
		}
		if unicode.IsControl(r) {
			return ' '
		}
		return r
	}, t.Title)
	text = strings.Join(strings.Fields(text), " ")
	text = skips.ReplaceAllString(text, "($1)")
	text = noCI.ReplaceAllString(text, "$1")
	text = trailers.ReplaceAllString(text, "$1")
	text = references.ReplaceAllString(text, "$1 $2")
	runes := []rune(text)
	return t.WorkItemID + ": " + string(runes[:min(len(runes), subjectMax)])
}
