package limit

import (
	"strconv"
	"sync"
	"time"
)

// A sender may guess wrong five times, and again once every twelve seconds.
const (
	oneGuess, oneBurst = 12 * time.Second, time.Minute
	sendersMax         = 10_000
)

// Guesses bounds how often a sender can guess a secret wrong; the right one is never held up, so that nobody is
// locked out by others. The secret must be too long to be found so. Its zero value is ready.
type Guesses struct {
	mu sync.Mutex
	by map[string]time.Time // when all wrong guesses of a sender are forgotten
}

// Try compares what a sender has sent. A wrong guess beyond the bound has to wait.
func (g *Guesses) Try(sender string, now time.Time, right func() bool) (ok bool, wait time.Duration) {
	if right() {
		return true, 0
	}
	if wait = g.Wait(sender, now); wait == 0 {
		g.Wrong(sender, now)
	}
	return false, wait
}

// RetryAfter is a wait as the header of that name has it, in seconds.
func RetryAfter(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

// Wait is how long a sender has to wait before it may guess again; 0: it may now.
func (g *Guesses) Wait(sender string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	return max(0, later(g.by[sender], now).Add(oneGuess).Sub(now)-oneBurst)
}

// Wrong notes a wrong guess.
func (g *Guesses) Wrong(sender string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.by == nil {
		g.by = map[string]time.Time{}
	}
	if len(g.by) >= sendersMax {
		g.forget(now)
	}
	g.by[sender] = later(g.by[sender], now).Add(oneGuess)
}

// forget drops senders whose guesses are long ago, or all when there are none.
func (g *Guesses) forget(now time.Time) {
	for sender, until := range g.by {
		if !until.After(now) {
			delete(g.by, sender)
		}
	}
	if len(g.by) >= sendersMax {
		clear(g.by)
	}
}

func later(a, b time.Time) time.Time {
	if a.After(b) {
		return a
	}
	return b
}
