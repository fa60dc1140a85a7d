package main

import (
	"encoding/json"
	"errors"
	"io"
)

// What the program ends with.
const (
	exitFailed      = 1
	exitUsage       = 2
	exitNotFound    = 3
	exitRefused     = 4
	exitUnreachable = 5
)

// exits says what each of them means, for the manual page.
const exits = "0 when it was done; 1 when not; 2 when the command line is wrong; 3 when there is no such thing; " +
	"4 when it was refused: the right is missing, or it cannot be done as things stand; 5 when the server does not answer."

// exitError is an error with the code that the program ends with.
type exitError struct {
	code int
	err  error
}

// Error is the error's.
func (e *exitError) Error() string { return e.err.Error() }

// Unwrap is the error.
func (e *exitError) Unwrap() error { return e.err }

// exitCode returns the exit code of the program for an error.
func exitCode(err error) int {
	var with *exitError
	if errors.As(err, &with) {
		return with.code
	}
	return exitFailed
}

// output is the part of commands that print something, for people or for programs.
type output struct {
	JSON bool `name:"json" help:"Print JSON."`
}

// print prints a value as JSON, or as people prints it.
func (o output) print(w io.Writer, v any, people func(io.Writer) error) error {
	if !o.JSON {
		return people(w)
	}
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false)
	return out.Encode(v)
}
