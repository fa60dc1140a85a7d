package signature

import "time"

// Habits are how a sender of webhooks behaves, so far as its receiver has to go by it.
type Habits struct {
	Limit int64         // of a body, in bytes; what is larger is refused
	Hold  time.Duration // for how long the sender waits for an answer
	Probe bool          // the sender looks by HEAD whether the address is there
	Abort bool          // the sender tries again only when the connection breaks: an answer, whatever it is, ends the delivery
}
