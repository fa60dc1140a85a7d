package agentout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// claudeResult is the result object of Claude Code.
type claudeResult struct {
	Type      string   `json:"type"`
	Subtype   string   `json:"subtype"`
	Model     string   `json:"model"` // of the init message
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
func parseClaude(out []byte) (Output, bool) {
	var r claudeResult
	var model string
	found := false
	take := func(raw []byte) {
		var c claudeResult
		if !decode(raw, &c) {
			return
		}
		switch c.Type {
		case "result":
			r, found = c, true
		case "system":
			model = cmp.Or(shortModel(c.Model), model)
		}
	}
	lines(out, take)
	if !found {
		values(out, func(raw []byte) bool {
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil {
				list = []json.RawMessage{raw}
			}
			for _, one := range list {
				take(bytes.TrimSpace(one))
			}
			return false
		})
	}
	if !found {
		return Output{}, false
	}
	s := Output{Summary: r.Result, Session: r.SessionID, Usage: r.usage(model)}
	// An API failure comes with the subtype "success": is_error is what counts.
	if r.IsError || r.Subtype != "success" {
		s.Failed = true
		s.Reason = cmp.Or(strings.Join(r.Errors, "; "), cmp.Or(r.Result, r.Subtype))
	}
	return s, true
}

// usage sums over the models that took part: those of sub-agents and helpers
// appear there only. Of the two totals of the cost the larger one counts, for a
// budget must not be passed unseen. The model is that which cost most.
func (r claudeResult) usage(model string) work.Usage {
	var sum work.Usage
	var cost, top float64
	name := ""
	for key, m := range r.Models {
		sum.Input += m.Input
		sum.Output += m.Output
		sum.CacheRead += m.CacheRead
		sum.CacheCreate += m.CacheCreate
		cost += m.Cost
		short := shortModel(cmp.Or(m.Canonical, key))
		if name == "" || m.Cost > top || m.Cost == top && short < name {
			top, name = m.Cost, short
		}
	}
	if sum == (work.Usage{}) {
		u := r.Usage
		sum = work.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreate: u.CacheCreate}
	}
	sum.Model = cmp.Or(name, model)
	sum.MicroUSD = max(MicroUSD(cost), MicroUSD(r.Cost))
	return sum
}
