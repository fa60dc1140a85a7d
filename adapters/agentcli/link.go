package agentcli

import (
	"cmp"
	"context"
	"maps"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Link stands between the executions of agents and the network: a gateway of models, a proxy. It sets what an
// execution gets for that, may end it, and may measure its usage, which then counts in the place of what the tool says.
type Link interface {
	// Open prepares it for one execution. Close of what it returns is called exactly once, when
	// nothing of the execution lives.
	Open(ctx context.Context, x LinkedRun) (Opened, error)
}

// LinkedRun is the execution that a Link is opened for.
type LinkedRun struct {
	work.Command
	Tool   string     // preset, or the known tool that a command calls; empty: another command
	Vendor string     // of its models; empty: not known
	Model  string     // in full; empty: the tool's own choice
	Jail   *work.Jail // every agent's; nil: they are not confined
}

// Opened holds what a Link gives to an execution, and how it is watched.
type Opened struct {
	Env   map[string]string // set in its environment, whatever that has; an empty value removes the name
	Home  map[string]string // files of its HOME, by their names there, in the place of the preset's; nil: the preset's
	Args  []string          // behind all other words of its command line
	Jail  work.Jail         // added to its jail
	Look  func() Seen       // what was seen so far; called now and then while it lives; nil = nothing is seen
	Close func() Seen       // what was seen in the end
}

// Seen holds what a Link has seen of an execution.
type Seen struct {
	Usage     *work.Usage    // measured, MicroUSD 0 where the price is not known; nil = not measured
	Estimated bool           // a part of Usage is an estimate
	Refused   []work.Refusal // hosts that it was refused, the first one first
	Kind, Why string         // the kind of result that it ends with, and the reason; empty = it goes on
	Trouble   work.Trouble   // of the vendor
}

// and adds what another link has seen; of what both have, the first counts.
func (s Seen) and(o Seen) Seen {
	if s.Usage == nil {
		s.Usage, s.Estimated = o.Usage, o.Estimated
	}
	if s.Kind == "" {
		s.Kind, s.Why = o.Kind, o.Why
	}
	if s.Trouble.Kind == "" {
		s.Trouble = o.Trouble
	}
	s.Refused = append(s.Refused, o.Refused...)
	return s
}

// priced reports whether a link measures what the execution costs: then it ends the execution at
// its limit.
func (s Seen) priced() bool { return s.Usage != nil && s.Usage.MicroUSD > 0 }

// link opens the links of an execution. Those before one that fails are open, too.
func (r *Runner) link(ctx context.Context, e *execution) error {
	x := LinkedRun{Command: e.Command, Tool: e.tool(), Vendor: e.vendor(), Model: e.model(), Jail: r.opt.Jail}
	for _, l := range r.opt.Links {
		o, err := l.Open(ctx, x)
		if err != nil {
			return err
		}
		e.opened = append(e.opened, o)
		maps.Copy(e.env, o.Env)
		if e.files == nil {
			e.files = o.Home
		} else {
			maps.Copy(e.files, o.Home)
		}
	}
	maps.DeleteFunc(e.env, func(_, value string) bool { return value == "" })
	return nil
}

// tool is the preset, or the known tool that a command calls.
func (e execution) tool() string {
	called := filepath.Base(e.preset.Argv[0])
	if _, known := builtin(called); e.name == "" && known {
		return called
	}
	return e.name
}

// look sums up what its links have seen so far.
func (e execution) look() (seen Seen) {
	for _, o := range e.opened {
		if o.Look != nil {
			seen = seen.and(o.Look())
		}
	}
	return seen
}

// unlink closes what was opened.
func (e execution) unlink() (seen Seen) {
	for _, o := range e.opened {
		seen = seen.and(o.Close())
	}
	return seen
}

// counted is the usage that counts: what was measured, else what the tool says. Where the price
// of the model is not known, the cost is what the tool says.
func (r *Runner) counted(e execution, told work.Usage, seen Seen) work.Usage {
	told = r.priced(e, told)
	if seen.Usage == nil {
		return told
	}
	u := clamp(*seen.Usage)
	u.Model = cmp.Or(r.clean(u.Model, sessionMax), told.Model)
	u.MicroUSD = cmp.Or(u.MicroUSD, told.MicroUSD)
	return u
}
