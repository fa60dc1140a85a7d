package agentout

import (
	"bytes"
	"cmp"
	"encoding/json"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Bounds of a Reader, in bytes and steps.
const (
	lineMax    = 4 << 20 // longer lines are words
	textMax    = 1 << 20 // of what was no event, its end is kept
	summaryMax = 4000    // of an output without a result
	pendingMax = 4096    // steps that nobody has taken yet
)

// Reader reads an output as it comes: an io.Writer that never fails. It is not safe for
// concurrent use.
type Reader struct {
	Dir  string              // the checkout: a file in it is a step's Path, relative to it
	Hide func(string) string // replaces secrets

	format Format
	event  func(line []byte) bool // reads an object; false: it is no event of the format
	line   []byte                 // without its end yet
	long   bool                   // it was longer than lineMax
	text   []byte                 // what was no event
	said   []byte                 // words whose end may come with the next event

	out   Output
	found bool // there was a result
	ended bool // and it was the last one

	hopeless bool
	worked   bool
	steps    []work.Step

	open   map[string]turn // calls without a result yet, by id
	turns  []turn          // the last ones that may be repetitions
	turned int64
}

// NewReader makes one for an output from its beginning.
func NewReader(f Format) *Reader {
	r := &Reader{format: f, Hide: strings.Clone}
	switch f {
	case Claude:
		r.event = (&claude{Reader: r, seen: map[string]work.Usage{}}).event
	case Codex:
		r.event = r.codex
	case Gemini:
		r.event = r.gemini
	case OpenCode:
		r.event = (&openCode{Reader: r}).event
	case Antigravity:
		r.event = r.antigravity
	default:
		r.event = (&lines{Reader: r, claude: claude{Reader: r, seen: map[string]work.Usage{}}}).event
	}
	return r
}

// Write implements io.Writer.
func (r *Reader) Write(p []byte) (int, error) {
	n := len(p)
	for len(p) > 0 {
		if len(r.line) == 0 {
			if p = bytes.TrimLeft(p, "\x00"); len(p) == 0 { // what was cut out of a long log
				break
			}
		}
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		if r.line = append(r.line, line...); len(r.line) > lineMax {
			r.keep(r.line)
			r.line, r.long = r.line[:0], true
		}
		if ended {
			r.endLine()
		}
		p = rest
	}
	return n, nil
}

// Steps are those since the last call. Their time is the caller's to set.
func (r *Reader) Steps() []work.Step {
	out := r.steps
	r.steps = nil
	return out
}

// Usage returns what the run has used so far, as far as its output says.
func (r *Reader) Usage() work.Usage { return r.out.Usage }

// Ended reports whether the tool has said that it has done its work, or given up.
func (r *Reader) Ended() bool { return r.ended }

// Hopeless reports whether the tool tries again and again what cannot succeed, before a model
// has said its first word: until then no agent was at work that could have printed that.
func (r *Reader) Hopeless() bool { return r.hopeless && !r.found }

// Worked reports whether a model has said or done something.
func (r *Reader) Worked() bool { return r.worked }

// Close ends the output; see Parse. Of formats with a closing event an output without one
// has no result, whatever words it has.
func (r *Reader) Close() (Output, bool) {
	if len(r.line) > 0 || r.long {
		r.endLine()
	}
	r.flush()
	if !r.found {
		steps := r.steps
		values(r.text, func(raw []byte) {
			var list []json.RawMessage
			if json.Unmarshal(raw, &list) != nil {
				list = []json.RawMessage{raw}
			}
			for _, one := range list {
				r.event(bytes.TrimSpace(one))
			}
		})
		r.steps = steps // of what is printed at the end as one value
	}
	out := r.out
	if !r.found && out.Summary == "" {
		text := r.Hide(string(r.text)) // before it is cut
		out.Summary = strings.TrimSpace(text[max(0, len(text)-summaryMax):])
	}
	return out, r.found || r.format == Any
}

func (r *Reader) endLine() {
	line := bytes.TrimSpace(r.line)
	if r.long || len(line) < 2 || line[0] != '{' || !json.Valid(line) || !r.event(line) {
		r.keep(append(r.line, '\n'))
		if r.format == Any && !r.long {
			r.emit(work.Step{Kind: work.StepText, Text: string(line)})
		}
	}
	r.line, r.long = r.line[:0], false
}

// keep adds to the end of what was no event.
func (r *Reader) keep(p []byte) {
	p = p[max(0, len(p)-textMax):]
	if r.text = append(r.text, p...); len(r.text) > 2*textMax {
		r.text = append(r.text[:0], r.text[len(r.text)-textMax:]...)
	}
}

// emit adds a step, without what does not belong into it.
func (r *Reader) emit(s work.Step) {
	r.worked = r.worked || s.Kind != work.StepUsage
	if len(r.steps) == pendingMax {
		return
	}
	s.Text, s.Tool, s.Path = r.clean(s.Text, stepMax), r.clean(s.Tool, nameMax), r.clean(s.Path, nameMax)
	if s.Text != "" || s.Tool != "" || s.Path != "" || s.Usage != nil {
		r.steps = append(r.steps, s)
	}
}

func (r *Reader) clean(s string, n int) string {
	s = Plain(s[:min(len(s), lineMax/4)])
	return Clip(r.Hide(s), n) // half a secret is not found
}

// say is words of the agent: its last ones are the summary. More means that the next event
// may go on with them.
func (r *Reader) say(text string, more bool) {
	if len(r.said) < textMax {
		r.said = append(r.said, text...)
	}
	if !more {
		r.flush()
	}
}

// flush ends words that were said.
func (r *Reader) flush() {
	if len(r.said) > 0 {
		r.out.Summary = string(r.said)
		r.emit(work.Step{Kind: work.StepText, Text: r.out.Summary})
		r.said = r.said[:0]
	}
}

// call is a tool that the agent calls. One that changes a file of the checkout is a step of
// that file.
func (r *Reader) call(tool string, input json.RawMessage) {
	r.flush()
	s := work.Step{Kind: work.StepTool, Tool: tool, Text: brief(input)}
	if name := changed(tool, input); name != "" {
		s = r.file(tool, name)
	}
	r.emit(s)
}

// file is a step of a changed file. Of one outside the checkout it is the tool's.
func (r *Reader) file(tool, name string) work.Step {
	if path, ok := inside(r.Dir, name); ok {
		return work.Step{Kind: work.StepFile, Tool: tool, Path: path}
	}
	return work.Step{Kind: work.StepTool, Tool: tool, Text: name}
}

// used takes what the run has used so far, and reports a change.
func (r *Reader) used(u work.Usage) {
	before := r.out.Usage
	u.Model = cmp.Or(u.Model, before.Model)
	if r.out.Usage = u; u != before && u != (work.Usage{Model: u.Model}) {
		r.emit(work.Step{Kind: work.StepUsage, Usage: &u})
	}
}

// end is the result.
func (r *Reader) end(failed bool, reason string) {
	r.flush()
	r.found, r.ended, r.out.Failed = true, true, failed
	if reason != "" {
		r.out.Reason = reason
	}
}
