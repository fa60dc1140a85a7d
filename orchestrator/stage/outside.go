package stage

import "strings"

// blockOutside makes the task wait for what people have to put right outside of its branch.
func (w *builder) blockOutside(why, notice string) {
	why = w.linked(why)
	w.note(why)
	w.hold(HoldBlocked, why, StatusBlocked)
	w.d.State.Outside = true
	do, _ := Remedy(w.d.State)
	w.comment(Stream, "Blocked: "+brief(why)+"\n"+sentence(do))
	w.notify(notice)
}

// linked is a reason with the address of the pull request, where people see to most of it.
func (w *builder) linked(why string) string {
	if url := w.d.State.PRURL; url != "" && !strings.Contains(why, url) {
		why += " (" + url + ")"
	}
	return why
}

// lookAgain looks whether people have put right what the task is blocked by.
func (w *builder) lookAgain() {
	s := &w.d.State
	w.note(w.edge.Why)
	s.HoldReason = w.edge.Why
	if s.Stage == Development { // it waits for CI again; what the merge gate tests stays where it is
		s.Hold, s.HoldReason, s.Outside = HoldNone, "", false
	}
	w.status(w.statusOf(s.Stage))
	w.owe(Effect{Kind: EffectAskCI, SHA: s.Head})
}

// decline answers a word that moves nothing here, and gives the card its column back. The
// questions that a person is to answer first are behind a link.
func (w *builder) decline() {
	f := Effect{Kind: EffectComment, Author: Stream, Text: sentence(w.edge.Why)}
	back := w.statusOf(w.d.State.Stage)
	if w.d.State.Hold == HoldNeedsInput {
		back = StatusNeedsInput
		if w.d.State.Feedback == "" { // else the service asks
			f.Files, f.SHA = []string{QuestionsFile}, w.d.State.Head
		}
	}
	w.owe(f)
	w.status(back)
}
