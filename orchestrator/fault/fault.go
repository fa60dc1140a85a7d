// Package fault is the contract for errors of the outside world: of boards, git
// hosts, chats, git remotes, and whatever else is behind a port. By its type an
// error is
//
//	final                     the same call will be refused again; every error that says nothing
//	retryable                 Retryable() bool returns true: it may go away by itself
//	retryable after a moment  and RetryAfter() time.Duration is positive
//
// An effect that met a final error is given up at its third look; one that met a
// retryable error is owed for ever (package orchestrator, settle). No answer, one
// that broke off, one that cannot be read, and a service that does not serve now are
// retryable; a refusal is final (Passes). Sentinels of the ports (ErrNotFound,
// ErrHeadMoved, ErrGone …) name what a caller can act upon, and are final. The end of
// the caller's own context stays one for errors.Is.
//
// faulttest proves the contract call by call, for adapters and doubles alike;
// memfault makes the calls of a double fail.
package fault

import (
	"context"
	"errors"
	"slices"
	"syscall"
	"time"
)

// Retryable reports whether an error may go away by itself. The outermost error that
// has an opinion counts; of errors that are joined, one that may go away is enough.
// The end of a time limit or of the program does, and so does a shortage.
func Retryable(err error) bool {
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case nil:
		return false
	case interface{ Retryable() bool }:
		return e.Retryable()
	case interface{ Unwrap() []error }:
		return slices.ContainsFunc(e.Unwrap(), Retryable)
	}
	if inner := errors.Unwrap(err); inner != nil {
		return Retryable(inner)
	}
	return errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) || IsShortage(err)
}

// IsShortage reports whether the machine lacked what a call needs: room or rights to write on its disk, files, memory. It is
// nobody's failure, and whatever is made meanwhile meets the same.
func IsShortage(err error) bool {
	return slices.ContainsFunc(shortages, func(e error) bool { return errors.Is(err, e) })
}

var shortages = []error{
	syscall.ENOSPC, syscall.EDQUOT, syscall.EROFS, syscall.EIO, syscall.EMFILE, syscall.ENFILE, syscall.ENOMEM,
}

// After is the moment that a retryable error names, counted from when it was met;
// zero when it names none. Of errors that are joined it is the last one's.
func After(err error) (wait time.Duration) {
	if !Retryable(err) {
		return 0
	}
	switch e := err.(type) { //nolint:errorlint // it walks the tree itself
	case interface{ RetryAfter() time.Duration }:
		return max(e.RetryAfter(), 0)
	case interface{ Unwrap() []error }:
		for _, one := range e.Unwrap() {
			wait = max(wait, After(one))
		}
		return wait
	}
	return After(errors.Unwrap(err))
}

// Error is an error of one of the three kinds, for those that need no type of their
// own. The zero value is final.
type Error struct {
	Text  string
	Again bool          // retryable
	Wait  time.Duration // after this moment; 0 = it names none
}

// Error is the text.
func (e *Error) Error() string { return e.Text }

// Retryable implements the contract.
func (e *Error) Retryable() bool { return e.Again }

// RetryAfter implements the contract.
func (e *Error) RetryAfter() time.Duration { return e.Wait }
