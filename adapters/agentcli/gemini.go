package agentcli

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
func parseGemini(out []byte) (s said, found bool) {
	values(out, func(raw []byte) bool {
		var r geminiResult
		if decode(raw, &r) && (r.Response != nil || r.Error != nil) {
			s, found = r.said(), true
		}
		return false
	})
	if stream, ok := parseGeminiStream(out); ok {
		return stream, true
	}
	return s, found
}

func (r geminiResult) said() said {
	s := said{session: r.SessionID}
	if r.Response != nil {
		s.summary = *r.Response
	}
	if r.Error != nil {
		s.failed, s.reason = true, r.Error.Message
	}
	var top int64 = -1
	for name, m := range r.Stats.Models {
		t := m.Tokens
		s.usage.Input += max(0, t.Prompt-t.Cached) + t.Tool
		s.usage.CacheRead += t.Cached
		s.usage.Output += t.Candidates + t.Thoughts
		if short := shortModel(name); t.Prompt > top || t.Prompt == top && short < s.usage.Model {
			top, s.usage.Model = t.Prompt, short
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

func parseGeminiStream(out []byte) (s said, found bool) {
	speaking := false // the assistant's last message is still growing
	lines(out, func(line []byte) {
		var e geminiEvent
		if !decode(line, &e) {
			return
		}
		switch e.Type {
		case "init":
			s.session, s.usage.Model = e.SessionID, shortModel(e.Model)
		case "message":
			if e.Role != "assistant" {
				break
			}
			if !e.Delta || !speaking {
				s.summary = ""
			}
			s.summary += e.Content
			speaking = e.Delta
		case "tool_use":
			speaking = false
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
