package admin

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Cause names in what a decision of another policy is another one.
type Cause string

// The values of Cause. Delays, chats and words are told on demand alone.
const (
	causeMoved   Cause = "moved otherwise"
	causeGate    Cause = "other verdict of the gates"
	causePerson  Cause = "other person"
	causeLater   Cause = "later"
	causeEarlier Cause = "earlier"
	causeMore    Cause = "more runs"
	causeFewer   Cause = "fewer runs"
	causeDelay   Cause = "delay"
	causeChat    Cause = "chat"
)

// Causes lists all of them, in the order in which they are told.
func Causes() []Cause {
	return []Cause{causeMoved, causeGate, causePerson, causeLater, causeEarlier, causeMore, causeFewer, causeDelay, causeChat}
}

// divergence is a decision of a journal that another policy makes otherwise.
type divergence struct {
	EntryID  int64         `json:"entry_id"`
	At       time.Time     `json:"at"`
	On       stage.Trigger `json:"on"`
	Causes   []Cause       `json:"causes"`
	Recorded string        `json:"recorded"` // for people
	Now      string        `json:"now"`
}

// Comparison holds how the journal of a task would have been decided by another policy.
type Comparison struct {
	TaskID    int64        `json:"task_id"`
	Decisions int          `json:"decisions"`
	Differ    []divergence `json:"differ,omitempty"`
	Unknown   []Unknown    `json:"unknown,omitempty"` // the record stands in for what the journal does not have
	Broken    string       `json:"broken,omitempty"`  // an entry that cannot be read: nothing behind it was decided again
}

// Compare decides a task's journal again by the policy of an engine, each decision on the state that the one before has
// recorded. all tells of delays and chats too.
func Compare(ctx context.Context, e *orchestrator.Engine, taskID int64, all bool) (Comparison, error) {
	out := Comparison{TaskID: taskID}
	broken, err := decideAgain(ctx, e, taskID, true, func(entry task.JournalEntry, s stage.State, r task.Recorded, again decided) {
		out.Decisions++
		if len(again.Unknown) > 0 {
			out.Unknown = append(out.Unknown, Unknown{entry.ID, again.Unknown})
		}
		if why := causes(e.Machine().Pipeline(), s, r, again, all); len(why) > 0 {
			out.Differ = append(out.Differ, divergence{
				entry.ID, entry.At, r.Event.On, why, judged(r.Event, r.Decision), judged(again.Event, again.Decision),
			})
		}
	})
	out.Broken = broken
	return out, err
}

// judged is a decision in one line, with what it was concluded from.
func judged(ev stage.Event, d stage.Decision) string {
	text := summary(d)
	if ev.Verdict.Outcome != "" && ev.Verdict.Outcome != stage.Green {
		text += fmt.Sprintf(" (%s: %s)", ev.Verdict.Outcome, ev.Verdict.Reason)
	}
	return text
}

// causes tells in what two decisions differ for people: where the task stands, what it waits for, who is wanted, what
// is done outside. Words are no difference.
func causes(p stage.Pipeline, before stage.State, r task.Recorded, now orchestrator.Again, all bool) (out []Cause) {
	was, is := r.Decision, now.Decision
	add := func(c Cause, so bool) {
		if so {
			out = append(out, c)
		}
	}
	v, w := r.Event.Verdict, now.Event.Verdict
	at, other := place(p, was.State), place(p, is.State)
	waits, waited := is.State.Hold != stage.HoldNone, was.State.Hold != stage.HoldNone
	launched, launches := was.Launch != nil, is.Launch != nil
	done, does := acts(was), acts(is)
	allowed := r.Event.Denied == "" && now.Event.Denied == "" // else no gate was judged
	gate := allowed && (cmp.Or(v.Outcome, stage.Green) != cmp.Or(w.Outcome, stage.Green) || v.Asks != w.Asks || v.Person != w.Person)
	asks := func(s stage.State) bool { return s.Hold == stage.HoldApproval }
	lines := func(s, o stage.State) bool { return s.Phase == stage.PhaseCatchUp && o.Phase != stage.PhaseCatchUp }
	person := (r.Event.Denied == "") != (now.Event.Denied == "") || asks(was.State) != asks(is.State)
	later := other < at || waits && !waited || other == at && lines(is.State, was.State)
	earlier := !later && (other > at || waited && !waits || other == at && lines(was.State, is.State))
	add(causeGate, gate)
	add(causePerson, person)
	add(causeLater, later)
	add(causeEarlier, earlier)
	sent := is.State.Retries > before.Retries && was.State.Retries == before.Retries
	add(causeMore, launches && (sent || !launched && !later))
	add(causeFewer, launched && !launches && !later)
	if len(out) == 0 {
		add(causeMoved, was.State.Stage != is.State.Stage || was.State.Lane != is.State.Lane || was.Cancel != is.Cancel ||
			launched && was.Launch.Role != is.Launch.Role || !slices.Equal(done, does))
	}
	if all {
		add(causeDelay, !slices.EqualFunc(was.Effects, is.Effects, func(a, b stage.Effect) bool { return a.Delay == b.Delay }))
		add(causeChat, !slices.Equal(chats(was), chats(is)))
	}
	return out
}

// place is how far a task has come in the pipeline.
func place(p stage.Pipeline, s stage.State) int {
	return slices.IndexFunc(p.Stages, func(i stage.Info) bool { return i.Stage == s.Stage })
}

// acts lists the effects of a decision in the repository and at its host. A merge by the gate is a merge, and where the branch
// is made is a matter of when.
func acts(d stage.Decision) (out []string) {
	for _, f := range d.Effects {
		switch f.Kind {
		case stage.EffectPublish, stage.EffectPull, stage.EffectMerge, stage.EffectTidy, stage.EffectUnbranch, orchestrator.EffectRevert:
			out = append(out, string(f.Kind))
		case orchestrator.EffectGatedMerge:
			out = append(out, string(stage.EffectMerge))
		}
	}
	return out
}

func chats(d stage.Decision) (out []string) {
	for _, f := range d.Effects {
		if orchestrator.LaneOf(f.Kind) == orchestrator.LaneChat {
			out = append(out, strings.TrimSpace(string(f.Kind)+" "+f.Text))
		}
	}
	return out
}
