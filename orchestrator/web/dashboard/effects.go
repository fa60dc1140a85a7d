package dashboard

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// confirmHasten renders the question whether effects that failed are to be tried now: those of a
// task, or those of a lane.
func (s *server) confirmHasten(r *http.Request) (view, error) {
	lane, id := r.FormValue("lane"), r.FormValue("task")
	c := confirmation{
		Effect: "What has failed and waits for its time is tried now, and a destination that did not answer is asked once more. " +
			"What fails again waits as before.",
		Action: "effects/hasten", Button: "Try now", Back: "queue",
	}
	switch {
	case lane != "":
		c.Question, c.Fields = fmt.Sprintf("Try the lane %s now?", lane), map[string]string{"lane": lane}
		sick := s.Engine.Sick()
		if i := slices.IndexFunc(sick, func(x orchestrator.Sickness) bool { return x.Lane == lane }); i >= 0 {
			c.Subject = sick[i].Text(s.Engine.Now())
		}
	default:
		t, err := s.taskNamed(r, id)
		if err != nil {
			return view{}, err
		}
		c.Question, c.Fields = fmt.Sprintf("Try now what is owed for %s?", item(t.WorkItemID)), map[string]string{"task": id}
		c.Subject, c.Back = t.Title, fmt.Sprintf("tasks/%d", t.ID)
	}
	return c.view("queue")
}

// taskNamed is the task of a form's field.
func (s *server) taskNamed(r *http.Request, id string) (task.Task, error) {
	n, err := strconv.ParseInt(id, 10, 64)
	if err != nil || n < 1 {
		return task.Task{}, badRequest("The address is wrong: name a lane, or a task by a whole number above 0.")
	}
	return s.Engine.Store.Task(r.Context(), n)
}

func (s *server) doHasten(r *http.Request) (string, error) {
	if lane := r.FormValue("lane"); lane != "" {
		_, err := admin.HastenLane(r.Context(), s.Engine, lane, byPage(r))
		return "queue?said=hasten", err
	}
	t, err := s.taskNamed(r, r.FormValue("task"))
	if err != nil {
		return "", err
	}
	_, err = admin.HastenTask(r.Context(), s.Engine, t.ID, byPage(r))
	return fmt.Sprintf("tasks/%d?said=hasten", t.ID), err
}

// confirmAgain renders the question whether an effect that was given up is to be made again.
func (s *server) confirmAgain(r *http.Request) (none view, err error) {
	id, err := number(r, "id") // also where the table of routes has refused the request before it looked
	if err != nil {
		return none, err
	}
	jobs, err := s.Engine.Jobs.Jobs(r.Context(), queue.Filter{ID: id})
	switch {
	case err != nil:
		return none, err
	case len(jobs) == 0 || !orchestrator.IsEffect(jobs[0]):
		return none, admin.ErrNoEffect
	case jobs[0].Status != queue.Failed:
		return none, queue.ErrNotFailed
	}
	c := confirmation{
		Question: fmt.Sprintf("Make effect %d again?", id), Subject: fmt.Sprintf("%s of %s: %s", jobs[0].Kind, jobs[0].Lane, jobs[0].Error),
		Effect: "It is put into its lane once more, as it was. Do it when the cause is gone: what is refused again is given up again.",
		Action: fmt.Sprintf("effects/%d/again", id), Button: "Make again", Back: "queue",
	}
	return c.view("queue")
}

func (s *server) doAgain(r *http.Request) (string, error) {
	_, err := admin.Again(r.Context(), s.Engine, id(r), byPage(r))
	return "queue?said=again", err
}

// laneQuery is the address of the question about a lane.
func laneQuery(lane string) string { return "effects/hasten?" + url.Values{"lane": {lane}}.Encode() }
