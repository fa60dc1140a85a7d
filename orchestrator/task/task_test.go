package task_test

import (
	"context"
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// broken fails behind a task.
type broken struct {
	task.Store
	behind int64
}

func (b broken) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	if f.AfterID >= b.behind {
		return nil, errors.ErrUnsupported
	}
	return b.Store.Tasks(ctx, f)
}

// Each reads all tasks of a filter once, whatever a page holds; it ends with an error, or where its caller does.
func TestEach(t *testing.T) {
	s := memstore.New(nil)
	for id := int64(1); id <= 7; id++ {
		row := task.Task{ID: id, Repo: []string{"a", "b"}[id%2], TrackerIssueID: string(rune('a' + id)), WorkItemID: string(rune('a' + id)), Branch: string(rune('a' + id))}
		require.NoError(t, s.Commit(t.Context(), task.Commit{Task: &row}))
	}
	for _, c := range []struct {
		repo               string
		limit, until, fail int64
		want               []int64
	}{
		{"", 2, 9, 9, []int64{1, 2, 3, 4, 5, 6, 7}}, {"b", 3, 9, 9, []int64{1, 3, 5, 7}}, {"none", 0, 9, 9, nil}, {"", 2, 3, 9, []int64{1, 2, 3}},
		{"", 2, 9, 4, []int64{1, 2, 3, 4, 0}},
	} {
		var got []int64
		for row, err := range task.Each(t.Context(), broken{s, c.fail}, task.Filter{Repo: c.repo, Limit: int(c.limit)}) {
			require.Equal(t, row.ID == 0, errors.Is(err, errors.ErrUnsupported))
			if got = append(got, row.ID); row.ID == c.until {
				break
			}
		}
		require.Equal(t, c.want, got)
	}
}
