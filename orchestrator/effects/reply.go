package effects

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// saidIn are the lines with which the developer answers reviewers, in a commit.
func (d Deps) saidIn(ctx context.Context, p task.Project, t task.Task, sha string) ([]string, error) {
	tree, err := d.Workspaces.Files(ctx, p.Workspace(t), sha)
	if err != nil {
		return nil, err
	}
	body, err := fs.ReadFile(tree, p.Docs(t.WorkItemID)+"/"+stage.RepliesFile)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	return slices.DeleteFunc(strings.Split(string(body), "\n"), func(l string) bool { return strings.TrimSpace(l) == "" }), err
}

// reply answers comments on lines of the pull request in their threads, those of people whose reviews count alone: an agent is
// given no others. What is new is seen from what was pushed last, so that answers of a push which was refused come with the next one;
// an answer is known by its text, so that two pushes which carry it make one of it.
func (d Deps) reply(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	host, says := d.Host.(githost.Commenter)
	shown, shows := d.Host.(githost.Details)
	if !says || !shows || p.Plain() || t.State.Stage == stage.Cancelled {
		return finished
	}
	said, err := d.saidIn(ctx, p, t, e.SHA)
	if err != nil {
		return d.retry(e, err)
	}
	before, err := d.saidIn(ctx, p, t, e.Expected)
	if err != nil {
		return d.retry(e, err)
	}
	said = slices.DeleteFunc(said, func(l string) bool { return slices.Contains(before, l) })
	if len(said) == 0 {
		return finished
	}
	list, err := shown.LineComments(ctx, p.Repo, t.Branch, p.Main)
	if err != nil {
		return d.retry(e, err)
	}
	open := map[string]bool{}
	for _, c := range list {
		open[c.ID] = open[c.ID] || c.ID != "" && checks.Counts(c.Review, p.Reviewers)
	}
	for _, line := range said {
		thread, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if text = strings.TrimSpace(text); !open[thread] || text == "" {
			continue
		}
		open[thread] = false // one answer for each
		err := host.Comment(ctx, githost.NewComment{
			Repo: p.Repo, Number: t.State.PR, Thread: thread, Body: text,
			Key: fmt.Sprintf("%s/replies/%s/%.6x", task.Identity(t), thread, sha256.Sum256([]byte(text))),
		})
		switch {
		case errors.Is(err, githost.ErrNotFound), errors.Is(err, githost.ErrLacking): // the comment was removed
		case orchestrator.GivenUp(err, e.Attempt):
			return dead(err.Error())
		case err != nil:
			return d.retry(e, err)
		}
	}
	return finished
}
