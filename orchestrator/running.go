package orchestrator

import "context"

// agentAtWork is a claimed job of this process.
type agentAtWork struct {
	run    int64
	cancel context.CancelFunc
	place  string // repository and work item; empty until the task was read
}

// isOccupied notes where an agent is to work, and reports whether one of another task does: of a cancelled one, which had the same
// names, was at work in this process, and whose checkout has not been removed.
func isOccupied(e *Engine, a *agentAtWork, place string) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, other := range e.running {
		if other != a && other.place == place {
			return true
		}
	}
	a.place = place
	return false
}

// isAtWork reports whether an attempt of a task is under way in this process. Its agent's process may not have begun.
func isAtWork(e *Engine, taskID int64) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.running[taskID] != nil
}

// agentStarts notes a job that was claimed. One of the same task that has not
// ended yet has lost its claim, unless it is of a later run: then this one was overtaken between its claim and here,
// and ends by what it reads in the task.
func (e *Engine) agentStarts(taskID int64, a *agentAtWork) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.running[taskID]; old != nil {
		if old.run > a.run {
			return
		}
		old.cancel()
	}
	e.running[taskID] = a
	e.Metrics.SessionsRunning.Set(float64(len(e.running)))
}

func (e *Engine) agentEnds(taskID int64, a *agentAtWork) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[taskID] == a {
		delete(e.running, taskID)
	}
	e.Metrics.SessionsRunning.Set(float64(len(e.running)))
}

// stopAgents ends the agent of a task if it works in this process, at a run up to the last.
// A later one may have been claimed already.
func (e *Engine) stopAgents(taskID, last int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.running[taskID]; a != nil && a.run <= last {
		a.cancel()
	}
}
