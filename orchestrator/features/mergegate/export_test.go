package mergegate

// For is a gate for repositories that can do nothing but tell which it covers.
func For(repos []string) *Gate { return &Gate{opt: Options{Repos: repos}} }

// Ordinal is the place in a line.
var Ordinal = ordinal
