package work

import "fmt"

// Refusal is a host that an execution wanted to reach and was not let to. The name is the
// execution's choice: bounded, of few characters, and not to be believed.
type Refusal struct {
	Host  string `json:"host"`          // with its port
	Times int64  `json:"times"`         // how often
	Why   string `json:"why,omitempty"` // in words; empty = it is not on the list
}

// String names the host for people.
func (r Refusal) String() string {
	out := r.Host
	if r.Times > 1 {
		out += fmt.Sprintf(" (%d times)", r.Times)
	}
	if r.Why != "" {
		out += ": " + r.Why
	}
	return out
}
