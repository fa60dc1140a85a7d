package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/receipt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// textMax bounds the words that a person sends with a request, in bytes.
const textMax = admin.NoteMax

// Queued is the answer to a request that is carried out later: it is durable.
type Queued struct {
	Status string    `json:"status"`
	At     time.Time `json:"at"` // the journal's entry of what has come of it is not older
}

// decide takes a person's Approved, Rejected or Confirm Deploy. A token that several people may
// have names none of them.
func (s *server) decide(on stage.Trigger) view {
	return func(r *http.Request) (any, error) {
		var in struct{ Why, Commit string }
		if err := json.NewDecoder(r.Body).Decode(&in); err != nil && !errors.Is(err, io.EOF) || len(in.Why) > textMax {
			return nil, badPayload(fmt.Sprintf(`Send {"why": "some words", "commit": "what was read"}, `+
				`the words of %d bytes at most, or nothing.`, textMax))
		}
		return s.order(func(ctx context.Context, e *orchestrator.Engine, n int64, who stage.Principal) error {
			who.Proof = access.Of(ctx).PersonProof()
			return admin.Decide(ctx, e, n, admin.Word{On: on, Why: in.Why, Of: in.Commit}, who)
		})(r)
	}
}

// note takes what a person has written for the next run of a task.
func (s *server) note(r *http.Request) (any, error) {
	var in struct{ Text string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Text == "" || len(in.Text) > textMax {
		return nil, badPayload(fmt.Sprintf(`Send {"text": "some words"}, of %d bytes at most.`, textMax))
	}
	return s.order(func(ctx context.Context, e *orchestrator.Engine, n int64, who stage.Principal) error {
		return admin.Note(ctx, e, n, in.Text, who)
	})(r)
}

// ofMirror reads what a task's branch has at ?commit=, its head without one.
type ofMirror func(d documents.Reader, r *http.Request, t task.Task, commit string) (any, error)

func (s *server) mirrored(what ofMirror) view {
	return func(r *http.Request) (any, error) {
		t, err := s.Engine.Store.Task(r.Context(), id(r))
		if err != nil {
			return nil, err
		}
		return what(documents.Reader{Engine: s.Engine, Redactor: s.Redactor}, r, t, r.URL.Query().Get("commit"))
	}
}

// DecisionList is the answer of GET /decisions: who waits longest comes first.
type DecisionList struct {
	Decisions []documents.Decision `json:"decisions"`
}

func (s *server) decisions(r *http.Request) (any, error) {
	list, err := documents.Reader{Engine: s.Engine, Redactor: s.Redactor}.Decisions(r.Context(), access.Of(r.Context()).Reads)
	return DecisionList{list}, err
}

func readDecision(d documents.Reader, r *http.Request, t task.Task, commit string) (any, error) {
	return d.Decision(r.Context(), t, commit, access.Of(r.Context()).Reads)
}

func readDiff(d documents.Reader, r *http.Request, t task.Task, commit string) (any, error) {
	return d.DiffFrom(r.Context(), t, r.URL.Query().Get("from"), commit)
}

func listDocuments(d documents.Reader, r *http.Request, t task.Task, commit string) (any, error) {
	return d.List(r.Context(), t, commit)
}

func readDocument(d documents.Reader, r *http.Request, t task.Task, commit string) (any, error) {
	return d.Read(r.Context(), t, r.PathValue("name"), commit)
}

// receiptOf answers with what says where the commits of a task that has ended come from.
func (s *server) receiptOf(r *http.Request) (any, error) {
	t, err := s.Engine.Store.Task(r.Context(), id(r))
	if err != nil {
		return nil, err
	}
	if s.Receipt == nil {
		return nil, refusal(http.StatusNotFound, "feature-off", "This program issues no receipts (web.Options.Receipt).")
	}
	out, err := s.Receipt(r.Context(), t)
	if errors.Is(err, receipt.ErrLive) || errors.Is(err, receipt.ErrUnmerged) {
		return nil, &admin.RefusedError{Why: err.Error()}
	}
	return out, err
}
