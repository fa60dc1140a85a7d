// Package egress is the way out of an execution that may reach the hosts of a list and no
// others: a forward proxy of its own for each execution, on a loopback port that its password
// alone opens. CONNECT is served, and plain HTTP of package registries.
//
// A name is looked up by the proxy, and the address that was checked is the one that is dialled:
// those of this machine, of its networks, of its cloud's metadata and of groups are refused
// unless the list names the address itself. What is refused is counted by host; of what passes
// the bytes are counted, and nothing is kept.
//
// The proxy sees no further than the host of a connection: who may reach a host may say anything
// to it, and through a network that serves many hosts at one address also to these.
//
// That an execution has no other way is not this package's doing but the jail's (work.Jail).
package egress
