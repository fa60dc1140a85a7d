//go:build !linux

package jail

import (
	"context"
	"errors"
	"os"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

var errSystem = errors.New("the jail needs Linux")

// Run does not return unless it fails.
func (s Stage) Run() int { return ExitRefused }

// Start starts a process that enters a jail.
func Start(Stage, *os.ProcAttr) (*os.Process, error) { return nil, errSystem }

// Clear ends what is left of an execution.
func Clear(context.Context, work.Jail, string) error { return errSystem }

// Delegated finds a cgroup.
func Delegated(context.Context, string) (Group, error) { return Group{}, errSystem }

// Prove is the self-test.
func Prove(context.Context, []string, string, work.Jail) (Proof, error) { return Proof{}, errSystem }
