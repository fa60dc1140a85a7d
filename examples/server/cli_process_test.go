package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// alike makes what two transcripts differ in the same.
func alike(said string) string {
	for _, one := range []struct{ pattern, with string }{
		{`\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(\.\d+)?Z`, "2031-05-04 08:00:00Z"}, {`\b\d\d:\d\d:\d\d\b`, "08:00:00"}, {`\b\d\d:\d\d UTC`, "08:00 UTC"},
		{`\b[0-9a-f]{12,40}\b`, "c0ffee123456"}, {`\b\d+(\.\d+)?m?s\b`, "1s"}, {`127\.0\.0\.1:[1-9]\d{3,}`, "127.0.0.1:8080"}, {`\b[a-z2-7]{26}\b`, "kq257g22uml7vumv4evn4vrao7"}, {`(?m) +`, " "}, {`(?m) $`, ""},
	} {
		said = regexp.MustCompile(one.pattern).ReplaceAllString(said, one.with)
	}
	return said
}

// Each command of docs/cli.md prints what stands below it; UPDATE_TRANSCRIPT=1 writes it there.
func TestCommandsOfTheManual(t *testing.T) {
	if testing.Short() {
		t.Skip("make long plays it")
	}
	t.Parallel()
	const page = "../../docs/cli.md"
	body := contents(t, page)
	r := newNewcomer(t).read("ORCH_POLL=100ms", "SIGNALBOX_NAME=kim")
	for _, line := range []string{
		"mkdir app; cd app; git init --quiet --initial-branch=main; git commit --quiet --allow-empty -m Begin",
		"signalbox init --prefix APP --ci true --agent rehearse --no-rehearse >init.log",
	} {
		r.types(line)
	}
	r.serves("signalbox serve")
	r.parts.dir, r.data = r.dir+"/app", r.dir+"/app/data"
	desk := r.desk()
	var id string
	stands := func(at stage.Status) {
		r.until("the card gets to "+string(at), func() bool { return story(t, desk, id).Column == string(at) && !owed(r.task(id)) })
	}
	persons := map[string]func(){
		"waits until it is held": func() {
			list, err := desk.Cards(r.Context(), cards.Filter{})
			require.NoError(r, err)
			id = list[0].ID
			r.until("it is held", func() bool {
				var x explain.Explanation
				return r.get(fmt.Sprintf("/tasks/%d/explain", r.task(id).ID), &x) && strings.Contains(x.Summary, "paused") && len(x.Owed) == 0
			})
		},
		"waits for the review": func() { stands(stage.StatusInReview) },
		"waits until it is refused": func() {
			r.until("the card says why", func() bool {
				list, err := desk.Cards(r.Context(), cards.Filter{Number: 2})
				require.NoError(r, err)
				return len(story(t, desk, list[0].ID).Comments) > 0
			})
		},
		"waits for the end": func() { stands(stage.StatusDone) },
	}
	var told, now []string
	inside, commands := false, 0
	for line := range strings.Lines(string(body)) {
		line = strings.TrimSuffix(line, "\n")
		command, typed := strings.CutPrefix(line, "$ ")
		switch person, is := strings.CutPrefix(line, "<!-- person: "); {
		case strings.HasPrefix(line, "```"):
			inside = line == "```console"
		case is:
			persons[strings.TrimSuffix(person, " -->")]()
		case inside && typed:
			commands++
			told, now = append(told, line), append(now, line)
			if said := strings.TrimSuffix(r.types(command), "\n"); said != "" {
				now = append(now, strings.Split(said, "\n")...)
			}
			continue
		case inside:
			told = append(told, line)
			continue
		}
		told, now = append(told, line), append(now, line)
	}
	require.Greater(t, commands, 15)
	if os.Getenv("UPDATE_TRANSCRIPT") != "" {
		require.NoError(t, os.WriteFile(page, []byte(strings.Join(now, "\n")+"\n"), 0o644))
		return
	}
	require.Equal(t, alike(strings.Join(told, "\n")), alike(strings.Join(now, "\n")))
}
