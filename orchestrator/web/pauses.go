package web

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

// PauseList is the answer of /pauses: what is paused, and which agents are at work all the same.
type PauseList struct {
	Pauses  []admin.Paused `json:"pauses"`
	Running []runningAgent `json:"running"`
}

// runningAgent is an agent at work.
type runningAgent struct {
	TaskID int64      `json:"task_id"`
	Repo   string     `json:"repo"`
	Role   stage.Role `json:"role"`
	Since  time.Time  `json:"since"`
}

// runningMax bounds the agents that are listed.
const runningMax = 10_000

// pauses lists the pauses, and begins (POST) or ends (DELETE) one: of the repository that the body
// names, or of all.
func (s *server) pauses(r *http.Request) (any, error) {
	if r.Method != http.MethodGet {
		var in struct{ Repo, Why string }
		err := json.NewDecoder(r.Body).Decode(&in)
		switch {
		case err != nil && !errors.Is(err, io.EOF) || len(in.Why) > textMax:
			err = badPayload(`Send {"repo": "owner/name", "why": "some words"}, or {} for all repositories.`)
		case r.Method == http.MethodDelete:
			_, err = admin.Unpause(r.Context(), s.Engine, in.Repo, by(r))
		default:
			err = admin.Pause(r.Context(), s.Engine, in.Repo, in.Why, by(r))
		}
		if err != nil {
			return nil, err
		}
	}
	p, out := access.Of(r.Context()), PauseList{Running: []runningAgent{}}
	paused, err1 := admin.Pauses(r.Context(), s.Engine)
	out.Pauses = slices.DeleteFunc(paused, func(one admin.Paused) bool { return one.Repo != "" && !p.Reads(one.Repo) })
	jobs, err2 := s.Engine.Jobs.Jobs(r.Context(), queue.Filter{Pool: queue.PoolAgents, Open: true, Limit: runningMax})
	for _, j := range jobs {
		if j.Status == queue.Running && p.Reads(j.Lane) {
			out.Running = append(out.Running, runningAgent{TaskID: j.TaskID, Repo: j.Lane, Role: stage.Role(j.Role), Since: j.StartedAt})
		}
	}
	return out, errors.Join(err1, err2)
}
