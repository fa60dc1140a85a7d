package orchestrator

import (
	"context"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

func (e *Engine) subjectOfItem(p task.Project, item tracker.Item) gates.Facts {
	return gates.Facts{
		At:     e.Now(),
		Task:   gates.Task{Title: item.Title, Description: item.Description, Repo: p.Repo, Main: p.Main},
		Policy: p.Policy(),
	}
}

// subject gathers the facts of a task, as of its newest commit.
func (e *Engine) subject(ctx context.Context, p task.Project, t task.Task, ev stage.Event) (gates.Facts, error) {
	sha := t.State.Head
	if (ev.On == stage.OnAgentFinished || ev.On == stage.OnCaughtUp) && ev.SHA != "" {
		sha = ev.SHA
	}
	s, err := FactsOf(ctx, e.Workspaces, e.Host, p, t, sha, e.Now())
	s.Commands = e.Commands
	if p.Plain() && ev.CI != nil {
		s.CI = ownCI(*ev.CI)
	}
	if ev.On == stage.OnAgentFinished && ev.Agent != nil {
		s.Filed = ev.Agent.Filed
	}
	if ev.On == stage.OnApproved {
		s.Approval = &gates.Approval{By: ev.By.Who(), At: ev.At}
	}
	if ev.On == stage.OnCaughtUp {
		s.Mergeable = &gates.Mergeable{Base: ev.Base, Conflicts: ev.Conflicts}
	}
	if sha != "" && ev.On == stage.OnReconcile {
		if fact := e.probe(ctx, s); fact != nil { // it may have come since the deployer's report
			s.Filed.Probed = fact
		}
	}
	return s, err
}

// FactsOf gathers the facts of a task and one of its commits, which may be empty, at a moment. Nothing
// of an event is among them, and no command.
func FactsOf(
	ctx context.Context, from Workspaces, host githost.Host, p task.Project, t task.Task, sha string, now time.Time,
) (gates.Facts, error) {
	s := gates.Facts{
		At: now, Stage: t.State.Stage, SHA: sha, Deployed: t.State.MergeSHA, Filed: t.State.Filed,
		Task: gates.Task{
			ID: t.ID, WorkItem: t.WorkItemID, Title: t.Title, Description: t.Description,
			Repo: t.Repo, Branch: t.Branch, Main: p.Main, Docs: p.Docs(t.WorkItemID),
		},
		Vouched: t.State.Vouched, Retries: t.State.Retries, Policy: p.Policy(),
	}
	if p.Plain() {
		s.CI = ownCI(t.State.CI)
	} else {
		s.CI, s.Reviews = host, host
	}
	if sha == "" {
		return s, nil
	}
	s.Unpublished = sha != t.State.Pushed
	judged := t.State.Stage == stage.Deploy // CI of what is deployed was judged before
	s.Settled = !s.Unpublished && (now.Sub(t.UpdatedAt) >= ciSettles || judged)
	space := p.Workspace(t)
	space.Head = sha
	tip, err := from.Tip(ctx, space)
	if err != nil {
		return s, err
	}
	s.Changes = changes{from, space, sha}
	s.SameCode = []string{sha}
	if tip.SHA == sha {
		s.SameCode = tip.SameCode
	}
	s.Tree, err = from.Files(ctx, space, sha)
	return s, err
}

// changes reads what a commit of a task has changed.
type changes struct {
	from  Workspaces
	space work.Workspace
	sha   string
}

// Changed implements gates.Changes.
func (c changes) Changed(ctx context.Context, from string, patterns []string) ([]string, error) {
	return c.from.Changed(ctx, c.space, from, c.sha, patterns)
}
