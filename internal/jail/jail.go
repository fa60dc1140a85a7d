// Package jail confines the processes of an agent or a check with what the kernel offers
// to every user: Landlock for files, TCP ports and signals, seccomp for system calls that
// Landlock does not cover, no new privileges, no capabilities, and limits. Where the
// machine has them, namespaces (bubblewrap, or a container) are put around that, and a cgroup.
//
// A shim stays outside, so that it can end what it has started. It starts itself once more
// (Start); that process, which has no other threads that matter, walks into the jail and
// becomes the agent (Stage.Run). With a box it becomes the box first, which starts the same
// program within, where the rest is the same. What the agent starts is in the jail as well, and there is
// no way out.
//
// What the jail does not close is in SECURITY.md of this module.
package jail

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Stage is an order to a process of the shim's program that is not in the jail yet.
type Stage struct {
	Jail  work.Jail `json:"jail"`
	Name  string    `json:"name,omitempty"` // of this execution alone: of its cgroup and its container
	Path  string    `json:"path,omitempty"` // of the program to become; in a container it may be one of the image's PATH
	Argv  []string  `json:"argv,omitempty"`
	Stdin string    `json:"stdin,omitempty"` // file
	Env   []string  `json:"env,omitempty"`   // without PATH; nil = that of the process
	Boxed bool      `json:"boxed,omitempty"` // the process is in the jail's box already
	// Try makes the process try what must fail in place of becoming a program.
	Try *Try `json:"try,omitempty"`
}

// Order is a line of JSON that a shim reads from its standard input, as far as this
// package reads it.
type Order struct {
	Stage *Stage     `json:"stage,omitempty"` // nil: the order is that of a shim, which is the rest
	Argv  []string   `json:"argv,omitempty"`
	Jail  *work.Jail `json:"jail,omitempty"` // nil: what is started is not confined
	Name  string     `json:"name,omitempty"` // of its cgroup and its container
}

// Limits of a process in the jail. That of processes counts all of the user's: it stops
// a fork bomb before the service, which has no such limit, cannot start any more. That of a file is
// more than a build makes, and less than a disk that the service should have.
const (
	filesMax     = 65536
	processesMax = 4096
	fileMax      = 16 << 30 // bytes
	sacrificed   = 500      // oom_score_adj
)

// Try are the things that a process in the jail tries for the self-test.
type Try struct {
	Canary string `json:"canary"` // a file that it must not read, and in a box not change the mode of
	Own    string `json:"own"`    // a directory that it must be able to write
	PID    int    `json:"pid"`    // a process that it must not signal; 0 = it may
	PIDs   string `json:"pids"`   // the namespace of processes that it must not be in when it is in a box
	Port   uint16 `json:"port"`   // on 127.0.0.1, that it must not connect to
	Relay  uint16 `json:"relay"`  // on 127.0.0.1, behind which somebody says relayed; 0 = there is none
	// TCPAlone: it must be able to open no other socket of the internet.
	TCPAlone bool `json:"tcp_alone"`
}

// Proof holds what the self-test has shown.
type Proof struct {
	Box  string // the kind of the box; empty = none
	ABI  int    // of the Landlock that holds; 0 = none does
	Weak string // what this kernel cannot close; empty when it closes all that this package needs
}

// String names the proof for people.
func (p Proof) String() string {
	walls := fmt.Sprintf("Landlock ABI %d", p.ABI)
	if p.ABI == 0 {
		walls = "no Landlock"
	}
	if p.Box != "" {
		walls = p.Box + ", " + walls
	}
	if p.Weak != "" {
		return walls + "; " + p.Weak
	}
	return walls + ", proven by a process that tried to get out"
}

// ExitRefused is the exit code of a process that could not enter the jail. Nothing was run.
const ExitRefused = 126
