package web

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

func (s *server) queue(r *http.Request) (any, error) {
	v, err := explain.ReadQueue(r.Context(), s.Engine)
	if err == nil {
		v.Forecasts, err = s.lives.Forecasts(r.Context(), s.Engine)
	}
	return v, err
}

// taskParameters are the query parameters of listings of tasks.
var taskParameters = []string{"repo", "stage", "work_item", "issue", "live", "cancelled", "after", "limit"}

// list reads the tasks that a listing is about, and the cursor of the page behind them (0 = there is none):
// ?repo=&stage=&work_item=&issue=&live=true&after=&limit=. With cancelled=true work_item and issue find
// cancelled tasks too. A page may have fewer than its limit: those that the principal may read.
func (s *server) list(r *http.Request, live bool) (page []task.Task, next int64, err error) {
	f, err := s.filter(r)
	if f.Live = f.Live || live; err == nil {
		page, err = s.Engine.Store.Tasks(r.Context(), f)
	}
	if err == nil && len(page) >= f.Limit {
		next = page[len(page)-1].ID
	}
	return access.Readable(r.Context(), page, func(t task.Task) string { return t.Repo }), next, err
}

func (s *server) filter(r *http.Request) (f task.Filter, err error) {
	q := r.URL.Query()
	for name := range q {
		if !slices.Contains(taskParameters, name) {
			text := "There is no parameter " + strconv.Quote(name) + "; there are "
			return f, badParameter(text + strings.Join(taskParameters, ", ") + ".")
		}
	}
	f = task.Filter{
		Repo: q.Get("repo"), Stage: stage.Stage(q.Get("stage")), WorkItemID: q.Get("work_item"), TrackerIssueID: q.Get("issue"),
	}
	if f.Stage != "" && s.Engine.Machine().Info(f.Stage).Stage == "" {
		return f, badParameter("There is no stage " + strconv.Quote(string(f.Stage)) + ".")
	}
	for name, into := range map[string]*bool{"live": &f.Live, "cancelled": &f.Cancelled} {
		if v := q.Get(name); v != "" {
			if *into, err = strconv.ParseBool(v); err != nil {
				return f, badParameter(name + " must be true or false.")
			}
		}
	}
	if f.AfterID, err = access.Number(r, "after", 0, " must be the id of a task: a whole number.", 0, math.MaxInt64); err != nil {
		return f, err
	}
	limit, err := access.Number(r, "limit", 100, " must be between 1 and 1000.", 1, 1000)
	f.Limit = int(limit)
	return f, err
}

// tasks lists tasks by id.
func (s *server) tasks(r *http.Request) (any, error) {
	page, next, err := s.list(r, false)
	out := TaskList{Tasks: []TaskView{}, Next: next}
	for _, t := range page {
		out.Tasks = append(out.Tasks, taskView(t))
	}
	return out, err
}

// ExplanationList is the answer of GET /explain, in the order of tasks. Next is the cursor
// of the next page, 0 on the last. Moves and the last note are left out.
type ExplanationList struct {
	Tasks []explain.Explanation `json:"tasks"`
	Next  int64                 `json:"next,omitempty"`
}

// explainAll answers with where every unfinished task stands, and why; its
// parameters are those of GET /tasks.
func (s *server) explainAll(r *http.Request) (any, error) {
	page, next, err := s.list(r, true)
	if err != nil {
		return nil, err
	}
	out := ExplanationList{Next: next}
	out.Tasks, err = explain.All(r.Context(), s.Engine, page)
	return out, err
}

// numberOf reads a number of the path.
func numberOf(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		return 0, badParameter("The " + name + " in the path must be a whole number above 0.")
	}
	return n, nil
}

// id is that of the path, which the table of routes has looked at.
func id(r *http.Request) int64 {
	n, _ := numberOf(r, "id")
	return n
}

