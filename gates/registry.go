package gates

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// All is the Check of a verdict that combines several.
const All = "all"

// Registry is a set of gates by name, QG_CHECKS. It is immutable and safe for
// concurrent use.
type Registry struct {
	names  []string
	byName map[string]Gate
}

// NewRegistry makes a registry. A gate without a name, or with the name of
// another, is an error that names it.
func NewRegistry(gs ...Gate) (*Registry, error) {
	r := &Registry{byName: map[string]Gate{}}
	for i, g := range gs {
		name := g.Name()
		if name == "" {
			return nil, fmt.Errorf("gates: gate %d has no name", i+1)
		}
		if _, twice := r.byName[name]; twice {
			return nil, fmt.Errorf("gates: two gates are called %q", name)
		}
		r.names = append(r.names, name)
		r.byName[name] = g
	}
	return r, nil
}

// Names lists the gates in the order of registration.
func (r *Registry) Names() []string { return append([]string(nil), r.names...) }

// Has reports whether a gate of that name is registered.
func (r *Registry) Has(name string) bool { return r.byName[name] != nil }

// Split separates the quick of the named gates from those that are Slow, each in order.
func (r *Registry) Split(names ...string) (quick, slow []string) {
	for _, name := range names {
		if _, is := r.byName[name].(Slow); is {
			slow = append(slow, name)
		} else {
			quick = append(quick, name)
		}
	}
	return quick, slow
}

// Judge evaluates the named gates on a set of facts, in order, and combines their
// verdicts: green when all are green, else error before red before red that people have to put right
// outside of the branch before defer before red that a person can let pass, which a person decides when nothing else is open. The
// verdict of a single gate is its own; no gate at all is green. A name that
// is not registered and a gate that panics are errors.
func (r *Registry) Judge(ctx context.Context, s Facts, names ...string) Verdict {
	verdicts := make([]Verdict, 0, len(names))
	for _, name := range names {
		verdicts = append(verdicts, r.judge(ctx, s, name))
	}
	if len(verdicts) == 1 {
		return verdicts[0]
	}
	return Combine(s.SHA, verdicts...)
}

func (r *Registry) judge(ctx context.Context, s Facts, name string) (v Verdict) {
	g := r.byName[name]
	if g == nil {
		return Broken(name, "no gate of that name is registered")
	}
	if err := run.Guard("gate "+name, func() { v = g.Judge(ctx, s) }); err != nil {
		return Broken(name, err.Error())
	}
	v.Check = name
	v.SHA = cmp.Or(v.SHA, s.SHA)
	if v.Outcome == Error && v.Reason == "" {
		v.Reason = "the gate gave no verdict"
	}
	return v
}

// Combine makes one verdict of several, as Registry.Judge does.
func Combine(sha string, verdicts ...Verdict) Verdict {
	out := Verdict{Check: All, Outcome: Green, SHA: sha, Children: verdicts}
	if len(verdicts) == 0 {
		out.Reason = "there is no gate here"
		return out
	}
	worstFirst := []Verdict{
		{Outcome: Error}, {Outcome: Red}, {Outcome: Red, Person: true}, {Outcome: Defer}, {Outcome: Red, Asks: true},
	}
	for _, worst := range worstFirst {
		if reasons := reasonsOf(verdicts, worst); len(reasons) > 0 {
			out.Outcome, out.Asks, out.Person, out.Reason = worst.Outcome, worst.Asks, worst.Person, strings.Join(reasons, "; ")
			out.Empty = worst.Asks && slices.ContainsFunc(verdicts, func(v Verdict) bool { return v.Asks && v.Empty })
			final := func(v Verdict) bool { return v.Outcome == Error && !v.Retryable }
			if worst.Outcome == Error && !slices.ContainsFunc(verdicts, final) {
				out.Retryable = true
				for _, v := range verdicts { // until all errors may have gone away
					out.RetryAfter = max(out.RetryAfter, v.RetryAfter)
				}
			}
			return out
		}
	}
	out.Reason = fmt.Sprintf("all %d gates are green", len(verdicts))
	return out
}

// reasonsOf are the reasons of the verdicts of a kind, with the names of their gates, as
// people read them, when there is more than one.
func reasonsOf(verdicts []Verdict, as Verdict) []string {
	var out, named []string
	for _, v := range verdicts {
		if v.Outcome == as.Outcome && (v.Outcome != Red || v.Asks == as.Asks && v.Person == as.Person) {
			name := strings.ReplaceAll(strings.TrimPrefix(v.Check, "check_"), "_", " ")
			out, named = append(out, v.Reason), append(named, name+": "+v.Reason)
		}
	}
	if len(out) > 1 {
		return named
	}
	return out
}
