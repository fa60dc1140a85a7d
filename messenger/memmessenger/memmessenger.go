// Package memmessenger is a chat in memory: the double of package messenger. It
// passes the suite in messenger/messengertest.
package memmessenger

import (
	"context"
	"strconv"
	"sync"

	"github.com/signalbox-dev/signalbox/messenger"
)

// Sent is a message as the chat shows it.
type Sent struct {
	ID    string
	Shown messenger.Message
	Edits int // that changed something
}

// Chat is a messenger.Messenger in memory.
type Chat struct {
	mu   sync.Mutex
	last int
	sent []Sent
	fail error
}

// New makes an empty chat.
func New() *Chat { return &Chat{} }

// FailWith makes every call fail until it is called with nil.
func (c *Chat) FailWith(err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.fail = err
}

// Send implements messenger.Messenger.
func (c *Chat) Send(_ context.Context, m messenger.Message) (string, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return "", c.fail
	}
	c.last++
	id := strconv.Itoa(c.last)
	c.sent = append(c.sent, Sent{ID: id, Shown: clone(m)})
	return id, nil
}

// Edit implements messenger.Messenger.
func (c *Chat) Edit(_ context.Context, id string, m messenger.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.fail != nil {
		return c.fail
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
	for i := range c.sent {
		if c.sent[i].ID == id {
			c.sent = append(c.sent[:i], c.sent[i+1:]...)
			return
		}
	}
}

// Messages lists what the chat shows, oldest first.
func (c *Chat) Messages() []Sent {
	c.mu.Lock()
	defer c.mu.Unlock()
	return append([]Sent(nil), c.sent...)
}

func clone(m messenger.Message) messenger.Message {
	m.Lines = append([]string(nil), m.Lines...)
	return m
}

func same(a, b messenger.Message) bool {
	if a.Title != b.Title || a.Link != b.Link || len(a.Lines) != len(b.Lines) {
		return false
	}
	for i := range a.Lines {
		if a.Lines[i] != b.Lines[i] {
			return false
		}
	}
	return true
}
