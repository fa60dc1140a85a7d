package checks

import (
	"cmp"
	"context"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Command makes a gate of an executable, run in a checkout of the judged
// commit (see gates.Commands): exit code 0 is green, 2 is red with what it wrote to stderr as the
// reason, anything else is an error of the check itself. It is a gates.Slow.
func Command(name string, argv ...string) gates.Gate { return command{name, argv} }

type command struct {
	name string
	argv []string
}

func (c command) Name() string { return c.name }

func (c command) Slow() {}

func (c command) Judge(ctx context.Context, s gates.Facts) gates.Verdict {
	if s.Commands == nil || len(c.argv) == 0 {
		return gates.Errorf("the command cannot be run here")
	}
	exit, stderr, err := s.Commands.RunCheck(ctx, c.argv, s)
	if err != nil {
		return unreachable("the command's result", err)
	}
	stderr = strings.TrimSpace(stderr)
	seen := gates.Evidence{Kind: "command", Name: strings.Join(c.argv, " "), Note: fmt.Sprintf("exit code %d", exit), OK: exit == 0}
	seen.Issuer, seen.Proof, seen.SHA, seen.At = stage.IssuerService, stage.ProofExit, s.SHA, s.At
	switch exit {
	case 0:
		return gates.Greenf("%s passed", c.argv[0]).With(seen)
	case 2:
		return gates.Redf("%s", cmp.Or(stderr, c.argv[0]+" gave no reason")).With(seen)
	default:
		return gates.Errorf("%s ended with exit code %d: %s", c.argv[0], exit, stderr).With(seen)
	}
}
