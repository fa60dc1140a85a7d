package main

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// ill is a way in which a neighbour is sick, and what the manual says of it.
type ill struct {
	neighbour string
	kind      fakehttp.Kind
	lane      string // that does not answer; empty: what is refused for good is given up
	play      func(w *world, c ill)

	waits, heals string
}

// illnesses are all of them.
func illnesses() (out []ill) {
	const probe = "by itself, within 30 s of an answer"
	for _, n := range []ill{
		{neighbour: "telegram", lane: "chat", play: wholeLife, waits: "notices and live messages"},
		{neighbour: "plane.comments", lane: "comments", play: wholeLife, waits: "comments; agents begin without people's answers"},
		{neighbour: "plane.status", lane: "board", play: wholeLife, waits: "columns of cards"},
		{neighbour: "plane", lane: "board", play: withoutBoard, waits: "what people do on the board; columns, comments"},
		{neighbour: "github", lane: "host events", play: withoutHost, waits: "CI results, pull requests, merges"},
		{neighbour: "git", lane: "git", play: withoutGit, waits: "the first branch of a card, pushes, what CI says of them"},
	} {
		for _, k := range fakehttp.Kinds() {
			c := n
			c.kind, c.heals = k, probe
			if k == fakehttp.Refuse {
				c.refused()
			}
			out = append(out, c)
		}
	}
	return out
}

// refused sets what differs when a neighbour refuses for good.
func (c *ill) refused() {
	switch c.neighbour {
	case "telegram":
		c.waits, c.heals = "nothing: notices are given up, and logged", "the next message is sent"
	case "plane.comments":
		c.waits, c.heals = "nothing: a comment is given up at its third look", "the next comment is made"
	case "plane.status":
		c.waits, c.heals = "nothing: a column is given up at its third look", "the next column is set"
	case "plane":
		c.waits, c.heals = "what people do on the board; columns and comments are given up", "what people did is acted upon, within 5 min"
	case "github":
		c.waits, c.heals = "the card that needs a pull request: it is Blocked; one that needs a CI result is after `ORCH_CI_WAIT`", "set the card In Progress"
	case "git":
		c.waits, c.heals = "the card that needs the remote: it is Blocked", "set the card In Progress"
	}
	c.lane = ""
}

// The manual's table is this one.
func TestManualOfSickNeighbours(t *testing.T) {
	t.Parallel()
	var b strings.Builder
	b.WriteString("| neighbour | does | waits | heals |\n|---|---|---|---|\n")
	for all := illnesses(); len(all) > 0; {
		c, alike := all[0], []string{}
		all = slices.DeleteFunc(all, func(o ill) bool {
			same := o.neighbour == c.neighbour && o.waits == c.waits
			if same {
				alike = append(alike, string(o.kind))
			}
			return same
		})
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", c.neighbour, strings.Join(alike, ", "), c.waits, c.heals)
	}
	require.Contains(t, string(contents(t, "../../docs/operations.md")), b.String(), "docs/operations.md is to have this table:\n%s", &b)
}

// Whatever a neighbour does, what does not need it goes on, the log says which
// destination does not answer, and what was owed is made when it is well again.
func TestSickNeighbours(t *testing.T) {
	t.Parallel()
	everyday := []string{"telegram=hang", "plane.comments=refuse", "plane.status=garbage", "plane=500", "github=hang", "git=refuse"}
	for _, c := range illnesses() {
		name := c.neighbour + "=" + string(c.kind)
		t.Run(name, func(t *testing.T) {
			if os.Getenv("SOAK") == "" && !slices.Contains(everyday, name) {
				t.Skip("one of each neighbour is enough: SOAK=1 for all")
			}
			t.Parallel()
			settings := map[string]string{
				"TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1", "CALL_TIMEOUT": "1s", "RECONCILE_INTERVAL": "2s", "GIT_TIMEOUT": "4s", "AGENT_RETRY_DELAYS": "1s,1s,1s",
			}
			if name == "github=refuse" {
				settings["CI_WAIT"] = "10s" // whose CI is refused waits for its end
			}
			w := newWorld(t, settings, &place{prefix: "APP", remote: true}, &place{prefix: "OTH", remote: true}, &place{prefix: "NEW", remote: true})
			c.play(w, c)
			w.onceOnly()
		})
	}
}

// onceOnly looks for what the outside world must not see twice.
func (w *world) onceOnly() {
	w.Helper()
	seen := map[string]bool{}
	for _, c := range w.board.Comments("") {
		require.False(w, c.ExternalID != "" && seen[c.ExternalID], "a comment twice: %s", c.HTML)
		seen[c.ExternalID] = true
	}
	for _, p := range w.host.Pulls() {
		require.False(w, seen[p.Repo+" "+p.Head], "a pull request twice: %s %s", p.Repo, p.Head)
		seen[p.Repo+" "+p.Head] = true
	}
}

// awaitLog waits until the log says which destination does not answer.
func (c ill) awaitLog(w *world) {
	w.Helper()
	w.until("it is told", func() bool {
		if c.lane == "" {
			return strings.Contains(w.read("server.log"), `msg="a job was given up"`) && (c.neighbour == "telegram" || w.rang("given up") || w.rang("refused for good") || w.rang("blocked"))
		}
		return regexp.MustCompile(`msg="a destination does not answer" lane="?` + c.lane + `"? `).MatchString(w.read("server.log"))
	})
}

// rang reports whether the chat shows a message with some words.
func (w *world) rang(words string) bool {
	return slices.ContainsFunc(w.chat.Messages(), func(m telegramtest.Message) bool { return strings.Contains(m.Text, words) })
}

