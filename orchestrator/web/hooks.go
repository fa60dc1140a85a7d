package web

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/signature"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
	"github.com/signalbox-dev/signalbox/queue"
)

// edge lists what the receivers of trackers and of git hosts have in common.
type edge interface {
	Signature(h http.Header) (*signature.Check, error)
	Delivery(h http.Header) (id, event string)
	Habits() signature.Habits
}

// sender is the source of one webhook.
type sender struct {
	edge
	source string
	unwrap func(form []byte) ([]byte, error) // gives the payload in a form; nil: this sender sends JSON alone
	habits signature.Habits
	// projects is the registry as it was before the secrets of the check were taken: a
	// request that lasts over a reload is not judged by the secrets of before for what is
	// registered since.
	projects *task.Projects
	// take, of a chat, makes an act a word; it is durable then.
	take   func(ctx context.Context, body []byte) error
	decode func(event string, body []byte) (happening, error)
}

// errForeign means that a webhook is signed with the secret of another project.
var errForeign = errors.New("web: the secret does not speak for this project")

// receive takes a delivery: bound, verify, decode, store, answer.
func (s *server) receive(w http.ResponseWriter, r *http.Request, from sender) {
	body, signed, ok := s.read(w, r, from)
	if !ok {
		return
	}
	id, event := from.Delivery(r.Header)
	log := s.Log.With("source", from.source, "event", event, "delivery", id)
	if !json.Valid(body) {
		problem(w, http.StatusBadRequest, "not-json", "The body is not JSON.")
		return
	}
	if from.take != nil {
		ctx, cancel := s.Engine.Scheduler.WithTimeout(context.WithoutCancel(r.Context()), from.habits.Hold)
		defer cancel()
		if err := from.take(ctx, body); err != nil {
			log.Warn("an act in the chat is not taken", "err", err)
			s.unstored(w, from)
			return
		}
		s.count(from, "queued")
		answer(w, http.StatusOK, map[string]string{"status": "taken"})
		return
	}
	var job queue.Job
	var ignore string
	h, err := from.decode(event, body)
	if err == nil {
		job, ignore, err = h.judge(signed)
	}
	switch {
	case errors.Is(err, errForeign):
		s.refuse(r, from, "foreign", err)
		problem(w, http.StatusForbidden, "foreign-secret", "The project has a secret of its own, and the webhook is signed with another.")
	case err != nil:
		log.Warn("webhook cannot be decoded", "err", err)
		problem(w, http.StatusBadRequest, "bad-payload", "The payload lacks what its event says it has.")
	case ignore != "":
		log.Debug("webhook ignored", "why", ignore)
		s.count(from, "ignored")
		answer(w, http.StatusOK, map[string]string{"status": "ignored", "reason": ignore})
	default:
		s.store(w, r, from, task.Delivery{Source: from.source, ID: id, Event: event}, body, job)
	}
}

// read bounds and verifies the body; it has answered when ok is false. Without the form
// of a signature nothing is read.
func (s *server) read(w http.ResponseWriter, r *http.Request, from sender) (body []byte, signed *signature.Check, ok bool) {
	media, _, err := mime.ParseMediaType(r.Header.Get("Content-Type"))
	form := media == "application/x-www-form-urlencoded" && from.unwrap != nil
	if err != nil || media != "application/json" && !form || r.Header.Get("Content-Encoding") != "" {
		problem(w, http.StatusUnsupportedMediaType, "media-type", "Send application/json without a content encoding.")
		return nil, nil, false
	}
	if signed, err = from.Signature(r.Header); err != nil {
		err = fmt.Errorf("%w: %w", errUnsigned, err)
	} else {
		body, err = s.inbox.read(http.MaxBytesReader(w, r.Body, from.habits.Limit), limit.Sender(r), signed)
	}
	if err == nil && form {
		if body, err = from.unwrap(body); err != nil {
			problem(w, http.StatusBadRequest, "bad-form", "The form has no payload.")
			return nil, nil, false
		}
	}
	if wrong := errors.Is(err, errUnsigned); err == nil || wrong && !errors.Is(err, signature.ErrMissing) {
		s.Signed(from.source, !wrong)
	}
	if err == nil {
		return body, signed, true
	}
	w.Header().Set("Connection", "close") // so that what is left of the body is not waited for
	var tooBig *http.MaxBytesError
	switch {
	case errors.As(err, &tooBig):
		problem(w, http.StatusRequestEntityTooLarge, "too-large", "The body is larger than this receiver takes.")
	case errors.Is(err, errUnsigned):
		s.refuse(r, from, "unsigned", err)
		problem(w, http.StatusUnauthorized, "bad-signature", "The signature is missing or wrong.")
	case errors.Is(err, errFull):
		s.refuse(r, from, "busy", err)
		s.later(w, from, "busy", "Too many webhooks come at a time.")
	default:
		problem(w, http.StatusBadRequest, "truncated", "The body ended early.")
	}
	return nil, nil, false
}

