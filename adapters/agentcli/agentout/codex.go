package agentout

import (
	"cmp"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// codexEvent is one line of codex exec --json.
type codexEvent struct {
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

// parseCodex reads the events of codex exec --json. Cached tokens are a part of
// the input there, and the usage is that of the whole thread: the last counts.
func parseCodex(out []byte) (s Output, found bool) {
	lines(out, func(line []byte) {
		var e codexEvent
		if !decode(line, &e) {
			return
		}
		switch e.Type {
		case "thread.started":
			s.Session = e.ThreadID
		case "item.completed":
			if e.Item.Type == "agent_message" {
				s.Summary = e.Item.Text
			}
		case "turn.completed":
			found, s.Failed = true, false
			u := e.Usage
			s.Usage = work.Usage{Input: max(0, u.Input-u.Cached-u.CacheWrite), Output: u.Output, CacheRead: u.Cached, CacheCreate: u.CacheWrite}
		case "turn.failed":
			found, s.Failed, s.Reason = true, true, cmp.Or(e.Error.Message, s.Reason)
		case "error": // of a try; the turn's own event has the result
			s.Reason = e.Message
		}
	})
	return s, found
}
