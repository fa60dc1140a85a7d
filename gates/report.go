package gates

import (
	"errors"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// fieldMax bounds a value of a report's front matter, in characters; the rest is cut.
const fieldMax = 1000

// FormatReport writes the front matter of a report, as ParseReport reads it.
func FormatReport(verdict, sha, summary string) string {
	return "---\nverdict: " + verdict + "\nsha: " + sha + "\nsummary: " + summary + "\n---\n"
}

// ParseReport reads the front matter of an agent's report: lines "key: value" between
// two lines "---" at its beginning, each with the indented lines below it. Quotes around a value are
// dropped, unknown keys are allowed; anything below is prose. What cannot be read says so in Problem.
func ParseReport(role stage.Role, run int64, text string) stage.Filed {
	r, err := parseReport(text)
	if err != nil {
		r = stage.Filed{Problem: err.Error()}
	}
	r.Role, r.Run = role, run
	return r
}

func parseReport(text string) (r stage.Filed, err error) {
	text = strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
	head, ok := strings.CutPrefix(strings.TrimLeft(text, "\n"), "---\n")
	if !ok {
		return r, errors.New(`the report does not begin with front matter: a line "---"`)
	}
	head, _, ok = strings.Cut(head, "\n---")
	if !ok {
		return r, errors.New(`the report's front matter does not end: a second line "---" is missing`)
	}
	fields := map[string]*string{"verdict": &r.Verdict, "sha": &r.SHA, "summary": &r.Summary}
	begun := map[*string]bool{}
	var field *string
	for line := range strings.Lines(head) {
		value := line
		if strings.TrimLeft(line, " \t\n") == line { // any other goes on with the key above
			var key string
			key, value, _ = strings.Cut(line, ":")
			if field = fields[strings.ToLower(strings.TrimSpace(key))]; begun[field] {
				return r, fmt.Errorf("the report's front matter has %s twice", key)
			}
			begun[field] = field != nil
		}
		if value = strings.TrimSpace(value); field != nil && strings.Trim(value, "|>+-") != "" { // a mere one begins a block
			*field += value + " "
		}
	}
	for _, field := range fields {
		*field = strings.TrimSpace(strings.Trim(strings.TrimSpace(*field), `"'`))
		*field = string([]rune(*field)[:min(len([]rune(*field)), fieldMax)])
	}
	r.Verdict, r.SHA = strings.ToLower(r.Verdict), strings.ToLower(r.SHA)
	switch {
	case r.Verdict == "":
		return r, errors.New("the report's front matter has no verdict")
	case r.SHA == "":
		return r, errors.New("the report's front matter has no sha")
	default:
		return r, nil
	}
}