func (s *server) task(r *http.Request) (any, error) {
	ctx, n := r.Context(), id(r)
	runs, err1 := s.Engine.Records.AgentRuns(ctx, n)
	results, err2 := s.Engine.Records.GateResults(ctx, n)
	jobs, err3 := s.Engine.Jobs.Jobs(ctx, queue.Filter{TaskID: n, Limit: 10_000})
	story, err4 := s.Engine.Records.Journal(ctx, n)
	t, err := s.Engine.Store.Task(ctx, n) // last, so that it is as new as its story
	if err != nil {
		return nil, err
	}
	v := TaskDetail{TaskView: taskView(t), Description: t.Description}
	v.fill(runs, results, jobs, story)
	return v, errors.Join(err1, err2, err3, err4)
}

func (s *server) explain(r *http.Request) (any, error) {
	return s.lives.One(r.Context(), s.Engine, id(r))
}

// order takes what a person requests of a task: it is durable, and carried out later.
func (s *server) order(do func(context.Context, *orchestrator.Engine, int64, stage.Principal) error) view {
	return func(r *http.Request) (any, error) {
		at := s.Engine.Now()
		return Queued{"queued", at.UTC()}, do(r.Context(), s.Engine, id(r), by(r))
	}
}

func (s *server) stop(r *http.Request) (any, error) {
	if !s.Stop {
		return nil, absent("STOP cancellation", "ORCH_STOP_STATUS_ENABLED")
	}
	return s.order(admin.Stop)(r)
}

// Unfrozen is the answer of POST /serial-gate/unfreeze.
type Unfrozen struct {
	Repo      string `json:"repo"`
	WasFrozen bool   `json:"was_frozen"`
	Reason    string `json:"reason,omitempty"` // of the freeze
}

func (s *server) unfreeze(r *http.Request) (any, error) {
	if s.Unfreeze == nil {
		return nil, absent("the serial gate", "ORCH_SERIAL_GATE_ENABLED")
	}
	var in struct{ Repo string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Repo == "" {
		return nil, badPayload(`Send {"repo": "owner/name"}.`)
	}
	if _, known := s.Engine.Projects.ByRepo(in.Repo); !known {
		return nil, &orchestrator.UnregisteredError{Repo: in.Repo}
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Task{}, task.Act{Act: task.ActUnfreeze, By: by(r), Repo: in.Repo}); err != nil {
		return nil, err
	}
	was, reason, err := s.Unfreeze(r.Context(), in.Repo)
	return Unfrozen{in.Repo, was, reason}, err
}

// Resumed is the answer of POST /agents/{agent}/resume.
type Resumed struct {
	Agent     string `json:"agent"`
	WasPaused bool   `json:"was_paused"`
}

func (s *server) resume(r *http.Request) (any, error) {
	if s.Resume == nil {
		return nil, absent("pauses of agents", "ORCH_AGENT_PAUSE_ENABLED")
	}
	agent := r.PathValue("agent")
	if err := admin.Audit(r.Context(), s.Engine, task.Task{}, task.Act{Act: task.ActResume, By: by(r), Use: agent}); err != nil {
		return nil, err
	}
	was, err := s.Resume(r.Context(), agent)
	return Resumed{agent, was}, err
}

// Reloaded is the answer of POST /admin/reload: what the registry has now, and which settings
// have changed.
type Reloaded struct {
	Projects int      `json:"projects"`
	Added    []string `json:"added"`                   // repositories
	Removed  []string `json:"removed"`                 // repositories
	Settings []string `json:"settings,omitempty"`      // names of those that are in force now
	Restart  []string `json:"needs_restart,omitempty"` // names of those that are not before a restart
}

func (s *server) reload(r *http.Request) (any, error) {
	if s.Reload == nil {
		return nil, refusal(http.StatusNotFound, "no-reload", "This program reads its project registry at the start alone.")
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Task{}, task.Act{Act: task.ActReload, By: by(r)}); err != nil {
		return nil, err
	}
	out, err := s.Reload(r.Context())
	if err != nil {
		return nil, refusal(http.StatusUnprocessableEntity, "bad-registry", err.Error())
	}
	return out, nil
}
