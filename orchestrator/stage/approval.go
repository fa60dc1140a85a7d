package stage

import "slices"

// awaitApproval waits for Approved; one that was set before does not count for this request.
func (w *builder) awaitApproval(what string, shown Status) {
	if heard := w.d.State.HeardAt; !heard.IsZero() {
		w.d.State.AskedAfter = w.ev.At.Sub(heard)
	}
	w.hold(HoldApproval, what, shown)
}

// requireVouch requires a person's word for what the head changes, or an answer whether nothing is to be done.
func (w *builder) requireVouch(v Verdict) {
	what, shown, text := "a person's word for this commit: ", StatusInReview, wordsVouch(v.Reason)
	if v.Empty {
		what, shown, text = "a person's answer: ", StatusNeedsInput, wordsNothingDone(v.Reason)
	}
	w.note(v.Reason)
	w.awaitApproval(what+v.Reason, shown)
	w.comment(Stream, text)
	w.d.Effects[len(w.d.Effects)-1].SHA = w.d.State.Head
	w.notify(wordsVouchNotice(v.Reason))
}

// vouch takes a person's word for the head. The gates of the stage are judged again.
func (w *builder) vouch() {
	s := &w.d.State
	w.note(w.edge.Why + ", at " + short(s.Head))
	s.Vouched, s.Hold, s.HoldReason = w.ev.By.Vouch(s.Head, w.ev.At), HoldNone, ""
	if slices.ContainsFunc(s.CI.Results, func(r Verified) bool { return r.Judge != "" && r.Judge != s.Head }) {
		s.CI = CI{} // main's files have judged: those of the branch count from now on
	}
	w.comment(Stream, sentence(w.edge.Why+" as of "+short(s.Head)))
	w.status(w.statusOf(s.Stage))
	w.owe(Effect{Kind: EffectAskCI, SHA: s.Head})
}

// notApproved answers an approval that cannot be taken.
func (w *builder) notApproved(reason string) {
	s := &w.d.State
	w.note(reason)
	w.comment(Stream, wordsNotApproved(reason))
	w.status(StatusInReview)
	s.Refused = reason
	if s.Hold == HoldApproval {
		s.HoldReason = wordsCannotApprove + reason
	}
}

// notWritten reports of an analyst that has finished that there is nothing to approve.
func (w *builder) notWritten(reason string) {
	w.note(reason)
	w.hold(HoldApproval, wordsCannotApprove+reason, StatusInReview)
	w.closing(Analyst, wordsNothingToApprove(reason))
	w.notify(wordsNothingToApproveNotice(reason))
	w.d.State.Refused = reason
}
