package agentcli

import (
	"encoding/json"
	"os"
	"strings"

	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// ident is a process beyond the reuse of its number, within one boot.
type ident struct {
	PID   int    `json:"pid"`
	Start uint64 `json:"start"` // kernel ticks since the boot
}

// record holds what is running. The service writes it before it starts the shim,
// and the shim adds itself before it starts the agent.
type record struct {
	TaskID int64   `json:"task_id"`
	Token  string  `json:"token"`
	Dir    string  `json:"dir"`
	Boot   string  `json:"boot"`
	Log    string  `json:"log,omitempty"` // standard output
	Shim   ident   `json:"shim,omitzero"`
	Strays []ident `json:"strays,omitempty"` // seen below the shim without the mark

	Jail work.Jail `json:"jail,omitzero"`  // box and cgroup alone: where more of the run may be than in the process table
	Exit *int      `json:"exit,omitempty"` // of the agent, once it has ended

	Session  string   `json:"session,omitempty"`  // directory in which the tool's session is kept when the run has ended
	Sessions []string `json:"sessions,omitempty"` // where it is in the agent's HOME

	Missing string `json:"missing,omitempty"` // that the agent's program is not in PATH
}

// name is that of the run's cgroup and container.
func (r record) name() string { return "signalbox-" + strings.ToLower(r.Token) }

// write replaces the file at once: it is never seen half written.
func (r record) write(name string) error {
	body, err := json.Marshal(r)
	if err != nil {
		return err
	}
	if err := os.WriteFile(name+".new", body, 0o600); err != nil {
		return err
	}
	return os.Rename(name+".new", name)
}

func readRecord(name string) (r record, err error) {
	body, err := os.ReadFile(name)
	if err != nil {
		return r, err
	}
	return r, json.Unmarshal(body, &r)
}

// shimOrder holds what the shim reads from its standard input, in one line.
type shimOrder struct {
	jail.Order
	Dir     string `json:"dir"`
	Stdin   string `json:"stdin"`
	Out     string `json:"out"`
	Err     string `json:"err"`
	Record  string `json:"record"`
	Max     int64  `json:"max"`
	GraceMS int64  `json:"grace_ms"`
}
