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
// # The ready queue
//
// A queued job that can run is in the ready queue, and a claim takes its head. A job gets
// there when it is due, first of its ordering key, and none of its hold subjects is held;
// the transaction that changes one of these facts moves the job. A store may leave a job
// there that is held since: the first claim that reads it sets it aside, under what is held,
// and looks further. So a claim never looks at jobs that cannot run, or once at most, and
// costs the same with a million of them in front.
//
// The queue is also the outbox: effects that the service owes the outside world
// are jobs, put in the transaction that decided them.
package queue
