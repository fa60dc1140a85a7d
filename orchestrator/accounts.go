package orchestrator

import (
	"time"

	"github.com/signalbox-dev/signalbox/queue"
)

// identifyWait is how long a job is put off at a time while the tracker has not
// answered which accounts are the service's own.
const identifyWait = 5 * time.Second

// awaitAccount is the outcome of a job that is not to be done: its cause is an account of
// our own, or it is not known yet which these are, so that our own words could be
// taken for a person's. nil = it is to be done. A webhook that came before they were
// known is judged here for the first time.
func (e *Engine) awaitAccount(account string) *queue.Outcome {
	own, err := e.Tracker.Own(account)
	switch {
	case err != nil:
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(identifyWait), Error: err.Error()}
	case own:
		return done("the change is our own")
	default:
		return nil
	}
}
