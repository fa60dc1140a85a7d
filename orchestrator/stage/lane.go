package stage

import (
	"fmt"
	"slices"
	"strings"
)

// Lane is a shorter way through a pipeline: some of its stages, in their order. A stage keeps its row in every lane.
type Lane struct {
	Name   string
	Stages []Stage
}

// WholeLane names the way through all stages. The state of a task on it names no lane.
const WholeLane = "full"

// UndoLane is the way of a task that takes back what another has landed: where a pipeline has it, the card of a task
// that is done answers to people.
const UndoLane = "undo"

// CheckLane returns an error that reports why a pipeline has no lane of a name, and which it has.
func (p Pipeline) CheckLane(name string) error {
	names := []string{WholeLane}
	for _, l := range p.Lanes {
		names = append(names, l.Name)
	}
	if slices.Contains(names, name) {
		return nil
	}
	return fmt.Errorf("there is no lane %q, want %s", name, strings.Join(names, " or "))
}

// CheckLanes returns the first of the lanes of a pipeline that cannot be one, and why.
func (p Pipeline) CheckLanes() (at int, err error) {
	for at, l := range p.Lanes {
		var stages []Info
		var all []string
		for _, i := range p.Stages {
			if i.Sink || i.Ruled {
				continue
			}
			if all = append(all, string(i.Stage)); slices.Contains(l.Stages, i.Stage) {
				stages = append(stages, i)
			}
		}
		same := func(i Info, s Stage) bool { return i.Stage == s }
		switch _, err := CheckStages(stages); {
		case !nameForm.MatchString(l.Name) || l.Name == WholeLane:
			const want = "lane is %q, want small letters, digits and dashes, and not %s, which is the way through all stages"
			return at, fmt.Errorf(want, l.Name, WholeLane)
		case slices.ContainsFunc(p.Lanes[:at], func(o Lane) bool { return o.Name == l.Name }):
			return at, fmt.Errorf("lane %s is there twice", l.Name)
		case !slices.EqualFunc(stages, l.Stages, same):
			return at, fmt.Errorf("lane %s: stages are %s, want some of %s, in this order and each once",
				l.Name, l.Stages, strings.Join(all, ", "))
		case err != nil:
			return at, fmt.Errorf("lane %s: %w", l.Name, err)
		}
	}
	return 0, nil
}

// Lacks reports whether a task passes a stage over: its lane leaves it out, it deploys and nothing is deployed, or only
// the rule of a feature leads there.
func (p Pipeline) Lacks(s State, at Stage) bool {
	i := p.Info(at)
	lane := slices.IndexFunc(p.Lanes, func(l Lane) bool { return l.Name == s.Lane })
	return i.Stage == "" || i.Ruled || s.NoDeploy && i.Role == Deployer && at != Deploy ||
		lane >= 0 && !i.Sink && !slices.Contains(p.Lanes[lane].Stages, at)
}

// First returns the stage that a task begins with.
func (p Pipeline) First(s State) Stage { return p.pass(s, p.Stages[0].Stage) }

// pass returns the stage that a task enters where the pipeline leads to one.
func (p Pipeline) pass(s State, to Stage) Stage {
	at := slices.IndexFunc(p.Stages, func(i Info) bool { return i.Stage == to })
	for p.Lacks(s, p.Stages[at].Stage) {
		at++
	}
	return p.Stages[at].Stage
}
