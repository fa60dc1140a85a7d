package stage

// statusOf is the board status that shows work at a stage.
func (w *builder) statusOf(s Stage) Status {
	i := w.m.info[s]
	switch {
	case s == Deploy && (w.d.State.Phase == PhaseRelease || w.d.State.Phase == PhaseMerge):
		return StatusDeploying
	case w.d.State.SelfHosting && i.Self != "":
		return i.Self
	default:
		return i.Status
	}
}

// status writes a board status, unless it is what was written last and nobody
// has touched the board since.
func (w *builder) status(to Status) {
	s := &w.d.State
	_, board := BoardTrigger(Status(w.ev.On))
	if to == "" || to == s.Set && !board {
		return
	}
	f := Effect{Kind: EffectStatus, Status: to, Replaces: Replaceable(s.Acted, s.Set), Previous: s.Set}
	if board {
		f.Answers = Status(w.ev.On)
	}
	w.owe(f)
	s.Set = to
}

// Replaceable lists the trigger statuses that the service itself has dealt with
// or set; any other that stands on the board is a human's newer word.
func Replaceable(statuses ...Status) []Status {
	var out []Status
	for _, s := range statuses {
		if _, trigger := BoardTrigger(s); trigger && (len(out) == 0 || out[0] != s) {
			out = append(out, s)
		}
	}
	return out
}

func (w *builder) comment(author Role, text string) {
	w.owe(Effect{Kind: EffectComment, Author: author, Text: text})
}

func (w *builder) owe(effects ...Effect) { w.d.Effects = append(w.d.Effects, effects...) }

func (w *builder) notify(text string) {
	w.owe(Effect{Kind: EffectNotify, Text: text})
}

func (w *builder) note(text string) { w.d.Notes = append(w.d.Notes, text) }

func short(sha string) string {
	if len(sha) > 12 {
		return sha[:12]
	}
	return sha
}
