package web

import (
	"encoding/json"
	"errors"
	"net/http"
	"slices"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

func (s *server) queue(w http.ResponseWriter, r *http.Request) {
	v, err := explain.ReadQueue(r.Context(), s.Engine)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}

// fail answers for an error of the engine or the store.
func (s *server) fail(w http.ResponseWriter, err error) {
	var refused *admin.RefusedError
	var denied *admin.DeniedError
	var unregistered *orchestrator.UnregisteredError
	var absent *documents.NotFoundError
	var unread *documents.UnreadableError
	switch {
	case errors.As(err, &absent):
		problem(w, http.StatusNotFound, "no-document", absent.Text)
		return
	case errors.As(err, &unread):
		s.Log.Warn("a task's branch cannot be read", "err", err)
		problem(w, http.StatusServiceUnavailable, "mirror", "The mirror of the repository does not have the commit at the moment.")
		return
	case errors.As(err, &denied):
		problem(w, http.StatusForbidden, "denied", denied.Why)
		return
	case errors.As(err, &unregistered):
		problem(w, http.StatusNotFound, "no-repo", "The repository is not registered.")
		return
	case errors.As(err, &refused):
		problem(w, http.StatusConflict, "refused", refused.Why)
		return
	case errors.Is(err, task.ErrNotFound):
		problem(w, http.StatusNotFound, "no-task", "There is no such task.")
		return
	case errors.Is(err, admin.ErrNoLane):
		problem(w, http.StatusNotFound, "no-lane", "There is no such lane: GET /queue lists them.")
		return
	case errors.Is(err, admin.ErrNoEffect):
		problem(w, http.StatusNotFound, "no-effect", "There is no such effect: GET /queue lists those that were given up.")
		return
	case errors.Is(err, admin.ErrOutdated):
		problem(w, http.StatusConflict, "outdated", "The board is to show another status by now.")
		return
	case errors.Is(err, queue.ErrNotFailed):
		problem(w, http.StatusConflict, "not-failed", "The effect was not given up, or is made again already.")
		return
	}
	s.Log.Error("a request failed", "err", err)
	problem(w, http.StatusServiceUnavailable, "store", "The store does not answer.")
}

// taskParameters are the query parameters of listings of tasks.
var taskParameters = []string{"repo", "stage", "work_item", "issue", "live", "cancelled", "after", "limit"}

// filter reads which tasks a listing is about: ?repo=&stage=&work_item=&issue=&live=true&after=&limit=.
// With cancelled=true work_item and issue find cancelled tasks too. It has answered when ok is false.
func (s *server) filter(w http.ResponseWriter, r *http.Request) (f task.Filter, ok bool) {
	q := r.URL.Query()
	bad := func(text string) (task.Filter, bool) {
		problem(w, http.StatusBadRequest, "bad-parameter", text)
		return f, false
	}
	for name := range q {
		if !slices.Contains(taskParameters, name) {
			return bad("There is no parameter " + strconv.Quote(name) + "; there are " + strings.Join(taskParameters, ", ") + ".")
		}
	}
	f = task.Filter{
		Repo: q.Get("repo"), Stage: stage.Stage(q.Get("stage")), WorkItemID: q.Get("work_item"), TrackerIssueID: q.Get("issue"), Limit: 100,
	}
	if f.Stage != "" && s.Engine.Machine().Info(f.Stage).Stage == "" {
		return bad("There is no stage " + strconv.Quote(string(f.Stage)) + ".")
	}
	var err error
	for name, into := range map[string]*bool{"live": &f.Live, "cancelled": &f.Cancelled} {
		if v := q.Get(name); v != "" {
			if *into, err = strconv.ParseBool(v); err != nil {
				return bad(name + " must be true or false.")
			}
		}
	}
	if v := q.Get("after"); v != "" {
		if f.AfterID, err = strconv.ParseInt(v, 10, 64); err != nil || f.AfterID < 0 {
			return bad("after must be the id of a task: a whole number.")
		}
	}
	if v := q.Get("limit"); v != "" {
		if f.Limit, err = strconv.Atoi(v); err != nil || f.Limit < 1 || f.Limit > 1000 {
			return bad("limit must be between 1 and 1000.")
		}
	}
	return f, true
}

// tasks lists tasks by id.
func (s *server) tasks(w http.ResponseWriter, r *http.Request) {
	f, ok := s.filter(w, r)
	if !ok {
		return
	}
	list, err := s.Engine.Store.Tasks(r.Context(), f)
	if err != nil {
		s.fail(w, err)
		return
	}
	out := TaskList{Tasks: []TaskView{}, Next: next(list, f)}
	for _, t := range readable(r, list) {
		out.Tasks = append(out.Tasks, taskView(t))
	}
	answer(w, http.StatusOK, out)
}

// readable are the tasks that the principal may read. A page of a list may have fewer than its
// limit so.
func readable(r *http.Request, list []task.Task) []task.Task {
	p := access.Of(r.Context())
	return slices.DeleteFunc(slices.Clone(list), func(t task.Task) bool { return !p.Reads(t.Repo) })
}

// next is the cursor of the page after a list; 0 = there is none.
func next(list []task.Task, f task.Filter) int64 {
	if len(list) < f.Limit {
		return 0
	}
	return list[len(list)-1].ID
}

// ExplanationList is the answer of GET /explain, in the order of tasks. Next is the cursor
// of the next page, 0 on the last. Moves and the last note are left out.
type ExplanationList struct {
	Tasks []explain.Explanation `json:"tasks"`
	Next  int64                 `json:"next,omitempty"`
}

// explainAll answers with where every unfinished task stands, and why; its
// parameters are those of GET /tasks.
func (s *server) explainAll(w http.ResponseWriter, r *http.Request) {
	f, ok := s.filter(w, r)
	if !ok {
		return
	}
	f.Live = true
	list, err := s.Engine.Store.Tasks(r.Context(), f)
	if err != nil {
		s.fail(w, err)
		return
	}
	out := ExplanationList{Next: next(list, f)}
	if out.Tasks, err = explain.All(r.Context(), s.Engine, readable(r, list)); err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, out)
}

