package orchestrator

import (
	"fmt"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// hostsTold is how many hosts a reason names; the run's page has all of them.
const hostsTold = 3

// refusedHosts are the hosts that the network refused a run, with what allows them; empty = none.
func refusedHosts(p task.Project, role stage.Role, list []work.Refusal) string {
	var hosts []string
	for _, r := range list {
		host := strings.TrimSuffix(strings.TrimSuffix(r.Host, ":443"), ":80") // an entry without a port is both
		if !slices.Contains(hosts, host) {
			hosts = append(hosts, host)
		}
	}
	if len(hosts) == 0 {
		return ""
	}
	more := ""
	if n := len(hosts) - hostsTold; n > 0 {
		hosts, more = hosts[:hostsTold], fmt.Sprintf(" and %d more (its page has them)", n)
	}
	names := strings.Join(hosts, ", ")
	return fmt.Sprintf("the network refused it %s%s; "+
		"if it needs that, add %s to egress of %s (%s) in projects.yaml and run signalbox reload", names, more, names, p.Repo, role)
}
