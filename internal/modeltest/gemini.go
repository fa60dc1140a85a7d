package modeltest

// gemini answers as generateContent: parts of one answer, of which each has the usage so far.
func gemini(a answer) ([]event, any) {
	in := a.Usage.Input + a.Usage.CacheRead + a.Usage.CacheCreate
	usage := object{
		"promptTokenCount": in, "cachedContentTokenCount": a.Usage.CacheRead,
		"candidatesTokenCount": a.Usage.Output, "totalTokenCount": in + a.Usage.Output,
	}
	answer := func(parts []any, reason string) object {
		candidate := object{"index": 0, "content": object{"role": "model", "parts": parts}}
		if reason != "" {
			candidate["finishReason"] = reason
		}
		return object{"candidates": []any{candidate}, "usageMetadata": usage, "modelVersion": a.q.Model}
	}
	var parts []any
	if a.Text != "" || a.call.name == "" {
		parts = append(parts, object{"text": a.Text})
	}
	if a.call.name != "" {
		parts = append(parts, object{"functionCall": object{"name": a.call.name, "args": a.call.args}})
	}
	var events []event
	for _, p := range parts {
		events = append(events, event{data: answer([]any{p}, "")})
	}
	events = append(events, event{data: answer([]any{}, "STOP")})
	return events, answer(parts, "STOP")
}
