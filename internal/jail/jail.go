// Package jail confines the processes of an agent or a check with what the kernel offers
// to every user: Landlock for files, TCP ports and signals, seccomp for system calls that
// Landlock does not cover, no new privileges, no capabilities, and limits.
//
// A shim stays outside, so that it can end what it has started. It starts itself once more
// (Start); that process, which has no other threads that matter, walks into the jail and
// becomes the agent (Stage.Run). What the agent starts is in the jail as well, and there is
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
	Path  string    `json:"path,omitempty"` // of the program to become
	Argv  []string  `json:"argv,omitempty"`
	Stdin string    `json:"stdin,omitempty"` // file
	// Try makes the process try what must fail in place of becoming a program.
	Try *Try `json:"try,omitempty"`
}

// Order is a line of JSON that a shim reads from its standard input, as far as this
// package reads it.
type Order struct {
	Stage *Stage `json:"stage,omitempty"` // nil: the order is another one
}

// Try are the things that a process in the jail tries for the self-test.
type Try struct {
	Canary string `json:"canary"` // a file that it must not read
	Own    string `json:"own"`    // a directory that it must be able to write
	PID    int    `json:"pid"`    // a process that it must not signal
	Port   uint16 `json:"port"`   // on 127.0.0.1, that it must not connect to
}

// Proof is what the self-test has shown.
type Proof struct {
	ABI  int    // of the kernel's Landlock
	Weak string // what this kernel's cannot close; empty when it closes all that this package asks for
}

// String names the proof for people.
func (p Proof) String() string {
	if p.Weak != "" {
		return fmt.Sprintf("Landlock ABI %d; %s", p.ABI, p.Weak)
	}
	return fmt.Sprintf("Landlock ABI %d, proven by a process that tried to get out", p.ABI)
}

// ExitRefused is the exit code of a process that could not enter the jail. Nothing was run.
const ExitRefused = 126
