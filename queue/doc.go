// Package queue is the port to a durable job queue with ordered keys, pools,
// delays, holds and fenced claims.
//
// # Life of a job
//
//	       Put                Take                 Finish(done)
//	───────────────▶ queued ────────▶ running ───────────────────▶ done
//	                   ▲ │               │ │ └─ Finish(dead) ─────▶ failed
//	                   │ │               │ └─── attempts used up ─▶ failed
//	                   │ └─ Cancel ─────▶│ ──── Cancel ───────────▶ cancelled
//	                   └── Finish(retry|release), Reap ──┘
//
// A failed job can be put again, once: then it is cancelled, and a new one is queued.
//
// A claim carries the attempt number and every later call with it is checked
// against that number: a worker that was paused for longer than its time to
// live changes nothing when it wakes (fencing).
//
// # Tokens
//
// A claimable job has a token, and claiming is taking the token. A job gets one
// when it is due, first of its ordering key, and none of its hold subjects is
// held; whoever changes one of these facts gives or takes the token in the same
// transaction. A store may leave a token lying whose job is held since: the first
// claim that comes upon it puts it aside, under what is held, and looks further. So
// a claim never looks at jobs that cannot run, or once at most, and costs the same
// with a million of them in front.
//
// The queue is also the outbox: effects that the service owes the outside world
// are jobs, put in the transaction that decided them.
package queue
