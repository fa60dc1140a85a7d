package web

import (
	"encoding/json"
	"errors"
	"fmt"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// Problem is an RFC 9457 problem document.
type Problem struct {
	Type   string `json:"type"`
	Title  string `json:"title"`
	Status int    `json:"status"`
	Detail string `json:"detail"`
}

// problem answers with a problem document. detail never repeats what the
// sender sent.
func problem(w http.ResponseWriter, status int, kind, detail string) {
	write(w, status, "application/problem+json", Problem{
		Type: "urn:signalbox:problem:" + kind, Title: http.StatusText(status), Status: status, Detail: detail,
	})
}

func answer(w http.ResponseWriter, status int, v any) { write(w, status, "application/json", v) }

func write(w http.ResponseWriter, status int, contentType string, v any) {
	body, err := json.MarshalIndent(v, "", "  ")
	if err != nil {
		status, body = http.StatusInternalServerError, []byte(`{"type":"urn:signalbox:problem:encoding","status":500}`)
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(status)
	_, _ = w.Write(append(body, '\n')) // a client that has gone away needs no answer
}

// view makes what a request is answered with.
type view func(*http.Request) (any, error)

// show answers with a view as JSON, and with 202 where it is carried out later.
func (s *server) show(v view) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		out, err := v(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		if r.Method != http.MethodGet {
			s.actor(r).Info("an operator has acted", "method", r.Method, "path", r.URL.Path, "answer", out)
		}
		status := http.StatusOK
		switch out.(type) {
		case Queued, madeAgain:
			status = http.StatusAccepted
		}
		answer(w, status, out)
	}
}

// fail answers for a refusal, or an error of the engine or the store.
func (s *server) fail(w http.ResponseWriter, _ *http.Request, err error) {
	no := s.refusalOf(err)
	no.Header(w.Header())
	problem(w, no.Status, no.Kind, no.Text)
}

func refusal(status int, kind, text string) *access.Refusal {
	return &access.Refusal{Status: status, Kind: kind, Text: text}
}

func badParameter(text string) error { return refusal(http.StatusBadRequest, "bad-parameter", text) }

func badPayload(text string) error { return refusal(http.StatusBadRequest, "bad-payload", text) }

// absent is the refusal of a feature that this program is built without.
func absent(what, setting string) error {
	return refusal(http.StatusNotFound, "feature-off", "This program runs without "+what+" ("+setting+").")
}

func (s *server) refusalOf(err error) *access.Refusal {
	if no, is := errors.AsType[*access.Refusal](err); is {
		return no
	}
	if no, is := errors.AsType[*documents.NotFoundError](err); is {
		return refusal(http.StatusNotFound, "no-document", no.Text)
	}
	if _, is := errors.AsType[*documents.UnreadableError](err); is {
		s.Log.Warn("a task's branch cannot be read", "err", err)
		return refusal(http.StatusServiceUnavailable, "mirror", "The mirror of the repository does not have the commit at the moment.")
	}
	if no, is := errors.AsType[*admin.DeniedError](err); is {
		return refusal(http.StatusForbidden, "denied", no.Why)
	}
	if _, is := errors.AsType[*orchestrator.UnregisteredError](err); is {
		return refusal(http.StatusNotFound, "no-repo", "The repository is not registered.")
	}
	if no, is := errors.AsType[*admin.RefusedError](err); is {
		return refusal(http.StatusConflict, "refused", no.Why)
	}
	if no, is := errors.AsType[*cards.InputError](err); is {
		return refusal(http.StatusBadRequest, "bad-payload", no.Text)
	}
	for _, known := range []struct {
		err error
		*access.Refusal
	}{
		{task.ErrNotFound, refusal(http.StatusNotFound, "no-task", "There is no such task.")},
		{admin.ErrNoLane, refusal(http.StatusNotFound, "no-lane", "There is no such lane: GET /queue lists them.")},
		{admin.ErrNoEffect, refusal(http.StatusNotFound, "no-effect",
			"There is no such effect: GET /queue lists those that were given up.")},
		{tracker.ErrNotFound, refusal(http.StatusNotFound, "no-card", "There is no such card.")},
		{cards.ErrConflict, refusal(http.StatusConflict, "outdated", "Somebody else has changed the card since: read it again.")},
		{admin.ErrOutdated, refusal(http.StatusConflict, "outdated", "The board is to show another status by now.")},
		{queue.ErrNotFailed, refusal(http.StatusConflict, "not-failed", "The effect was not given up, or is made again already.")},
	} {
		if errors.Is(err, known.err) {
			return known.Refusal
		}
	}
	s.Log.Error("a request failed", "err", err)
	return refusal(http.StatusServiceUnavailable, "store", "The store does not answer.")
}

func noColumn(name string) error {
	return badPayload(fmt.Sprintf("to: there is no column %.40q: send one of the board, such as to_analyse or In Progress.", name))
}
