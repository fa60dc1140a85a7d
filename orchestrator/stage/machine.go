package stage

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
)

// Options of a machine. Zero values mean the defaults.
type Options struct {
	MaxRetries int           `env:"MAX_DEVELOPER_RETRIES" envDefault:"3" min:"1" doc:"times that a task is sent back before a human is asked"`
	CIPoll     time.Duration `env:"CI_POLL" envDefault:"30s" doc:"how often CI is looked at; while webhooks come, a tenth as often"`
}

// Rule lets a feature change decisions: it sees what was decided so far and
// returns what is to be done instead. It must be pure and total.
type Rule func(State, Event, Decision) Decision

// Machine decides. It is immutable and safe for concurrent use.
type Machine struct {
	pipeline Pipeline
	info     map[Stage]Info
	opt      Options
	rules    []Rule
}

// New checks a pipeline and makes a machine of it. Rules apply in order.
func New(p Pipeline, opt Options, rules ...Rule) (*Machine, error) {
	if err := p.Validate(); err != nil {
		return nil, err
	}
	defaults.Fill(&opt)
	m := &Machine{pipeline: p, info: map[Stage]Info{}, opt: opt, rules: rules}
	for _, i := range p.Stages {
		m.info[i.Stage] = i
	}
	return m, nil
}

// Pipeline returns the registry that the machine follows.
func (m *Machine) Pipeline() Pipeline { return m.pipeline }

// Info returns what the pipeline says of a stage; the zero Info if nothing.
func (m *Machine) Info(s Stage) Info { return m.info[s] }

// Edge finds the row that applies to an event, and leads on by the task's lane; ok is false when none does. The
// shell reads from it which gates to judge before it calls Decide.
func (m *Machine) Edge(s State, e Event) (Edge, bool) {
	if stale(s, e) || refusalOfWord(s, e) != "" {
		return Edge{}, false
	}
	if s.Stage == None {
		s.Lane, s.NoDeploy = e.Lane, e.NoDeploy
	}
	for _, edge := range m.pipeline.Edges {
		own := m.pipeline.When[edge.When]
		if edge.From == s.Stage && edge.On == e.On && (edge.When.holds(s, e) || own != nil && own(s)) {
			if edge.Do == DoEnter {
				edge.To = m.pipeline.pass(s, edge.To)
			}
			return edge, true
		}
	}
	return Edge{}, false
}

// stale reports whether an agent's result is not the awaited one.
func stale(s State, e Event) bool {
	switch e.On {
	case OnAgentFinished, OnAgentFailed, OnAgentAttempt:
		return s.Active == "" || e.Run != s.Run
	default:
		return false
	}
}

// Decide answers an event. It is total: any state and any event have an answer,
// and an event that nothing provides for changes nothing and says so.
func (m *Machine) Decide(s State, e Event) Decision {
	if why := refusalOfWord(s, e); why != "" && !s.Stage.Terminal() {
		return m.deny(s, e, why)
	}
	d := m.decide(s, e)
	for _, rule := range m.rules {
		d = rule(s, e, d)
	}
	return d
}

func (m *Machine) decide(s State, e Event) Decision {
	edge, ok := m.Edge(s, e)
	if !ok && declined(s, e) {
		info, _ := StatusNamed(Status(e.On))
		return m.decline(s, e, "", fmt.Sprintf("%s means nothing at the stage %s", info.Name, s.Stage))
	}
	if !ok {
		return Decision{State: s, Notes: []string{unexpected(s, e)}}
	}
	if e.Waits != "" && edge.When == WhenActive {
		edge.Why = e.Waits
	}
	if edge.Do == DoNothing && declined(s, e) {
		return m.decline(s, e, edge.String(), edge.Why)
	}
	w := &builder{m: m, edge: edge, ev: e, d: Decision{State: s, Edge: edge.String()}}
	if len(edge.Gates) > 0 && e.Verdict.Outcome != Green {
		w.notGreen()
	} else {
		w.act()
	}
	if w.d.Moved {
		w.d.State.Seq++
	}
	return w.d
}

// refusalOfWord returns why a person's word is not to be acted on: its sender may not, or it is
// outdated; empty when it is. An approval is of what was shown when it was given: one that is older
// than the newest request for an approval does not count for the head that it would let pass. Both
// spans begin at the word before it, each by one clock, so that the clocks need not be in step.
func refusalOfWord(s State, e Event) string {
	switch {
	case e.Denied != "":
		return e.Denied
	case e.Of != "" && (e.Of != s.Head || s.Hold == HoldNone): // the commit is another, or what it was read for is decided
		return wordsReadOutdated
	case e.On == OnApproved && s.Hold == HoldApproval && s.AskedAfter > 0 && !e.Seen.IsZero() && e.Seen.Sub(s.ActedAt) < s.AskedAfter:
		if s.Stage != Analysis {
			return wordsVouchOutdated
		}
		return wordsOutdated
	default:
		return ""
	}
}

// declined reports whether a word that means nothing here is to be answered: each that a
// person has set on the board while the task lives, but a STOP that is switched off, and
// the column that the service has set itself: it stands where it should.
// Journals without the principal are older than the answer.
func declined(s State, e Event) bool {
	_, board := BoardTrigger(Status(e.On))
	return board && e.On != OnStop && Status(e.On) != s.Set && e.By.Kind == KindPerson && s.Stage != None && !s.Stage.Terminal()
}

// decline answers a person's word that means nothing here: it moves nothing, the column
// goes back and the card says why.
func (m *Machine) decline(s State, e Event, edge, why string) Decision {
	w := &builder{m: m, ev: e, d: Decision{State: s, Edge: edge}}
	w.note(why)
	w.setBack(why)
	return w.d
}

// deny answers a move on the board by somebody who may not make it: it moves nothing,
// the column goes back and the card says who may. No rule of a feature changes that.
func (m *Machine) deny(s State, e Event, why string) Decision {
	w := &builder{m: m, ev: e, d: Decision{State: s}}
	w.note(why)
	if s.Stage == None {
		w.notStarted("The pipeline has not started: " + brief(why))
		return w.d
	}
	w.setBack(why)
	return w.d
}

// setBack answers a word on the board that moves nothing: the column goes back to what the
// service set last, and the card says why.
func (w *builder) setBack(why string) {
	w.accept()
	w.comment(Stream, brief(why))
	back := w.d.State.Set
	if back == StatusUnknown {
		back = w.statusOf(w.d.State.Stage)
	}
	w.status(back)
	w.d.State.Seq++
}

func unexpected(s State, e Event) string {
	switch {
	case stale(s, e):
		return fmt.Sprintf("the result of run %d is not awaited (the task is at run %d)", e.Run, s.Run)
	case s.Stage.Terminal():
		return fmt.Sprintf("%s is ignored: the task is %s", e.On, s.Stage)
	case s.Stage == None:
		return fmt.Sprintf("%s is ignored: there is no task", e.On)
	default:
		return fmt.Sprintf("%s means nothing at stage %s", e.On, s.Stage)
	}
}
