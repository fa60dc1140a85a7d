package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// standing is how far a step of the tour is.
type standing string

const (
	ahead standing = "ahead" // it has not begun
	going standing = "going" // it is under way
	past  standing = "seen"
)

// step is one step of the tour. What it shows is read from what has happened; a
// step is never ticked off by a clock.
type step struct {
	ID, Title, Text string
	Standing        standing
	Proof           string // what was seen, in the words of those who said it
	Task            int64  // of the service; 0: none
	Key             string // of the task's card
}

// tell begins a step with its words.
func tell(id, title, text string) step {
	return step{ID: id, Title: title, Text: text, Standing: ahead}
}

// show moves the step on: when something has begun, and when it is over.
func (s step) show(of seen, begun, over bool, proof string) step {
	s.Key = of.Key
	switch {
	case over:
		s.Standing = past
	case begun:
		s.Standing = going
	}
	if begun || over {
		s.Proof, s.Task = proof, of.Task.ID
	}
	return s
}

// tour lists the steps in the order in which they mostly happen.
func tour(f facts) []step {
	steps := []step{taken(f), approved(f)}
	if !f.Manual { // a person who drags cards decides on the board
		steps = append(steps, answered(f), onPage(f), inChat(f))
	}
	steps = append(steps, sideBySide(f), stop(f), killed(f), confirmed(f), waited(f), worse(f), frozenRepo(f), red(f))
	if !f.Manual { // nobody works on main by hand then
		steps = append(steps, conflict(f), rewritten(f), gone(f), takenBack(f))
	}
	return steps
}

// missing names the steps that were not seen, and tells the last that was.
func missing(steps []step) (last string, ids []string) {
	for _, s := range steps {
		if s.Standing == past {
			last = s.Title
		} else {
			ids = append(ids, s.ID)
		}
	}
	return last, ids
}

func taken(f facts) step {
	s := tell("taken", "A card becomes work",
		"A person moves a card to To Analyse. The service makes a task of it, "+
			"and the first agent, the analyst, writes down what is wanted.")
	for _, c := range f.Cards {
		if done := slices.ContainsFunc(c.Task.Runs, func(r web.RunView) bool { return r.Role == "analyst" && r.Status == "ok" }); done {
			return s.show(c, true, true, fmt.Sprintf("“%s” is task %d; its analyst has finished", c.Title, c.Task.ID))
		}
	}
	n := 0
	var first seen
	for _, c := range f.Cards {
		if c.Task.ID != 0 {
			n++
			first = c
		}
	}
	return s.show(first, n > 0, false, fmt.Sprintf("%d of %d cards are tasks", n, len(f.Cards)))
}

func approved(f facts) step {
	return tell("approved", "A person approves what is wanted",
		"No code is written before a person has read the requirements. "+
			"The card waits in In Review, and the chat rings.").byPerson(f, "Approved", "In Review")
}

// byPerson is a step that a person takes by setting a status where the card
// waited for it.
func (s step) byPerson(f facts, status, waits string) step {
	for _, c := range f.Cards {
		for _, x := range c.Changes {
			if x.Actor != bot && x.To == status {
				return s.show(c, true, true, fmt.Sprintf("a person moved it from %s to %s", x.From, x.To))
			}
		}
	}
	for _, c := range f.Cards {
		if c.Column == waits && c.Task.ID != 0 {
			return s.show(c, true, false, c.Why)
		}
	}
	return s
}

func sideBySide(f facts) step {
	s := tell("side-by-side", "Repositories go side by side",
		"Agents of different repositories work at the same time, each in a git worktree of its own. "+
			"Within one repository tasks begin one after another: that is the serial gate.")
	for _, a := range f.Cards {
		for _, b := range f.Cards {
			for _, x := range a.Task.Runs {
				for _, y := range b.Task.Runs {
					if a.Task.Repo < b.Task.Repo && x.Started.Before(y.Finished) && y.Started.Before(x.Finished) {
						return s.show(a, true, true, fmt.Sprintf("the %s of %s and the %s of %s were at work at the same time",
							x.Role, a.Key, y.Role, b.Key))
					}
				}
			}
		}
	}
	return s
}

func stop(f facts) step {
	s := tell("stop", "A person says STOP",
		"Moving a card to STOP ends its agent, cancels its jobs, and removes its worktree and its branch, "+
			"while everything else goes on. It counts although somebody moves the card on at once.")
	for _, c := range f.Cards {
		asked := slices.ContainsFunc(c.Changes, func(x planetest.Change) bool { return x.Actor != bot && x.To == "STOP" })
		over := c.Task.Stage == "cancelled" && !c.Branch
		if asked || over {
			proof := "STOP was asked for"
			if over {
				proof = "the task is cancelled, and the git host has no branch of it any more"
			}
			return s.show(c, true, over, proof)
		}
	}
	return s
}

func killed(f facts) step {
	s := tell("killed", "An agent was killed and came back",
		"The tester of this card hangs, and somebody kills its process. "+
			"The run is tried again; nothing that was committed is lost.")
	c := f.card(stuck)
	var failed, again web.RunView
	for _, r := range c.Task.Runs {
		switch {
		case r.Role == "tester" && r.Status != "ok":
			failed = r
		case r.Role == "tester" && (failed.Run == 0 || failed.Run == r.Run) && r.Attempt > max(1, failed.Attempt):
			again = r
		}
	}
	proof := fmt.Sprintf("the tester's attempt %d ended as %s", failed.Attempt, failed.Status)
	if failed.Attempt == 0 {
		proof = "the tester's first attempt was lost with its server"
	}
	if again.Attempt > 0 {
		proof += fmt.Sprintf("; attempt %d finished", again.Attempt)
	}
	return s.show(c, failed.Attempt+again.Attempt > 0, again.Attempt > 0, proof)
}

