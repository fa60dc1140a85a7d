package agentout

import "cmp"

// openCodeEvent is one line of opencode run --format json.
type openCodeEvent struct {
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
		Name, Message string
		Data          struct{ Message string }
	}
}

// parseOpenCode sums the steps of opencode run --format json.
func parseOpenCode(out []byte) (s Output, found bool) {
	var dollars float64
	lines(out, func(line []byte) {
		var e openCodeEvent
		if !decode(line, &e) {
			return
		}
		s.Session = cmp.Or(e.SessionID, s.Session)
		switch e.Type {
		case "text":
			s.Summary = e.Part.Text
		case "step_finish":
			found = true
			t := e.Part.Tokens
			s.Usage.Input += t.Input
			s.Usage.Output += t.Output + t.Reasoning
			s.Usage.CacheRead += t.Cache.Read
			s.Usage.CacheCreate += t.Cache.Write
			dollars += e.Part.Cost
		case "error":
			found, s.Failed = true, true
			s.Reason = cmp.Or(e.Error.Data.Message, cmp.Or(e.Error.Message, cmp.Or(e.Error.Name, "error")))
		}
	})
	s.Usage.MicroUSD = MicroUSD(dollars)
	return s, found
}
