package limit

import (
	"strconv"
	"sync"
	"time"
)

// A sender may guess wrong five times, and again once every twelve seconds; all senders
// together a hundred times, and once every 600 ms.
const (
	oneGuess, oneBurst = 12 * time.Second, time.Minute
	allGuess, allBurst = 600 * time.Millisecond, time.Minute
	sendersMax         = 10_000
	rightFor           = 12 * time.Hour // the bound of all does not lock out senders that had the secret
)

// Guesses bounds how often a secret can be guessed. Its zero value is ready.
type Guesses struct {
	mu    sync.Mutex
	all   time.Time            // when all wrong guesses are forgotten
	by    map[string]time.Time // the same by sender
	right map[string]time.Time // when a sender had the secret last
}

// Try compares what a sender has sent, unless it has to wait.
func (g *Guesses) Try(sender string, now time.Time, right func() bool) (ok bool, wait time.Duration) {
	if wait = g.Wait(sender, now); wait > 0 {
		return false, wait
	}
	if ok = right(); ok {
		g.Right(sender, now)
	} else {
		g.Wrong(sender, now)
	}
	return ok, 0
}

// RetryAfter is a wait as the header of that name has it, in seconds.
func RetryAfter(wait time.Duration) string {
	return strconv.FormatInt(int64((wait+time.Second-1)/time.Second), 10)
}

// Wait is how long a sender has to wait before it may send the secret; 0: it may now.
func (g *Guesses) Wait(sender string, now time.Time) time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	wait := later(g.by[sender], now).Add(oneGuess).Sub(now) - oneBurst
	if right, ok := g.right[sender]; !ok || now.Sub(right) > rightFor {
		wait = max(wait, later(g.all, now).Add(allGuess).Sub(now)-allBurst)
	}
	return max(wait, 0)
}

// Right notes that a sender had the secret.
func (g *Guesses) Right(sender string, now time.Time) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.right == nil || len(g.right) >= sendersMax {
		g.right = map[string]time.Time{}
	}
	g.right[sender] = now
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
	g.all = later(g.all, now).Add(allGuess)
	g.by[sender] = later(g.by[sender], now).Add(oneGuess)
}

// forget drops senders whose guesses are long ago, or all when there are none: the bound
// of all holds still.
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