// refuse counts a webhook that was refused, and logs once a minute how many were.
func (s *server) refuse(r *http.Request, from sender, outcome string, err error) {
	s.count(from, outcome)
	if n, say := s.refused.Count(s.Engine.Now()); say {
		s.Log.Warn("webhooks were refused", "source", from.source, "outcome", outcome, "err", err,
			"remote", limit.Sender(r), "since_last_line", n)
	}
}

// store makes the delivery durable and answers. While the store cannot take it
// the request is held and the insert tried again.
func (s *server) store(w http.ResponseWriter, r *http.Request, from sender, d task.Delivery, body []byte, job queue.Job) {
	d.BodyHash, d.ReceivedAt, d.Outcome = fmt.Sprintf("%x", sha256.Sum256(body)), s.Engine.Now(), "queued"
	// A sender that hangs up has not taken the answer, but may count the
	// delivery as made: it is stored all the same.
	ctx, cancel := s.Engine.Scheduler.WithTimeout(context.WithoutCancel(r.Context()), from.habits.Hold)
	defer cancel()
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		duplicate, err := s.Engine.Store.Receive(ctx, d, job)
		if err == nil {
			s.stored(w, from, duplicate)
			return
		}
		s.Log.Error("a delivery cannot be stored", "source", from.source, "delivery", d.ID, "err", err)
		if s.Engine.Wait(ctx, wait) != nil {
			s.unstored(w, from)
			return
		}
	}
}

func (s *server) stored(w http.ResponseWriter, from sender, duplicate bool) {
	if duplicate {
		s.count(from, "duplicate")
		s.Engine.Metrics.WebhookDedup.Add(1, from.source)
		answer(w, http.StatusOK, map[string]string{"status": "duplicate"})
		return
	}
	s.count(from, "queued")
	answer(w, http.StatusAccepted, map[string]string{"status": "queued"})
}

func (s *server) unstored(w http.ResponseWriter, from sender) {
	s.count(from, "lost")
	s.later(w, from, "store", "The delivery could not be stored.")
}

// later refuses a delivery so that its sender tries again, if it ever does.
func (s *server) later(w http.ResponseWriter, from sender, kind, detail string) {
	if from.habits.Abort {
		panic(http.ErrAbortHandler)
	}
	w.Header().Set("Retry-After", "10")
	problem(w, http.StatusServiceUnavailable, kind, detail)
}

// declare makes the metrics of webhooks be there before the first one comes.
func (s *server) declare() {
	for _, source := range s.Sources {
		for _, outcome := range []string{"queued", "duplicate", "ignored", "unsigned", "lost"} {
			s.Engine.Metrics.Webhooks.Add(0, source.Name, outcome)
		}
		s.Engine.Metrics.WebhookDedup.Add(0, source.Name)
	}
}

func (s *server) count(from sender, outcome string) {
	s.Engine.Metrics.Webhooks.Add(1, from.source, outcome)
}
