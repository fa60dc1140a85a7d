package stage_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/tools/txtar"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

var update = flag.Bool("update", false, "rewrite the golden traces")

var t0 = time.Date(2026, 5, 4, 9, 0, 0, 0, time.UTC)

// TestTraces plays each story in testdata. A line that begins with ">" is an
// event, and the indented lines below it are what was decided; a line that
// begins with "." is an event on the way there, played without a word.
func TestTraces(t *testing.T) {
	files, err := filepath.Glob("testdata/*.txtar")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(strings.TrimSuffix(filepath.Base(file), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(file)
			require.NoError(t, err)
			for i := range archive.Files {
				got := play(t, string(archive.Files[i].Data))
				if *update {
					archive.Files[i].Data = []byte(got)
					continue
				}
				require.Equal(t, string(archive.Files[i].Data), got, "story %q", archive.Files[i].Name)
			}
			if *update {
				require.NoError(t, os.WriteFile(file, txtar.Format(archive), 0o644))
			}
		})
	}
}

// play runs the events of a story and returns it with the decisions.
func play(t *testing.T, story string) string {
	t.Helper()
	p := stage.Default()
	p.Lanes = []stage.Lane{{Name: "fix", Stages: []stage.Stage{stage.Development, stage.Review, stage.Deploy}}}
	m, err := stage.New(p, stage.Options{})
	require.NoError(t, err)
	var out bytes.Buffer
	var s stage.State
	n := 0
	for line := range strings.Lines(story) {
		line = strings.TrimRight(line, "\n")
		if !strings.HasPrefix(line, ">") && !strings.HasPrefix(line, ".") {
			continue
		}
		fmt.Fprintln(&out, line)
		n++
		e := parseEvent(t, line[1:], s)
		e.At = t0.Add(time.Duration(n) * time.Minute)
		d := m.Decide(s, e)
		if line[0] == '>' {
			show(&out, d)
		}
		s = d.State
	}
	return out.String()
}

// parseEvent reads "trigger key=value key="quoted value" flag".
func parseEvent(t *testing.T, line string, s stage.State) stage.Event {
	t.Helper()
	words := split(line)
	require.NotEmpty(t, words)
	e := stage.Event{On: stage.Trigger(words[0]), Run: s.Run}
	if strings.HasPrefix(words[0], "agent_") {
		e.Agent = &stage.Report{Role: s.Active, Model: "sonnet-4-5", Input: 1200, CacheRead: 8000, Output: 900, MicroUSD: 42_000}
	}
	for _, w := range words[1:] {
		key, value, _ := strings.Cut(w, "=")
		switch key {
		case "gate":
			e.Verdict.Outcome = stage.Outcome(value)
		case "why":
			e.Verdict.Reason = value
		case "run":
			run, err := strconv.ParseInt(value, 10, 64)
			require.NoError(t, err)
			e.Run = run
		case "sha":
			e.SHA = value
		case "pr":
			e.PR, e.URL = 7, "https://git.example/pr/7"
		case "reason":
			e.Reason = value
			if e.Agent != nil {
				e.Agent.Reason = value
			}
		case "hindered":
			e.Agent.Hindered = &stage.Hindrance{Agent: value}
		case "caveat":
			e.Agent.Caveat = value
		case "questions":
			e.Agent.Questions = value
		case "self":
			e.SelfHosting = true
		case "ci_none":
			e.CINone = true
		case "no_deploy":
			e.NoDeploy = true
		case "lane":
			e.Lane = value
		case "final":
			e.Final = true
		case "pushed":
			e.Push = &stage.Push{SHA: value, Commits: 2, Authors: []string{"Ann Lee", "Bob"}}
		case "by":
			e.By = stage.Principal{Kind: stage.KindPerson, ID: value}
		case "conflicts":
			e.Push.Conflicts, e.Push.Left = []string{value}, "refs/signalbox/left/APP-1/1"
		default:
			t.Fatalf("unknown word %q", w)
		}
	}
	return e
}

func split(line string) []string {
	var words []string
	for line = strings.TrimSpace(line); line != ""; line = strings.TrimSpace(line) {
		quoted := false
		end := strings.IndexFunc(line, func(r rune) bool {
			if r == '"' {
				quoted = !quoted
			}
			return r == ' ' && !quoted
		})
		if end < 0 {
			end = len(line)
		}
		words = append(words, strings.ReplaceAll(line[:end], `"`, ""))
		line = line[end:]
	}
	return words
}

func show(out *bytes.Buffer, d stage.Decision) {
	s := d.State
	if !d.Moved {
		fmt.Fprintf(out, "    unchanged at %q\n", s.Stage)
	} else {
		fmt.Fprintf(out, "    %s\n", d.Edge)
		fmt.Fprintf(out, "    stage %s%s, run %d%s%s%s\n", s.Stage, opt(" phase ", string(s.Phase)), s.Run,
			opt(", active ", string(s.Active)), opt(", holds for ", string(s.Hold)), counts(s))
	}
	if d.Cancel {
		fmt.Fprintln(out, "    cancel the active job")
	}
	if d.Launch != nil {
		fmt.Fprintf(out, "    launch %s for %s%s%s\n", d.Launch.Role, d.Launch.Stage, opt(", head ", d.Launch.Head), opt(", feedback: ", d.Launch.Feedback))
	}
	for _, e := range d.Effects {
		showEffect(out, e)
	}
	for _, n := range d.Notes {
		fmt.Fprintf(out, "    because %s\n", n)
	}
}

func showEffect(out *bytes.Buffer, e stage.Effect) {
	switch e.Kind {
	case stage.EffectStatus:
		fmt.Fprintf(out, "    board %s%s\n", e.Status, opt(" over ", fmt.Sprint(e.Replaces)))
	case stage.EffectComment:
		fmt.Fprintf(out, "    comment by %s: %s\n", e.Author, strings.ReplaceAll(e.Text, "\n", " / "))
		if e.Note != "" {
			fmt.Fprintf(out, "        with %s\n", strings.Join(append(slices.Clone(e.Files), e.Note), ", "))
		}
	case stage.EffectNotify:
		fmt.Fprintf(out, "    notify: %s\n", e.Text)
	case stage.EffectPublish:
		fmt.Fprintf(out, "    publish %s%s\n", e.SHA, opt(" over ", e.Expected))
	case stage.EffectAskCI:
		fmt.Fprintf(out, "    look at CI again in %s\n", e.Delay)
	default:
		fmt.Fprintf(out, "    %s%s\n", e.Kind, opt(" ", e.SHA))
	}
}

func opt(prefix, s string) string {
	if s == "" {
		return ""
	}
	return prefix + s
}

func counts(s stage.State) (out string) {
	if s.Failures > 0 {
		out = fmt.Sprintf(", failures %d", s.Failures)
	}
	if s.Retries > 0 {
		out += fmt.Sprintf(", retries %d", s.Retries)
	}
	return out
}
