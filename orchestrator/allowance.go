package orchestrator

import (
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// classOf is the class of the requests that an attempt of a job makes. What has failed before is a retry, and so is
// a word from well before its destination answered again: there may be hundreds of them.
func classOf(j queue.Job, answers time.Time) allowance.Class {
	class, _, waited := WaitsForRequests(j)
	if !waited {
		class = firstClass(j)
	}
	again := j.Attempt > 1 && !waited && !strings.HasPrefix(j.Error, looksAgain)
	if again || class == allowance.Word && answers.Sub(j.CreatedAt) > fresh {
		return allowance.Retry
	}
	return class
}

// fresh is how old a word may be that is no retry after a silence: cards of others that fail look like one, too.
const fresh = 30 * time.Second

// firstClass is the class of a job's first attempt.
func firstClass(j queue.Job) allowance.Class {
	var h tracker.Hook
	_, said := WordOf(j)
	switch {
	case j.Kind == KindTracker && json.Unmarshal(j.Payload, &h) == nil:
		return hookClass(h)
	case said:
		return allowance.Word
	case IsEffect(j), j.Kind == KindAgent:
		return allowance.Effect
	default:
		return allowance.Event
	}
}

// looksAgain begins the error of a job that was put off without a failure.
const looksAgain = "looks again: "

// hookClass is the class of a webhook by itself. What sets no status that people set is a new event, and what nobody
// has sent is a retry.
func hookClass(h tracker.Hook) allowance.Class {
	_, trigger := stage.BoardTrigger(h.Word)
	switch {
	case h.Event == HookReplayed:
		return allowance.Retry
	case h.Kind == tracker.HookItemUpdated && h.Status && (trigger || ends(h)):
		return allowance.Word
	default:
		return allowance.Event
	}
}

const waitsForRequests = "waits for the requests that the tracker allows, as a "

// putOffForRequests gives a job back whose requests were not sent. The error keeps the class and since when it waits,
// so that what has failed before stays a retry.
func putOffForRequests(o queue.Outcome, j queue.Job, class allowance.Class, now time.Time) queue.Outcome {
	if !errors.Is(o.Cause, tracker.ErrBudget) || o.Kind != queue.OutcomeRetry {
		return o
	}
	_, since, waited := WaitsForRequests(j)
	if !waited {
		since = now
	}
	o.Kind = queue.OutcomeRelease
	o.Error = fmt.Sprintf("%s%s since %s: %s", waitsForRequests, class, since.UTC().Format(time.RFC3339), o.Error)
	return o
}

// WaitsForRequests reports whether a job was put off because the requests that its destination allows are used up or
// kept for what comes first, as which class, and since when.
func WaitsForRequests(j queue.Job) (class allowance.Class, since time.Time, waits bool) {
	rest, waits := strings.CutPrefix(j.Error, waitsForRequests)
	name, rest, _ := strings.Cut(rest, " since ")
	at, _, _ := strings.Cut(rest, ": ")
	since, err := time.Parse(time.RFC3339, at)
	return allowance.Class(name), since, waits && err == nil
}

// RequestsText returns in words what such a job waits for.
func RequestsText(j queue.Job) string {
	class, since, _ := WaitsForRequests(j)
	_, why, _ := strings.Cut(j.Error, since.UTC().Format(time.RFC3339)+": ")
	return fmt.Sprintf("%s%s, since %s: %s", waitsForRequests, class, since.UTC().Format("15:04:05 UTC"), why)
}
