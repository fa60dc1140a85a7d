// Package memfault makes the calls of doubles fail.
package memfault

import (
	"cmp"
	"context"
	"sync"
)

// Switch is embedded in a double. The zero value lets every call through.
type Switch struct {
	mu    sync.Mutex
	all   error
	calls map[string]error
}

// FailWith makes every call fail until it is called with nil.
func (s *Switch) FailWith(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all = err
}

// FailCall makes one call of the port, by the name of its method, fail until it is
// called with nil.
func (s *Switch) FailCall(name string, err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.calls == nil {
		s.calls = map[string]error{}
	}
	s.calls[name] = err
}

// Failure returns the error that a call is to fail with: the end of its context, as with a
// real service, or what was set.
func (s *Switch) Failure(ctx context.Context, name string) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	return cmp.Or(ctx.Err(), s.all, s.calls[name])
}
