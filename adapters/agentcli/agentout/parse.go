// Package agentout reads what coding agents print, as it comes: what they do, step by step,
// and in the end result, words, session and usage, from the formats of Claude Code, Codex,
// Gemini CLI, OpenCode and Antigravity, and from a protocol of lines for any other command:
//
//	{"type":"text","text":"Reading the tests."}
//	{"type":"tool","tool":"bash","text":"go test ./...","result":"FAIL"}
//	{"type":"file","path":"cache.go"}
//	{"type":"usage","model":"large-1","input_tokens":900,"output_tokens":80,"cost_usd":0.02}
//	{"type":"result","text":"The cache is in place.","session":"s-1"}
//
// All fields but type are optional. A tool's "error" is its result when it has failed. A usage
// is that of the run so far: the last one counts. A result with "error" is a failure; "trouble" and "until" (RFC 3339) say
// that every run would fail (see work.Trouble). Other lines are words.
//
// Output is hostile: values of another type than expected are skipped, lines and memory are
// bounded, and nothing is taken to be complete.
package agentout

import (
	"bytes"
	"encoding/json"
	"errors"
	"math"
	"regexp"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Format is the form of an agent's output.
type Format string

// Formats.
const (
	Claude      Format = "claude"      // claude --output-format stream-json or json
	Codex       Format = "codex"       // codex exec --json
	Gemini      Format = "gemini"      // gemini --output-format stream-json or json
	OpenCode    Format = "opencode"    // opencode run --format json
	Antigravity Format = "antigravity" // agy --output-format stream-json or json
	Any         Format = "any"         // lines of the protocol, a Claude-shaped result, or text
)

// Output holds what an agent has reported of a run.
type Output struct {
	Failed  bool
	Budget  bool   // it has failed because it reached the limit of cost that it was given
	Reason  string // of the failure; also of one that the tool has recovered from. The tool's words, not the model's
	Summary string // its last words
	Session string // by which the tool can go on
	Usage   work.Usage
	Trouble work.Trouble // by a field of the tool's own; see Diagnose
}

// Parse reads a whole output; found is false when there is no result in it. The words of such
// an output are in Summary.
func Parse(format Format, out []byte) (s Output, found bool) {
	r := NewReader(format)
	_, _ = r.Write(out) // it never fails
	return r.Close()
}

// decode reads one JSON value and tolerates fields of another type than expected:
// tools change, and half a result is better than none.
func decode(raw []byte, v any) bool {
	err := json.Unmarshal(raw, v)
	var odd *json.UnmarshalTypeError
	return err == nil || errors.As(err, &odd) && odd.Field != ""
}

// startsMax is how many lines are tried as the beginning of a value: output can
// be long and hostile.
const startsMax = 200

// values calls f for JSON values that fill lines, with noise before, between and
// after them.
func values(out []byte, f func([]byte)) {
	rest := out
	for range startsMax {
		for len(rest) > 0 && rest[0] != '{' && rest[0] != '[' {
			_, rest, _ = bytes.Cut(rest, []byte("\n"))
		}
		if len(rest) == 0 {
			return
		}
		var raw json.RawMessage
		d := json.NewDecoder(bytes.NewReader(rest))
		if d.Decode(&raw) == nil {
			f(raw)
			rest = rest[d.InputOffset():]
		}
		_, rest, _ = bytes.Cut(rest, []byte("\n"))
	}
}

// MicroUSD turns dollars into millionths.
func MicroUSD(dollars float64) int64 {
	if math.IsNaN(dollars) || dollars < 0 || dollars > 1e9 {
		return 0
	}
	return int64(math.Round(dollars * 1e6))
}

var (
	modelVendor = regexp.MustCompile(`^(?:[a-z]{2,6}\.)?(?:anthropic|openai|google|meta|mistral|amazon|deepseek|qwen|cohere)\.`)
	modelSuffix = regexp.MustCompile(`\[[^\]]*\]$|-v\d+:\d+$|[@-]20\d{6}(?:-v\d+(?::\d+)?)?$|-20\d\d-\d\d-\d\d$|-[01]\d-[0-3]\d$`)
)

// ShortModel drops what is in front of a model's name (provider, vendor,
// region) and a date or a variant behind it.
func ShortModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = modelVendor.ReplaceAllString(name, "")
	return modelSuffix.ReplaceAllString(name, "")
}
