package orchestrator

import (
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// identifyWait is how long a job is put off at a time while the tracker has not
// answered which accounts are the service's own.
const identifyWait = 5 * time.Second

// nobody is an id that no account has.
const nobody = "-"

// Identified returns why it is not known yet which accounts of a project's tracker are the
// service's own. Other trackers are not waited for.
func (e *Engine) Identified(p task.Project) error {
	_, err := e.Tracker.Own(mux.Key(p.Board, nobody))
	return err
}

// awaitAccounts is the outcome of a job that is not to be done yet: it is not known which
// accounts are the service's own, so that our own words could be taken for a person's.
// nil = it is to be done.
func (e *Engine) awaitAccounts(p task.Project) *queue.Outcome {
	if err := e.Identified(p); err != nil {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(identifyWait), Error: err.Error()}
	}
	return nil
}

// ourMove is the status of the task and the writes by which a move with an account of the
// service's own is told from one of a person who uses the same account.
type ourMove struct {
	task   task.Task // the newest of the work item, also a cancelled one; zero: none
	writes []Effect  // that are owed to it
}

// isEcho reports whether a webhook of a move by an account of the service's own comes of a
// write of the service. Other columns than that of the last write count as a person's, but
// those that request nothing, and In Progress: an earlier write may be reported late.
func (m ourMove) isEcho(to stage.Status) bool {
	_, trigger := stage.BoardTrigger(to)
	return !trigger || to == stage.StatusInProgress || m.set(to)
}

// made reports whether the service has set the status that a work item stands at, by an
// account of its own as the tracker's log says. In Progress, which it sets too, may be
// read from a replica that lags while a task goes on.
func (m ourMove) made(at stage.Status, now time.Time) bool {
	moving := len(m.writes) > 0 || now.Sub(m.task.UpdatedAt) < overwriteWindow
	_, served := tracker.Resolve(m.task.State.Set, func(s stage.Status) bool { return s == at }) // a board that lacked the column then
	return m.set(at) || served || at == stage.StatusInProgress && moving
}

// set reports whether a status was set last, or a write that is owed sets or replaces it.
func (m ourMove) set(s stage.Status) bool {
	return s == m.task.State.Set || slices.ContainsFunc(m.writes, func(w Effect) bool { return w.Status == s || w.Previous == s })
}
