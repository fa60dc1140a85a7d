package agentcli

import (
	"bytes"
	"encoding/json"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// parseCodex reads the events of codex exec --json. Cached tokens are a part of
// the input there, and the usage is that of the whole thread.
func parseCodex(out []byte) (s said, found bool) {
	lines(out, func(line []byte) {
		var e struct {
			Type     string `json:"type"`
			ThreadID string `json:"thread_id"`
			Message  string `json:"message"`
			Item     struct{ Type, Text string }
			Error    struct{ Message string }
			Usage    struct {
				Input      int64 `json:"input_tokens"`
				Cached     int64 `json:"cached_input_tokens"`
				CacheWrite int64 `json:"cache_write_input_tokens"`
				Output     int64 `json:"output_tokens"`
			}
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		switch e.Type {
		case "thread.started":
			s.session = e.ThreadID
		case "item.completed":
			if e.Item.Type == "agent_message" {
				s.summary = e.Item.Text
			}
		case "turn.completed":
			found, s.failed = true, false
			u := e.Usage
			s.usage = work.Usage{Input: max(0, u.Input-u.Cached-u.CacheWrite), Output: u.Output, CacheRead: u.Cached, CacheCreate: u.CacheWrite}
		case "turn.failed":
			found, s.failed, s.reason = true, true, e.Error.Message
		case "error":
			s.reason = e.Message
		}
	})
	return s, found
}

// geminiTokens are the counts of one model. Cached tokens are a part of the
// prompt; thoughts are paid for as output.
type geminiTokens struct {
	Prompt, Candidates, Cached, Thoughts int64
}

// parseGemini reads the object of gemini -o json, or the lines of stream-json.
func parseGemini(out []byte) (s said, found bool) {
	var r struct {
		SessionID string `json:"session_id"`
		Response  *string
		Stats     struct {
			Models map[string]struct{ Tokens geminiTokens }
		}
		Error *struct{ Message string }
	}
	trimmed := bytes.TrimSpace(out)
	if i := bytes.IndexByte(trimmed, '{'); i > 0 && !bytes.Contains(trimmed, []byte("\n{")) {
		trimmed = trimmed[i:] // a warning in front of the object
	}
	if json.Unmarshal(trimmed, &r) != nil || r.Response == nil && r.Error == nil {
		return parseGeminiStream(out)
	}
	s.session = r.SessionID
	if r.Response != nil {
		s.summary = *r.Response
	}
	if r.Error != nil {
		s.failed, s.reason = true, r.Error.Message
	}
	var top int64 = -1
	for name, m := range r.Stats.Models {
		t := m.Tokens
		s.usage.Input += max(0, t.Prompt-t.Cached)
		s.usage.CacheRead += t.Cached
		s.usage.Output += t.Candidates + t.Thoughts
		if t.Prompt > top || t.Prompt == top && name < s.usage.Model {
			top, s.usage.Model = t.Prompt, shortModel(name)
		}
	}
	return s, true
}

func parseGeminiStream(out []byte) (s said, found bool) {
	lines(out, func(line []byte) {
		var e struct {
			Type, Role, Content, Model, Status, Message string
			SessionID                                   string `json:"session_id"`
			Delta                                       bool
			Error                                       struct{ Message string }
			Stats                                       struct {
				Total  int64 `json:"total_tokens"`
				Input  int64 `json:"input_tokens"`
				Output int64 `json:"output_tokens"`
				Cached int64 `json:"cached"`
			}
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		switch e.Type {
		case "init":
			s.session, s.usage.Model = e.SessionID, shortModel(e.Model)
		case "message":
			if e.Role == "assistant" && e.Delta {
				s.summary += e.Content
			} else if e.Role == "assistant" {
				s.summary = e.Content
			}
		case "error":
			s.reason = first(e.Message, e.Error.Message)
		case "result":
			found, s.failed = true, e.Status != "success"
			s.reason = first(s.reason, e.Error.Message)
			t := e.Stats
			s.usage.Input, s.usage.CacheRead, s.usage.Output = max(0, t.Input-t.Cached), t.Cached, max(t.Output, t.Total-t.Input)
		}
	})
	return s, found
}

// parseOpenCode sums the steps of opencode run --format json.
func parseOpenCode(out []byte) (s said, found bool) {
	var dollars float64
	lines(out, func(line []byte) {
		var e struct {
			Type      string
			SessionID string
			Part      struct {
				Text   string
				Cost   float64
				Tokens struct {
					Input, Output, Reasoning int64
					Cache                    struct{ Read, Write int64 }
				}
			}
			Error struct {
				Name string
				Data struct{ Message string }
			}
		}
		if json.Unmarshal(line, &e) != nil {
			return
		}
		s.session = first(e.SessionID, s.session)
		switch e.Type {
		case "text":
			s.summary = e.Part.Text
		case "step_finish":
			found = true
			t := e.Part.Tokens
			s.usage.Input += t.Input
			s.usage.Output += t.Output + t.Reasoning
			s.usage.CacheRead += t.Cache.Read
			s.usage.CacheCreate += t.Cache.Write
			dollars += e.Part.Cost
		case "error":
			found, s.failed, s.reason = true, true, first(e.Error.Data.Message, e.Error.Name)
		}
	})
	s.usage.MicroUSD = microUSD(dollars)
	return s, found
}
