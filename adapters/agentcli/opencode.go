package agentcli

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
func parseOpenCode(out []byte) (s said, found bool) {
	var dollars float64
	lines(out, func(line []byte) {
		var e openCodeEvent
		if !decode(line, &e) {
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
			found, s.failed = true, true
			s.reason = first(e.Error.Data.Message, first(e.Error.Message, first(e.Error.Name, "error")))
		}
	})
	s.usage.MicroUSD = microUSD(dollars)
	return s, found
}
