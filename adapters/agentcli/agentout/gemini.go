package agentout

import (
	"cmp"
	"encoding/json"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// geminiTokens are the counts of one model. Cached tokens are a part of the
// prompt, what tools brought in is not; thoughts are paid for as output.
type geminiTokens struct {
	Prompt, Candidates, Cached, Thoughts, Tool int64
}

// geminiResult is the object of gemini -o json, which it prints over many lines; one with an
// error goes to standard error.
type geminiResult struct {
	SessionID string `json:"session_id"`
	Response  *string
	Stats     struct {
		Models map[string]struct{ Tokens geminiTokens }
	}
	Error *struct {
		Type, Message string
		Code          int
	}
}

func (r *Reader) geminiObject(raw []byte) bool {
	var g geminiResult
	if !decode(raw, &g) || g.Response == nil && g.Error == nil {
		return false
	}
	r.out.Session = g.SessionID
	if g.Response != nil {
		r.out.Summary = *g.Response
	}
	r.used(g.usage())
	r.end(false, "")
	if g.Error != nil {
		r.out.Trouble.Kind = statusTrouble(g.Error.Code)
		r.end(true, g.Error.Message)
	}
	return true
}

func (g geminiResult) usage() (u work.Usage) {
	var top int64 = -1
	for name, m := range g.Stats.Models {
		t := m.Tokens
		u.Input += max(0, t.Prompt-t.Cached) + t.Tool
		u.CacheRead += t.Cached
		u.Output += t.Candidates + t.Thoughts
		if short := ShortModel(name); t.Prompt > top || t.Prompt == top && short < u.Model {
			top, u.Model = t.Prompt, short
		}
	}
	return u
}

// geminiEvent is one line of gemini -o stream-json.
type geminiEvent struct {
	Type, Role, Content, Model, Status, Message, Output string

	SessionID  string `json:"session_id"`
	Tool       string `json:"tool_name"`
	ID         string `json:"tool_id"`
	Parameters json.RawMessage
	Delta      bool
	Error      struct{ Message string }
	Stats      struct {
		Total  int64 `json:"total_tokens"`
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
		Models map[string]struct {
			Total int64 `json:"total_tokens"`
		}
	}
}

func (r *Reader) gemini(raw []byte) bool {
	var e geminiEvent
	if !decode(raw, &e) {
		return false
	}
	switch e.Type {
	case "init":
		r.out.Session, r.out.Usage.Model = e.SessionID, ShortModel(e.Model)
	case "message":
		if e.Role == "assistant" {
			if !e.Delta {
				r.flush()
			}
			r.say(e.Content, e.Delta)
		}
	case "tool_use":
		r.call(e.Tool, e.Parameters)
		r.called(e.ID, e.Tool, e.Parameters)
	case "error":
		r.out.Reason = cmp.Or(e.Message, e.Error.Message)
	case "result":
		t := e.Stats
		var top int64 = -1 // the model of the beginning may be "auto"
		for name, m := range t.Models {
			if short := ShortModel(name); m.Total > top || m.Total == top && short < r.out.Usage.Model {
				top, r.out.Usage.Model = m.Total, short
			}
		}
		r.used(work.Usage{Input: max(0, t.Input-t.Cached), CacheRead: t.Cached, Output: max(t.Output, t.Total-t.Input)})
		r.end(e.Status != "success", cmp.Or(r.out.Reason, e.Error.Message))
	case "tool_result":
		r.answered(e.ID, []byte(cmp.Or(e.Output, e.Error.Message)), e.Status == "error")
	default:
		return r.geminiObject(raw)
	}
	return true
}
