package work

import "cmp"

// Identifier extends Agents where they name an agent before it runs.
type Identifier interface {
	// Identify returns what Result.Agent of the agent's runs is, and Result.Vendor as far as
	// that is known before; empty = not known.
	Identify(a Agent) (name, vendor string)
}

// Identify returns what agents say of an agent before it runs. Where they say nothing, its name
// is that of the registry.
func Identify(agents Agents, a Agent) (name, vendor string) {
	if by, ok := agents.(Identifier); ok {
		return by.Identify(a)
	}
	return cmp.Or(a.Use, "the default agent"), ""
}
