package work

import (
	"cmp"
	"slices"
)

// Jail lists what an execution may touch of the machine; the zero value is nothing. Every part of the
// program that gives an execution something says so in a Jail of its own, and the parts are put
// together with And.
type Jail struct {
	Write []string `json:"write,omitempty"` // files and directories that may be read, changed and run; they exist, and are no links
	Read  []string `json:"read,omitempty"`  // that may be read and run; names that cannot be reached count for nothing
	// Ports are the TCP ports that may be connected to, at any address; from 1024 up they may
	// be listened at too, and 0 stands for any free one.
	Ports  []Ports  `json:"ports,omitempty"`
	Closed []uint16 `json:"closed,omitempty"` // ports that are not among Ports, whatever these say
	// Sockets allows unix sockets, all or none: the docker
	// daemon's and a session bus are a way out.
	Sockets bool `json:"sockets,omitempty"`
	// Proxied leaves no way out but Relays and Ports: a box has a network of its own, and
	// without one there is TCP alone.
	Proxied bool    `json:"proxied,omitempty"`
	Relays  []Relay `json:"relays,omitempty"` // in a box with a network of its own

	Box    Box    `json:"box,omitzero"`     // namespaces around it; the zero value is none
	Limits Limits `json:"limits,omitzero"`  // that a cgroup or a container keeps
	Cgroup string `json:"cgroup,omitempty"` // directory of a cgroup (v2) in which each execution gets one of its own; empty = none
}

// Relay is a port of the loopback in a box that leads to a unix socket outside.
type Relay struct {
	Port   uint16 `json:"port"`
	Socket string `json:"socket"` // absolute path
}

// Alone reports whether the box has a network of its own.
func (j Jail) Alone() bool { return j.Box.Kind != "" && (j.Proxied || len(j.Ports) == 0) }

// Kinds of a Box.
const (
	BoxBubblewrap = "bwrap"
	BoxContainer  = "container"
)

// Box is a program that runs an execution in namespaces of its own: of what a Jail does not
// name there is nothing to be seen in them. Landlock and seccomp hold within.
type Box struct {
	Kind    string   `json:"kind,omitempty"`    // BoxBubblewrap or BoxContainer; empty = no box
	Program string   `json:"program,omitempty"` // absolute path of bwrap, docker or podman
	Image   string   `json:"image,omitempty"`   // of a container: its system and tools are that image's
	Network string   `json:"network,omitempty"` // of a container; empty = what the engine takes by itself
	Env     []string `json:"env,omitempty"`     // that a container's engine needs, as name=value
}

// Limits are those of all processes of one execution together; 0 = none.
type Limits struct {
	Memory    int64 `json:"memory,omitempty"` // bytes
	Processes int   `json:"processes,omitempty"`
	CPUWeight int   `json:"cpu_weight,omitempty"` // 1 to 10000 beside the kernel's 100 of others
}

// Ports is a range of TCP ports, both ends among them.
type Ports struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// And returns a jail that allows what either allows, closes the ports that either
// closes, and is Proxied when either is. Box, limits and cgroup are those of j where it has some.
func (j Jail) And(o Jail) Jail {
	box := j.Box
	if box.Kind == "" {
		box = o.Box
	}
	return Jail{
		Box: box, Limits: cmp.Or(j.Limits, o.Limits), Cgroup: cmp.Or(j.Cgroup, o.Cgroup),
		Write: slices.Concat(j.Write, o.Write), Read: slices.Concat(j.Read, o.Read),
		Ports: slices.Concat(j.Ports, o.Ports), Closed: slices.Concat(j.Closed, o.Closed), Sockets: j.Sockets || o.Sockets,
		Proxied: j.Proxied || o.Proxied, Relays: slices.Concat(j.Relays, o.Relays),
	}
}
