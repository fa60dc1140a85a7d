//go:build !linux

package gitcli

import (
	"fmt"
	"io/fs"
	"os"
	"time"
)

// RunCheckShim is the main function of the program that Options.Shim names; it returns
// the exit code.
func RunCheckShim() int {
	fmt.Fprintln(os.Stderr, "check-shim: checks run on Linux only")
	return 127
}

// inodeChanged is not known here: each file may have been changed.
func inodeChanged(fs.FileInfo) time.Time { return time.Now() }
