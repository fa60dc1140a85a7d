package stage

import (
	"cmp"
	"fmt"
	"strings"
)

// Push holds what others have pushed to the branch of a task, behind what the service has.
type Push struct {
	SHA     string   `json:"sha"`               // where the remote branch is
	Commits int      `json:"commits,omitempty"` // those of main are not counted
	Authors []string `json:"authors,omitempty"` // as git has them, the newest first
	// Conflicts are files that kept commits of the service, which were not published, from being put on
	// top; they are kept as Left.
	Conflicts []string `json:"conflicts,omitempty"`
	Left      string   `json:"left,omitempty"`
}

// pushedEdges are the rows of what others push to the branch. built means that the stage stands behind development.
func pushedEdges(s Stage, built bool) []Edge {
	stay := stays(s)
	judge := func(on Condition, why string) Edge {
		return Edge{s, OnPushed, on, nil, DoJudge, Development, RedNone, why}
	}
	switch {
	case s == Deploy:
		return []Edge{
			stay(OnPushed, WhenRelease, DoNothing, "the branch is merged already"),
			judge(WhenHeld, "CI and the review judge it again"),
			judge(WhenRefused, "CI and the review judge it again"),
			stay(OnPushed, WhenMerging, DoNothing, "the branch is being merged; where others were faster, that is refused"),
			judge(Always, "CI and the review judge it again"),
		}
	case built:
		return []Edge{judge(Always, "CI and the review judge it again")}
	case s == Development:
		return []Edge{
			stay(OnPushed, WhenActive, DoAdopt, "the developer's own commits are put on top of that"),
			judge(Always, "CI decides again"),
			stay(OnAgentFinished, WhenApart, DoAgain, "the commits of the run conflict with what others have pushed"),
		}
	default:
		return []Edge{
			stay(OnPushed, Always, DoAdopt, "the task goes on from there"),
			stay(OnAgentFinished, WhenApart, DoAgain, "the commits of the run conflict with what others have pushed"),
		}
	}
}

// pushed takes over where the branch stands now, and publishes what others do not have.
func (w *builder) pushed() {
	s, p := &w.d.State, w.ev.Push
	if p == nil {
		w.note(w.edge.Why)
		return
	}
	s.Head, s.Pushed, s.Adopted = w.ev.SHA, p.SHA, p.SHA
	w.note(w.wordsPushed())
	w.comment(Stream, sentence(w.wordsPushed()))
	w.publish()
}

// publish has the remote get what it lacks of the branch: commits that are new, or whose push it has refused, or all of it.
func (w *builder) publish() {
	if s := w.d.State; s.Head != s.Pushed {
		w.owe(Effect{Kind: EffectPublish, SHA: s.Head, Expected: s.Pushed})
	}
}

// adopt lets the stage go on from what others have pushed. An approval that was set before is none of that.
func (w *builder) adopt() {
	if s := &w.d.State; s.Hold == HoldApproval {
		s.Refused, s.HoldReason = "", wordsVerdict
		if !s.HeardAt.IsZero() {
			s.AskedAfter = w.ev.At.Sub(s.HeardAt)
		}
	}
}

// judgeAgain has the branch judged as after a run of the developer, which costs none. What a person has been
// asked stays open, and commits that are not in the branch any more are made again.
func (w *builder) judgeAgain() {
	s, hold, reason := &w.d.State, w.d.State.Hold, w.d.State.HoldReason
	w.leave(w.edge.To)
	switch {
	case hold == HoldNeedsInput:
		s.Hold, s.HoldReason = hold, reason
	case w.ev.Push != nil && len(w.ev.Push.Conflicts) > 0:
		w.launch(w.ev.Push.words())
	default:
		w.status(w.statusOf(s.Stage))
		w.owe(Effect{Kind: EffectAskCI, SHA: s.Head})
	}
}

// again runs the agent anew from what others have pushed, once its questions are answered. It is no failure.
func (w *builder) again() {
	s, why := &w.d.State, w.ev.Push.words()
	if WhenAsking.holds(*s, w.ev) { // the answers come first
		w.ask(why)
		return
	}
	w.note(why)
	w.comment(Stream, wordsAgain(s.Stage, why))
	w.launch(strings.TrimSpace(s.Feedback + "\n" + why))
}

// wordsPushed says who has pushed how much, and what follows.
func (w *builder) wordsPushed() string {
	p, who, commits := w.ev.Push, w.ev.By.Who(), "1 commit"
	if w.ev.By.ID == "" {
		who = cmp.Or(strings.Join(p.Authors, ", "), "somebody")
	}
	if p.Commits != 1 {
		commits = fmt.Sprintf("%d commits", p.Commits)
	}
	said := fmt.Sprintf("pushed by %s: %s, up to %s; %s", who, commits, short(p.SHA), w.edge.Why)
	if len(p.Conflicts) > 0 {
		said += "; " + p.words()
	}
	return said
}

// words says what became of the service's own commits.
func (p *Push) words() string {
	const text = "the commits of agents conflict with what others have pushed in %s; they are kept as %s, and made again on top of %s"
	return fmt.Sprintf(text, strings.Join(p.Conflicts, ", "), p.Left, short(p.SHA))
}

// stays makes rows that leave the stage as it is, and ask no gate.
func stays(s Stage) func(on Trigger, when Condition, do Action, why string) Edge {
	return func(on Trigger, when Condition, do Action, why string) Edge {
		return Edge{s, on, when, nil, do, s, RedNone, why}
	}
}
