package agentcli

import (
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// System is a jail for Options.Jail, and for that of gitcli: what is installed on this machine can
// be read and run, and TCP ports connected to. The rest is what each execution is given.
func System(ports ...uint16) *work.Jail {
	j := jail.System()
	for _, port := range ports {
		j.Ports = append(j.Ports, work.Ports{First: port, Last: port})
	}
	return &j
}
