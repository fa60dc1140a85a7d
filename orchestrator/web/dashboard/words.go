package dashboard

import (
	"cmp"
	"fmt"
	"html/template"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// funcs returns what templates call.
func (s *server) funcs() template.FuncMap {
	return template.FuncMap{
		"age": age, "clock": clock, "span": span, "dollars": stage.Dollars, "tokens": tokens,
		"thousands": stage.Thousands, "linked": linked,
		"short": short, "item": item, "anchor": anchor, "dict": dict, "status": statusName, "laneQuery": laneQuery, "label": label,
		"words": agentWords, "doing": doingText, "did": did, "counts": counts, "sofar": sofar,
		"columns": cards.Columns, "columnName": columnName, "account": account, "cardAddress": cardAddress,
		"price":     func(usd float64, unpriced int64) string { return stage.Price(int64(usd*1e6+0.5), unpriced) },
		"usd":       func(n float64) string { return stage.Dollars(int64(n*1e6 + 0.5)) },
		"seconds":   func(n int64) string { return span(time.Duration(n) * time.Second) },
		"kilobytes": func(n int64) string { return fmt.Sprintf("%d kB", (n+999)/1000) },
		"fileMiB":   func() int { return cards.FileMax >> 20 },
		"markdown":  s.markdown, "cardText": s.cardText, "boardAddress": boardAddress, "labels": labelsIn,
		"asset": func(root, name string) string { return root + "assets/" + name + "?v=" + s.assets[name].tag },
	}
}

// span is a duration in its largest unit, or its two largest from hours on.
func span(d time.Duration) string {
	d = max(d, 0)
	hours, minutes := int(d.Hours()), int(d.Minutes())%60
	switch {
	case d < time.Minute:
		return fmt.Sprintf("%d s", int(d.Seconds()))
	case d < time.Hour:
		return fmt.Sprintf("%d min", minutes)
	case d < 24*time.Hour && minutes == 0:
		return fmt.Sprintf("%d h", hours)
	case d < 24*time.Hour:
		return fmt.Sprintf("%d h %d min", hours, minutes)
	}
	return fmt.Sprintf("%d d", hours/24)
}

// age is how long ago a moment was, with the moment itself beside it.
func age(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	return stamped(t, span(now.Sub(t)))
}

// clock is a moment: the time of day, and the day when it is another.
func clock(now, t time.Time) template.HTML {
	if t.IsZero() {
		return "–"
	}
	form := "15:04:05"
	if now.UTC().Format(time.DateOnly) != t.UTC().Format(time.DateOnly) {
		form = "2 Jan 15:04"
	}
	return stamped(t, t.UTC().Format(form))
}

func stamped(t time.Time, text string) template.HTML {
	t = t.UTC()
	return template.HTML(fmt.Sprintf(`<time datetime="%s" title="%s UTC">%s</time>`,
		t.Format(time.RFC3339), t.Format("2006-01-02 15:04:05"), text))
}

// tokens is a count of tokens in three digits at most.
func tokens(n int64) string {
	switch {
	case n < 1000:
		return strconv.FormatInt(n, 10)
	case n < 100_000:
		return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e3, 'f', 1, 64), ".0") + " k"
	case n < 999_500:
		return strconv.FormatInt((n+500)/1000, 10) + " k"
	}
	return strings.TrimSuffix(strconv.FormatFloat(float64(n)/1e6, 'f', 1, 64), ".0") + " M"
}

func short(sha string) string { return sha[:min(len(sha), 10)] }

// item is a work item's own name, also when the task is cancelled.
func item(id string) string {
	name, _ := task.ParseTombstone(id)
	return name
}

// statusName is the name of a board status.
func statusName(key stage.Status) string {
	info, _ := stage.StatusNamed(key)
	return cmp.Or(info.Name, string(key))
}

var nameForm = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// anchor makes a name fit for an id.
func anchor(kind, name string) string { return kind + "-" + nameForm.ReplaceAllString(name, "-") }

var taskForm = regexp.MustCompile(`\btask (\d{1,18})\b`)

// turns are the characters that turn the direction of what follows them.
var turns = strings.NewReplacer(
	"\u202a", "", "\u202b", "", "\u202c", "", "\u202d", "", "\u202e", "",
	"\u2066", "", "\u2067", "", "\u2068", "", "\u2069", "",
)

// linked is a text of the service in which every "task 12" leads to the task. What
// a stranger has written into it keeps to itself: the words behind it stay where
// they are.
func linked(root, text string) template.HTML {
	text = turns.Replace(text)
	var b strings.Builder
	b.WriteString("<bdi>")
	end := 0
	for _, m := range taskForm.FindAllStringSubmatchIndex(text, -1) {
		b.WriteString(template.HTMLEscapeString(text[end:m[0]]))
		fmt.Fprintf(&b, `<a href="%stasks/%s">%s</a>`, template.HTMLEscapeString(root), text[m[2]:m[3]], text[m[0]:m[1]])
		end = m[1]
	}
	b.WriteString(template.HTMLEscapeString(text[end:]))
	b.WriteString("</bdi>")
	return template.HTML(b.String())
}

// dict gives a template several values: name, value, name, value …
func dict(pairs ...any) (map[string]any, error) {
	out := map[string]any{}
	for pair := range slices.Chunk(pairs, 2) {
		name, ok := pair[0].(string)
		if !ok {
			return nil, fmt.Errorf("dict: %v is no name", pair[0])
		}
		out[name] = pair[1]
	}
	return out, nil
}

// labelsIn divides the labels of a card.
func labelsIn(text string) []string {
	return slices.DeleteFunc(strings.Split(text, ", "), func(label string) bool { return label == "" })
}

// columnName is the name of a column of our own board.
func columnName(key string) string {
	c, _ := cards.ColumnOf(key)
	return c.Name
}

// account names the author of something on our own board: a person, or a role of the service.
func account(id string) string {
	name := strings.TrimPrefix(id, cards.Service)
	if name == string(stage.Stream) { // what no role has said or done
		return "signalbox"
	}
	return name
}
