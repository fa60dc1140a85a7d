package jail

import "strings"

// Group is a cgroup that belongs to the service.
type Group struct {
	Dir         string   // each execution gets one in it
	Controllers []string // of memory, pids and cpu those that limit something there
}

// String names the group for people.
func (g Group) String() string {
	if len(g.Controllers) == 0 {
		return "cgroup " + g.Dir + ": ends all processes of an execution at once, and limits nothing (no controller is delegated)"
	}
	return "cgroup " + g.Dir + ": ends all processes of an execution at once, limits " + strings.Join(g.Controllers, ", ")
}
