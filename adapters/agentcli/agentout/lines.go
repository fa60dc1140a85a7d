package agentout

import (
	"cmp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// linesEvent is a line of the protocol of the package doc.
type linesEvent struct {
	Type, Text, Tool, Path, Model, Session, Error, Trouble, Until string

	Input       int64   `json:"input_tokens"`
	Output      int64   `json:"output_tokens"`
	CacheRead   int64   `json:"cache_read_input_tokens"`
	CacheCreate int64   `json:"cache_creation_input_tokens"`
	Cost        float64 `json:"cost_usd"`
	Subtype     *string // of a result: it is Claude-shaped
	Result      *string // of a tool; "error" is that of one that has failed
}

// lines reads the protocol, and a result like Claude Code's.
type lines struct {
	*Reader
	claude claude
}

func (l *lines) event(raw []byte) bool {
	var e linesEvent
	if !decode(raw, &e) {
		return false
	}
	switch e.Type {
	case "text":
		l.say(e.Text, false)
	case "tool":
		l.emit(work.Step{Kind: work.StepTool, Tool: e.Tool, Text: strings.Join(strings.Fields(e.Text), " ")})
		if e.Result != nil || e.Error != "" {
			l.turn(l.begun(e.Tool, command(e.Text)), cmp.Or(e.Error, *cmp.Or(e.Result, &e.Error)), e.Error != "")
		}
	case "file":
		l.emit(l.touched(l.file(e.Tool, e.Path)))
	case "usage":
		l.used(work.Usage{
			Model: ShortModel(e.Model), Input: e.Input, Output: e.Output,
			CacheRead: e.CacheRead, CacheCreate: e.CacheCreate, MicroUSD: MicroUSD(e.Cost),
		})
	case "result":
		if e.Subtype != nil {
			return l.claude.event(raw)
		}
		l.out.Summary, l.out.Session = cmp.Or(e.Text, l.out.Summary), cmp.Or(e.Session, l.out.Session)
		if l.out.Trouble = (work.Trouble{}); e.Error != "" {
			until, _ := time.Parse(time.RFC3339, e.Until) // none
			l.out.Trouble = work.Trouble{Kind: knownTrouble(e.Trouble), Until: until}
		}
		l.end(e.Error != "", e.Error)
	default:
		return l.claude.event(raw)
	}
	return true
}
