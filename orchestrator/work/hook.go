package work

import (
	"context"
	"io"
)

// Hook is a command of a project that is run in the checkout of an attempt, beside its agent.
type Hook struct {
	Argv []string
	Env  map[string]string // added to what checks see; names start with SIGNALBOX_
	Log  io.Writer         // gets what it prints, beside the caller; nil = nobody else
}

// Hooks runs commands in checkouts that Open has made. They are confined and limited as agents
// are.
type Hooks interface {
	// RunHook runs a command in the checkout. Words of it that name a file of main stand for
	// main's file. It returns the exit code and the end of what was printed; the error
	// is of a command that could not be run, or was ended with the context, or of one that has
	// committed or checked something out: then nothing is taken of the checkout until it is
	// opened again. Files that it changes stay. When it returns, no process of it is left.
	RunHook(ctx context.Context, s Workspace, h Hook) (exit int, said string, err error)
	// Created records that what is to be done once for the checkout of a task and role is
	// done; see Checkout.Created.
	Created(ctx context.Context, s Workspace) error
}
