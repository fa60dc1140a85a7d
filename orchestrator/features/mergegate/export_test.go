package mergegate

// For returns a gate whose only option is the list of repositories that it covers.
func For(repos []string) *Gate { return &Gate{opt: Options{Repos: repos}} }

// Ordinal is the place in a line.
var Ordinal = ordinal

// First orders a line.
var First = first
