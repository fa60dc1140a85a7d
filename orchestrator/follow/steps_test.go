package follow_test

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func line(t *testing.T, s work.Step) string {
	t.Helper()
	text, err := json.Marshal(s)
	require.NoError(t, err)
	return string(text) + "\n"
}

func says(text string) work.Step { return work.Step{Kind: work.StepText, Text: text} }

// A reader that goes on where it has stopped gets every step once, wherever the stream ended
// when it looked.
func TestReadGoesOn(t *testing.T) {
	t.Parallel()
	whole, want := "", []string(nil)
	for i := range 5 {
		want = append(want, fmt.Sprintf("Привет %d", i))
		whole += line(t, says(want[i]))
	}
	var got []string
	var at int64
	for end := range len(whole) {
		lines, next, err := follow.Read(strings.NewReader(whole[:end+1]), at, 2, false)
		require.NoError(t, err)
		for _, l := range lines {
			require.LessOrEqual(t, l.Next, next)
			require.Equal(t, whole[l.From:l.Next], line(t, l.Step))
			got = append(got, l.Text)
		}
		at = next
	}
	require.Equal(t, want, got)
	require.EqualValues(t, len(whole), at)
	lines, next, err := follow.Read(strings.NewReader(whole), at+100, 2, true)
	require.NoError(t, err)
	require.Empty(t, lines)
	require.Equal(t, at+100, next, "behind the end is nothing")
}

// What is no step is left out, and keeps nobody from what follows.
func TestReadSkipsWhatIsNoStep(t *testing.T) {
	t.Parallel()
	good := line(t, says("good"))
	for name, bad := range map[string]string{
		"no JSON": "{\"kind\":\n", "an empty line": "\n", "null": "null\n", "a list": "[]\n", "no kind": "{}\n", "another kind": `{"kind":"root"}` + "\n",
		"a wrong time": `{"kind":"text","at":"soon"}` + "\n", "zero bytes": strings.Repeat("\x00", 300<<10) + "\n", "a long line": line(t, says(strings.Repeat("x", 200<<10))),
		"more than is read at a time": strings.Repeat("y", 5<<20) + "\n",
	} {
		stream := good + bad + good
		var got []string
		for at, before := int64(0), int64(-1); before < at; {
			before = at
			lines, next, err := follow.Read(strings.NewReader(stream), at, 10, false)
			require.NoError(t, err)
			for _, l := range lines {
				got = append(got, l.Text)
			}
			at = next
		}
		require.Equal(t, []string{"good", "good"}, got, name)
	}
	stream := good + strings.TrimSuffix(good, "\n")
	lines, _, err := follow.Read(strings.NewReader(stream), 0, 10, false)
	require.NoError(t, err)
	require.Len(t, lines, 1, "the other is not written whole")
	lines, next, err := follow.Read(strings.NewReader(stream), 0, 10, true)
	require.NoError(t, err)
	require.Len(t, lines, 2, "there will be no more of it")
	require.EqualValues(t, len(stream), next)
}

// What a step shows is bounded and steers nothing.
func TestStepsAreClean(t *testing.T) {
	t.Parallel()
	evil := "\x1b[1;31mred\x1b[0m \x1b]0;title\x07\x1b]8;; \u202eturned\u2066 \x00\rok\nsecond\tline " + strings.Repeat("й", 5000)
	read := func(s work.Step) work.Step {
		lines, _, err := follow.Read(strings.NewReader(line(t, s)), 0, 1, true)
		require.NoError(t, err)
		require.Len(t, lines, 1)
		return lines[0].Step
	}
	text := read(says(evil)).Text
	require.Contains(t, text, "red ]8;; turned ok\nsecond\tline й")
	require.Len(t, []rune(text), 4001)
	call := read(work.Step{Kind: work.StepTool, Tool: evil, Text: evil, Path: evil, Usage: &work.Usage{Model: evil}})
	for _, text := range []string{call.Tool, call.Text, call.Path, call.Usage.Model} {
		require.Contains(t, text, "turned ok second line й")
		require.Len(t, []rune(text), 501)
	}
}

func TestTail(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	for i := range 20_000 {
		b.WriteString(line(t, says(fmt.Sprint(i, strings.Repeat(" long", 20)))))
	}
	lines, next, cut, err := follow.Tail(strings.NewReader(b.String()), 300, false)
	require.NoError(t, err)
	require.True(t, cut)
	require.Len(t, lines, 300)
	require.True(t, strings.HasPrefix(lines[299].Text, "19999 "))
	require.EqualValues(t, b.Len(), next)
	lines, _, cut, err = follow.Tail(strings.NewReader(line(t, says("one"))), 300, false)
	require.NoError(t, err)
	require.False(t, cut)
	require.Len(t, lines, 1)
}

func Example() {
	stream := strings.NewReader(`{"at":"2026-01-02T15:04:05Z","kind":"text","text":"I begin."}
this is no step
{"at":"2026-01-02T15:04:06Z","kind":"tool","tool":"Read","text":"main.go"}
{"at":"2026-01-02T15:04:07Z","kind":"te`)
	lines, next, err := follow.Read(stream, 0, 100, false)
	for l := range slices.Values(lines) {
		fmt.Println(l.Kind, l.Tool, l.Text)
	}
	fmt.Println(next, err)
	// Output:
	// text  I begin.
	// tool Read main.go
	// 153 <nil>
}