func confirmed(f facts) step {
	return tell("confirmed", "A person confirms a deployment",
		"The shop hosts the service itself, so nothing of it is merged and deployed "+
			"before a person sets Confirm Deploy.").byPerson(f, "Confirm Deploy", "Awaiting Deploy")
}

func waited(f facts) step {
	s := tell("waited", "A card waits for another",
		"This card is blocked by one of another repository. It says so, in the words of the code that decides, "+
			"and begins when the other is done.")
	c := f.card(flawed)
	words := ""
	for _, t := range append(slices.Clone(c.Live.Before), c.Live.Text) {
		for line := range strings.SplitSeq(telegramtest.Plain(t), "\n") {
			if strings.HasPrefix(line, "waits for ") && strings.Contains(line, "(task deps)") {
				words = line
			}
		}
	}
	proof := "it said: " + words
	if words == "" { // the message did not show it in time
		proof = c.Why
	}
	begun, over := words != "" || strings.Contains(c.Why, "(task deps)"), false
	for _, other := range f.Cards {
		if !other.has(stuck) || other.Task.Stage != "done" || len(c.Task.Runs) == 0 {
			continue
		}
		if c.Task.Runs[0].Started.After(other.Task.StageEnteredAt) {
			over, proof = true, strings.TrimPrefix(proof+"; ", c.Why+"; ")+"it began when "+other.Key+" was done"
		}
	}
	return s.show(c, begun, over, proof)
}

func worse(f facts) step {
	s := tell("worse", "A deployment made things worse",
		"After a deployment the service looks at what it deployed. This one does not answer any more: "+
			"the card is Blocked, the chat rings, and the repository is frozen.")
	c := f.card(harmful)
	for _, m := range f.Chat {
		if t := telegramtest.Plain(m.Text); !m.Silent && strings.HasPrefix(t, c.Key+":") && strings.Contains(t, "DEGRADED") {
			_, what, _ := strings.Cut(strings.TrimSpace(t), "\n")
			return s.show(c, true, c.Column == "Blocked", what)
		}
	}
	return s.show(c, c.Task.Stage == "deploy", false, "it is being deployed")
}

func frozenRepo(f facts) step {
	s := tell("frozen", "A frozen repository begins nothing, and says why",
		"The next card of that repository must not build on a broken deployment. "+
			"It waits until a person has looked and ends the freeze.")
	c := f.card(behind)
	namesFreeze := func(text string) bool { return strings.Contains(text, "(freeze)") }
	held := namesFreeze(c.Why)
	went := slices.ContainsFunc(append(slices.Clone(c.Live.Before), c.Live.Text), namesFreeze)
	proof := c.Why
	if !held {
		proof = "it waited for the end of the freeze, and has begun"
	}
	return s.show(c, c.Task.ID != 0, held || went, proof)
}

func red(f facts) step {
	s := tell("red", "A red build went back to the developer",
		"The first version does not build. The gate looks at CI, not at what the agent says of itself: "+
			"the developer gets the failure and writes again.")
	c := f.card(flawed)
	begun, over, words := false, false, ""
	for _, v := range c.Task.Verdicts {
		switch {
		case v.Stage != "development":
		case v.Verdict.Outcome == gates.Red:
			begun, words = true, v.Verdict.Reason
		case v.Verdict.Outcome == gates.Green && begun:
			over = true
			words += "; then: " + v.Verdict.Reason
		}
	}
	return s.show(c, begun, over, words)
}

func conflict(f facts) step {
	s := tell("conflict", "A conflict with main was resolved by the developer agent",
		"While this card was on its way, a colleague changed the same lines on main. "+
			"Before the merge the branch is rebased and tested again; what conflicts goes back to development.")
	c := f.card(rivalled)
	words := ""
	for _, t := range c.Comments {
		if _, what, ok := strings.Cut(t, ": the branch conflicts with main"); ok {
			words = "the branch conflicts with main" + what
		}
	}
	over := words != "" && c.Task.MergeSHA != ""
	if over {
		words += " Then merged as " + c.Task.MergeSHA[:min(12, len(c.Task.MergeSHA))] + "."
	}
	return s.show(c, words != "", over, words)
}

func rewritten(f facts) step {
	s := tell("edited", "A person edits a card that is worked on",
		"What an agent reads is what the card says when its run begins, and the card says that it was read.")
	c := f.card(edited)
	for _, t := range c.Comments {
		if _, what, ok := strings.Cut(t, "The card was edited: "); ok {
			return s.show(c, true, true, what)
		}
	}
	return s.show(c, false, false, "")
}

func gone(f facts) step {
	s := tell("gone", "A card that is taken off the board is not built on",
		"The next agent does not begin, nothing is merged or deployed, and the chat says what to do. "+
			"When the card is back, its task goes on by itself.")
	c := f.card(archived)
	seen := slices.ContainsFunc(f.Chat, isGone)
	return s.show(c, seen, seen && c.Task.MergeSHA != "", "the chat says that the card is gone")
}

// isGone reports whether a message is the notice of a card that is gone.
func isGone(m telegramtest.Message) bool {
	return strings.Contains(m.Text, "the card is not on the board any more")
}
