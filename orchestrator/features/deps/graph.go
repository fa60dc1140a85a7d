package deps

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
)

// Graph says which tasks wait for which: task id → prerequisites.
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

// describe names a cycle: "GPX-1 → GPX-3 → GPX-1".
func describe(cycle []int64, tasks map[int64]orchestrator.Task) string {
	var names []string
	for _, id := range append(slices.Clone(cycle), cycle[0]) {
		names = append(names, tasks[id].WorkItemID)
	}
	return strings.Join(names, " → ")
}

// waitsFor names the prerequisites that are not finished.
func waitsFor(on []int64, tasks map[int64]orchestrator.Task, cards []string) string {
	names := slices.Clone(cards)
	for _, id := range on {
		names = append(names, fmt.Sprintf("%s (task %d)", tasks[id].WorkItemID, id))
	}
	if len(names) == 1 {
		return names[0] + " is not finished"
	}
	return strings.Join(names, ", ") + " are not finished"
}
