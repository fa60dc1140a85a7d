package agentout

import (
	"cmp"
	"encoding/json"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// codexEvent is one line of codex exec --json.
type codexEvent struct {
	Type     string `json:"type"`
	ThreadID string `json:"thread_id"`
	Message  string `json:"message"`
	Item     struct {
		Type, Text, Command, Query, Message, Server, Tool string
		Arguments, Result                                 json.RawMessage
		Output                                            string `json:"aggregated_output"`
		Exit                                              int    `json:"exit_code"`
		Error                                             struct{ Message string }
		Changes                                           []struct{ Path string }
	}
	Error struct{ Message string }
	Usage struct {
		Input      int64 `json:"input_tokens"`
		Cached     int64 `json:"cached_input_tokens"`
		CacheWrite int64 `json:"cache_write_input_tokens"`
		Output     int64 `json:"output_tokens"`
	}
}

// codex reads the events of codex exec --json. Cached tokens are a part of
// the input there, and the usage is that of the whole thread: the last counts.
func (r *Reader) codex(raw []byte) bool {
	var e codexEvent
	if !decode(raw, &e) {
		return false
	}
	switch e.Type {
	case "thread.started":
		r.out.Session = e.ThreadID
	case "item.started": // what takes its time
		switch e.Item.Type {
		case "command_execution":
			r.emit(work.Step{Kind: work.StepTool, Tool: "shell", Text: e.Item.Command})
		case "mcp_tool_call":
			r.emit(work.Step{Kind: work.StepTool, Tool: e.Item.Server + "." + e.Item.Tool, Text: brief(e.Item.Arguments)})
		}
	case "item.completed":
		switch e.Item.Type {
		case "agent_message":
			r.say(e.Item.Text, false)
		case "file_change":
			for _, c := range e.Item.Changes {
				r.emit(r.touched(r.file("", c.Path)))
			}
		case "command_execution":
			r.turn(r.begun("shell", command(e.Item.Command)), e.Item.Output, e.Item.Exit != 0)
		case "mcp_tool_call":
			failed := e.Item.Error.Message
			r.turn(r.begun(e.Item.Server+"."+e.Item.Tool, e.Item.Arguments), cmp.Or(failed, string(e.Item.Result)), failed != "")
		case "web_search":
			r.emit(work.Step{Kind: work.StepTool, Tool: "web_search", Text: e.Item.Query})
		}
	case "turn.completed":
		u := e.Usage
		r.used(work.Usage{Input: max(0, u.Input-u.Cached-u.CacheWrite), Output: u.Output, CacheRead: u.Cached, CacheCreate: u.CacheWrite})
		r.end(false, "")
	case "turn.failed":
		r.end(true, e.Error.Message)
	case "error": // of a try; the turn's own event has the result
		r.out.Reason = cmp.Or(e.Message, r.out.Reason)
	case "turn.started", "item.updated":
	default:
		return false
	}
	return true
}
