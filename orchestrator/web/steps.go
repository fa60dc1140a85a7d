package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"math"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Limits of GET /tasks/{id}/runs/{n}/events.
const (
	stepsBatch = 200
	statusPoll = 2 * time.Second  // how often it is looked whether a run has ended
	recordWait = 30 * time.Second // that a run which works no more has no record yet
)

// statusInterrupted is the status of an execution that has left no record: its claim was lost, or
// it was ended from outside, and another attempt takes its place.
const statusInterrupted = "interrupted"

// RunEnd is the data of the event end: the run has ended, and all its steps were sent.
type RunEnd struct {
	Status  string `json:"status"` // kind of a work.Result, or StatusInterrupted
	Attempt int    `json:"attempt"`
}

// runEvents streams the steps of a run, the newest attempt's or those of ?attempt=: each a
// work.Step as JSON, with its end in the stream as the id. A client that comes back with the
// last id (Last-Event-ID or ?after=) misses nothing and gets nothing twice. With ?follow=false
// the stream ends behind the steps of now.
func (s *server) runEvents(w http.ResponseWriter, r *http.Request) {
	f := &follower{server: s, r: r, task: id(r)}
	follows, err := f.begin()
	if err != nil {
		s.fail(w, r, err)
		return
	}
	s.stream(w, r, func() (text []byte, ended bool, err error) {
		text, ended, err = f.next()
		return text, ended || !follows && len(text) == 0, err
	})
}

// begin reads what the request is about, and whether it follows what comes.
func (f *follower) begin() (follows bool, err error) {
	if f.Logs == nil {
		return false, absent("the logs of agents", "web.Options.Logs")
	}
	if f.at, err = lastEvent(f.r); err != nil {
		return false, err
	}
	f.at = max(f.at, 0)
	attempt, err := access.Number(f.r, "attempt", 0, " must be a whole number above 0.", 1, math.MaxInt)
	if f.attempt = int(attempt); err != nil {
		return false, err
	}
	if follows, err = strconv.ParseBool(cmp.Or(f.r.URL.Query().Get("follow"), "true")); err != nil {
		return false, badParameter("follow must be true or false.")
	}
	if f.run, err = numberOf(f.r, "run"); err != nil {
		return false, err
	}
	found, err := f.look()
	if err == nil && !found {
		err = refusal(http.StatusNotFound, "no-run", "The task has had no such run, or not yet.")
	}
	return follows, err
}

// follower is where one client stands in the steps of a run.
type follower struct {
	*server
	r         *http.Request
	task, run int64
	attempt   int
	execution follow.Execution
	looked    time.Time
	missed    time.Time // since when it neither works nor has a record
	at        int64
}

// look finds out how the run stands. It stays with the attempt that it has found first.
func (f *follower) look() (found bool, err error) {
	_, list, err := follow.Of(f.r.Context(), f.Engine, f.task, f.run)
	if err != nil {
		return false, err
	}
	f.looked = time.Now()
	for _, x := range list {
		if f.attempt == 0 || x.Attempt == f.attempt {
			f.execution, f.attempt, f.missed = x, x.Attempt, time.Time{}
			return true, nil
		}
	}
	return false, nil
}

// ended returns how the run has ended, or nil while it works.
func (f *follower) ended() (*RunEnd, error) {
	if f.execution.Live && time.Since(f.looked) > statusPoll {
		found, err := f.look()
		switch {
		case err != nil:
			return nil, err
		case !found && f.missed.IsZero():
			f.missed = time.Now()
		case !found && time.Since(f.missed) > recordWait:
			f.execution.Live, f.execution.Status = false, statusInterrupted
		}
	}
	if f.execution.Live {
		return nil, nil
	}
	return &RunEnd{f.execution.Status, f.attempt}, nil
}

// next are the events of the steps that are new. Whether the run has ended is looked at
// first: what it has written is there by then.
func (f *follower) next() (text []byte, ended bool, err error) {
	end, err := f.ended()
	if err != nil {
		return nil, false, err
	}
	log, err := f.execution.Steps(f.r.Context(), f.Logs)
	if err != nil {
		return nil, false, err
	}
	defer log.Close()
	lines, next, err := follow.Read(log, f.at, stepsBatch, end != nil)
	if err != nil {
		return nil, false, err
	}
	for _, l := range lines {
		data, err := json.Marshal(l.Step)
		if err != nil {
			return nil, false, err
		}
		text = fmt.Appendf(text, "id: %d\ndata: %s\n\n", l.Next, data)
	}
	more := next != f.at
	if f.at = next; end == nil || more {
		return text, false, nil
	}
	data, err := json.Marshal(end)
	return fmt.Appendf(text, "id: %d\nevent: end\ndata: %s\n\n", f.at, data), true, err
}
