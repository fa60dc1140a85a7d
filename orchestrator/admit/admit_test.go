package admit_test

import (
	"context"
	"fmt"
	"log/slog"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// waits are the tasks that wait by a rule.
type waits map[int64]bool

func (w waits) Judge(s admit.Start) (admit.Reason, bool) {
	return admit.Reason{Text: "waits for the weather"}, w[s.Task.ID]
}

func rule(name string, line bool, facts waits) admit.Rule {
	return admit.Rule{Name: name, Line: line, Read: func(context.Context, *admit.Pass, admit.Start) (admit.Facts, error) { return facts, nil }}
}

func deskOf(s *memstore.Store, rules ...admit.Rule) *admit.Desk {
	return admit.NewDesk(admit.Options{
		Store: s, Jobs: s, Rules: rules, Begins: func(task.Task) bool { return true }, Scheduler: run.Real{}, Log: slog.New(slog.DiscardHandler),
	})
}

// What the queue leaves out is what Admit does not let start, however the facts change: each row has its reason, and
// each reason a row, once its task was decided or looked at.
func TestRowsAreReasons(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ctx, s := context.Background(), memstore.New(nil)
		rain, line := waits{}, waits{}
		desk := deskOf(s, rule("rain", false, rain), rule("line", true, line))
		for id := int64(1); id <= 5; id++ {
			row := task.Task{
				ID: id, Repo: "acme/app", TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint(id), Branch: fmt.Sprint(id), State: stage.State{Run: 1},
			}
			job := queue.Job{Pool: queue.PoolAgents, TaskID: id, Holds: admit.Subjects(row.Repo, id)}
			require.NoError(t, s.Commit(ctx, task.Commit{Task: &row, Jobs: []queue.Job{job}}))
		}
		for range rapid.IntRange(1, 20).Draw(t, "steps") {
			id := rapid.Int64Range(1, 5).Draw(t, "task")
			rain[id], line[id] = rapid.Bool().Draw(t, "rain"), rapid.Bool().Draw(t, "line")
			if rapid.Bool().Draw(t, "decided") {
				row, err := s.Task(ctx, id)
				require.NoError(t, err)
				with := task.Commit{Task: &row}
				require.NoError(t, desk.Decide(ctx, admit.Start{Task: row, With: &with}))
				require.NoError(t, s.Commit(ctx, with))
			} else {
				desk.Mark("", id)
			}
			desk.Mark("")
			_, _, err := desk.Review(ctx)
			require.NoError(t, err)
			for id := int64(1); id <= 5; id++ {
				rows, err := admit.Rows(ctx, s, "acme/app", id)
				require.NoError(t, err)
				for name, facts := range map[string]waits{"rain": rain, "line": line} {
					has := slices.ContainsFunc(rows, func(h queue.Hold) bool { return h.Name == name })
					require.Equal(t, facts[id], has, "task %d, %s", id, name)
				}
			}
		}
	})
}

// Of two that judge a task at the same time, one writes its rows and tells people of them.
func TestRowsAreToldOnce(t *testing.T) {
	s := memstore.New(nil)
	require.NoError(t, s.Commit(t.Context(), task.Commit{Task: &task.Task{ID: 1, Repo: "acme/app"}}))
	wet := rule("rain", false, waits{1: true})
	wet.Always, wet.Told = true, func(_ context.Context, _ admit.Start, _ admit.Reason, c *task.Commit) {
		c.Jobs = append(c.Jobs, queue.Job{Pool: "words"})
	}
	other, slow := deskOf(s, wet), wet
	slow.Read = func(ctx context.Context, p *admit.Pass, start admit.Start) (admit.Facts, error) {
		why, _ := other.Claim(ctx, start)
		require.Equal(t, "waits for the weather", why)
		return wet.Read(ctx, p, start)
	}
	desk := deskOf(s, slow)
	desk.Mark("", 1)
	_, _, err := desk.Review(t.Context())
	require.NoError(t, err)
	words, err := s.Jobs(t.Context(), queue.Filter{Pool: "words"})
	require.NoError(t, err)
	require.Len(t, words, 1)
}

func Example() {
	start := admit.Start{Task: task.Task{ID: 7, Repo: "acme/app"}, Queued: true}
	facts := admit.Snapshot{{Rule: "rain", Facts: waits{7: true}}}
	for _, why := range admit.Admit(facts, start) {
		fmt.Println(why.Rule+":", why.Text)
	}
	// Output: rain: waits for the weather
}

// A rule whose facts hang is given up, and fails as it says.
func TestRulesThatHang(t *testing.T) {
	hangs := func(ctx context.Context, _ *admit.Pass, _ admit.Start) (admit.Facts, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	synctest.Test(t, func(t *testing.T) {
		for _, why := range []string{"", "the books cannot be read"} {
			begun := time.Now()
			got, _ := deskOf(memstore.New(nil), admit.Rule{Name: "r", Read: hangs, Closed: why}).Claim(t.Context(), admit.Start{})
			require.Equal(t, why, got)
			require.Equal(t, 15*time.Second, time.Since(begun))
		}
	})
}
