package gitcli

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// errCommits means that a hook has moved what is checked out.
var errCommits = errors.New("it has committed, or checked something else out, and hooks must not: " +
	"what is on a branch is the agent's; nothing of it is taken")

// RunHook implements work.Hooks. The command runs as checks do, but in the checkout: it
// may touch what the agent may there. Other calls for the task wait until it has ended; one
// that clears the task away follows the end of ctx.
func (g *Git) RunHook(ctx context.Context, s work.Workspace, h work.Hook) (exit int, said string, err error) {
	p, err := g.locate(s)
	if err != nil {
		return -1, "", err
	}
	if len(h.Argv) == 0 {
		return -1, "", fmt.Errorf("%w: an empty command", work.ErrBadName)
	}
	defer g.lock(p.dir)()
	m, there := p.readMark()
	if !there || !m.Whole {
		return -1, "", fmt.Errorf("the checkout of %s is not there", s.WorkItem)
	}
	e, err := g.errand(ctx, p, h.Argv)
	if err != nil {
		return -1, "", err
	}
	defer func() { _ = g.remove(e.temp) }() // what it leaves there is nobody's
	e.dir, e.own, e.log = p.dir, p.jail(), h.Log
	for _, name := range slices.Sorted(maps.Keys(h.Env)) {
		e.env = append(e.env, name+"="+h.Env[name])
	}
	before, taken := p.heads(), m
	m.Behind = true // a service that dies meanwhile takes nothing of a hook for the agent's
	if err := p.writeMark(m); err != nil {
		return -1, "", err
	}
	exit, said, err = g.execute(ctx, e)
	if now := p.heads(); now.branch != before.branch || now.head != before.head || now.on != before.on {
		return exit, said, errors.Join(err, errCommits)
	}
	return exit, said, errors.Join(err, p.writeMark(taken))
}

// Created implements work.Hooks.
func (g *Git) Created(_ context.Context, s work.Workspace) error {
	p, err := g.locate(s)
	if err != nil {
		return err
	}
	defer g.lock(p.dir)()
	m, there := p.readMark()
	if !there {
		return fmt.Errorf("the checkout of %s is not there", s.WorkItem)
	}
	m.Created = true
	return p.writeMark(m)
}
