// Package messenger is the port to a chat: messages that are sent once, and
// edited in place when they show a state. adapters/telegram, adapters/slack
// and adapters/chathook implement it; messenger/memmessenger is an in-memory double and
// messenger/messengertest the suite that every implementation passes. What people
// do in a chat comes by a Listener, where the implementation is one.
//
// Errors follow the contract of package orchestrator/fault.
package messenger

import (
	"context"
	"errors"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
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
	To     string // chat, as the implementation names it; empty = its own. An edit leaves a message where it is
	// Choices are shown with the message, a few at most; an edit replaces them.
	Choices []Choice
	Moment  string // of its task, which its choices are for; not shown. Empty: that at which it is sent
}

// ChoiceMax bounds the ID of a choice, in bytes.
const ChoiceMax = 64

// Choice is a word that a reader can say by one touch.
type Choice struct{ ID, Label string }

// Account is a person, as the chat identifies people.
type Account struct{ ID, Name string }

// Act is a choice that somebody has made, or a text in reply to a question.
type Act struct {
	ID      string // the chat's own: an act that comes again has the same one
	By      Account
	Message string // whose choice it is, as Send has returned it, or the question that is answered
	Choice  string // its ID; of a text, that of the act that the question has answered
	Text    string // empty: a choice was made
	Handle  string // the implementation's own, for Answer
}

// Answer tells somebody who has acted what came of it.
type Answer struct {
	Text string
	Ask  bool // Text is a question: the reply is an Act with the same choice
	Done bool // the choices are taken off the message of the act, or that the question came of
}

// Listener is a Messenger whose chat reports what people do in it.
type Listener interface {
	Messenger
	// Accounts names the accounts of the chat in the project registry.
	Accounts() string
	// Listen gives each act to take, and gives it again until take returns nil. It returns when ctx ends;
	// errors are logged. Of an implementation that is a Receiver acts may come by webhooks alone.
	Listen(ctx context.Context, take func(context.Context, Act) error)
	// Answer answers an act; one that is too old to be answered is a success. Answers may be doubled.
	Answer(ctx context.Context, a Act, with Answer) error
}

// Receiver is a Listener to which acts come by signed webhooks.
type Receiver interface {
	Signature(h http.Header) (*signature.Check, error)
	Delivery(h http.Header) (id, event string)
	Habits() signature.Habits // the zero value: no webhooks come
	// DecodeAct reads a verified body; ok is false for what is no act.
	DecodeAct(body []byte) (a Act, ok bool, err error)
}

// Dress adds to a message about a task (0 = none) of a repository what is shown beside its text: choices, links, the chat.
type Dress func(ctx context.Context, taskID int64, repo string, m *Message) error

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
