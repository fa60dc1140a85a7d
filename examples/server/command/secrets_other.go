//go:build !linux

package command

// hideSecrets does nothing where the system shows no process's environment to others by a
// file; agents do not run there either.
func hideSecrets() error { return nil }
