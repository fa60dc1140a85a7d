package stage

// Divert makes of a decision one that has the task at a phase of a stage at which no agent works. What
// the event reported stays: the facts, the words of the agent, its commits.
func Divert(s State, e Event, d Decision, to Stage, phase Phase, why string) Decision {
	w := &builder{
		m: &Machine{info: map[Stage]Info{to: Default().Info(to)}}, ev: e,
		d: Decision{State: d.State, Moved: true, Cancel: d.Cancel, Edge: d.Edge},
	}
	for _, f := range d.Effects {
		if f.Kind == EffectComment && f.Author != Stream {
			w.owe(f)
		}
	}
	w.publish()
	n := &w.d.State
	n.Seq, n.Run, n.Set, n.Active, n.Failures = s.Seq+1, s.Run, s.Set, "", 0
	n.Stage, n.Phase, n.EnteredAt = to, phase, s.EnteredAt
	n.Hold, n.HoldReason, n.Outside, n.Feedback = HoldNone, "", false, ""
	w.note(why)
	if s.Stage != to {
		n.EnteredAt = e.At
		w.comment(Stream, wordsTransition(s.Stage, to, why))
	}
	w.status(w.statusOf(to))
	return w.d
}
