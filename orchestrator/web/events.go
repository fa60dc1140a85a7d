package web

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
)

// Limits of GET /events and GET /tasks/{id}/runs/{n}/events, which share the places of streams.
const (
	listenersAll, listenersEach = 100, 10 // streams at a time, and of one sender or one principal
	eventsPoll                  = 250 * time.Millisecond
	eventsBeat                  = 15 * time.Second // a comment, so that proxies keep the connection
	eventsBatch                 = 200
	eventsWrite                 = 10 * time.Second // a reader that takes longer is let go; it comes back with its last id
)

// Change is the data of a server-sent event: one line of a task's story.
type Change struct {
	TaskID  int64         `json:"task_id"`
	Seq     int64         `json:"seq"`
	At      time.Time     `json:"at"`
	On      stage.Trigger `json:"on"`
	Stage   stage.Stage   `json:"stage"`
	Moved   bool          `json:"moved"`
	Job     stage.Role    `json:"job,omitempty"`     // whose job was put
	Verdict string        `json:"verdict,omitempty"` // of the gates, with the reason
	Reason  string        `json:"reason,omitempty"`
	Notes   []string      `json:"notes,omitempty"`
}

// change makes the events of a journal entry: gate when gates were evaluated, job
// when an agent's job was put, task always.
func change(e task.JournalEntry) (kinds []string, c Change, ok bool) {
	r, err := e.Recorded()
	if err != nil {
		return nil, c, false
	}
	c = Change{
		TaskID: e.TaskID, Seq: e.Seq, At: e.At, On: r.Event.On, Stage: r.Decision.State.Stage, Moved: r.Decision.Moved,
		Verdict: string(r.Event.Verdict.Outcome), Reason: r.Event.Verdict.Reason, Notes: r.Decision.Notes,
	}
	if c.Verdict != "" {
		kinds = append(kinds, "gate")
	}
	if r.Decision.Launch != nil {
		c.Job = r.Decision.Launch.Role
		kinds = append(kinds, "job")
	}
	return append(kinds, "task"), c, true
}

// events streams changes of tasks, jobs and gates. A client that was cut off
// sends Last-Event-ID (or ?after=) and misses nothing; a new one begins now.
func (s *server) events(w http.ResponseWriter, r *http.Request) {
	after, err := lastEvent(r)
	if err != nil {
		problem(w, http.StatusBadRequest, "bad-parameter", "Last-Event-ID and after must be whole numbers.")
		return
	}
	leave, ok := s.listen(w, r)
	if !ok {
		return
	}
	defer leave()
	if after < 0 {
		newest, err := s.Engine.Records.JournalSince(r.Context(), -1, 1)
		if r.Context().Err() != nil {
			return // the client has gone away
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		if after = 0; len(newest) > 0 {
			after = newest[0].ID
		}
	}
	reads := s.reader(r)
	s.stream(w, r, func() (text []byte, ended bool, err error) {
		entries, err := s.Engine.Records.JournalSince(r.Context(), after, eventsBatch)
		for _, e := range entries {
			if reads(e) {
				text, err = appendEvents(text, e)
			}
			if err != nil {
				return nil, false, err
			}
			after = e.ID
		}
		return text, false, err
	})
}

// listen takes a place for one stream; leave gives it back. It has answered when ok is false.
func (s *server) listen(w http.ResponseWriter, r *http.Request) (leave func(), ok bool) {
	sender, name := limit.Sender(r), access.Of(r.Context()).Name
	if !s.listeners.Take(sender, name) {
		w.Header().Set("Retry-After", "10")
		problem(w, http.StatusServiceUnavailable, "busy", "Too many clients listen already.")
		return nil, false
	}
	return func() { s.listeners.Free(sender, name) }, true
}

// lastEvent returns what a client has had already, by Last-Event-ID or ?after=; -1 = it sent neither.
func lastEvent(r *http.Request) (int64, error) {
	text := r.Header.Get("Last-Event-ID")
	if text == "" {
		text = r.URL.Query().Get("after")
	}
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	return max(n, 0), err
}

// stream writes server-sent events, as next returns them, until the client goes away or
// the events have ended. A client that reads slowly slows nobody but itself: every event is
// read from where it is kept when it is due.
func (s *server) stream(w http.ResponseWriter, r *http.Request, next func() (text []byte, ended bool, err error)) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	control, quiet := http.NewResponseController(w), time.Now()
	for beat := true; ; {
		text, ended, err := next()
		if err != nil {
			return // the client comes back
		}
		if beat = beat || time.Since(quiet) > eventsBeat; len(text) > 0 || beat {
			// Not every writer has deadlines (a test's recorder has none).
			_ = control.SetWriteDeadline(time.Now().Add(eventsWrite))
			if _, err := w.Write(append([]byte(":\n\n"), text...)); err != nil {
				return
			}
			if control.Flush() != nil {
				return
			}
			quiet, beat = time.Now(), false
		}
		if ended {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-s.Done:
			return
		case <-time.After(eventsPoll):
		}
	}
}

// reader reports which entries the principal may read. What concerns no task is for those who
// read all repositories.
func (s *server) reader(r *http.Request) func(task.JournalEntry) bool {
	p, known := access.Of(r.Context()), map[int64]bool{}
	return func(e task.JournalEntry) bool {
		reads, ok := known[e.TaskID]
		if ok || p.Reads("") {
			return reads || p.Reads("")
		}
		t, err := s.Engine.Store.Task(r.Context(), e.TaskID)
		if err == nil && len(known) < eventsBatch { // a task stays in its repository
			known[e.TaskID] = p.Reads(t.Repo)
		}
		return err == nil && p.Reads(t.Repo)
	}
}

// appendEvents appends the events of an entry; the last one carries the id.
func appendEvents(text []byte, e task.JournalEntry) ([]byte, error) {
	kinds, c, ok := change(e)
	if !ok {
		return text, nil
	}
	data, err := json.Marshal(c)
	if err != nil {
		return text, err
	}
	for i, kind := range kinds {
		if i == len(kinds)-1 {
			text = fmt.Appendf(text, "id: %d\n", e.ID)
		}
		text = fmt.Appendf(text, "event: %s\ndata: %s\n\n", kind, data)
	}
	return text, nil
}
