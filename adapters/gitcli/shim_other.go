//go:build !linux

package gitcli

import (
	"fmt"
	"os"
)

// RunCheckShim is the main function of the program that Options.Shim names; it returns
// the exit code.
func RunCheckShim() int {
	fmt.Fprintln(os.Stderr, "check-shim: checks run on Linux only")
	return 127
}
