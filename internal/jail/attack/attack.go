// Package attack is the list of what an agent that is turned against the service tries, in
// one place: the tests of the jail make each attack in it and without one, and the server's
// "doctor security" makes them on the machine that it is on.
//
// What an attack destroys when it succeeds is a Scene's: a copy of what a service has.
package attack

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"
	"slices"
)

// Wall names what stops an attack; the walls are described in SECURITY.md.
type Wall string

// Walls.
const (
	Files      Wall = "Landlock: files"
	TCP        Wall = "Landlock: TCP ports"
	Scopes     Wall = "Landlock: scopes"
	Seccomp    Wall = "seccomp"
	Privileges Wall = "no new privileges, no capabilities"
	Limits     Wall = "limits"
	Namespaces Wall = "namespaces" // of bubblewrap or a container; without them these attacks succeed
	Proxy      Wall = "egress"     // the way out by a proxy alone, and the proxy's list
)

// Attack is one of them.
type Attack struct {
	Name string
	Wall Wall // stops it in the jail
	// Control means that it succeeds without a jail, everywhere, for a user that is not root.
	Control bool
	try     func(Scene) error // nil: it has succeeded
}

// ErrNotHere means that a scene lacks what an attack aims at.
var ErrNotHere = errors.New("this scene has nothing of the kind")

// Exit codes of a process that makes an attack.
const (
	Succeeded = 40
	Failed    = 41
	NotHere   = 42
	unknown   = 2
)

// Scene holds what an attacker finds: a data directory of a service with tasks 1, which the
// attacker works on, and 2; a HOME, listeners, and a process of the same user.
type Scene struct {
	Root    string `json:"root"`    // of all of it
	Service int    `json:"service"` // pid
	Victim  int    `json:"victim"`  // pid of another process of the user; 3 is the database, 4 a file without a name
	Open    int    `json:"open"`    // descriptor of the database, which the service was started with
	Port    int    `json:"port"`    // the service listens at
	Free    int    `json:"free"`    // closed too, and nobody listens there
	Name    string `json:"name"`    // of an abstract unix socket of the service
	Sockets string `json:"sockets"` // directory of two that have names
	IPC     string `json:"ipc"`     // the namespace of System V's that the service is in
	SUID    string `json:"suid"`    // a program that makes its caller root; may be empty
	Live    Live   `json:"live"`
	// Outside is a port of this machine at which a listed host is played, by TCP and UDP: what
	// is sent there comes back.
	Outside int `json:"outside"`
}

// Live is a service itself. Attacks on it change nothing that lasts.
type Live struct {
	Database string `json:"database"`
	Data     string `json:"data"`
	Home     string `json:"home"`
	Ports    []int  `json:"ports"`
}

// DB is the database.
func (s Scene) DB() string { return filepath.Join(s.Root, "data/signalbox.db") }

// Own is the attacker's checkout.
func (s Scene) Own() string { return filepath.Join(s.Root, "data/git/work/a") }

// Home is the service's HOME.
func (s Scene) Home() string { return filepath.Join(s.Root, "home") }

// Make makes an attack in this process, and returns the exit code. What stopped it is
// written to w.
func (s Scene) Make(name string, w io.Writer) int {
	for _, a := range slices.Concat(All(), OnEgress(), []Attack{Honest()}) {
		if a.Name != name {
			continue
		}
		switch err := a.try(s); {
		case err == nil:
			return Succeeded
		case errors.Is(err, ErrNotHere):
			return NotHere
		default:
			fmt.Fprintln(w, err)
			return Failed
		}
	}
	return unknown
}