// isOver reports whether the service has ended a card's task.
func (w *world) isOver(item string) bool { return w.task(item).Stage == "done" }

// wholeLife is for what no card needs to get from its beginning to its end.
func wholeLife(w *world, c ill) {
	w.sick[c.neighbour].Sicken(c.kind)
	item := w.cardIn("APP", "A whole life", "To Analyse")
	w.holds(item, "approval")
	w.move(item, "Approved")
	w.over(item)
	c.awaitLog(w)
	switch c.neighbour {
	case "telegram":
		require.Empty(w, w.chat.Messages())
	case "plane.comments":
		require.Empty(w, w.board.Comments(""))
	default:
		require.Equal(w, "Approved", w.column(item))
	}
	w.sick[c.neighbour].Heal()
	w.owesNothing()
	if c.kind == fakehttp.Refuse { // the next one is made
		item = w.card("NEW", "Another")
		w.move(item, "To Analyse")
	}
	w.until("the neighbour is used again", func() bool {
		switch c.neighbour {
		case "telegram":
			return len(w.chat.Messages()) > 0
		case "plane.comments":
			return len(w.board.Comments(item)) > 0
		default:
			return c.kind == fakehttp.Refuse && w.column(item) == "In Review" || w.column(item) == "Monitoring after Deploy" || w.column(item) == "Done"
		}
	})
}

// owesNothing waits until all that was owed is made.
func (w *world) owesNothing() {
	w.Helper()
	w.until("what was owed is made", func() bool {
		var q struct {
			Effects []struct{ Kind string } `json:"effects"`
		}
		if !w.get("/queue", &q) {
			return false
		}
		for _, e := range q.Effects {
			if e.Kind != "effect/live_look" && e.Kind != "effect/monitor" {
				return false
			}
		}
		return true
	})
}

// atWork brings a card to its developer, who waits until the file is there.
func (w *world) atWork(prefix, title string) (item string, release func()) {
	w.Helper()
	w.write(prefix+"-1-developer", "await $WORLD_DIR/go-on-"+prefix+"\n")
	item = w.card(prefix, title)
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("the developer begins", func() bool { return w.worked(prefix+"-1", "developer") })
	return item, func() { w.write("go-on-"+prefix, "") }
}

func withoutBoard(w *world, c ill) {
	item, release := w.atWork("APP", "Under way")
	w.sick[c.neighbour].Sicken(c.kind)
	other := w.cardIn("OTH", "To begin", "To Analyse")
	release()
	w.until("the card comes to its merge", func() bool { return w.task(item).Phase == stage.PhaseMerge })
	require.Empty(w, w.tasks(other))
	c.awaitLog(w)
	require.Equal(w, stage.PhaseMerge, w.task(item).Phase, "nothing is merged of a card that cannot be read")
	w.sick[c.neighbour].Heal()
	w.over(item)
	w.until("the other begins", func() bool { return len(w.runs("OTH-1")) > 0 })
	w.owesNothing()
	if c.kind != fakehttp.Refuse {
		require.Equal(w, "Done", w.column(item))
	}
}

func withoutHost(w *world, c ill) {
	item, release := w.atWork("APP", "Under way")
	w.sick[c.neighbour].Sicken(c.kind)
	release()
	other := w.cardIn("OTH", "Another", "To Analyse")
	w.approve(other)
	w.until("the other's developer begins", func() bool { return w.worked("OTH-1", "developer") })
	w.until("calls meet it", func() bool { return w.sick[c.neighbour].Met() > 6 })
	require.EqualValues(w, "development", w.task(item).Stage)
	c.awaitLog(w)
	if c.kind == fakehttp.Refuse {
		w.until("both are Blocked", func() bool { return w.column(item) == "Blocked" && w.column(other) == "Blocked" })
		w.sick[c.neighbour].Heal()
		w.move(item, "In Progress")
		w.move(other, "In Progress")
	}
	w.sick[c.neighbour].Heal()
	w.until("both end", func() bool { return w.isOver(item) && w.isOver(other) })
	w.owesNothing()
}

func withoutGit(w *world, c ill) {
	item, release := w.atWork("APP", "Under way")
	other := w.cardIn("OTH", "Another", "To Analyse")
	w.analysed(other)
	w.sick[c.neighbour].Sicken(c.kind)
	release()
	w.move(other, "Approved")
	w.until("the other's developer begins", func() bool { return w.worked("OTH-1", "developer") })
	third := w.cardIn("NEW", "To begin", "To Analyse")
	if c.kind != fakehttp.Refuse {
		w.until("the third's agent waits", func() bool { return strings.Contains(w.read("server.log"), "an agent waits for the remote") })
	}
	c.awaitLog(w)
	require.Empty(w, w.runs("NEW-1"))
	if c.kind == fakehttp.Refuse {
		w.until("all are Blocked", func() bool {
			return w.column(item) == "Blocked" && w.column(other) == "Blocked" && w.column(third) == "Blocked"
		})
	}
	w.sick[c.neighbour].Heal()
	if c.kind == fakehttp.Refuse {
		for _, card := range []string{item, other, third} {
			w.move(card, "In Progress")
		}
	}
	w.until("both end", func() bool { return w.isOver(item) && w.isOver(other) })
	w.holds(third, "approval")
	w.owesNothing()
}

// worked reports whether an agent of a role was started for a work item.
func (w *world) worked(workItem, role string) bool {
	return strings.Contains(strings.Join(w.runs(workItem), " "), role)
}
