// Package messenger is the port to a chat: messages that are sent once, and
// edited in place when they show a state. adapters/telegram implements it;
// messenger/memmessenger is an in-memory double and messenger/messengertest the
// suite that every implementation passes.
//
// Errors follow the contract of package orchestrator/fault.
package messenger

import (
	"context"
	"errors"
)

// ErrGone means that a message to edit no longer exists or cannot be edited:
// send a new one.
var ErrGone = errors.New("messenger: the message cannot be edited any more")

// ErrUnreachable means that the chat will never take a message (the bot was
// blocked, the chat does not exist, the token is wrong).
var ErrUnreachable = errors.New("messenger: the chat cannot be reached")

// Message is one message. Body is a list of lines; the adapter escapes them.
type Message struct {
	Title  string // first line, emphasised; may be empty
	Lines  []string
	Link   string // shown as a line of its own; may be empty
	Silent bool   // does not make the receiver's device sound
}

// Messenger sends and edits messages in one chat. Implementations are safe for
// concurrent use.
type Messenger interface {
	// Send sends a message and returns its id. There is no identity on the wire:
	// what failed with a retryable error may have been delivered all the same.
	Send(ctx context.Context, m Message) (id string, err error)
	// Edit replaces a message. An edit that changes nothing is a success.
	// ErrGone when the message is no longer there.
	Edit(ctx context.Context, id string, m Message) error
}
