package command

import (
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type reloadCmd struct{ printer }

// Run has the server read its settings and project registry again; it needs the right admin.
func (c reloadCmd) Run(s *streams) error {
	return read(c.printer, s, http.MethodPost, "/admin/reload", nil, func(w io.Writer, out web.Reloaded) {
		fmt.Fprintf(w, "projects: %d\n", out.Projects)
		for i, names := range [][]string{out.Added, out.Removed, out.Settings, out.Restart} {
			if len(names) > 0 {
				fmt.Fprintf(w, "%s: %s\n", []string{"added", "removed", "settings", "needs a restart"}[i], strings.Join(names, ", "))
			}
		}
	})
}

type resumeCmd struct {
	Agent string `arg:"" help:"The agent, as the queue names it: a preset or a command line."`
	printer
}

// Run ends the pause of an agent; it needs the right operator.
func (c resumeCmd) Run(s *streams) error {
	return read(c.printer, s, http.MethodPost, "/agents/"+url.PathEscape(c.Agent)+"/resume", nil, func(w io.Writer, out web.Resumed) {
		word := "is used again"
		if !out.WasPaused {
			word = "is not paused"
		}
		fmt.Fprintf(w, "%s %s\n", c.Agent, word)
	})
}

type unfreezeCmd struct {
	Repo string `arg:"" help:"The repository, as owner/name."`
	printer
}

// Run ends the freeze of a repository; it needs the right releaser.
func (c unfreezeCmd) Run(s *streams) error {
	repo := map[string]string{"repo": c.Repo}
	return read(c.printer, s, http.MethodPost, "/serial-gate/unfreeze", repo, func(w io.Writer, out web.Unfrozen) {
		if out.WasFrozen {
			fmt.Fprintf(w, "%s is not frozen any more; it was because %s\n", out.Repo, out.Reason)
		} else {
			fmt.Fprintf(w, "%s is not frozen\n", out.Repo)
		}
	})
}

type pauseCmd struct {
	Repo string `arg:"" optional:"" help:"Of this repository, as owner/name; without one: of all."`
	Why  string `help:"Why, for people who wait."`
	printer
}

// Run lets no agent start; it needs the right operator. Those at work go on.
func (c pauseCmd) Run(s *streams) error {
	return read(c.printer, s, http.MethodPost, "/pauses", map[string]string{"repo": c.Repo, "why": c.Why}, showPauses)
}

type unpauseCmd struct {
	Repo string `arg:"" optional:"" help:"Of this repository, as owner/name; without one: the pause of all."`
	printer
}

// Run ends a pause; it needs the right operator.
func (c unpauseCmd) Run(s *streams) error {
	return read(c.printer, s, http.MethodDelete, "/pauses", map[string]string{"repo": c.Repo}, showPauses)
}

func showPauses(w io.Writer, list web.PauseList) {
	if len(list.Pauses) == 0 {
		fmt.Fprintln(w, "nothing is paused")
	}
	for _, p := range list.Pauses {
		where := "anywhere"
		if p.Repo != "" {
			where = "in " + p.Repo
		}
		fmt.Fprintf(w, "no agent starts %s since %s: %s\n", where, moment(p.Since), oneLine(p.Why, 200))
	}
	for _, r := range list.Running {
		fmt.Fprintf(w, "at work: the %s of task %d (%s) since %s\n", r.Role, r.TaskID, r.Repo, moment(r.Since))
	}
}

type drainCmd struct {
	pauseCmd
	Timeout time.Duration `default:"1h" help:"How long to wait for the agents at work."`
}

// drainPoll is how often it is looked whether agents are at work.
const drainPoll = time.Second

// Run pauses, and waits until no agent is at work there.
func (c drainCmd) Run(s *streams) error {
	var list web.PauseList
	if err := c.call(http.MethodPost, "/pauses", map[string]string{"repo": c.Repo, "why": c.Why}, &list); err != nil {
		return err
	}
	for began := time.Now(); ; time.Sleep(drainPoll) {
		left := 0
		for _, r := range list.Running {
			if c.Repo == "" || strings.EqualFold(r.Repo, c.Repo) {
				left++
			}
		}
		if left == 0 {
			return c.print(s.out, list, func(w io.Writer) error { showPauses(w, list); return nil })
		}
		if time.Since(began) > c.Timeout {
			return fmt.Errorf("%d agents are at work still after %s; the pause stays", left, c.Timeout)
		}
		list = web.PauseList{}
		if err := c.get("/pauses", &list); err != nil {
			return err
		}
	}
}
