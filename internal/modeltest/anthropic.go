package modeltest

import (
	"encoding/json"
	"fmt"
	"slices"
)

// object is JSON.
type object = map[string]any

// deltaMax is how many characters of words come at once.
const deltaMax = 1000

// anthropic answers as the Messages API: blocks of words and calls, each with its start,
// growth and end.
func anthropic(a answer) ([]event, any) {
	usage := object{
		"input_tokens": a.Usage.Input, "output_tokens": a.Usage.Output,
		"cache_read_input_tokens": a.Usage.CacheRead, "cache_creation_input_tokens": a.Usage.CacheCreate,
	}
	message := object{
		"id": fmt.Sprintf("msg_%d", a.n), "type": "message", "role": "assistant", "model": a.q.Model,
		"content": []any{}, "usage": usage,
	}
	reason := "end_turn"
	var events []event
	add := func(kind string, o object) {
		o["type"] = kind
		events = append(events, event{kind, o})
	}
	add("message_start", object{"message": message})
	var content []any
	block := func(empty, full object, deltas ...object) {
		i := len(content)
		content = append(content, full)
		add("content_block_start", object{"index": i, "content_block": empty})
		for _, delta := range deltas {
			add("content_block_delta", object{"index": i, "delta": delta})
		}
		add("content_block_stop", object{"index": i})
	}
	if a.Text != "" || a.call.name == "" {
		var deltas []object
		for part := range slices.Chunk([]rune(a.Text), deltaMax) {
			deltas = append(deltas, object{"type": "text_delta", "text": string(part)})
		}
		block(object{"type": "text", "text": ""}, object{"type": "text", "text": a.Text}, deltas...)
	}
	if a.call.name != "" {
		id, input := fmt.Sprintf("toolu_%d", a.n), quoted(a.call.args)
		block(object{"type": "tool_use", "id": id, "name": a.call.name, "input": object{}},
			object{"type": "tool_use", "id": id, "name": a.call.name, "input": a.call.args},
			object{"type": "input_json_delta", "partial_json": input})
		reason = "tool_use"
	}
	add("message_delta", object{"delta": object{"stop_reason": reason, "stop_sequence": nil}, "usage": usage})
	add("message_stop", object{})
	whole := object{"content": content, "stop_reason": reason}
	for key, value := range message {
		if whole[key] == nil {
			whole[key] = value
		}
	}
	return events, whole
}

// quoted is a value as JSON text, as most dialects give arguments.
func quoted(v any) string {
	body, _ := json.Marshal(v) // of strings and numbers
	return string(body)
}
