package queue

import (
	"fmt"
	"sort"
	"strings"
	"time"
)

// Delayed is the reason of a job that is not due yet.
func Delayed(until time.Time) Reason {
	return Reason{Kind: ReasonDelay, Text: "not before " + until.UTC().Format(time.RFC3339), Until: until}
}

// Behind is the reason of a job that is not the first of its key.
func Behind(first int64) Reason {
	return Reason{Kind: ReasonOrder, Text: fmt.Sprintf("job %d with the same key comes first", first), JobID: first}
}

// Held is the reason of a job that names a held subject.
func Held(h Hold) Reason {
	return Reason{
		Kind: ReasonHold, Text: fmt.Sprintf("%s (%s)", h.Reason, strings.ReplaceAll(h.Name, "_", " ")),
		Subject: h.Subject, Name: h.Name, Since: h.Since,
	}
}

// Subjects are those that the jobs of some that do not run name, each once.
func Subjects(jobs []Job) (list []string) {
	named := map[string]bool{}
	for _, j := range jobs {
		for _, s := range j.Holds {
			if j.Status == Queued && !named[s] {
				named[s], list = true, append(list, s)
			}
		}
	}
	return list
}

// AtWork is the reason of a job that is running.
func AtWork(j Job) Reason {
	return Reason{Kind: ReasonRunning, Text: "at work on " + j.Worker, Since: j.StartedAt}
}

// ClaimOrder sorts waits by pool, and within a pool as Take would claim them.
func ClaimOrder(waits []Wait) {
	sort.SliceStable(waits, func(i, k int) bool {
		a, b := waits[i].Job, waits[k].Job
		switch {
		case a.Pool != b.Pool:
			return a.Pool < b.Pool
		case a.Priority != b.Priority:
			return a.Priority < b.Priority
		default:
			return a.ID < b.ID
		}
	})
}

// ApplyOutcome returns a running job as it is when its claim ends with an outcome at a moment.
// It is the one rule that all queues share.
func ApplyOutcome(j Job, o Outcome, now time.Time) Job {
	j.Worker, j.LeaseUntil, j.HeartbeatAt, j.Error = "", time.Time{}, time.Time{}, o.Error
	kind := o.Kind
	if kind == OutcomeRetry && j.MaxAttempts > 0 && j.Attempt >= j.MaxAttempts {
		kind = OutcomeDead
	}
	switch kind {
	case OutcomeDone:
		j.Status, j.FinishedAt = Done, now
	case OutcomeRelease:
		if j.MaxAttempts > 0 {
			j.MaxAttempts++
		}
		j.Status, j.AvailableAt = Queued, o.At
	case OutcomeRetry:
		j.Status, j.AvailableAt = Queued, o.At
	default:
		j.Status, j.FinishedAt = Failed, now
	}
	return j
}

// LostHeartbeat is the error of a job that was given back because its worker
// went silent.
const LostHeartbeat = "the worker's heartbeat was lost"

// Anew returns the job to put to do a failed one again. The failed one becomes cancelled in
// the same transaction, so that nobody can put it twice.
func Anew(j Job) Job {
	return Job{
		Pool: j.Pool, Kind: j.Kind, Key: j.Key, TaskID: j.TaskID, Lane: j.Lane, Role: j.Role, Holds: j.Holds, Payload: j.Payload,
		Priority: j.Priority, MaxAttempts: j.MaxAttempts, DedupeKey: j.DedupeKey,
	}
}

// Repeated is the error of a failed job that was put again.
func Repeated(j Job, as int64) string { return fmt.Sprintf("%s (put again as job %d)", j.Error, as) }
