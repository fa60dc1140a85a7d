package gates_test

import (
	"context"
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

func say(name string, v gates.Verdict) gates.Gate {
	return gates.Func(name, func(context.Context, gates.Facts) gates.Verdict { return v })
}

func TestRegistryRefusesNamelessAndTwins(t *testing.T) {
	_, err := gates.NewRegistry(say("", gates.Greenf("")))
	require.ErrorContains(t, err, "gate 1 has no name")
	_, err = gates.NewRegistry(say("a", gates.Greenf("")), say("a", gates.Greenf("")))
	require.ErrorContains(t, err, `"a"`)
}

func TestJudgeCombines(t *testing.T) {
	retryable := gates.Errorf("no answer")
	retryable.Retryable = true
	r, err := gates.NewRegistry(
		say("green", gates.Greenf("fine")), say("red", gates.Redf("bad")), say("defer", gates.Deferf("later")),
		say("error", gates.Errorf("broken")), say("retry", retryable), say("silent", gates.Verdict{}),
		gates.Func("panics", func(context.Context, gates.Facts) gates.Verdict { panic("oh") }),
	)
	require.NoError(t, err)
	for _, c := range []struct {
		names     string
		want      gates.Outcome
		reason    string
		retryable bool
	}{
		{"", gates.Green, "there is no gate here", false},
		{"green", gates.Green, "fine", false},
		{"green green", gates.Green, "all 2 gates are green", false},
		{"green red defer", gates.Red, "bad", false},
		{"defer green", gates.Defer, "later", false},
		{"red error", gates.Error, "broken", false},
		{"green retry", gates.Error, "no answer", true},
		{"error retry", gates.Error, "error: broken; retry: no answer", false},
		{"silent", gates.Error, "gave no verdict", false},
		{"panics", gates.Error, "oh", false},
		{"nobody", gates.Error, "no gate of that name", false},
	} {
		v := r.Judge(t.Context(), gates.Facts{SHA: "abc"}, strings.Fields(c.names)...)
		require.Equal(t, c.want, v.Outcome, c.names)
		require.Contains(t, v.Reason, c.reason, c.names)
		require.Equal(t, c.retryable, v.Retryable, c.names)
		require.Equal(t, c.want == gates.Green, v.Passed(), c.names)
	}
	require.Len(t, r.Names(), 7)
	require.True(t, r.Has("green"))
	require.False(t, r.Has("nobody"))
}

func TestVerdictFillsInWhatTheGateLeftOut(t *testing.T) {
	r, err := gates.NewRegistry(say("g", gates.Greenf("fine")))
	require.NoError(t, err)
	v := r.Judge(t.Context(), gates.Facts{SHA: "abc"}, "g")
	require.Equal(t, "g", v.Check)
	require.Equal(t, "abc", v.SHA)
}

func TestOutcomeText(t *testing.T) {
	require.Equal(t, "error", gates.Outcome(77).String())
	require.Equal(t, "error", gates.Outcome(-1).String())
	for _, o := range []gates.Outcome{gates.Error, gates.Green, gates.Red, gates.Defer} {
		body, err := json.Marshal(o)
		require.NoError(t, err)
		var back gates.Outcome
		require.NoError(t, json.Unmarshal(body, &back))
		require.Equal(t, o, back)
	}
	var o gates.Outcome
	require.ErrorContains(t, o.UnmarshalText([]byte("blue")), `"blue"`)
}

func TestDoubles(t *testing.T) {
	checks, err := gates.StaticCI{"a": {{Name: "x"}}}.Checks(t.Context(), "", "", "a")
	require.NoError(t, err)
	require.Len(t, checks, 1)
	reviews, err := gates.StaticReviews{{Author: "x"}}.Reviews(t.Context(), "", "", "")
	require.NoError(t, err)
	require.Equal(t, []githost.Review{{Author: "x"}}, reviews)
	exit, stderr, err := gates.StaticCommands{Exit: 3, Stderr: "e"}.RunCheck(t.Context(), nil, gates.Facts{})
	require.NoError(t, err)
	require.Equal(t, 3, exit)
	require.Equal(t, "e", stderr)
}

type full struct{ left int }

func (f *full) Write(p []byte) (int, error) {
	if f.left--; f.left < 0 {
		return 0, errors.New("full")
	}
	return len(p), nil
}

func TestPrintReportsWriteErrors(t *testing.T) {
	v := gates.Combine("", gates.Greenf("a").With(gates.Evidence{Kind: "file", Name: "x", OK: true}), gates.Redf("b"))
	for n := range 4 {
		require.Error(t, gates.Print(&full{left: n}, v), "%d", n)
	}
	require.NoError(t, gates.Print(&full{left: 4}, v))
}

func FuzzReport(f *testing.F) {
	f.Add("---\nverdict: passed\nsha: abc\n---\n")
	f.Fuzz(func(t *testing.T, body string) {
		r := gates.ParseReport(stage.Tester, 1, body)
		if (r.Problem == "") != (r.Verdict != "" && r.SHA != "") {
			t.Fatalf("%q is read as %+v", body, r)
		}
	})
}
