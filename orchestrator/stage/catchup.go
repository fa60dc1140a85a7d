package stage

// caughtUp takes over where the branch stands now. The task that tried has the lease.
func (w *builder) caughtUp() {
	s := &w.d.State
	if !s.Leased {
		s.LeasedAt = w.ev.At
	}
	s.Leased, s.Tested = true, ""
	if w.ev.SHA != "" {
		s.Head, s.Pushed, s.Base = w.ev.SHA, w.ev.SHA, w.ev.Base
	}
}

// retest waits for the tests of what is to be merged; they are looked at at once,
// because a branch that was up to date may have its results already.
func (w *builder) retest() {
	s := &w.d.State
	w.note(w.edge.Why)
	s.Phase = PhaseRetest
	w.d.Effects = append(w.d.Effects, Effect{Kind: EffectAskCI, SHA: s.Head})
}

// CatchUp makes of a decision that would lead to a merge one that brings the
// branch up to date first. What the event reported stays: the facts, the words of the
// agent, its commits.
func CatchUp(s State, e Event, d Decision, why string) Decision {
	w := &builder{ev: e, d: Decision{State: d.State, Moved: true, Cancel: d.Cancel, Edge: d.Edge}}
	for _, f := range d.Effects {
		if f.Kind == EffectPublish || f.Kind == EffectComment && f.Author != Stream {
			w.d.Effects = append(w.d.Effects, f)
		}
	}
	n := &w.d.State
	n.Seq, n.Run, n.Set, n.Active, n.Failures = s.Seq+1, s.Run, s.Set, "", 0
	n.Stage, n.Phase, n.EnteredAt = DeployStaging, PhaseCatchUp, s.EnteredAt
	n.Hold, n.HoldReason, n.Outside, n.Feedback, n.Tested = HoldNone, "", false, "", ""
	if s.Stage != DeployStaging {
		n.EnteredAt = e.At
	}
	if n.LinedUp.IsZero() {
		n.LinedUp = e.At
	}
	w.note(why)
	if s.Stage != DeployStaging {
		w.comment(Stream, wordsTransition(s.Stage, DeployStaging, why))
	}
	w.status(stagingStatus(n.SelfHosting))
	w.d.Effects = append(w.d.Effects, Effect{Kind: EffectCatchUp, SHA: n.Head})
	return w.d
}

// stagingStatus returns the status of the board at deploy-staging.
func stagingStatus(self bool) Status {
	if self {
		return StatusAwaitingDeploy
	}
	return StatusInProgress
}
