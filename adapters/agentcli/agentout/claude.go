package agentout

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// claudeUsage is that of a message, and of a result.
type claudeUsage struct {
	Input       int64 `json:"input_tokens"`
	Output      int64 `json:"output_tokens"`
	CacheRead   int64 `json:"cache_read_input_tokens"`
	CacheCreate int64 `json:"cache_creation_input_tokens"`
}

// claudeResult is the result object of Claude Code.
type claudeResult struct {
	Subtype   string   `json:"subtype"`
	IsError   bool     `json:"is_error"`
	Status    int      `json:"api_error_status"` // of the API's answer that was the end
	Result    string   `json:"result"`
	Errors    []string `json:"errors"`
	SessionID string   `json:"session_id"`
	Cost      float64  `json:"total_cost_usd"`

	Usage  claudeUsage `json:"usage"`
	Models map[string]struct {
		Canonical   string  `json:"canonicalModel"`
		Input       int64   `json:"inputTokens"`
		Output      int64   `json:"outputTokens"`
		CacheRead   int64   `json:"cacheReadInputTokens"`
		CacheCreate int64   `json:"cacheCreationInputTokens"`
		Cost        float64 `json:"costUSD"`
	} `json:"modelUsage"`
}

// claudeEvent holds the fields of the other messages of its stream, one in a line.
type claudeEvent struct {
	Type      string `json:"type"`
	Subtype   string `json:"subtype"`
	SessionID string `json:"session_id"`
	Model     string `json:"model"`        // of the init message
	Error     string `json:"error"`        // of the API, a word: of a message that is no model's, and of a retry
	Attempt   int    `json:"attempt"`      // of a retry
	Status    int    `json:"error_status"` // of a retry
	Message   struct {
		ID      string      `json:"id"`
		Model   string      `json:"model"`
		Usage   claudeUsage `json:"usage"`
		Content []struct {
			Type, Text, Name, ID string
			Input, Content       json.RawMessage
			Of                   string `json:"tool_use_id"`
			Failed               bool   `json:"is_error"`
		} `json:"content"`
	} `json:"message"`
	Limit struct {
		Status   string `json:"status"`
		ResetsAt int64  `json:"resetsAt"` // unix seconds
	} `json:"rate_limit_info"`
}

// claude reads messages of Claude Code.
type claude struct {
	*Reader
	sum  work.Usage            // of the messages that seen has no more
	seen map[string]work.Usage // of messages by id: each block of one comes with the usage of all

	resets time.Time // when the limit ends that is reached
}

// seenMax bounds the messages that may go on with another block.
const seenMax = 1000

func (c *claude) event(raw []byte) bool {
	var e claudeEvent
	if !decode(raw, &e) {
		return false
	}
	switch e.Type {
	case "result":
		var r claudeResult
		decode(raw, &r)
		c.result(r)
	case "system":
		c.out.Session, c.out.Usage.Model = cmp.Or(e.SessionID, c.out.Session), cmp.Or(ShortModel(e.Model), c.out.Usage.Model)
		if e.Subtype == "api_retry" {
			c.retry(e)
		}
	case "assistant":
		c.assistant(e)
	case "rate_limit_event":
		if c.resets = (time.Time{}); e.Limit.Status == "rejected" { // which paid credits may make up for
			c.resets = moment(e.Limit.ResetsAt)
		}
	case "user":
		for _, block := range e.Message.Content {
			if block.Type == "tool_result" {
				c.answered(block.Of, block.Content, block.Failed)
			}
		}
	case "stream_event":
	default:
		return false
	}
	return true
}

// retries is how many of them are waited for when the vendor has refused the key: the tool
// tries for minutes.
const retries = 3

func (c *claude) retry(e claudeEvent) {
	c.out.Reason = fmt.Sprintf("the answer of the API was %s (%d)", cmp.Or(e.Error, "an error"), e.Status)
	kind := cmp.Or(claudeTrouble(e.Error), statusTrouble(e.Status))
	if len(c.seen) == 0 {
		c.trouble(kind)
		c.hopeless = kind != "" && kind != work.TroubleLimit && e.Attempt >= retries
	}
}

