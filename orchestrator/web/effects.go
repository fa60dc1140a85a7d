package web

import (
	"encoding/json"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
)

// Hastened is the answer of POST /effects/hasten.
type Hastened struct {
	Due int `json:"due"` // jobs that waited for their time and are due now
}

// hasten has effects tried now that failed before: {"task": 12} or {"lane": "chat"}.
func (s *server) hasten(w http.ResponseWriter, r *http.Request) {
	var in struct {
		Task int64
		Lane string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Task < 0 || (in.Task == 0) == (in.Lane == "") {
		problem(w, http.StatusBadRequest, "bad-payload", `Send {"task": 12} or {"lane": "chat"}.`)
		return
	}
	var out Hastened
	var err error
	if in.Lane != "" {
		out.Due, err = admin.HastenLane(r.Context(), s.Engine, in.Lane, by(r))
	} else {
		out.Due, err = admin.HastenTask(r.Context(), s.Engine, in.Task, by(r))
	}
	if err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator asked for effects to be tried now", "lane", in.Lane, "task", in.Task, "due", out.Due)
	answer(w, http.StatusOK, out)
}

// MadeAgain is the answer of POST /effects/{id}/again.
type MadeAgain struct {
	JobID int64 `json:"job_id"` // the new job
}

func (s *server) repeatEffect(w http.ResponseWriter, r *http.Request) {
	n, ok := id(w, r)
	if !ok {
		return
	}
	job, err := admin.Again(r.Context(), s.Engine, n, by(r))
	if err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator asked for an effect to be made again", "effect", n, "job", job)
	answer(w, http.StatusAccepted, MadeAgain{job})
}
