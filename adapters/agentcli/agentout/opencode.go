package agentout

import (
	"cmp"
	"encoding/json"
)

// openCodeEvent is one line of opencode run --format json.
type openCodeEvent struct {
	Type      string
	SessionID string
	Part      struct {
		Text, Tool, Reason string

		State struct {
			Input                 json.RawMessage
			Status, Output, Error string
		}
		Cost   float64
		Tokens struct {
			Input, Output, Reasoning int64
			Cache                    struct{ Read, Write int64 }
		}
	}
	Error struct {
		Name, Message string
		Data          struct {
			Message    string
			StatusCode int
		}
	}
}

// openCode sums the steps of opencode run --format json.
type openCode struct {
	*Reader
	dollars float64
}

func (o *openCode) event(raw []byte) bool {
	var e openCodeEvent
	if !decode(raw, &e) {
		return false
	}
	o.out.Session = cmp.Or(e.SessionID, o.out.Session)
	switch e.Type {
	case "text":
		o.say(e.Part.Text, false)
	case "tool_use":
		o.call(e.Part.Tool, e.Part.State.Input)
		s := e.Part.State
		o.turn(o.begun(e.Part.Tool, s.Input), cmp.Or(s.Error, s.Output), s.Status == "error")
	case "step_finish":
		t, u := e.Part.Tokens, o.out.Usage
		o.dollars += e.Part.Cost
		u.Input += t.Input
		u.Output += t.Output + t.Reasoning
		u.CacheRead += t.Cache.Read
		u.CacheCreate += t.Cache.Write
		u.MicroUSD = MicroUSD(o.dollars)
		o.used(u)
		o.end(o.out.Failed, "")
		o.ended = e.Part.Reason == "stop" // else another step follows
	case "error":
		o.out.Trouble.Kind = cmp.Or(openCodeTrouble(e.Error.Name), statusTrouble(e.Error.Data.StatusCode))
		o.end(true, cmp.Or(e.Error.Data.Message, cmp.Or(e.Error.Message, cmp.Or(e.Error.Name, "error"))))
	case "step_start", "done", "reasoning":
	default:
		return false
	}
	return true
}
