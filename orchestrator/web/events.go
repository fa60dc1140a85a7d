package web

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Limits of GET /events and GET /tasks/{id}/runs/{n}/events, which share the places of streams.
const (
	listenersAll, listenersEach = 100, 10 // streams at a time, and of one sender or one principal
	eventsBatch                 = 200
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
	if after < 0 && err == nil {
		var newest []task.JournalEntry
		if newest, err = s.Engine.Records.JournalSince(r.Context(), -1, 1); r.Context().Err() != nil {
			return // the client has gone away
		}
		if after = 0; len(newest) > 0 {
			after = newest[0].ID
		}
	}
	if err != nil {
		s.fail(w, r, err)
		return
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

// lastEvent returns what a client has had already, by Last-Event-ID or ?after=; -1 = it sent neither.
func lastEvent(r *http.Request) (int64, error) {
	text := cmp.Or(r.Header.Get("Last-Event-ID"), r.URL.Query().Get("after"))
	if text == "" {
		return -1, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		err = badParameter("Last-Event-ID and after must be whole numbers.")
	}
	return max(n, 0), err
}

// stream writes events as next returns them, each read from where it is kept when it is due.
func (s *server) stream(w http.ResponseWriter, r *http.Request, next func() (text []byte, ended bool, err error)) {
	if !s.listeners.Serve(w, r, access.Of(r.Context()).Name, s.Done, next) {
		problem(w, http.StatusServiceUnavailable, "busy", "Too many clients listen already.")
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
