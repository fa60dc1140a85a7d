package forgetest

import (
	"errors"
	"net/http"
	"strconv"
	"strings"
)

// Annotation is a finding of a check run in a file.
type Annotation struct {
	Path    string
	Line    int
	Message string
}

// shown holds what a check run shows of its failure.
type shown struct {
	annotations []Annotation
	log         string
}

// ShowFailure makes a check run of a commit, which has been reported, have annotations and a log.
func (s *Server) ShowFailure(repo, sha, name, log string, annotations ...Annotation) error {
	defer s.lock()()
	for _, c := range s.repo(repo).commit(sha).checks {
		if c.name == name {
			s.shown[strconv.Itoa(c.id)] = shown{annotations, log}
			return nil
		}
	}
	return errors.New("forgetest: the commit has no check run of that name")
}

func (c *call) annotations() {
	c.list(wired(c.shown[c.r.PathValue("id")].annotations, func(a Annotation) object {
		return object{"path": a.Path, "start_line": a.Line, "end_line": a.Line, "annotation_level": "failure", "message": a.Message}
	}))
}

// files is where logs are, at another host than the API.
const files = "/_files/"

func (c *call) jobLog() {
	id := c.r.PathValue("id")
	if c.shown[id].log == "" {
		c.fail(c.notFound)
		return
	}
	c.w.Header().Set("Location", "http://"+strings.Replace(c.r.Host, "127.0.0.1", "localhost", 1)+files+id+"?sig=secret")
	c.w.WriteHeader(http.StatusFound)
}

// logFile answers as the store of files does: it refuses a request with a token.
func (c *call) logFile() {
	if c.r.Header.Get("Authorization") != "" || c.r.URL.Query().Get("sig") != "secret" {
		c.w.WriteHeader(http.StatusBadRequest)
		return
	}
	_, _ = c.w.Write([]byte(c.shown[c.r.PathValue("id")].log)) // a client that hung up needs no answer
}

func (c *call) whereHead() {
	rows, sha := []any{}, c.r.PathValue("sha")
	for branch, head := range c.at.Heads() {
		if head == sha {
			rows = append(rows, object{"name": branch, "commit": object{"sha": head}, "protected": branch == "main"})
		}
	}
	c.ok(rows)
}

// rules answers with what the active rulesets of a branch demand.
func (c *call) rules() {
	rule := func(kind string) object {
		return object{"type": kind, "ruleset_source_type": "Repository", "ruleset_source": c.at.called, "ruleset_id": 42}
	}
	rows := []any{rule("deletion")}
	if c.at.settings.Queue && !c.at.settings.ProtectedQueue {
		rows = append(rows, rule("merge_queue"))
	}
	var checks []any
	for _, rule := range c.at.settings.Rules[c.r.PathValue("branch")] {
		name, app, _ := strings.Cut(rule, "@")
		check := object{"context": name}
		if id, err := strconv.Atoi(app); err == nil {
			check["integration_id"] = id
		}
		checks = append(checks, check)
	}
	if len(checks) > 0 {
		demand := rule("required_status_checks")
		demand["parameters"] = object{"strict_required_status_checks_policy": false, "required_status_checks": checks}
		rows = append(rows, demand)
	}
	c.list(rows)
}
