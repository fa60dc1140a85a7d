package dashboard

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/limit"
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

func (s *server) confirmTask(r *http.Request) (view, error) {
	id, err := number(r, "id")
	if err != nil {
		return view{}, err
	}
	t, err := s.Engine.Store.Task(r.Context(), id)
	if err != nil {
		return view{}, err
	}
	back := fmt.Sprintf("tasks/%d", id)
	c := confirmation{
		Question: fmt.Sprintf("Run %s of %s again?", t.State.Stage, item(t.WorkItemID)), Subject: t.Title, Back: back, Action: back + "/retry", Button: "Run it again",
		Effect: "The stage's agent starts again and retries are counted from zero. One that waits for its next attempt tries at once; while one is at work nothing happens.",
	}
	if strings.HasSuffix(r.URL.Path, "/stop") {
		if !s.Stop {
			return view{}, notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
		}
		c.Question, c.Action, c.Button, c.Danger = fmt.Sprintf("Stop %s?", item(t.WorkItemID)), back+"/stop", "Stop the task", true
		c.Effect = "The agent is ended, the jobs are cancelled, the workspace and the branch are removed. Documents are kept. In the middle of a merge or deployment STOP waits until that has finished."
	}
	return view{Name: "confirm", Title: c.Question, Nav: "board", Still: true, Data: c}, nil
}

func (s *server) confirmUnfreeze(r *http.Request) (view, error) {
	repo := r.FormValue("repo")
	if _, known := s.Engine.Projects.ByRepo(repo); !known {
		return view{}, notFound("The repository is not registered.")
	}
	if s.Unfreeze == nil {
		return view{}, notFound("This program runs without the serial gate (ORCH_SERIAL_GATE_ENABLED).")
	}
	c := confirmation{
		Question: "Unfreeze " + repo + "?", Effect: "Tasks of the repository may begin again.", Action: "repos/unfreeze", Fields: map[string]string{"repo": repo},
		Button: "Unfreeze", Back: "repos",
	}
	if f := readBlocks(r.Context(), s.Engine).Serial.frozen(repo); f != nil {
		c.Cause = f.Reason
	}
	return view{Name: "confirm", Title: c.Question, Nav: "repos", Still: true, Data: c}, nil
}

func (s *server) confirmResume(r *http.Request) (view, error) {
	agent := r.FormValue("agent")
	if s.Resume == nil {
		return view{}, notFound("This program runs without pauses of agents (ORCH_AGENT_PAUSE_ENABLED).")
	}
	c := confirmation{
		Question: "Resume " + agent + "?", Effect: "Tasks use the agent again at once. If it still cannot work it is paused anew.", Action: "agents/resume",
		Fields: map[string]string{"agent": agent}, Button: "Resume", Back: "queue",
	}
	return view{Name: "confirm", Title: c.Question, Nav: "queue", Still: true, Data: c}, nil
}

func (s *server) doResume(r *http.Request) (string, error) {
	agent := r.PostFormValue("agent")
	if s.Resume == nil {
		return "", notFound("This program runs without pauses of agents (ORCH_AGENT_PAUSE_ENABLED).")
	}
	if err := s.Engine.Audit(r.Context(), task.Act{Act: task.ActResume, By: byPage(), Use: agent}); err != nil {
		return "", err
	}
	was, err := s.Resume(r.Context(), agent)
	switch {
	case err != nil:
		return "", errors.Join(errors.New("resume"), err)
	case !was:
		return "queue?said=not-paused", nil
	default:
		return "queue?said=resumed", nil
	}
}

// act lets a changing request through that comes with a session or the token, and
// redirects to the address that do returns. With a wrong token the question is shown again.
func (s *server) act(ask func(*http.Request) (view, error), do func(*http.Request) (next string, err error)) http.Handler {
	return limit.Finish(func(w http.ResponseWriter, r *http.Request) {
		r.Body = http.MaxBytesReader(w, r.Body, formMax)
		var (
			v    view
			next string
			err  error
		)
		switch {
		case s.AdminToken == "":
			err = &failure{http.StatusForbidden, wordsOff}
		case s.signedIn(r):
			next, err = do(r)
		default:
			wrong, status := s.checkToken(w, r)
			if wrong == "" {
				next, err = do(r)
				break
			}
			s.refused(r)
			v, err = ask(r)
			if c, ok := v.Data.(confirmation); ok {
				c.Wrong = wrong
				v.Data, v.Status = c, status
			}
		}
		if err != nil {
			v = s.failed(err)
		}
		if v.Name != "" {
			s.render(w, s.frame(r, v))
			return
		}
		s.Log.Info("an operator has acted", "path", r.URL.Path, "remote", r.RemoteAddr)
		seeOther(w, root(r)+next)
	})
}

func (s *server) doRetry(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tasks/%d?said=retry", id), s.Engine.Retry(r.Context(), id, byPage())
}

func (s *server) doStop(r *http.Request) (string, error) {
	id, err := number(r, "id")
	if err == nil && !s.Stop {
		err = notFound("This program runs without STOP cancellation (ORCH_STOP_STATUS_ENABLED).")
	}
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("tasks/%d?said=stop", id), s.Engine.Stop(r.Context(), id, byPage())
}

func (s *server) doUnfreeze(r *http.Request) (string, error) {
	repo := r.PostFormValue("repo")
	if _, known := s.Engine.Projects.ByRepo(repo); !known {
		return "", notFound("The repository is not registered.")
	}
	if s.Unfreeze == nil {
		return "", notFound("This program runs without the serial gate (ORCH_SERIAL_GATE_ENABLED).")
	}
	return unfreeze(r.Context(), s.Options, repo)
}

func unfreeze(ctx context.Context, o Options, repo string) (string, error) {
	if err := o.Engine.Audit(ctx, task.Act{Act: task.ActUnfreeze, By: byPage(), Repo: repo}); err != nil {
		return "", err
	}
	was, _, err := o.Unfreeze(ctx, repo)
	switch {
	case err != nil:
		return "", errors.Join(errors.New("unfreeze"), err)
	case !was:
		return "repos?said=not-frozen", nil
	default:
		return "repos?said=unfrozen", nil
	}
}
