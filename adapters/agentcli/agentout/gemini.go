package agentout

import "cmp"

// geminiTokens are the counts of one model. Cached tokens are a part of the
// prompt, what tools brought in is not; thoughts are paid for as output.
type geminiTokens struct {
	Prompt, Candidates, Cached, Thoughts, Tool int64
}

// geminiResult is the object of gemini -o json.
type geminiResult struct {
	SessionID string `json:"session_id"`
	Response  *string
	Stats     struct {
		Models map[string]struct{ Tokens geminiTokens }
	}
	Error *struct{ Message string }
}

// parseGemini reads the object of gemini -o json, wherever it is among warnings,
// or the lines of stream-json.
func parseGemini(out []byte) (s Output, found bool) {
	values(out, func(raw []byte) bool {
		var r geminiResult
		if decode(raw, &r) && (r.Response != nil || r.Error != nil) {
			s, found = r.output(), true
		}
		return false
	})
	if stream, ok := parseGeminiStream(out); ok {
		return stream, true
	}
	return s, found
}

func (r geminiResult) output() Output {
	s := Output{Session: r.SessionID}
	if r.Response != nil {
		s.Summary = *r.Response
	}
	if r.Error != nil {
		s.Failed, s.Reason = true, r.Error.Message
	}
	var top int64 = -1
	for name, m := range r.Stats.Models {
		t := m.Tokens
		s.Usage.Input += max(0, t.Prompt-t.Cached) + t.Tool
		s.Usage.CacheRead += t.Cached
		s.Usage.Output += t.Candidates + t.Thoughts
		if short := shortModel(name); t.Prompt > top || t.Prompt == top && short < s.Usage.Model {
			top, s.Usage.Model = t.Prompt, short
		}
	}
	return s
}

// geminiEvent is one line of gemini -o stream-json.
type geminiEvent struct {
	Type, Role, Content, Model, Status, Message string

	SessionID string `json:"session_id"`
	Delta     bool
	Error     struct{ Message string }
	Stats     struct {
		Total  int64 `json:"total_tokens"`
		Input  int64 `json:"input_tokens"`
		Output int64 `json:"output_tokens"`
		Cached int64 `json:"cached"`
	}
}

func parseGeminiStream(out []byte) (s Output, found bool) {
	speaking := false // the assistant's last message is still growing
	lines(out, func(line []byte) {
		var e geminiEvent
		if !decode(line, &e) {
			return
		}
		switch e.Type {
		case "init":
			s.Session, s.Usage.Model = e.SessionID, shortModel(e.Model)
		case "message":
			if e.Role != "assistant" {
				break
			}
			if !e.Delta || !speaking {
				s.Summary = ""
			}
			s.Summary += e.Content
			speaking = e.Delta
		case "tool_use":
			speaking = false
		case "error":
			s.Reason = cmp.Or(e.Message, e.Error.Message)
		case "result":
			found, s.Failed = true, e.Status != "success"
			s.Reason = cmp.Or(s.Reason, e.Error.Message)
			t := e.Stats
			s.Usage.Input, s.Usage.CacheRead, s.Usage.Output = max(0, t.Input-t.Cached), t.Cached, max(t.Output, t.Total-t.Input)
		}
	})
	return s, found
}
