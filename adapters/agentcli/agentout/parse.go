// Package agentout reads what coding agents print: result, words, session and usage, from
// the formats of Claude Code, Codex, Gemini CLI and OpenCode. Output is hostile: values of
// another type than expected are skipped, and nothing is taken to be complete.
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
	Claude   Format = "claude"   // claude --output-format json or stream-json
	Codex    Format = "codex"    // codex exec --json
	Gemini   Format = "gemini"   // gemini --output-format json or stream-json
	OpenCode Format = "opencode" // opencode run --format json
	Any      Format = "any"      // a Claude-shaped result if there is one, else text
)

// Output is what an agent has reported of a run.
type Output struct {
	Failed  bool
	Reason  string // of the failure; also of one that the tool has recovered from
	Summary string // its last words
	Session string // by which the tool can go on
	Usage   work.Usage
}

// textMax bounds the summary of an output without a result, in bytes.
const textMax = 4000

// Parse reads an output; found is false when there is no result in it.
func Parse(format Format, out []byte) (s Output, found bool) {
	switch format {
	case Claude:
		return parseClaude(out)
	case Codex:
		return parseCodex(out)
	case Gemini:
		return parseGemini(out)
	case OpenCode:
		return parseOpenCode(out)
	default:
		if s, found := parseClaude(out); found {
			return s, true
		}
		return Output{Summary: string(out[max(0, len(out)-textMax):])}, true
	}
}

// decode reads one JSON value and tolerates fields of another type than expected:
// tools change, and half a result is better than none.
func decode(raw []byte, v any) bool {
	err := json.Unmarshal(raw, v)
	var odd *json.UnmarshalTypeError
	return err == nil || errors.As(err, &odd) && odd.Field != ""
}

// lines calls f for every line that is a JSON object; others are noise, or the
// edge of what was cut out of a long log.
func lines(out []byte, f func([]byte)) {
	for line := range bytes.Lines(out) {
		if line = bytes.TrimSpace(line); len(line) > 1 && line[0] == '{' && json.Valid(line) {
			f(line)
		}
	}
}

// startsMax is how many lines are tried as the beginning of a value: output can
// be long and hostile.
const startsMax = 200

// values calls f for JSON values that fill lines, with noise before, between and
// after them. It stops when f returns true.
func values(out []byte, f func([]byte) bool) {
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
			if f(raw) {
				return
			}
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

// shortModel drops what is in front of a model's name (provider, vendor,
// region) and a date or a variant behind it.
func shortModel(name string) string {
	name = name[strings.LastIndexByte(name, '/')+1:]
	name = modelVendor.ReplaceAllString(name, "")
	return modelSuffix.ReplaceAllString(name, "")
}
