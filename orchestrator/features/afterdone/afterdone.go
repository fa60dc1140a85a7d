// Package afterdone lets a card answer after the end. To Analyse on the card of a task that is done begins another
// task of the card, with names of its own, which goes through the whole pipeline and is given what the former has
// left. Undo begins one that takes back what the former has landed: its commit is made without an agent, and goes
// through CI, a person's approval, the merge gate and the deployment as any other; meanwhile the repository is
// frozen. Every other word is answered with the way on.
package afterdone

import (
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Names of the feature, and, with its key behind a slash, of the holds of an undo that is under way.
const (
	name   = "after_done"
	Freeze = "undo"
)

// Options of the feature, which needs Workspaces too: undo takes a work.Reverter.
type Options struct {
	orchestrator.Parts

	Freeze bool // nobody else begins or merges in a repository while something is taken back in it
}

// Feature is the answer for the engine.
func Feature(o Options) (orchestrator.Feature, error) {
	if err := o.Complete("afterdone"); err != nil {
		return orchestrator.Feature{}, err
	}
	return orchestrator.Feature{
		Name:     name,
		Pipeline: rows, Rules: []stage.Rule{rule}, On: o.freeze,
		Runners: map[stage.EffectKind]orchestrator.Runner{orchestrator.EffectRevert: orchestrator.RunnerFunc(o.revert)},
	}, nil
}
