package forgetest

import (
	"context"
	"hash/fnv"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
)

// Actions is the app that runs the workflows of repositories at GitHub, whose number of it is real.
const Actions = "github-actions"

// job is the name of what CI reports.
const job = "ci / build and test"

type status struct {
	id                          int
	context, state, description string
	target                      string // page of the run
	creator                     string // empty: Actions of Gitea, whose account is shown to nobody
	at                          time.Time
}

// runCI starts CI on a commit, once.
func (s *Server) runCI(r *repository, branch, sha string) {
	at := r.commit(sha)
	if s.opt.CI == nil || at.started || len(at.checks) > 0 || s.gitea && len(at.statuses) > 0 {
		return
	}
	at.started = true
	push := Push{Repo: r.name, Branch: branch, SHA: sha, File: func(path string) ([]byte, error) { return r.File(sha, path) }}
	s.group.Go("ci", func(ctx context.Context) {
		outcome := s.opt.CI(push) // without the lock: it may call the server
		if outcome.Conclusion == "" {
			return
		}
		report := s.reporter(r, push, outcome.Title)
		report("")
		if run.Sleep(ctx, run.Real{}, outcome.After) == nil {
			report(outcome.Conclusion)
		}
	})
}

// reporter reports what CI has come to, as Actions of the host do; an empty conclusion is none yet.
func (s *Server) reporter(r *repository, p Push, title string) func(conclusion string) {
	c := checkRun{app: Actions, name: job, title: title}
	return func(conclusion string) {
		defer s.lock()()
		if s.gitea {
			s.storeStatus(r, p.SHA, status{
				context: job, state: actionState(conclusion), description: title,
				target: "/" + p.Repo + "/actions/runs/1/jobs/0", // Actions leave the host out
			})
			return
		}
		action := "created"
		c.status, c.conclusion = "in_progress", conclusion
		if c.id == 0 {
			c.id = s.id()
		}
		if conclusion != "" {
			c.status, action = "completed", "completed"
		}
		r.commit(p.SHA).report(c)
		run := s.wireCheck(c, p.SHA)
		run["check_suite"] = object{"id": suiteID(c.app), "head_branch": p.Branch, "head_sha": p.SHA}
		s.send("check_run", s.event(r, "ci", object{"action": action, "check_run": run}))
		if conclusion != "" {
			s.send("check_suite", s.event(r, "ci", object{"action": "completed", "check_suite": object{
				"id": c.id, "head_branch": p.Branch, "head_sha": p.SHA,
				"status": "completed", "conclusion": conclusion, "pull_requests": []any{},
			}}))
		}
	}
}

// actionState is a conclusion as a status has it: Gitea Actions report what was cancelled as failed.
func actionState(conclusion string) string {
	switch {
	case conclusion == "":
		return "pending"
	case !slices.Contains(states(), conclusion):
		return "failure"
	}
	return conclusion
}

// states are those of a commit status at Gitea.
func states() []string {
	return []string{"pending", "success", "error", "failure", "warning", "skipped"}
}

// CIBot is the account that reports statuses.
const CIBot = "ci-bot"

// SetStatus reports a commit status as CIBot: pending, success, failure or error, at Gitea warning or skipped too.
func (s *Server) SetStatus(repo, sha, contextName, state string) {
	s.SetStatusAs(CIBot, repo, sha, contextName, state)
}

// SetStatusAs is SetStatus by an account.
func (s *Server) SetStatusAs(account, repo, sha, contextName, state string) {
	defer s.lock()()
	if r := s.repo(repo); r != nil {
		s.storeStatus(r, sha, status{context: contextName, state: state, creator: account})
	}
}

// storeStatus stores a status and sends a webhook; its caller holds the lock.
func (s *Server) storeStatus(r *repository, sha string, st status) status {
	st.id, st.at = s.id(), s.opt.Now()
	at := r.commit(sha)
	at.statuses = append(at.statuses, st)
	out := s.wireStatus(st, "state") // also where calls of the interface name it otherwise
	out["sha"] = sha
	if s.gitea {
		out["commit"] = object{"id": sha}
	} else {
		spread(r, sha, out)
	}
	s.send("status", s.event(r, "ci", out))
	return st
}

// latest is the newest status of each context of a commit.
func (r *repository) latest(sha string) (out []status) {
	for _, st := range r.commit(sha).statuses {
		out = append(slices.DeleteFunc(out, func(o status) bool { return o.context == st.context }), st)
	}
	return out
}

// listStatuses lists those of a commit: at Gitea of a branch whose name is asked for, even where that is a commit's.
func (c *call) listStatuses() {
	rows, sha := []any{}, c.r.PathValue("sha")
	if head := c.at.Heads()[sha]; c.gitea && head != "" {
		sha = head
	}
	for _, st := range slices.Backward(c.at.commit(sha).statuses) {
		row := c.wireStatus(st, c.state)
		row["url"] = c.web + "api/v1/repos/" + c.at.name + "/statuses/" + sha
		rows = append(rows, row)
	}
	c.list(rows)
}

