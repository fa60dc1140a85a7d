// Package afterdone lets a card answer after the end: To Analyse on the card of a task that is done begins
// another task of the card, with names of its own, which goes through the whole pipeline and is given what the
// former has left. Every other word is answered with the way on.
package afterdone

import (
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Name of the feature.
const Name = "after_done"

// Feature is the answer for the engine.
func Feature() orchestrator.Feature {
	return orchestrator.Feature{
		Name: Name, Doc: "A card whose task is done still answers.",
		AfterDone: func(word stage.Status) (bool, string) {
			return word == stage.StatusToAnalyse, "To Analyse opens a follow-up"
		},
	}
}
