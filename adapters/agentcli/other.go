//go:build !linux

package agentcli

import (
	"context"
	"errors"
	"fmt"
	"os"
)

const supported = false

var errUnsupported = errors.New("agents run on Linux only")

func bootID() string { return "" }

func isFull(string) bool { return false }

func (r *Runner) supervise(context.Context, execution) (ending, error) {
	return ending{exit: -1}, errUnsupported
}

func (r *Runner) sweep(context.Context, string) error { return errUnsupported }

// Quiesce implements work.Agents.
func (r *Runner) Quiesce(context.Context, int64) error { return errUnsupported }

// RunShim is the main function of the shim; it returns the exit code.
func RunShim() int {
	fmt.Fprintln(os.Stderr, "agent-shim:", errUnsupported)
	return 1
}
