package githubtest

import (
	"hash/fnv"
	"net/http"
	"slices"
)

// Actions is the app that runs the workflows of repositories. GitHub's number of it is real.
const Actions = "github-actions"

// suite is a check suite.
type suite struct{ app, status, conclusion string }

// SetSuite makes an app have a check suite of a commit, whatever runs it has. GitHub makes a
// queued one for every app that is installed.
func (s *Server) SetSuite(repo, sha, app, statusWord, conclusion string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	key := repo + " " + sha
	s.suites[key] = append(slices.DeleteFunc(s.suites[key], func(o suite) bool { return o.app == app }), suite{app, statusWord, conclusion})
}

// suiteID is the number of an app's suite. It is one of the commit's; nobody compares those of two.
func suiteID(app string) int {
	h := fnv.New32a()
	_, _ = h.Write([]byte(app)) // never fails
	return int(h.Sum32() >> 1)
}

func wireApp(slug string) map[string]any {
	id, name := suiteID(slug), slug
	if slug == Actions {
		id, name = 15368, "GitHub Actions"
	}
	return map[string]any{"id": id, "slug": slug, "name": name}
}

// checkSuites answers with a suite of every app that has runs, and those that were set.
func (s *Server) checkSuites(w http.ResponseWriter, r *http.Request, repo *repository) {
	key := repo.name + " " + r.PathValue("sha")
	list, count := slices.Clone(s.suites[key]), map[string]int{}
	for _, c := range s.checks[key] {
		count[c.app]++
		i := slices.IndexFunc(list, func(o suite) bool { return o.app == c.app })
		switch {
		case i < 0:
			list = append(list, suite{c.app, c.status, c.conclusion})
		case list[i].status == "completed" && c.status != "completed", list[i].conclusion == "success":
			list[i].status, list[i].conclusion = c.status, c.conclusion
		}
	}
	rows := []any{}
	for _, o := range list {
		var result any
		if o.conclusion != "" {
			result = o.conclusion
		}
		rows = append(rows, map[string]any{
			"id": suiteID(o.app), "head_sha": r.PathValue("sha"), "status": o.status, "conclusion": result,
			"app": wireApp(o.app), "latest_check_runs_count": count[o.app],
		})
	}
	reply(w, http.StatusOK, map[string]any{"total_count": len(rows), "check_suites": rows})
}

// rules answers with what the active rulesets of a branch demand.
func (s *Server) rules(w http.ResponseWriter, r *http.Request, repo *repository) {
	rule := func(kind string) map[string]any {
		return map[string]any{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": repo.name, "ruleset_id": 42}
	}
	rows := []any{rule("deletion")}
	if repo.settings.Queue {
		rows = append(rows, rule("merge_queue"))
	}
	var checks []any
	for _, name := range repo.settings.Rules[r.PathValue("branch")] {
		checks = append(checks, map[string]any{"context": name})
	}
	if len(checks) > 0 {
		demand := rule("required_status_checks")
		demand["parameters"] = map[string]any{"strict_required_status_checks_policy": false, "required_status_checks": checks}
		rows = append(rows, demand)
	}
	reply(w, http.StatusOK, rows)
}
