package web

import (
	"net/http"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Costs is the answer of GET /costs: what agents have cost in the last days (UTC), today with it.
type Costs struct {
	Since string    `json:"since"` // the first day
	Total CostSum   `json:"total"`
	Costs []CostRow `json:"costs"` // by day, repository, stage, role, agent and model, in that order
}

// CostRow sums what an agent in a role has cost on a day.
type CostRow struct {
	Day   string      `json:"day"`
	Repo  string      `json:"repo"`
	Stage stage.Stage `json:"stage"`
	Role  stage.Role  `json:"role"`
	Agent string      `json:"agent"` // empty: not known
	Model string      `json:"model"` // empty: not known
	CostSum
}

// CostSum is a sum of runs.
type CostSum struct {
	Runs   int64 `json:"runs"`
	Worked int64 `json:"worked_seconds"`
	Totals
}

func (s *CostSum) add(c task.Cost) {
	s.Runs += c.Runs
	s.Worked += int64(c.Worked / time.Second)
	s.Totals.add(c)
}

// costsMax is the longest time that costs are listed of, in days.
const costsMax = 366

func (s *server) costs(w http.ResponseWriter, r *http.Request) {
	if s.History == nil {
		problem(w, http.StatusNotFound, "feature-off", "This program keeps no sums of costs (web.Options.History).")
		return
	}
	days, repo := 30, r.URL.Query().Get("repo")
	if text := r.URL.Query().Get("days"); text != "" {
		var err error
		if days, err = strconv.Atoi(text); err != nil || days < 1 || days > costsMax {
			problem(w, http.StatusBadRequest, "bad-parameter", "days must be between 1 and 366.")
			return
		}
	}
	first := s.Engine.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, 1-days)
	list, err := s.History.DayCosts(r.Context(), first)
	if err != nil {
		s.fail(w, err)
		return
	}
	p, out := access.Of(r.Context()), Costs{Since: first.Format(time.DateOnly), Costs: []CostRow{}}
	for _, c := range list {
		if !p.Reads(c.Repo) || repo != "" && repo != c.Repo {
			continue
		}
		row := CostRow{Day: c.Day.Format(time.DateOnly), Repo: c.Repo, Stage: c.Stage, Role: c.Role, Agent: c.Agent, Model: c.Model}
		row.add(c.Cost)
		out.Total.add(c.Cost)
		out.Costs = append(out.Costs, row)
	}
	answer(w, http.StatusOK, out)
}
