package limit_test

import (
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Who guesses has to wait; who knows the secret never does.
func Example() {
	var guesses limit.Guesses
	now := time.Date(2031, 1, 1, 0, 0, 0, 0, time.UTC)
	wrong := func() bool { return false }
	tries := 0
	for wait := time.Duration(0); wait == 0; tries++ {
		_, wait = guesses.Try("203.0.113.7", now, wrong)
	}
	_, wait := guesses.Try("203.0.113.7", now, wrong)
	fmt.Println(tries, "guesses, then Retry-After:", limit.RetryAfter(wait))
	ok, _ := guesses.Try("203.0.113.7", now, func() bool { return true })
	fmt.Println("the right one:", ok)
	// Output:
	// 6 guesses, then Retry-After: 12
	// the right one: true
}
