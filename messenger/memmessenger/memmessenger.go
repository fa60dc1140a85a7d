// Package memmessenger is a chat in memory: the double of package messenger. It
// passes the suite in messenger/messengertest.
package memmessenger

import (
	"context"
	"slices"
	"strconv"
	"sync"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault/memfault"
)

// Sent is a message as the chat shows it.
type Sent struct {
	ID    string
	Shown messenger.Message
	Edits int // that changed something
}

// Chat is a messenger.Messenger in memory, whose calls can be made to fail.
type Chat struct {
	memfault.Switch

	mu   sync.Mutex
	last int
	sent []Sent
}

// New makes an empty chat.
func New() *Chat { return &Chat{} }

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
	m.Lines = slices.Clone(m.Lines)
	return m
}

// same compares what a chat shows; whether a message is silent is not seen.
func same(a, b messenger.Message) bool {
	return a.Title == b.Title && a.Link == b.Link && slices.Equal(a.Lines, b.Lines)
}
