package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Pauses implements task.Pauses.
func (s *Store) Pauses(context.Context) ([]task.Pause, error) {
	return pick(s, &s.pauses, func(task.Pause) bool { return true })
}

func (s *Store) savePauses(c task.Commit) {
	for _, p := range slices.Concat(c.Resumed, c.Pauses) {
		s.pauses = slices.DeleteFunc(s.pauses, func(o task.Pause) bool { return o.Agent == p.Agent && o.Model == p.Model })
	}
	for _, p := range c.Pauses {
		p.Version++
		s.pauses = append(s.pauses, p)
	}
	slices.SortFunc(s.pauses, func(a, b task.Pause) int {
		return cmp.Or(cmp.Compare(a.Agent, b.Agent), cmp.Compare(a.Model, b.Model))
	})
}
