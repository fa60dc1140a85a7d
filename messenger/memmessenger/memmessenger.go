// Package memmessenger is a chat in memory: the double of package messenger. It
// passes the suite in messenger/messengertest.
package memmessenger

import (
	"context"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
)

// Sent is a message as the chat shows it.
type Sent struct {
	ID    string
	Shown messenger.Message
	Edits int // that changed something
}

// Chat is a messenger.Listener in memory, whose calls can be made to fail.
type Chat struct {
	memfault.Switch

	mu       sync.Mutex
	last     int
	sent     []Sent
	acts     []messenger.Act // that nobody has taken
	answers  []messenger.Answer
	question map[string]messenger.Act // that a message asks for a text, by its id
	woken    chan struct{}
}

// New makes an empty chat.
func New() *Chat { return &Chat{question: map[string]messenger.Act{}, woken: make(chan struct{}, 1)} }

// Accounts implements messenger.Listener.
func (c *Chat) Accounts() string { return "chat" }

// Do has somebody make a choice of a message, or reply to a question.
func (c *Chat) Do(by messenger.Account, message, choice, text string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if text != "" {
		choice = c.question[message].Choice
	}
	c.last++
	c.acts = append(c.acts, messenger.Act{ID: strconv.Itoa(c.last), By: by, Message: message, Choice: choice, Text: text})
	run.Hint(c.woken)
}

// Take gives the acts that nobody has taken; what take refuses stays.
func (c *Chat) Take(ctx context.Context, take func(context.Context, messenger.Act) error) {
	c.mu.Lock()
	acts := slices.Clone(c.acts)
	c.mu.Unlock()
	for _, a := range acts {
		if take(ctx, a) != nil {
			return
		}
		c.mu.Lock()
		c.acts = slices.DeleteFunc(c.acts, func(o messenger.Act) bool { return o.ID == a.ID })
		c.mu.Unlock()
	}
}

// Listen implements messenger.Listener.
func (c *Chat) Listen(ctx context.Context, take func(context.Context, messenger.Act) error) {
	for ctx.Err() == nil {
		c.Take(ctx, take)
		_ = (run.Real{}).Wait(ctx, time.Now().Add(time.Second), c.woken) // it ends with ctx
	}
}

// Answer implements messenger.Listener: a question is a message, all else is in Answers.
func (c *Chat) Answer(ctx context.Context, a messenger.Act, with messenger.Answer) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Failure(ctx, "Answer"); err != nil {
		return err
	}
	c.answers = append(c.answers, with)
	for i := range c.sent {
		if with.Done && (c.sent[i].ID == a.Message || c.sent[i].ID == c.question[a.Message].Message) {
			c.sent[i].Shown.Choices = nil
		}
	}
	if with.Ask {
		c.last++
		id := strconv.Itoa(c.last)
		c.sent = append(c.sent, Sent{ID: id, Shown: messenger.Message{Title: with.Text}})
		c.question[id] = a
	}
	return nil
}

// Answers lists what people were told, oldest first.
func (c *Chat) Answers() []messenger.Answer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.answers)
}

// Send implements messenger.Messenger.
func (c *Chat) Send(ctx context.Context, m messenger.Message) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Failure(ctx, "Send"); err != nil {
		return "", err
	}
	c.last++
	id := strconv.Itoa(c.last)
	c.sent = append(c.sent, Sent{ID: id, Shown: clone(m)})
	return id, nil
}

// Edit implements messenger.Messenger.
func (c *Chat) Edit(ctx context.Context, id string, m messenger.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if err := c.Failure(ctx, "Edit"); err != nil {
		return err
	}
	for i := range c.sent {
		if c.sent[i].ID != id {
			continue
		}
		if !same(c.sent[i].Shown, m) {
			c.sent[i].Shown = clone(m)
			c.sent[i].Edits++
		}
		return nil
	}
	return messenger.ErrGone
}

// Delete removes a message, as a person would.
func (c *Chat) Delete(id string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.sent = slices.DeleteFunc(c.sent, func(s Sent) bool { return s.ID == id })
}

// Messages lists what the chat shows, oldest first.
func (c *Chat) Messages() []Sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := slices.Clone(c.sent)
	for i := range out {
		out[i].Shown = clone(out[i].Shown)
	}
	return out
}

func clone(m messenger.Message) messenger.Message {
	m.Lines, m.Choices = slices.Clone(m.Lines), slices.Clone(m.Choices)
	return m
}

// same compares what a chat shows; whether a message is silent is not seen.
func same(a, b messenger.Message) bool {
	return a.Title == b.Title && a.Link == b.Link && slices.Equal(a.Lines, b.Lines) && slices.Equal(a.Choices, b.Choices)
}
