package deps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Graph records which tasks wait for which: task id → prerequisites.
type Graph map[int64][]int64

// Cycle finds a cycle by depth-first search, if there is one: its tasks in
// order, the smallest first.
func (g Graph) Cycle() []int64 {
	const (
		unseen = iota
		open
		closed
	)
	color := map[int64]int{}
	var path, found []int64
	var visit func(int64) bool
	visit = func(id int64) bool {
		color[id] = open
		path = append(path, id)
		for _, on := range g[id] {
			if color[on] == open {
				found = slices.Clone(path[slices.Index(path, on):])
				return true
			}
			if color[on] == unseen && visit(on) {
				return true
			}
		}
		color[id] = closed
		path = path[:len(path)-1]
		return false
	}
	var ids []int64
	for id := range g {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	for _, id := range ids {
		if color[id] == unseen && visit(id) {
			return rotate(found)
		}
	}
	return nil
}

// reaches reports whether a task waits for another, by way of any others.
func (g Graph) reaches(from, to int64) bool {
	seen := map[int64]bool{}
	for next := []int64{from}; len(next) > 0; {
		id := next[0]
		if next = next[1:]; id == to {
			return true
		}
		if !seen[id] {
			seen[id], next = true, append(next, g[id]...)
		}
	}
	return false
}

// rotate makes a cycle begin with its smallest task.
func rotate(cycle []int64) []int64 {
	i := slices.Index(cycle, slices.Min(cycle))
	return append(slices.Clone(cycle[i:]), cycle[:i]...)
}

// Cycles finds all cycles that share no task.
func (g Graph) Cycles() (out [][]int64) {
	rest := Graph{}
	for id, on := range g {
		rest[id] = on
	}
	for {
		c := rest.Cycle()
		if c == nil {
			return out
		}
		out = append(out, c)
		for _, id := range c {
			delete(rest, id)
		}
	}
}

// describe names a cycle: "GPX-1 → GPX-3 → GPX-1", and what in it is no dependency.
func (w world) describe(cycle []int64) string {
	text := w.tasks[cycle[0]].WorkItemID
	var line []string
	for i, id := range cycle {
		on := cycle[(i+1)%len(cycle)]
		text += " → " + w.tasks[on].WorkItemID
		if !slices.Contains(w.graph[id], on) {
			line = append(line, w.tasks[id].WorkItemID+" begins after "+w.tasks[on].WorkItemID)
		}
	}
	if len(line) > 0 {
		text += fmt.Sprintf(" (tasks of a repository begin one at a time: %s)", strings.Join(line, ", "))
	}
	return text
}

// inLine returns which tasks wait for the one right before them in their repository: those whose
// analyst a hold of that name keeps.
func inLine(live []task.Task, held []queue.Hold, name string) Graph {
	g, before := Graph{}, map[string]int64{}
	for _, t := range live {
		own := func(h queue.Hold) bool {
			return h.Name == name && h.Subject == orchestrator.RoleInTask(stage.Analyst, t.ID)
		}
		if ahead, ok := before[t.Repo]; ok && t.State.Active != "" && slices.ContainsFunc(held, own) {
			g[t.ID] = []int64{ahead}
		}
		before[t.Repo] = t.ID
	}
	return g
}

// waitsFor names the prerequisites that are not finished.
func waitsFor(on []int64, tasks map[int64]task.Task, cards []string) string {
	names := slices.Clone(cards)
	for _, id := range on {
		names = append(names, fmt.Sprintf("%s (task %d)", tasks[id].WorkItemID, id))
	}
	return "waits for " + strings.Join(names, ", ")
}
