package web

import (
	"net/http"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Costs is the answer of GET /costs: what agents have cost in the last days (UTC), today with it.
type Costs struct {
	Since string    `json:"since"` // the first day
	Total CostSum   `json:"total"`
	Costs []costRow `json:"costs"` // by day, repository, stage, role, agent and model, in that order
}

// costRow sums what an agent in a role has cost on a day.
type costRow struct {
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

// report tells what has ended in the last days, in whole.
func (s *server) report(r *http.Request) (any, error) {
	if s.History == nil {
		return nil, refusal(http.StatusNotFound, "feature-off", "This program keeps no history (web.Options.History).")
	}
	c, err := explain.ReadChoice(r, s.Engine.Now(), 7)
	if err != nil {
		return nil, err
	}
	return s.lives.Report(r.Context(), s.Engine, c)
}

func (s *server) costs(r *http.Request) (any, error) {
	if s.History == nil {
		return nil, refusal(http.StatusNotFound, "feature-off", "This program keeps no sums of costs (web.Options.History).")
	}
	days, err := access.Number(r, "days", 30, " must be between 1 and 366.", 1, 366)
	if err != nil {
		return nil, err
	}
	repo, first := r.URL.Query().Get("repo"), s.Engine.Now().UTC().Truncate(24*time.Hour).AddDate(0, 0, int(1-days))
	list, err := s.History.DayCosts(r.Context(), first)
	out := Costs{Since: first.Format(time.DateOnly), Costs: []costRow{}}
	for _, c := range access.Readable(r.Context(), list, func(c task.DayCost) string { return c.Repo }) {
		if repo == "" || repo == c.Repo {
			row := costRow{Day: c.Day.Format(time.DateOnly), Repo: c.Repo, Stage: c.Stage, Role: c.Role, Agent: c.Agent, Model: c.Model}
			row.add(c.Cost)
			out.Total.add(c.Cost)
			out.Costs = append(out.Costs, row)
		}
	}
	return out, err
}