// numberOf reads a number of the path.
func numberOf(r *http.Request, name string) (int64, error) {
	n, err := strconv.ParseInt(r.PathValue(name), 10, 64)
	if err != nil || n < 1 {
		text := "The " + name + " in the path must be a whole number above 0."
		return 0, &access.Refusal{Status: http.StatusBadRequest, Kind: "bad-parameter", Text: text}
	}
	return n, nil
}

// id reads the id of the path; it has answered when ok is false.
func id(w http.ResponseWriter, r *http.Request) (n int64, ok bool) { return pathNumber(w, r, "id") }

func pathNumber(w http.ResponseWriter, r *http.Request, name string) (n int64, ok bool) {
	n, err := numberOf(r, name)
	if err != nil {
		problem(w, http.StatusBadRequest, "bad-parameter", err.Error())
	}
	return n, err == nil
}

func (s *server) task(w http.ResponseWriter, r *http.Request) {
	n, ok := id(w, r)
	if !ok {
		return
	}
	v, err := s.detail(r, n)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, v)
}

func (s *server) detail(r *http.Request, n int64) (TaskDetail, error) {
	ctx := r.Context()
	t, err := s.Engine.Store.Task(ctx, n)
	if err != nil {
		return TaskDetail{}, err
	}
	v := TaskDetail{TaskView: taskView(t), Description: t.Description}
	runs, err1 := s.Engine.Records.AgentRuns(ctx, n)
	results, err2 := s.Engine.Records.GateResults(ctx, n)
	jobs, err3 := s.Engine.Jobs.Jobs(ctx, queue.Filter{TaskID: n, Limit: 10_000})
	story, err4 := s.Engine.Records.Journal(ctx, n)
	v.fill(runs, results, jobs, story)
	return v, errors.Join(err1, err2, err3, err4)
}

