package main

import (
	"encoding/json"
	"io"
	"maps"
	"path/filepath"
	"slices"
	"time"
)

// line is one of the JSON lines in which an agent reports what it does while it does it.
type line struct {
	Type      string  `json:"type"` // text, tool, file or usage
	Text      string  `json:"text,omitempty"`
	Tool      string  `json:"tool,omitempty"`
	Path      string  `json:"path,omitempty"`
	Model     string  `json:"model,omitempty"`
	Input     int     `json:"input_tokens,omitempty"`
	Output    int     `json:"output_tokens,omitempty"`
	CacheRead int     `json:"cache_read_input_tokens,omitempty"`
	CacheMade int     `json:"cache_creation_input_tokens,omitempty"`
	Cost      float64 `json:"cost_usd,omitempty"`
}

// say prints lines, each when its part of the time is over. A reader that has gone away
// does not keep the agent from its work.
func say(out io.Writer, took time.Duration, lines []line) {
	for _, l := range lines {
		_ = json.NewEncoder(out).Encode(l)
		time.Sleep(took / time.Duration(len(lines)))
	}
}

// thoughts returns the lines that a role reports while it works.
func (j job) thoughts() []line {
	plan := map[string]string{
		"analyst":   "I write down what the card wants, and how to see that it is there.",
		"architect": "One file is enough for this. I draw it up.",
		"developer": "The design is clear. I look at what is there, and change one file.",
		"reviewer":  "I read the whole change, then what it leaves out.",
		"tester":    "I go through what was to be accepted, one by one.",
		"deployer":  "I look at what is out, and at what goes out.",
	}
	out := []line{
		{Type: "text", Text: "I begin with " + j.item + ": " + j.title + "."},
		{Type: "tool", Tool: "Read", Text: "README.md"},
		{Type: "tool", Tool: "Bash", Text: "git log --oneline -5"},
	}
	if j.feedback != "" {
		out = append(out, line{Type: "text", Text: "I was sent back: " + j.feedback})
	}
	out = append(out, line{Type: "text", Text: plan[j.role]}, j.used(0.4))
	for range j.number("looks", 4) + 1 {
		out = append(out, line{Type: "tool", Tool: "Grep", Text: j.item})
	}
	return append(out, line{Type: "tool", Tool: "Bash", Text: "make test"}, j.used(0.8))
}

// written reports files that were written in the checkout.
func written(files map[string]string) []line {
	var out []line
	for _, name := range slices.Sorted(maps.Keys(files)) {
		if filepath.IsLocal(name) { // its report lies elsewhere
			out = append(out, line{Type: "file", Tool: "Write", Path: name})
		}
	}
	return out
}

// used is a part of what the run will have cost.
func (j job) used(part float64) line {
	u, of := j.usage(), func(n int) int { return int(part * float64(n)) }
	return line{
		Type: "usage", Model: j.model, Cost: part * u.cost(),
		Input: of(u.in), Output: of(u.out), CacheRead: of(u.read), CacheMade: of(u.made),
	}
}
