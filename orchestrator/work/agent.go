package work

import "time"

// Agent defines how the agent of a role is run. The zero value is the service's default
// agent, as it comes.
type Agent struct {
	Use      string        // preset or command line; empty = the default
	Model    string        // as the tool names it; empty = the tool's own choice
	Args     []string      // behind those of the preset
	Env      []string      // names of the service's environment that it sees besides
	Timeout  time.Duration // of a run; 0 = the service's
	Stall    time.Duration // without output it is taken to hang; 0 = the service's
	MicroUSD int64         // a run that has cost as much is ended, in millionths of a dollar; 0 = no limit
	Egress   []string      // hosts that it may reach, where the service limits them; nil = those of its project
	// Independent: it is to be of another vendor than the developer's agent was.
	Independent bool
}
