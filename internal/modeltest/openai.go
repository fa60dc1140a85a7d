package modeltest

import "fmt"

// responses answers as the Responses API: items, each with its beginning and end.
func responses(a answer) ([]event, any) {
	id := fmt.Sprintf("resp_%d", a.n)
	var events []event
	add := func(kind string, o object) {
		o["type"], o["sequence_number"] = kind, len(events)
		events = append(events, event{kind, o})
	}
	response := func(status string, output []any, usage any) object {
		return object{"id": id, "object": "response", "status": status, "model": a.q.Model, "output": output, "usage": usage}
	}
	add("response.created", object{"response": response("in_progress", []any{}, nil)})
	output := []any{}
	item := func(o object) {
		add("response.output_item.done", object{"output_index": len(output), "item": o})
		output = append(output, o)
	}
	if a.Text != "" || a.call.name == "" {
		text, at := fmt.Sprintf("msg_%d", a.n), len(output)
		part := object{"type": "output_text", "text": a.Text, "annotations": []any{}}
		begun := object{"type": "message", "id": text, "role": "assistant", "status": "in_progress", "content": []any{}}
		add("response.output_item.added", object{"output_index": at, "item": begun})
		empty := object{"type": "output_text", "text": "", "annotations": []any{}}
		add("response.content_part.added", object{"item_id": text, "output_index": at, "content_index": 0, "part": empty})
		add("response.output_text.delta", object{"item_id": text, "output_index": at, "content_index": 0, "delta": a.Text})
		add("response.output_text.done", object{"item_id": text, "output_index": at, "content_index": 0, "text": a.Text})
		add("response.content_part.done", object{"item_id": text, "output_index": at, "content_index": 0, "part": part})
		item(object{"type": "message", "id": text, "role": "assistant", "status": "completed", "content": []any{part}})
	}
	if a.call.name != "" {
		call := object{
			"type": "function_call", "id": fmt.Sprintf("fc_%d", a.n), "call_id": fmt.Sprintf("call_%d", a.n),
			"name": a.call.name, "arguments": quoted(a.call.args), "status": "completed",
		}
		if a.call.plain != "" {
			call = object{
				"type": "custom_tool_call", "id": fmt.Sprintf("ctc_%d", a.n), "call_id": fmt.Sprintf("call_%d", a.n),
				"name": a.call.name, "input": a.call.plain, "status": "completed",
			}
		}
		add("response.output_item.added", object{"output_index": len(output), "item": call})
		item(call)
	}
	u := a.Usage
	whole := response("completed", output, object{
		"input_tokens": u.Input + u.CacheRead + u.CacheCreate, "input_tokens_details": object{"cached_tokens": u.CacheRead},
		"output_tokens": u.Output, "output_tokens_details": object{"reasoning_tokens": 0},
		"total_tokens": u.Input + u.CacheRead + u.CacheCreate + u.Output,
	})
	add("response.completed", object{"response": whole})
	return events, whole
}

// chat answers as the Chat Completions API: differences of one message, and the usage last.
func chat(a answer) ([]event, any) {
	message, reason := object{"role": "assistant", "content": a.Text}, "stop"
	if a.call.name != "" {
		reason = "tool_calls"
		function := object{"name": a.call.name, "arguments": quoted(a.call.args)}
		message["tool_calls"] = []any{object{
			"index": 0, "id": fmt.Sprintf("call_%d", a.n), "type": "function", "function": function,
		}}
	}
	in := a.Usage.Input + a.Usage.CacheRead + a.Usage.CacheCreate
	usage := object{
		"prompt_tokens": in, "completion_tokens": a.Usage.Output, "total_tokens": in + a.Usage.Output,
		"prompt_tokens_details": object{"cached_tokens": a.Usage.CacheRead},
	}
	head := func(kind string, choices []any, usage any) object {
		return object{
			"id": fmt.Sprintf("chatcmpl-%d", a.n), "object": kind, "created": 1, "model": a.q.Model,
			"choices": choices, "usage": usage,
		}
	}
	chunk := func(delta object, reason, usage any) event {
		return event{data: head("chat.completion.chunk", []any{object{"index": 0, "delta": delta, "finish_reason": reason}}, usage)}
	}
	events := []event{
		chunk(object{"role": "assistant"}, nil, nil),
		chunk(message, nil, nil),
		chunk(object{}, reason, usage),
		{data: "[DONE]"},
	}
	return events, head("chat.completion", []any{object{"index": 0, "message": message, "finish_reason": reason}}, usage)
}
