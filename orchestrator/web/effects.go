package web

import (
	"encoding/json"
	"net/http"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
)

// hastened is the answer of POST /effects/hasten.
type hastened struct {
	Due int `json:"due"` // jobs that waited for their time and are due now
}

// hasten has effects tried now that failed before: {"task": 12} or {"lane": "chat"}.
func (s *server) hasten(r *http.Request) (any, error) {
	var in struct {
		Task int64
		Lane string
	}
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Task < 0 || (in.Task == 0) == (in.Lane == "") {
		return nil, badPayload(`Send {"task": 12} or {"lane": "chat"}.`)
	}
	var due int
	var err error
	if in.Lane != "" {
		due, err = admin.HastenLane(r.Context(), s.Engine, in.Lane, by(r))
	} else {
		due, err = admin.HastenTask(r.Context(), s.Engine, in.Task, by(r))
	}
	return hastened{due}, err
}

// madeAgain is the answer of POST /effects/{id}/again.
type madeAgain struct {
	JobID int64 `json:"job_id"` // the new job
}

func (s *server) repeatEffect(r *http.Request) (any, error) {
	job, err := admin.Again(r.Context(), s.Engine, id(r), by(r))
	return madeAgain{job}, err
}
