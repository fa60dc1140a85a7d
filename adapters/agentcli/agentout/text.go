package agentout

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"regexp"
	"strings"
	"unicode"
)

// Bounds of the texts of a step, in bytes.
const (
	stepMax = 2000
	nameMax = 500
)

// escapes are the sequences by which terminals are moved and coloured.
var escapes = regexp.MustCompile("\x1b\\[[0-?]*[ -/]*[@-~]" +
	"|\x1b[\\]PX^_][^\x07\x1b]*(?:\x07|\x1b\\\\)?" +
	"|\x1b[ -/]*[0-~]" +
	"|\u009b[0-?]*[ -/]*[@-~]")

// Plain is a text without escape sequences of terminals and control characters; lines stay.
func Plain(s string) string {
	s = escapes.ReplaceAllString(strings.ToValidUTF8(s, "?"), "")
	return strings.Map(func(c rune) rune {
		if unicode.IsControl(c) && c != '\n' && c != '\t' {
			return -1
		}
		return c
	}, s)
}

// Clip is a text of at most n bytes, but for the dots that show where it was cut.
func Clip(s string, n int) string {
	s = strings.ToValidUTF8(strings.TrimSpace(s), "?")
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + " …"
}

// brief renders the input of a tool in one line: the argument that says most, or all.
func brief(input json.RawMessage) string {
	var fields map[string]any
	if json.Unmarshal(input, &fields) == nil {
		for _, name := range []string{
			"command", "CommandLine", "cmd",
			"file_path", "filePath", "absolute_path", "TargetFile", "AbsolutePath", "path",
			"pattern", "query", "Query", "url", "description", "prompt",
		} {
			if text, ok := fields[name].(string); ok && text != "" {
				return strings.Join(strings.Fields(text), " ")
			}
		}
	}
	var out bytes.Buffer
	if len(fields) == 0 || json.Compact(&out, input) != nil {
		return ""
	}
	return out.String()
}

// changed names the file that a call changes, by the names that tools have for that; empty:
// none.
func changed(tool string, input json.RawMessage) string {
	var at struct {
		Claude   string `json:"file_path"` // also of gemini
		Notebook string `json:"notebook_path"`
		OpenCode string `json:"filePath"`
		Google   string `json:"TargetFile"`
	}
	_ = decode(input, &at) // what can be read
	switch tool {
	case "Write", "Edit", "MultiEdit", "write_file", "replace":
		return at.Claude
	case "NotebookEdit":
		return at.Notebook
	case "write", "edit":
		return at.OpenCode
	case "write_to_file", "replace_file_content", "multi_replace_file_content":
		return at.Google
	}
	return ""
}

// inside is a path relative to the checkout, with slashes; ok is false for one outside.
func inside(dir, name string) (path string, ok bool) {
	if filepath.IsAbs(name) {
		rel, err := filepath.Rel(dir, name)
		if err != nil || dir == "" {
			return "", false
		}
		name = rel
	}
	name = filepath.Clean(name)
	return filepath.ToSlash(name), filepath.IsLocal(name)
}