// wireStatus writes a status, whose state is in the field.
func (s *Server) wireStatus(st status, field string) object {
	var creator any
	if st.creator != "" {
		creator = s.wireUser(st.creator)
	}
	return object{
		"creator": creator, "id": st.id, "context": st.context, field: st.state, "description": st.description, "target_url": st.target,
		"created_at": stamp(st.at), "updated_at": stamp(st.at),
	}
}

type checkRun struct {
	id                              int
	app                             string
	name, status, conclusion, title string
}

// report stores a check run in the place of the one of its name.
func (at *commit) report(c checkRun) {
	n := slices.IndexFunc(at.checks, func(o checkRun) bool { return o.name == c.name && o.app == c.app })
	if n >= 0 {
		at.checks[n] = c
		return
	}
	at.checks = append(at.checks, c)
}

// SetCheckRun reports a check run of a commit, as a job of a workflow does.
func (s *Server) SetCheckRun(repo, sha, name, statusWord, conclusion string) {
	s.SetCheckRunAs(Actions, repo, sha, name, statusWord, conclusion)
}

// SetCheckRunAs is SetCheckRun by an app.
func (s *Server) SetCheckRunAs(app, repo, sha, name, statusWord, conclusion string) {
	defer s.lock()()
	c := checkRun{id: s.id(), app: app, name: name, status: statusWord, conclusion: conclusion}
	s.repo(repo).commit(sha).report(c)
}

// rerun queues a job of a workflow again. A check run is its app's to request.
func (c *call) rerun() {
	for _, at := range c.at.commits {
		for i, k := range at.checks {
			if strconv.Itoa(k.id) != c.r.PathValue("id") {
				continue
			}
			if k.app != Actions || strings.HasSuffix(c.r.URL.Path, "rerequest") {
				c.fail(refusal{status: http.StatusForbidden, text: "You must authenticate via a GitHub App."})
				return
			}
			at.checks[i].status, at.checks[i].conclusion = "queued", ""
			c.reply(http.StatusCreated, object{})
			return
		}
	}
	c.fail(c.notFound)
}

// suite is a check suite.
type suite struct{ app, status, conclusion string }

// SetSuite makes an app have a check suite of a commit, whatever runs it has. GitHub makes a
// queued one for every app that is installed.
func (s *Server) SetSuite(repo, sha, app, statusWord, conclusion string) {
	defer s.lock()()
	at := s.repo(repo).commit(sha)
	at.suites = append(slices.DeleteFunc(at.suites, func(o suite) bool { return o.app == app }), suite{app, statusWord, conclusion})
}

// suiteID is the number of an app's suite. It is one of the commit's; nobody compares those of two.
func suiteID(app string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(app)) // never fails
	return int(h.Sum32() >> 1)
}

func wireApp(slug string) object {
	id, name := suiteID(slug), slug
	if slug == Actions {
		id, name = 15368, "GitHub Actions"
	}
	return object{"id": id, "slug": slug, "name": name}
}

func (s *Server) wireCheck(c checkRun, sha string) object {
	return object{
		"id": c.id, "name": c.name, "head_sha": sha, "status": c.status, "conclusion": optional(c.conclusion),
		"html_url": s.web + "checks/" + strconv.Itoa(c.id), "app": wireApp(c.app), "pull_requests": []any{},
		"output": object{"title": c.title}, "check_suite": object{"id": suiteID(c.app)},
	}
}

// optional is a text, or null.
func optional(s string) any {
	if s == "" {
		return nil
	}
	return s
}

func (c *call) checkRuns() {
	rows, sha := []any{}, c.r.PathValue("sha")
	for _, run := range c.at.commit(sha).checks {
		rows = append(rows, c.wireCheck(run, sha))
	}
	c.ok(object{"total_count": len(rows), "check_runs": rows})
}

// checkSuites answers with a suite of every app that has runs, and those that were set.
func (c *call) checkSuites() {
	sha := c.r.PathValue("sha")
	at := c.at.commit(sha)
	list, count := slices.Clone(at.suites), map[string]int{}
	for _, run := range at.checks {
		count[run.app]++
		i := slices.IndexFunc(list, func(o suite) bool { return o.app == run.app })
		switch {
		case i < 0:
			list = append(list, suite{run.app, run.status, run.conclusion})
		case list[i].status == "completed" && run.status != "completed", list[i].conclusion == "success":
			list[i].status, list[i].conclusion = run.status, run.conclusion
		}
	}
	rows := []any{}
	for _, o := range list {
		rows = append(rows, object{
			"id": suiteID(o.app), "head_sha": sha, "status": o.status, "conclusion": optional(o.conclusion),
			"app": wireApp(o.app), "latest_check_runs_count": count[o.app],
		})
	}
	c.ok(object{"total_count": len(rows), "check_suites": rows})
}
