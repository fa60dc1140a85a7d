package orchestrator

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Bounds of what a developer is given of the git host's pages, in bytes; an argument of a
// command has room for it, see findingMax.
const (
	findingsMax  = 12 << 10 // of CI
	remarksMax   = 8 << 10  // of reviewers
	findingLines = 150      // of one check: each is indented
	findingsTime = 30 * time.Second
)

// findings reads what the git host shows of why a developer works again: of the checks that failed
// their findings and logs, and the comments of reviewers on lines. It is read when the run
// begins, and kept nowhere. What cannot be read is left out: the run does not wait for it.
func (e *Engine) findings(ctx context.Context, p task.Project, t task.Task, l stage.Launch) (out []Quotation) {
	host, ok := e.Host.(githost.Details)
	if !ok || p.Plain() || l.Role != stage.Developer || l.Feedback == "" || l.Head == "" {
		return nil
	}
	ctx, cancel := e.Scheduler.WithTimeout(ctx, findingsTime)
	defer cancel()
	if text := e.failures(ctx, host, p, t, l.Head); text != "" {
		out = append(out, Quotation{"What has failed in CI, as the git host shows it", text})
	}
	if text := e.remarks(ctx, host, p, t); text != "" {
		out = append(out, Quotation{"Comments of reviewers on lines of the pull request", text})
	}
	return out
}

// failures are the checks of a commit that failed, with what is shown of them.
func (e *Engine) failures(ctx context.Context, host githost.Details, p task.Project, t task.Task, sha string) string {
	list, err := e.Host.Checks(ctx, p.Repo, p.Main, sha)
	if err != nil {
		e.Log.Warn("what has failed in CI could not be read", "task", t.ID, "repo", t.Repo, "err", err)
		return ""
	}
	var b strings.Builder
	for _, c := range list {
		if c.State != githost.CheckFailed || b.Len() > findingsMax {
			continue
		}
		text, err := host.FailureLog(ctx, p.Repo, c)
		if err != nil {
			e.Log.Warn("why a check failed could not be read", "task", t.ID, "repo", t.Repo, "check", c.Name, "err", err)
		}
		fmt.Fprintf(&b, "%s\n", strings.TrimSpace(strings.Join([]string{c.Name + ": " + string(c.State), c.Note, c.URL}, " ")))
		if text != "" {
			lines := strings.Split(strings.TrimSpace(text), "\n")
			b.WriteString(strings.Join(lines[max(0, len(lines)-findingLines):], "\n") + "\n")
		}
	}
	return cut(b.String(), findingsMax, "\n(What follows was left out.)\n")
}

// remarks are the comments on lines by those whose reviews count.
func (e *Engine) remarks(ctx context.Context, host githost.Details, p task.Project, t task.Task) string {
	list, err := host.LineComments(ctx, p.Repo, t.Branch)
	if err != nil {
		e.Log.Warn("comments on lines could not be read", "task", t.ID, "repo", t.Repo, "err", err)
		return ""
	}
	var b strings.Builder
	for _, c := range list {
		if !checks.Counts(c.Review, p.Reviewers) {
			continue
		}
		where := c.Path
		if c.Line > 0 {
			where = fmt.Sprintf("%s:%d", c.Path, c.Line)
		}
		fmt.Fprintf(&b, "%s (%s): %s\n", where, c.Author, strings.TrimSpace(c.Body))
	}
	return cut(b.String(), remarksMax, "\n(What follows was left out.)\n")
}
