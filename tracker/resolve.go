package tracker

import (
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Resolve is the status whose column serves a status on a board: its own, or the one of the
// status that it falls back to, and so on. ok is false when the board has none of them; has
// reports which columns of their own statuses have.
func Resolve(s stage.Status, has func(stage.Status) bool) (served stage.Status, ok bool) {
	for range stage.Statuses() { // a chain of fallbacks is no longer than the table
		info, known := stage.StatusNamed(s)
		switch {
		case !known:
			return stage.StatusUnknown, false
		case has(s):
			return s, true
		}
		s = info.Fallback
	}
	return stage.StatusUnknown, false
}

// StatusCalled is the status whose column has a name, in which neither case nor blanks around it
// matter; stage.StatusUnknown when there is none.
func StatusCalled(name string) stage.Status {
	name = strings.TrimSpace(name)
	for _, info := range stage.Statuses() {
		if strings.EqualFold(name, info.Name) {
			return info.Key
		}
	}
	return stage.StatusUnknown
}
