package modelgateway

import (
	"bytes"
	"encoding/json"
	"strings"

	"github.com/signalbox-dev/signalbox/adapters/agentcli/agentout"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// eventMax is how much of one event, or of an answer that is no stream, is read, in bytes. A
// longer one counts by its length.
const eventMax = 8 << 20

// tokenBytes is how many bytes count as a token, where nobody has counted.
const tokenBytes = 4

// meter reads the usage out of an answer as it passes. What it holds of the answer is one event,
// or the whole of one that is no stream. It is an io.Writer that never fails.
type meter struct {
	stream bool
	asked  int64      // bytes of the request
	usage  work.Usage // as reported

	words    int64 // bytes of what the model has said
	reported bool  // the usage is the vendor's
	finished bool  // the model has said its last word

	line, event []byte
	long        bool // the event is longer than is read
}

func newMeter(contentType, model string, asked int) *meter {
	return &meter{
		stream: strings.HasPrefix(contentType, "text/event-stream"),
		asked:  int64(asked),
		usage:  work.Usage{Model: agentout.ShortModel(model)},
	}
}

func (m *meter) Write(p []byte) (int, error) {
	n := len(p)
	if !m.stream {
		m.event, m.long = m.add(m.event, p)
		m.words += int64(n)
		return n, nil
	}
	for len(p) > 0 {
		line, rest, ended := bytes.Cut(p, []byte("\n"))
		var long bool
		m.line, long = m.add(m.line, line)
		m.long = m.long || long
		if ended {
			m.endLine()
		}
		p = rest
	}
	return n, nil
}

// add adds to what is held, unless that gets too long.
func (m *meter) add(held, p []byte) ([]byte, bool) {
	if m.long || len(held)+len(p) > eventMax {
		return held[:0], true
	}
	return append(held, p...), false
}

// endLine takes a line of a stream of events; an empty one ends an event.
func (m *meter) endLine() {
	line := bytes.TrimSuffix(m.line, []byte("\r"))
	switch data, is := bytes.CutPrefix(line, []byte("data:")); {
	case is:
		m.event, m.long = m.add(m.event, data)
	case len(line) == 0 && !m.long:
		m.read(m.event)
		fallthrough
	case len(line) == 0:
		m.event, m.long = m.event[:0], false
	}
	m.line = m.line[:0]
}

// goesOn reports whether the model has more to say in this answer.
func (m *meter) goesOn() bool { return m.stream && !m.finished }

// end is the usage of an answer that has ended, or was cut. Of what the vendor did not report
// it is an estimate.
func (m *meter) end() (u work.Usage, estimated bool) {
	if m.stream {
		m.endLine()
		m.line = m.line[:0]
		m.endLine()
	} else if !m.long {
		m.whole()
	}
	u, estimated = m.soFar(), !m.reported || !m.finished
	if estimated && u.Input+u.CacheRead+u.CacheCreate == 0 {
		u.Input = tokens(m.asked)
	}
	return u, estimated
}

func tokens(bytes int64) int64 { return (bytes + tokenBytes - 1) / tokenBytes }

// whole reads an answer that is no stream: an object, or a list of what would be events.
func (m *meter) whole() {
	words := m.words
	var list []json.RawMessage
	if json.Unmarshal(m.event, &list) != nil {
		list = []json.RawMessage{m.event}
	}
	for _, one := range list {
		m.read(one)
	}
	m.words, m.finished = words, true
}

// report is an event, or a whole answer, of any of the vendors: their names do not meet.
type report struct {
	Type         string
	Model        string
	ModelVersion string         // of Gemini
	Message      *report        // of Anthropic's first event
	Response     *report        // of OpenAI's Responses
	Usage        *counts        // of Anthropic and OpenAI
	Metadata     *geminiCounts  `json:"usageMetadata"`
	Delta        delta          // of Anthropic, and of Responses
	Choices      []choice       // of Chat Completions
	Candidates   []geminiAnswer // of Gemini
}

// counts of OpenAI include what was read from the cache, and the reasoning; those of Anthropic
// are disjoint.
type counts struct {
	Input      int64 `json:"input_tokens"`
	Output     int64 `json:"output_tokens"`
	Read       int64 `json:"cache_read_input_tokens"`
	Create     int64 `json:"cache_creation_input_tokens"`
	Prompt     int64 `json:"prompt_tokens"`
	Completion int64 `json:"completion_tokens"`

	InputDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"input_tokens_details"`
	PromptDetails struct {
		CachedTokens int64 `json:"cached_tokens"`
	} `json:"prompt_tokens_details"`
}

type geminiCounts struct {
	Prompt     int64 `json:"promptTokenCount"`
	Cached     int64 `json:"cachedContentTokenCount"`
	Candidates int64 `json:"candidatesTokenCount"`
	Thoughts   int64 `json:"thoughtsTokenCount"`
	Tools      int64 `json:"toolUsePromptTokenCount"`
}

// words holds what a model says, in any of the vendors' forms.
type words struct {
	Text, Thinking, Content, Refusal string

	PartialJSON string `json:"partial_json"`
	Reasoning   string `json:"reasoning_content"`
	Calls       []struct {
		Function struct{ Name, Arguments string }
	} `json:"tool_calls"`
	StopReason *string `json:"stop_reason"`
}

// delta is an object, or of Responses the words themselves.
type delta struct{ words }

// UnmarshalJSON reads both.
func (d *delta) UnmarshalJSON(body []byte) error {
	if len(body) > 0 && body[0] == '"' {
		return json.Unmarshal(body, &d.Text)
	}
	_ = json.Unmarshal(body, &d.words) // what has another form says nothing
	return nil
}

type choice struct {
	Delta  words
	Finish *string `json:"finish_reason"`
}

type geminiAnswer struct {
	Content struct {
		Parts []struct {
			Text string
			Call json.RawMessage `json:"functionCall"`
		}
	}
	Finish string `json:"finishReason"`
}

func (w words) length() int64 {
	n := len(w.Text) + len(w.Thinking) + len(w.Content) + len(w.Refusal) + len(w.PartialJSON) + len(w.Reasoning)
	for _, c := range w.Calls {
		n += len(c.Function.Name) + len(c.Function.Arguments)
	}
	return int64(n)
}

// read takes an event.
func (m *meter) read(event []byte) {
	var r report
	if json.Unmarshal(event, &r) != nil && r.Type == "" && r.Model == "" && r.ModelVersion == "" {
		return // no object, such as [DONE]
	}
	for _, of := range []*report{r.Message, r.Response, &r} {
		if of == nil {
			continue
		}
		m.name(of.Model)
		m.name(of.ModelVersion)
		if u := of.Usage; u != nil {
			m.reported = true
			m.count(work.Usage{
				Input: u.Input + u.Prompt - u.InputDetails.CachedTokens - u.PromptDetails.CachedTokens, Output: u.Output + u.Completion,
				CacheRead: u.Read + u.InputDetails.CachedTokens + u.PromptDetails.CachedTokens, CacheCreate: u.Create,
			})
		}
	}
	if u := r.Metadata; u != nil {
		m.reported = true
		m.count(work.Usage{Input: u.Prompt - u.Cached + u.Tools, Output: u.Candidates + u.Thoughts, CacheRead: u.Cached})
	}
	before := m.words
	m.words += r.Delta.length()
	finished := r.Delta.StopReason != nil || r.Type == "message_stop" ||
		r.Type == "response.completed" || r.Type == "response.incomplete" || r.Type == "response.failed"
	for _, c := range r.Choices {
		m.words += c.Delta.length()
		finished = finished || c.Finish != nil
	}
	for _, c := range r.Candidates {
		for _, p := range c.Content.Parts {
			m.words += int64(len(p.Text) + len(p.Call))
		}
		finished = finished || c.Finish != ""
	}
	m.finished = finished || m.finished && m.words == before // else another choice goes on
}

// soFar returns what the answer has used: until the vendor's own count has come, its words
// count by their length.
func (m *meter) soFar() work.Usage {
	u := m.usage
	if !m.finished || !m.reported {
		u.Output = max(u.Output, tokens(m.words))
	}
	return u
}

func (m *meter) name(model string) {
	if short := agentout.ShortModel(model); short != "" {
		m.usage.Model = short
	}
}

// count takes counts over: each is of the answer so far.
func (m *meter) count(u work.Usage) {
	for into, n := range map[*int64]int64{
		&m.usage.Input:       u.Input,
		&m.usage.Output:      u.Output,
		&m.usage.CacheRead:   u.CacheRead,
		&m.usage.CacheCreate: u.CacheCreate,
	} {
		if n > 0 {
			*into = n
		}
	}
}
