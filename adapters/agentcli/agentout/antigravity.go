package agentout

import (
	"cmp"
	"encoding/json"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// agyResult is the object of agy --output-format json, and of the last event of its stream.
type agyResult struct {
	Conversation string `json:"conversation_id"`
	Status       string
	Response     string
	Error        string
	Usage        agyUsage
}

// agyUsage counts what was read from the cache as input too; thoughts are paid for as output.
type agyUsage struct {
	Input    int64 `json:"input_tokens"`
	Output   int64 `json:"output_tokens"`
	Thinking int64 `json:"thinking_tokens"`
	Cached   int64 `json:"cache_read_tokens"`
}

// agyEvent is one line of agy --output-format stream-json, by what others who read it have
// published: the tool has no description of it. All is optional.
type agyEvent struct {
	Event        string
	Conversation string `json:"conversation_id"`
	Error        string
	Init         struct{ Model string }
	Step         struct {
		Type  string `json:"step_type"`
		Delta string `json:"text_delta"`
		Tool  string `json:"tool_name"`
		State string
		Info  struct{ Parameters json.RawMessage } `json:"tool_info"`
	} `json:"step_update"`
	Result agyResult
}

func (r *Reader) antigravity(raw []byte) bool {
	var e agyEvent
	if !decode(raw, &e) {
		return false
	}
	r.out.Session = cmp.Or(e.Conversation, r.out.Session)
	switch e.Event {
	case "init":
		r.out.Usage.Model = ShortModel(e.Init.Model)
	case "step_update":
		switch {
		case e.Step.Type == "agent_response":
			r.say(e.Step.Delta, true)
		case e.Step.Type == "tool" && e.Step.State != "DONE":
			r.call(e.Step.Tool, e.Step.Info.Parameters)
		}
	case "error":
		r.out.Reason = cmp.Or(e.Error, r.out.Reason)
	case "result":
		r.agyEnd(e.Result)
	case "":
		var whole agyResult
		if decode(raw, &whole); whole.Status == "" {
			return false
		}
		r.agyEnd(whole)
	default:
		return false
	}
	return true
}

func (r *Reader) agyEnd(a agyResult) {
	u := a.Usage
	r.used(work.Usage{Input: max(0, u.Input-u.Cached), CacheRead: u.Cached, Output: u.Output + u.Thinking})
	failed, reason := a.Status != "SUCCESS", a.Error // its exit code is 0 then, too
	if failed {
		reason = cmp.Or(reason, cmp.Or(r.out.Reason, "it ended with the status "+a.Status))
	}
	r.end(failed, reason)
	r.out.Session, r.out.Summary = cmp.Or(a.Conversation, r.out.Session), cmp.Or(a.Response, r.out.Summary)
}
