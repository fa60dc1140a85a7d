package agentout

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// calls writes lines of the protocol: each word is a call and its result, a small letter is an error, + a changed file.
func calls(words string) string {
	var out strings.Builder
	for _, w := range strings.Fields(words) {
		call, result, _ := strings.Cut(w, "/")
		switch {
		case w == "+":
			out.WriteString(`{"type":"file","path":"a.go"}` + "\n")
		case strings.ToLower(w) == w:
			fmt.Fprintf(&out, `{"type":"tool","tool":"bash","text":%q,"error":"%s: permission denied by the sandbox"}`+"\n", call, result)
		default:
			fmt.Fprintf(&out, `{"type":"tool","tool":"bash","text":%q,"result":"result %s"}`+"\n", call, result)
		}
	}
	return out.String()
}

// What is a repetition, and what is not.
func TestRepeats(t *testing.T) {
	again := func(n int, words string) string { return strings.Repeat(words+" ", n) }
	const same, failing, cycle = `8 of its last %d calls were bash "A", each with the same result`,
		`8 of its last 8 calls ended with the same error, "x: permission denied by the sandbox"`,
		`its last 24 calls were these %d in turn, each with the same result: bash "A"; bash "B"`
	for name, c := range map[string]struct{ out, want string }{
		"the same call":                 {calls(again(8, "A/1")), fmt.Sprintf(same, 8)},
		"with others between":           {calls("A/1 B/1 A/1 C/1 A/1 D/1 A/1 E/1 A/1 A/1 A/1 A/1"), fmt.Sprintf(same, 12)},
		"seven":                         {calls(again(7, "A/1")), ""},
		"among more others":             {calls(again(8, "A/1 B/1") + "C/1 D/1"), ""},
		"long ago":                      {calls(again(8, "A/1") + "B/1 C/1 D/1 E/1 F/1"), ""},
		"other results":                 {calls("A/1 A/2 A/3 A/4 A/5 A/6 A/7 A/8 A/9 A/10 A/11 A/12"), ""},
		"results that took other times": {calls("A/1.5s A/2s A/31ms A/4s A/5s A/6s A/7s A/8s"), fmt.Sprintf(same, 8)},
		"a file was changed":            {calls(again(7, "A/1") + "+ " + again(7, "A/1")), ""},
		"other calls, the same error":   {calls("a/x b/x c/x d/x e/x f/x g/x h/x"), failing},
		"other calls, other errors":     {calls("a/a b/b c/c d/d e/e f/f g/g h/h i/i j/j k/k l/l"), ""},
		"other calls, the same result":  {calls("A/1 B/1 C/1 D/1 E/1 F/1 G/1 H/1 I/1 J/1 K/1 L/1"), ""},
		"errors that say next to nothing": {
			strings.ReplaceAll(calls("a/x b/x c/x d/x e/x f/x g/x h/x"), " permission denied by the sandbox", " exit 1"), "",
		},
		"a cycle":            {calls(again(12, "A/1 B/1")), fmt.Sprintf(cycle, 2)},
		"a cycle of three":   {calls(again(8, "A/1 B/1 C/1")), fmt.Sprintf(cycle, 3) + `; bash "C"`},
		"a cycle of four":    {calls(again(6, "A/1 B/1 C/1 D/1")), ""},
		"a cycle, not long":  {calls(again(11, "A/1 B/1")), ""},
		"it waits":           {strings.ReplaceAll(calls(again(12, "A/1")), `"A"`, `"sleep 30; A"`), ""},
		"it waits in vain":   {strings.ReplaceAll(calls(again(12, "a/x")), `"a"`, `"curl --retry; sleep 3"`), ""},
		"it says no results": {strings.Repeat(`{"type":"tool","tool":"bash","text":"A"}`+"\n", 20), ""},
	} {
		r := NewReader(Any)
		_, _ = r.Write([]byte(c.out))
		got := r.Repeats()
		require.Equal(t, c.want != "", got.Sure, "%s: %+v", name, got)
		if c.want != "" {
			require.Equal(t, c.want, got.Words, name)
		}
	}
}

// recorded are the outputs of tools, by the beginning of their names.
func recorded(t *testing.T) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.*")
	require.NoError(t, err)
	out := map[string][]byte{}
	for _, file := range files {
		if filepath.Ext(file) != ".md" {
			out[filepath.Base(file)], err = os.ReadFile(file)
			require.NoError(t, err)
		}
	}
	require.Greater(t, len(out), 25)
	return out
}

func formatOf(file string) Format {
	format, _, _ := strings.Cut(file, "_")
	format, _, _ = strings.Cut(format, ".")
	return Format(format)
}

// Of what tools have printed only the runs in a loop are repetitions; and each of the others is one once its own calls and
// their results come again and again.
func TestRecordedRepetitions(t *testing.T) {
	for file, body := range recorded(t) {
		r, sure, lines := NewReader(formatOf(file)), 0, bytes.SplitAfter(body, []byte("\n"))
		for _, line := range lines {
			_, _ = r.Write(line)
			if r.Repeats().Sure {
				sure++
			}
		}
		require.Equal(t, strings.Contains(file, "_loop."), sure > 0, "%s: %+v", file, r.Repeats())
		if !strings.Contains(file, "_works.") {
			continue
		}
		var loop []byte
		for _, line := range lines {
			if bytes.Contains(line, []byte("git commit -qm")) || bytes.Contains(line, []byte("tool_result")) {
				loop = append(loop, line...)
			}
		}
		r = NewReader(formatOf(file))
		_, _ = r.Write(bytes.Repeat(loop, repeatMax))
		require.True(t, r.Repeats().Sure, "%s: %+v", file, r.Repeats())
		require.Contains(t, r.Repeats().Words, "git add made.txt && git commit")
	}
}
