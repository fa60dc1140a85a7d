package modeltest

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
)

// read understands a request, so far as the dialects have it in common: what is looked for
// is found by its key wherever it is.
func read(r *http.Request, body []byte) Request {
	q := Request{Path: r.URL.Path, Signed: signed(r)}
	var v object
	_ = json.Unmarshal(body, &v) // what is no object has none of it
	q.Model, _ = v["model"].(string)
	q.Stream, _ = v["stream"].(bool)
	switch {
	case r.Method != http.MethodPost:
	case strings.HasSuffix(q.Path, "/v1/messages"):
		q.Dialect = Anthropic
	case strings.HasSuffix(q.Path, "/responses"):
		q.Dialect = Responses
	case strings.HasSuffix(q.Path, "/chat/completions"):
		q.Dialect = Chat
	case strings.HasSuffix(q.Path, "enerateContent"):
		q.Dialect = Gemini
		name, method, _ := strings.Cut(q.Path[strings.LastIndex(q.Path, "/")+1:], ":")
		q.Model, q.Stream = name, method == "streamGenerateContent"
	}
	walk(v["generationConfig"], func(o object) {
		if form, is := o["responseJsonSchema"].(object); is {
			q.form = form
		}
	}, func(string) {})
	offer := func(v any) {
		walk(v, func(o object) {
			if name, is := o["name"].(string); is {
				q.Tools = append(q.Tools, name)
			}
		}, func(string) {})
	}
	offer(v["tools"])
	var text strings.Builder
	for _, key := range []string{"system", "systemInstruction", "instructions", "messages", "input", "contents"} {
		walk(v[key], func(o object) {
			kind, _ := o["type"].(string)
			_, isGemini := o["functionResponse"]
			if kind == "tool_result" || strings.HasSuffix(kind, "_call_output") || o["role"] == "tool" || isGemini {
				q.Results++
			}
			if kind == "additional_tools" { // of Codex
				offer(o["tools"])
			}
		}, func(s string) { text.WriteString(s + "\n") })
	}
	q.Text = text.String()
	return q
}

func signed(r *http.Request) bool {
	return strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer") != "" ||
		r.Header.Get("X-Api-Key") != "" || r.Header.Get("X-Goog-Api-Key") != "" || r.URL.Query().Has("key")
}

// walk visits all objects and texts in a value. Texts of one object come in no order.
func walk(v any, visit func(object), text func(string)) {
	switch v := v.(type) {
	case object:
		visit(v)
		for _, one := range v {
			walk(one, visit, text)
		}
	case []any:
		for _, one := range v {
			walk(one, visit, text)
		}
	case string:
		text(v)
	}
}

// call is a call of a tool: with arguments, or with plain text for a tool that takes that.
type call struct {
	name  string // empty: there is nothing to do, or no tool for it
	args  object
	plain string
}

// callOf is the call by which an agent that has these tools does what a turn wants.
func callOf(tools []string, t Turn) call {
	for _, name := range tools {
		switch {
		case t.File.Path != "":
			switch name {
			case "Write", "write_file": // Claude Code, Gemini CLI
				return call{name: name, args: object{"file_path": t.File.Path, "content": t.File.Body}}
			case "write": // OpenCode
				return call{name: name, args: object{"filePath": t.File.Path, "content": t.File.Body}}
			case "apply_patch": // Codex, and how its newer models write it
				return call{name: name, plain: patch(t.File)}
			case "exec":
				return call{name: name, plain: "text(await tools.apply_patch(" + quoted(patch(t.File)) + "))"}
			}
		case t.Command != "":
			switch name {
			case "Bash", "bash", "run_shell_command":
				return call{name: name, args: object{"command": t.Command, "description": "works"}}
			case "exec_command":
				return call{name: name, args: object{"cmd": t.Command}}
			case "exec":
				return call{name: name, plain: "text(await tools.exec_command({cmd: " + quoted(t.Command) + "}))"}
			}
		}
	}
	return call{}
}

// filled is the least object of a schema: what must be there, with words and ones in it.
func filled(form object) object {
	out := object{}
	fields, _ := form["properties"].(object)
	for name, field := range fields {
		out[name] = "an aside"
		if f, _ := field.(object); strings.EqualFold(fmt.Sprint(f["type"]), "integer") {
			out[name] = 1
		}
	}
	return out
}

// patch adds a file, in the form of Codex.
func patch(f File) string {
	var b strings.Builder
	b.WriteString("*** Begin Patch\n*** Add File: " + f.Path + "\n")
	for line := range strings.Lines(f.Body) {
		b.WriteString("+" + strings.TrimSuffix(line, "\n") + "\n")
	}
	return b.String() + "*** End Patch\n"
}
