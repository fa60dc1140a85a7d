package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// textMax bounds the words that a person sends with a request, in bytes.
const textMax = 10_000

// Queued is the answer to a request that is carried out later: it is durable.
type Queued struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"` // the journal's entry of what has come of it is not older
}

// queued answers for an event that is durable.
func (s *server) queued(w http.ResponseWriter, at time.Time) {
	answer(w, http.StatusAccepted, Queued{"queued", at.UTC()})
}

// decide takes a person's Approved, Rejected or Confirm Deploy. A token that several people may
// have names none of them.
func (s *server) decide(on stage.Trigger) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, ok := id(w, r)
		if !ok {
			return
		}
		var in struct{ Why, Commit string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) || len(in.Why) > textMax {
			text := fmt.Sprintf(`Send {"why": "some words", "commit": "what was read"}, `+
				`the words of %d bytes at most, or nothing.`, textMax)
			problem(w, http.StatusBadRequest, "bad-payload", text)
			return
		}
		who, at := by(r), s.Engine.Now()
		if access.Of(r.Context()).Shared {
			who.Proof = stage.ProofNone
		}
		if err := admin.Decide(r.Context(), s.Engine, n, admin.Word{On: on, Why: in.Why, Of: in.Commit}, who); err != nil {
			s.fail(w, err)
			return
		}
		s.actor(r).Info("a person has decided", "task", n, "on", on)
		s.queued(w, at)
	}
}

// fromMirror answers with what a task's branch has at ?commit=, its head without one.
func fromMirror[T any](
	s *server, read func(d documents.Reader, ctx context.Context, t task.Task, commit string) (T, error),
) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		n, ok := id(w, r)
		if !ok {
			return
		}
		var out T
		t, err := s.Engine.Store.Task(r.Context(), n)
		if err == nil {
			out, err = read(documents.Reader{Engine: s.Engine, Redactor: s.Redactor}, r.Context(), t, r.URL.Query().Get("commit"))
		}
		if err != nil {
			s.fail(w, err)
			return
		}
		answer(w, http.StatusOK, out)
	}
}

func (s *server) document(w http.ResponseWriter, r *http.Request) {
	fromMirror(s, func(d documents.Reader, ctx context.Context, t task.Task, commit string) (documents.Text, error) {
		return d.Read(ctx, t, r.PathValue("name"), commit)
	})(w, r)
}
