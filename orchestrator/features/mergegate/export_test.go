package mergegate

// For returns a gate whose only option is the list of repositories that it covers.
func For(repos []string) *Gate { return &Gate{opt: Options{Repos: repos}} }

// First orders a line.
var First = first
