package memstore

import (
	"cmp"
	"context"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Facts implements task.Facts.
func (s *Store) Facts(_ context.Context, like task.Fact, limit int) ([]task.Fact, error) {
	out, err := pick(s, &s.facts, func(f task.Fact) bool { return f.Like(like) })
	if limit > 0 {
		out = out[:min(limit, len(out))]
	}
	return out, err
}

func (s *Store) saveFacts(c task.Commit) {
	for _, f := range c.Over {
		s.facts = slices.DeleteFunc(s.facts, f.Is)
	}
	for _, f := range c.Facts {
		f.Since = s.now()
		if i := slices.IndexFunc(s.facts, f.Is); i >= 0 {
			s.facts[i].Text = f.Text
			continue
		}
		s.facts = append(s.facts, f)
	}
	slices.SortFunc(s.facts, func(a, b task.Fact) int {
		return cmp.Or(cmp.Compare(a.Kind, b.Kind), cmp.Compare(a.Of, b.Of), cmp.Compare(a.Task, b.Task))
	})
}
