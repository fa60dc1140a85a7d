package agentcli

import (
	"bytes"
	"encoding/json"
	"math"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// said is what an agent's output says.
type said struct {
	failed                   bool
	reason, summary, session string
	usage                    work.Usage
}

// parseFormat reads an output; found is false when there is no result in it.
func parseFormat(format string, out []byte) (s said, found bool) {
	switch format {
	case FormatClaude:
		return parseClaude(out)
	case FormatCodex:
		return parseCodex(out)
	case FormatGemini:
		return parseGemini(out)
	case FormatOpenCode:
		return parseOpenCode(out)
	default:
		if s, found := parseClaude(out); found {
			return s, true
		}
		return said{summary: string(out[max(0, len(out)-summaryMax):])}, true
	}
}

// lines calls f for every line that is a JSON object; others are noise, or the
// edge of what was cut out of a long log.
func lines(out []byte, f func([]byte)) {
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); len(line) > 1 && line[0] == '{' && json.Valid(line) {
			f(line)
		}
	}
}

// microUSD turns dollars into millionths.
func microUSD(dollars float64) int64 {
	if math.IsNaN(dollars) || dollars < 0 || dollars > 1e9 {
		return 0
	}
	return int64(math.Round(dollars * 1e6))
}

var modelSuffix = regexp.MustCompile(`(@|-)20\d{6}.*$|-v\d+:\d+$|\[[^\]]*\]$`)

// shortModel drops what is in front of a model's name (provider, vendor,
// region) and a date behind it.
func shortModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	for _, vendor := range []string{"anthropic.", "openai.", "google."} {
		if i := strings.Index(name, vendor); i >= 0 {
			name = name[i+len(vendor):]
		}
	}
	return modelSuffix.ReplaceAllString(name, "")
}

// claudeResult is the result object of Claude Code.
type claudeResult struct {
	Type      string   `json:"type"`
	Subtype   string   `json:"subtype"`
	IsError   bool     `json:"is_error"`
	Result    string   `json:"result"`
	Errors    []string `json:"errors"`
	SessionID string   `json:"session_id"`
	Cost      float64  `json:"total_cost_usd"`
	Usage     struct {
		Input       int64 `json:"input_tokens"`
		Output      int64 `json:"output_tokens"`
		CacheRead   int64 `json:"cache_read_input_tokens"`
		CacheCreate int64 `json:"cache_creation_input_tokens"`
	} `json:"usage"`
	Models map[string]struct {
		Canonical   string  `json:"canonicalModel"`
		Input       int64   `json:"inputTokens"`
		Output      int64   `json:"outputTokens"`
		CacheRead   int64   `json:"cacheReadInputTokens"`
		CacheCreate int64   `json:"cacheCreationInputTokens"`
		Cost        float64 `json:"costUSD"`
	} `json:"modelUsage"`
}

// parseClaude reads one object, an array of messages, or a stream of lines: the
// last object of type "result" counts.
func parseClaude(out []byte) (said, bool) {
	var r claudeResult
	found := false
	take := func(raw []byte) {
		var c claudeResult
		if json.Unmarshal(raw, &c) == nil && c.Type == "result" {
			r, found = c, true
		}
	}
	trimmed := bytes.TrimSpace(out)
	var list []json.RawMessage
	switch {
	case json.Unmarshal(trimmed, &list) == nil:
		for _, raw := range list {
			take(raw)
		}
	case json.Valid(trimmed):
		take(trimmed)
	default:
		lines(out, take)
	}
	if !found {
		return said{}, false
	}
	s := said{summary: r.Result, session: r.SessionID, usage: r.usage()}
	// An API failure comes with the subtype "success": is_error is what counts.
	if r.IsError || r.Subtype != "success" {
		s.failed = true
		s.reason = first(strings.Join(r.Errors, "; "), first(r.Result, r.Subtype))
	}
	return s, true
}

// usage sums over the models that took part, helpers included.
func (r claudeResult) usage() work.Usage {
	u := work.Usage{
		Input: r.Usage.Input, Output: r.Usage.Output, CacheRead: r.Usage.CacheRead, CacheCreate: r.Usage.CacheCreate, MicroUSD: microUSD(r.Cost),
	}
	var sum work.Usage
	var cost, top float64
	for name, m := range r.Models {
		sum.Input += m.Input
		sum.Output += m.Output
		sum.CacheRead += m.CacheRead
		sum.CacheCreate += m.CacheCreate
		cost += m.Cost
		if u.Model == "" || m.Cost > top || m.Cost == top && name < u.Model {
			top, u.Model = m.Cost, shortModel(first(m.Canonical, name))
		}
	}
	if sum.Input+sum.Output+sum.CacheRead+sum.CacheCreate > 0 {
		u.Input, u.Output, u.CacheRead, u.CacheCreate = sum.Input, sum.Output, sum.CacheRead, sum.CacheCreate
	}
	if u.MicroUSD == 0 {
		u.MicroUSD = microUSD(cost)
	}
	return u
}
