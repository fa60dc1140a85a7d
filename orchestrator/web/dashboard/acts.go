package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// confirmation is the question whether a changing request is meant.
type confirmation struct {
	Question, Effect string
	Subject          string            // the title of the task
	Cause            string            // of a freeze
	Action           string            // where the form is posted, relative to the beginning
	Fields           map[string]string // hidden
	Button           string
	Back             string
	Danger           bool
	Wrong            string // why the last try was refused
}

func (c confirmation) view(nav string) (view, error) {
	return view{Name: "confirm", Title: c.Question, Nav: nav, Still: true, Data: c}, nil
}

func (s *server) confirmTask(r *http.Request) (view, error) {
	t, err := s.taskOf(r)
	if err != nil {
		return view{}, err
	}
	back := fmt.Sprintf("tasks/%d", t.ID)
	c := confirmation{
		Question: fmt.Sprintf("Run %s of %s again?", t.State.Stage, item(t.WorkItemID)), Subject: t.Title,
		Effect: "The stage's agent starts again and retries are counted from zero. " +
			"One that waits for its next attempt tries at once; while one is at work nothing happens.",
		Back: back, Action: back + "/retry", Fields: map[string]string{"moment": task.Moment(t)}, Button: "Run it again",
	}
	if strings.HasSuffix(r.URL.Path, "/undo") {
		c.Question, c.Action, c.Button, c.Danger = fmt.Sprintf("Undo %s?", item(t.WorkItemID)), back+"/undo", "Take it back", true
		c.Effect = "A task of the same card takes back what was merged, on a branch of its own. No agent makes it: CI tests it, a person " +
			"approves it, and it is merged and deployed as any other. The repository may be frozen until that has ended."
	}
	if strings.HasSuffix(r.URL.Path, "/stop") {
		if !s.Stop {
			return view{}, notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
		}
		c.Question, c.Action, c.Button, c.Danger = fmt.Sprintf("Stop %s?", item(t.WorkItemID)), back+"/stop", "Stop the task", true
		c.Effect = "The agent is ended, the jobs are cancelled, the workspace and the branch are removed. Documents are kept. " +
			"In the middle of a merge or deployment STOP waits until that has finished."
	}
	return c.view("board")
}

func (s *server) confirmUnfreeze(r *http.Request) (view, error) {
	repo, f, err := s.repoToUnfreeze(r)
	if err != nil {
		return view{}, err
	}
	c := confirmation{
		Question: "Unfreeze " + repo + "?", Effect: "Tasks of the repository may begin again.",
		Action: "repos/unfreeze", Fields: map[string]string{"repo": repo}, Button: "Unfreeze", Back: "repos",
	}
	if f != nil {
		c.Cause, c.Fields["cause"] = f.Reason, access.Hash(f.Reason)
	}
	return c.view("repos")
}

func (s *server) confirmResume(r *http.Request) (view, error) {
	agent := r.FormValue("agent")
	if s.Resume == nil {
		return view{}, notFound("This program runs without pauses of agents (ORCH_AGENT_PAUSE_ENABLED).")
	}
	c := confirmation{
		Question: "Resume " + agent + "?",
		Effect:   "Tasks use the agent again at once. If it still cannot work it is paused anew.",
		Action:   "agents/resume", Fields: map[string]string{"agent": agent}, Button: "Resume", Back: "queue",
	}
	return c.view("queue")
}

func (s *server) doResume(r *http.Request) (string, error) {
	agent := r.PostFormValue("agent")
	if s.Resume == nil {
		return "", notFound("This program runs without pauses of agents (ORCH_AGENT_PAUSE_ENABLED).")
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Task{}, task.Act{Act: task.ActResume, By: byPage(r), Use: agent}); err != nil {
		return "", err
	}
	was, err := s.Resume(r.Context(), agent)
	return "queue?said=" + map[bool]string{true: "resumed", false: "not-paused"}[was], err
}

// act carries a changing request out, and redirects to the address that do returns.
func (s *server) act(do func(*http.Request) (next string, err error)) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		next, err := do(r)
		if err != nil {
			s.fail(w, r, err)
			return
		}
		p := access.Of(r.Context())
		s.Log.Info("an operator has acted", "path", r.URL.Path, "by", p.String(), "remote", p.From, "request", p.Request)
		seeOther(w, root(r)+next)
	})
}

// repeatQuestion shows the question again with the reason of the refusal, to those who may read it.
func (s *server) repeatQuestion(ask func(*http.Request) (view, error)) func(http.ResponseWriter, *http.Request, error) {
	return func(w http.ResponseWriter, r *http.Request, err error) {
		var no *access.Refusal
		reader := s.reader(r)
		if !errors.As(err, &no) || !reader.Reads("") {
			s.refuse(w, r, err)
			return
		}
		r = r.WithContext(access.With(r.Context(), reader))
		v, failed := ask(r)
		if failed != nil {
			v = s.failed(failed)
		}
		if c, ok := v.Data.(confirmation); ok {
			c.Wrong = no.Text
			v.Data, v.Status = c, no.Status
		}
		no.Header(w.Header())
		s.render(w, r, s.frame(r, v))
	}
}

// reader returns the sender of a request without the token of its form.
func (s *server) reader(r *http.Request) access.Principal {
	p, err := s.Access.Identify(r)
	if err != nil {
		return access.Principal{}
	}
	return p
}

// order takes what a person requests of a task, by its word.
func (s *server) order(
	word string, do func(context.Context, *orchestrator.Engine, int64, stage.Principal) error,
) func(*http.Request) (string, error) {
	return func(r *http.Request) (string, error) {
		t, err := s.taskOf(r)
		if seen := r.PostFormValue("moment"); err == nil && word == "retry" && seen != "" && seen != task.Moment(t) {
			err = &admin.RefusedError{Why: "the task has moved on since that was shown"}
		}
		if err == nil {
			err = do(r.Context(), s.Engine, t.ID, byPage(r))
		}
		return fmt.Sprintf("tasks/%d?said=%s", id(r), word), err
	}
}

func (s *server) doStop(r *http.Request) (string, error) {
	if !s.Stop {
		return "", notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
	}
	return s.order("stop", admin.Stop)(r)
}

func (s *server) doUnfreeze(r *http.Request) (string, error) {
	repo, f, err := s.repoToUnfreeze(r)
	if seen := r.PostFormValue("cause"); f != nil && seen != "" && seen != access.Hash(f.Reason) {
		err = &admin.RefusedError{Why: "it is frozen for another cause since that was shown: " + f.Reason}
	}
	if err != nil {
		return "", err
	}
	if err := admin.Audit(r.Context(), s.Engine, task.Task{}, task.Act{Act: task.ActUnfreeze, By: byPage(r), Repo: repo}); err != nil {
		return "", err
	}
	was, _, err := s.Unfreeze(r.Context(), repo)
	return "repos?said=" + map[bool]string{true: "unfrozen", false: "not-frozen"}[was], err
}

// repoToUnfreeze is that of a form, where it can be unfrozen, with its freeze; nil = there is none.
func (s *server) repoToUnfreeze(r *http.Request) (repo string, f *frozen, err error) {
	repo = r.FormValue("repo")
	if _, known := s.Engine.Projects.ByRepo(repo); !known {
		err = notFound("The repository is not registered.")
	} else if s.Unfreeze == nil {
		err = notFound("This program runs without the serial gate (ORCH_SERIAL_GATE_ENABLED).")
	}
	return repo, first(readBlocks(r.Context(), s.Engine).Serial.Frozen, repo), err
}