func (s *server) explain(w http.ResponseWriter, r *http.Request) {
	n, ok := id(w, r)
	if !ok {
		return
	}
	x, err := explain.One(r.Context(), s.Engine, n)
	if err != nil {
		s.fail(w, err)
		return
	}
	answer(w, http.StatusOK, x)
}

func (s *server) retry(w http.ResponseWriter, r *http.Request) {
	n, ok := id(w, r)
	if !ok {
		return
	}
	at := s.Engine.Now()
	if err := admin.Retry(r.Context(), s.Engine, n, by(r)); err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator asked for a retry", "task", n)
	s.queued(w, at)
}

// Unfrozen is the answer of POST /serial-gate/unfreeze.
type Unfrozen struct {
	Repo      string `json:"repo"`
	WasFrozen bool   `json:"was_frozen"`
	Reason    string `json:"reason,omitempty"` // of the freeze
}

func (s *server) unfreeze(w http.ResponseWriter, r *http.Request) {
	if s.Unfreeze == nil {
		s.absent("the serial gate", "ORCH_SERIAL_GATE_ENABLED")(w, r)
		return
	}
	var in struct{ Repo string }
	if err := json.NewDecoder(r.Body).Decode(&in); err != nil || in.Repo == "" {
		problem(w, http.StatusBadRequest, "bad-payload", `Send {"repo": "owner/name"}.`)
		return
	}
	if _, known := s.Engine.Projects.ByRepo(in.Repo); !known {
		problem(w, http.StatusNotFound, "no-repo", "The repository is not registered.")
		return
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Act{Act: task.ActUnfreeze, By: by(r), Repo: in.Repo}); err != nil {
		s.fail(w, err)
		return
	}
	was, reason, err := s.Unfreeze(r.Context(), in.Repo)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator ended a freeze", "repo", in.Repo, "was_frozen", was, "reason", reason)
	answer(w, http.StatusOK, Unfrozen{Repo: in.Repo, WasFrozen: was, Reason: reason})
}

// Resumed is the answer of POST /agents/{agent}/resume.
type Resumed struct {
	Agent     string `json:"agent"`
	WasPaused bool   `json:"was_paused"`
}

func (s *server) resume(w http.ResponseWriter, r *http.Request) {
	if s.Resume == nil {
		s.absent("pauses of agents", "ORCH_AGENT_PAUSE_ENABLED")(w, r)
		return
	}
	agent := r.PathValue("agent")
	if err := admin.Audit(r.Context(), s.Engine, task.Act{Act: task.ActResume, By: by(r), Use: agent}); err != nil {
		s.fail(w, err)
		return
	}
	was, err := s.Resume(r.Context(), agent)
	if err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator has resumed an agent", "agent", agent, "was_paused", was)
	answer(w, http.StatusOK, Resumed{Agent: agent, WasPaused: was})
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

func (s *server) reload(w http.ResponseWriter, r *http.Request) {
	if s.Reload == nil {
		problem(w, http.StatusNotFound, "no-reload", "This program reads its project registry at the start alone.")
		return
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Act{Act: task.ActReload, By: by(r)}); err != nil {
		s.fail(w, err)
		return
	}
	out, err := s.Reload(r.Context())
	if err != nil {
		problem(w, http.StatusUnprocessableEntity, "bad-registry", err.Error())
		return
	}
	answer(w, http.StatusOK, out)
}

func (s *server) stop(w http.ResponseWriter, r *http.Request) {
	if !s.Stop {
		s.absent("STOP cancellation", "ORCH_STOP_STATUS_ENABLED")(w, r)
		return
	}
	n, ok := id(w, r)
	if !ok {
		return
	}
	at := s.Engine.Now()
	if err := admin.Stop(r.Context(), s.Engine, n, by(r)); err != nil {
		s.fail(w, err)
		return
	}
	s.actor(r).Info("an operator asked for a stop", "task", n)
	s.queued(w, at)
}
