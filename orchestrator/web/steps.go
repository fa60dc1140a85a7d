package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
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
	if s.Logs == nil {
		s.absent("the logs of agents", "web.Options.Logs")(w, r)
		return
	}
	after, err := lastEvent(r)
	if err != nil {
		problem(w, http.StatusBadRequest, "bad-parameter", "Last-Event-ID and after must be whole numbers.")
		return
	}
	f := &follower{server: s, r: r, at: max(after, 0)}
	if text := r.URL.Query().Get("attempt"); text != "" {
		if f.attempt, err = strconv.Atoi(text); err != nil || f.attempt < 1 {
			problem(w, http.StatusBadRequest, "bad-parameter", "attempt must be a whole number above 0.")
			return
		}
	}
	follows := true
	if text := r.URL.Query().Get("follow"); text != "" {
		if follows, err = strconv.ParseBool(text); err != nil {
			problem(w, http.StatusBadRequest, "bad-parameter", "follow must be true or false.")
			return
		}
	}
	var ok1, ok2 bool
	if f.task, ok1 = id(w, r); !ok1 {
		return
	}
	if f.run, ok2 = pathNumber(w, r, "run"); !ok2 {
		return
	}
	leave, ok := s.listen(w, r)
	if !ok {
		return
	}
	defer leave()
	found, err := f.look()
	switch {
	case err != nil:
		s.fail(w, err)
	case !found:
		problem(w, http.StatusNotFound, "no-run", "The task has had no such run, or not yet.")
	default:
		s.stream(w, r, func() (text []byte, ended bool, err error) {
			text, ended, err = f.next()
			return text, ended || !follows && len(text) == 0, err
		})
	}
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
	lines, next, err := f.read(end != nil)
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

func (f *follower) read(whole bool) ([]follow.Line, int64, error) {
	log, err := f.Logs.OpenLog(f.r.Context(), f.execution.Log(work.StreamSteps))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, f.at, nil
	}
	if err != nil {
		return nil, f.at, err
	}
	defer log.Close()
	return follow.Read(log, f.at, stepsBatch, whole)
}