// moment is a time in unix seconds; 0 is none.
func moment(seconds int64) time.Time {
	if seconds <= 0 || seconds > 1<<40 {
		return time.Time{}
	}
	return time.Unix(seconds, 0).UTC()
}

func (c *claude) assistant(e claudeEvent) {
	for _, block := range e.Message.Content {
		switch block.Type {
		case "text":
			c.say(block.Text, false)
		case "tool_use":
			c.call(block.Name, block.Input)
			c.called(block.ID, block.Name, block.Input)
		}
	}
	if e.Error != "" { // the tool's message, not a model's
		c.out.Reason = c.out.Summary
		c.trouble(claudeTrouble(e.Error))
		return
	}
	c.out.Trouble = work.Trouble{} // it has come over it
	u := e.Message.Usage
	if len(c.seen) == seenMax {
		c.sum = c.total()
		clear(c.seen)
	}
	c.seen[e.Message.ID] = work.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreate: u.CacheCreate}
	sum := c.total()
	sum.Model = cmp.Or(c.out.Usage.Model, ShortModel(e.Message.Model))
	c.used(sum)
}

func (c *claude) total() work.Usage {
	sum := c.sum
	for _, u := range c.seen {
		sum.Input += u.Input
		sum.Output += u.Output
		sum.CacheRead += u.CacheRead
		sum.CacheCreate += u.CacheCreate
	}
	return sum
}

// trouble takes a kind over, unless none is named.
func (c *claude) trouble(kind work.TroubleKind) {
	switch kind {
	case "":
	case work.TroubleLimit:
		c.out.Trouble = work.Trouble{Kind: kind, Until: c.resets}
	default:
		c.out.Trouble = work.Trouble{Kind: kind}
	}
}

func (c *claude) result(r claudeResult) {
	u, ok := r.usage()
	if !ok { // nothing but what the messages had
		u = c.out.Usage
	}
	u.MicroUSD = max(u.MicroUSD, MicroUSD(r.Cost))
	c.used(u)
	c.out.Session = cmp.Or(r.SessionID, c.out.Session)
	c.out.Budget = r.Subtype == "error_max_budget_usd"
	// An API failure comes with the subtype "success": is_error is what counts.
	if !r.IsError && r.Subtype == "success" {
		c.out.Summary, c.out.Trouble = r.Result, work.Trouble{}
		c.end(false, "")
		return
	}
	c.out.Summary = cmp.Or(r.Result, c.out.Summary)
	c.trouble(statusTrouble(r.Status))
	c.end(true, cmp.Or(strings.Join(r.Errors, "; "), cmp.Or(r.Result, r.Subtype)))
}

// usage sums over the models that took part: those of sub-agents and helpers
// appear there only. Of the two totals of the cost the larger one counts, for a
// budget must not be passed unseen. The model is that which cost most.
func (r claudeResult) usage() (sum work.Usage, ok bool) {
	var cost, top float64
	name := ""
	for key, m := range r.Models {
		sum.Input += m.Input
		sum.Output += m.Output
		sum.CacheRead += m.CacheRead
		sum.CacheCreate += m.CacheCreate
		cost += m.Cost
		short := ShortModel(cmp.Or(m.Canonical, key))
		if name == "" || m.Cost > top || m.Cost == top && short < name {
			top, name = m.Cost, short
		}
	}
	if sum == (work.Usage{}) {
		u := r.Usage
		sum = work.Usage{Input: u.Input, Output: u.Output, CacheRead: u.CacheRead, CacheCreate: u.CacheCreate}
	}
	ok = sum != work.Usage{}
	sum.Model, sum.MicroUSD = name, MicroUSD(cost)
	return sum, ok
}
