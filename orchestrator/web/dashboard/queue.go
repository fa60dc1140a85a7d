package dashboard

import (
	"cmp"
	"context"
	"maps"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// queuePage is the queue as the scheduler sees it.
type queuePage struct {
	Agents, Events, Effects []queueLine
	Lanes                   []explain.LaneView
	Budgets                 []tracker.Budget
	Failed                  []failedLine
	Paused                  []paused // agents
	Running                 int64
	Slots                   int
}

// queueLine is an unfinished job. Place is its position among those that can run;
// 0 for one that runs already, and for one that waits for something else than a
// free worker.
type queueLine struct {
	Place int
	explain.JobView
	Task task.Task
}

// failedLine is an effect that was given up.
type failedLine struct {
	explain.FailedEffect
	Task task.Task
}

// linesMax bounds how many jobs a table shows.
const linesMax = 500

func (s *server) queue(r *http.Request) (view, error) {
	v, err := explain.ReadQueue(r.Context(), s.Engine)
	if err != nil {
		return view{}, err
	}
	ids := map[int64]bool{}
	for _, j := range slices.Concat(v.Jobs, v.Effects) {
		ids[j.TaskID] = true
	}
	for _, f := range v.Failed {
		ids[f.TaskID] = true
	}
	names, err := s.tasksOf(r.Context(), ids)
	if err != nil {
		return view{}, err
	}
	if reader := access.Of(r.Context()); !reader.Reads("") {
		maps.DeleteFunc(names, func(_ int64, t task.Task) bool { return !reader.Reads(t.Repo) })
		hidden := func(j explain.JobView) bool { return names[j.TaskID].ID == 0 }
		v.Jobs, v.Effects = slices.DeleteFunc(v.Jobs, hidden), slices.DeleteFunc(v.Effects, hidden)
		v.Failed = slices.DeleteFunc(v.Failed, func(f explain.FailedEffect) bool { return names[f.TaskID].ID == 0 })
		v.Lanes, v.Budgets = nil, nil
	}
	p := queuePage{
		Running: v.Workers.Running, Slots: v.Workers.MaxConcurrency, Lanes: v.Lanes, Budgets: v.Budgets,
		Effects: lines(v.Effects, queue.PoolEffects, names),
	}
	if access.Of(r.Context()).Reads("") { // an agent is one of all repositories
		p.Paused = readBlocks(r.Context(), s.Engine).Pause.Paused
	}
	p.Agents, p.Events = lines(v.Jobs, queue.PoolAgents, names), lines(v.Jobs, queue.PoolEvents, names)
	for _, f := range v.Failed {
		p.Failed = append(p.Failed, failedLine{f, names[f.TaskID]})
	}
	return view{Name: "queue", Title: "Queue", Nav: "queue", Data: p}, nil
}

// turn sorts jobs by when they are taken: 0 = at work, 1 = with the next free
// worker, 2 = at a time, 3 = when something else has ended.
func turn(j explain.JobView) int {
	out := 1
	for _, r := range j.Waits {
		switch r.Kind {
		case explain.ReasonSlot:
		case queue.ReasonDelay:
			out = max(out, 2)
		default:
			out = 3
		}
	}
	if j.Status == queue.Running {
		return 0
	}
	return out
}

// lines are the jobs of a pool and of those below it: those at work, then the others as
// they will be taken. Within a turn the order is the queue's own; each pool has places
// of its own.
func lines(jobs []explain.JobView, pool string, names map[int64]task.Task) []queueLine {
	var out []queueLine
	for _, j := range jobs {
		if j.Pool == pool || strings.HasPrefix(j.Pool, pool+"/") {
			out = append(out, queueLine{JobView: j, Task: names[j.TaskID]})
		}
	}
	slices.SortStableFunc(out, func(a, b queueLine) int { return cmp.Compare(turn(a.JobView), turn(b.JobView)) })
	places := map[string]int{}
	for i := range out {
		if turn(out[i].JobView) == 1 {
			places[out[i].Pool]++
			out[i].Place = places[out[i].Pool]
		}
	}
	return out[:min(len(out), linesMax)]
}

// tasksOf reads tasks by id, in pages.
func (s *server) tasksOf(ctx context.Context, ids map[int64]bool) (map[int64]task.Task, error) {
	out := map[int64]task.Task{}
	for _, id := range slices.Sorted(maps.Keys(ids)) {
		if id < 1 || out[id].ID != 0 {
			continue
		}
		page, err := s.Engine.Store.Tasks(ctx, task.Filter{AfterID: id - 1, Limit: 200})
		if err != nil {
			return out, err
		}
		for _, t := range page {
			if ids[t.ID] {
				out[t.ID] = t
			}
		}
	}
	return out, nil
}

// label is the name of a task in a list.
func label(id int64, t task.Task) string {
	return cmp.Or(item(t.WorkItemID), strconv.FormatInt(id, 10))
}

// In is the part of the pool that the job is in, or empty.
func (q queueLine) In() string {
	_, part, _ := strings.Cut(q.Pool, "/")
	return part
}
