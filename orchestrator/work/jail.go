package work

import "slices"

// Jail is what an execution may touch of the machine; the zero value is nothing. Whoever
// gives an execution something says so in a Jail of his own, and the parts are put together
// with And.
type Jail struct {
	Write []string `json:"write,omitempty"` // files and directories that may be read, changed and run; they exist, and are no links
	Read  []string `json:"read,omitempty"`  // that may be read and run; names that cannot be reached count for nothing
	// Ports are the TCP ports that may be connected to, at any address; from 1024 up they may
	// be listened at too, and 0 stands for any free one.
	Ports  []Ports  `json:"ports,omitempty"`
	Closed []uint16 `json:"closed,omitempty"` // ports that are not among Ports, whatever these say
	// Sockets says that unix sockets may be used. Which ones cannot be said: the docker
	// daemon's and a session bus are a way out.
	Sockets bool `json:"sockets,omitempty"`
}

// Ports is a range of TCP ports, both ends among them.
type Ports struct {
	First uint16 `json:"first"`
	Last  uint16 `json:"last"`
}

// And returns a jail that allows what either allows, and closes the ports that either
// closes.
func (j Jail) And(o Jail) Jail {
	return Jail{
		Write: slices.Concat(j.Write, o.Write), Read: slices.Concat(j.Read, o.Read),
		Ports: slices.Concat(j.Ports, o.Ports), Closed: slices.Concat(j.Closed, o.Closed), Sockets: j.Sockets || o.Sockets,
	}
}
