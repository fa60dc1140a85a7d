package follow

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"strings"
	"unicode"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Limits of a stream of steps, in bytes.
const (
	lineMax = 128 << 10 // a longer line is no step
	readMax = 4 << 20   // read at a time
	tailMax = 1 << 20   // of the end, in which Tail looks
)

// Limits of what a step shows, in characters.
const (
	wordsMax = 4000 // of the agent's words
	callMax  = 500  // of anything else
)

// Line is a step with its place in the stream, in bytes: it begins at From, and the line
// behind it at Next.
type Line struct {
	work.Step
	From, Next int64
}

// Read reads steps (limit at most) from an offset on, and returns where to go on. A line
// that is not written whole yet stays for the next time, unless the stream has ended. Lines
// that are no steps, and those of more than 128 KiB, are skipped. An offset behind the
// end is no error: nothing is there.
func Read(r io.ReadSeeker, from int64, limit int, ended bool) (lines []Line, next int64, err error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil || from >= size {
		return nil, from, err
	}
	if _, err = r.Seek(from, io.SeekStart); err != nil {
		return nil, from, err
	}
	left := min(readMax, size-from)
	last := ended && from+left == size // a line without an end is one
	in := bufio.NewReaderSize(io.LimitReader(r, left), int(min(lineMax, left+1)))
	next = from
	for len(lines) < limit {
		line, n, err := readLine(in)
		if err != nil && !errors.Is(err, io.EOF) {
			return lines, next, err
		}
		over := err != nil
		if over && n <= lineMax && !last {
			return lines, next, nil
		}
		if step, ok := parse(line); ok {
			lines = append(lines, Line{Step: step, From: next, Next: next + n})
		}
		if next += n; over {
			return lines, next, nil
		}
	}
	return lines, next, nil
}

// readLine reads a line of n bytes; of one that is too long it returns none of them.
func readLine(in *bufio.Reader) (line []byte, n int64, err error) {
	line, err = in.ReadSlice('\n')
	n = int64(len(line))
	for errors.Is(err, bufio.ErrBufferFull) {
		var more []byte
		more, err = in.ReadSlice('\n')
		line, n = nil, n+int64(len(more))
	}
	return line, n, err
}

// Tail reads the last steps of a stream, limit at most; cut reports that there are earlier
// ones.
func Tail(r io.ReadSeeker, limit int, ended bool) (lines []Line, next int64, cut bool, err error) {
	size, err := r.Seek(0, io.SeekEnd)
	if err != nil {
		return nil, 0, false, err
	}
	next = max(0, size-tailMax) // the rest of a line there is no step
	cut = next > 0
	for before := int64(-1); before < next; {
		before = next
		var more []Line
		if more, next, err = Read(r, next, limit, ended); err != nil {
			return lines, next, cut, err
		}
		if lines = append(lines, more...); len(lines) > limit {
			lines, cut = lines[len(lines)-limit:], true
		}
	}
	return lines, next, cut, nil
}

func parse(line []byte) (work.Step, bool) {
	var s work.Step
	if json.Unmarshal(line, &s) != nil {
		return s, false
	}
	switch s.Kind {
	case work.StepText, work.StepNote:
		s.Text = Clean(s.Text, wordsMax)
	case work.StepTool, work.StepFile, work.StepUsage:
		s.Text = oneLine(s.Text)
	default:
		return s, false
	}
	s.Tool, s.Path = oneLine(s.Tool), oneLine(s.Path)
	if s.Usage != nil {
		s.Usage.Model = oneLine(s.Usage.Model)
	}
	return s, true
}

func oneLine(text string) string { return strings.Join(strings.Fields(Clean(text, callMax)), " ") }

var escapes = regexp.MustCompile(`\x1b\[[0-9;?]*[A-Za-z]|\x1b\][^\x07]*\x07`)

// Plain is text of a terminal without what colours it, zero bytes and broken characters.
func Plain(text []byte) []byte {
	text = escapes.ReplaceAll(bytes.ReplaceAll(text, []byte{0}, nil), nil)
	return bytes.ToValidUTF8(text, []byte("\uFFFD"))
}

// Clean is a text of an agent as it can be shown: Plain, without control characters other
// than line ends and tabs, and without those that turn the direction of what
// follows; limit characters at most.
func Clean(text string, limit int) string {
	text = strings.Map(func(r rune) rune {
		if r != '\n' && r != '\t' && unicode.In(r, unicode.Cc, unicode.Bidi_Control) {
			return -1
		}
		return r
	}, string(Plain([]byte(text))))
	n := 0
	for at := range text {
		if n++; n > limit {
			return text[:at] + "…"
		}
	}
	return text
}
