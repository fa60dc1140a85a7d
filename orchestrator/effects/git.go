package effects

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"net/url"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// prepare makes the branch with the request as its first commit and publishes it.
func (d Deps) prepare(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	if t.State.Stage.Terminal() {
		return finished
	}
	space := p.Workspace(t)
	err = d.Workspaces.Begin(ctx, space, orchestrator.SeedFiles(p, t))
	if errors.Is(err, work.ErrTaken) {
		return report(e, stage.Event{On: stage.OnBranchTaken, At: d.Now(), Branch: t.Branch})
	}
	if err != nil {
		return d.retry(e, err)
	}
	tip, err := d.Workspaces.Tip(ctx, space)
	if err == nil && tip.SHA != "" && t.State.Head == "" && e.Attempt == 1 { // later it may be an agent's, and undecided
		err = d.Workspaces.Push(ctx, space, tip.SHA, t.State.Pushed)
	}
	if errors.Is(err, work.ErrRefused) {
		return report(e, d.unpublished(t, err))
	}
	if err != nil && !errors.Is(err, work.ErrMoved) {
		return d.retry(e, err)
	}
	return finished
}

// unpublished is reported when the remote's own rules refuse the branch, at its first word: no later stage could publish it either.
func (d Deps) unpublished(t task.Task, err error) stage.Event {
	why := fmt.Sprintf("the remote refuses the branch %s, which the service must be able to push: %s", t.Branch, fault.Words(err.Error()))
	return stage.Event{On: stage.OnEffectFailed, At: d.Now(), Final: true, Reason: why}
}

// publish pushes a commit. That it did goes back to the task as an event; once there is
// something to integrate, the pull request is owed, to the git host and not to the remote.
func (d Deps) publish(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	if t.State.Stage == stage.Cancelled { // its branch is removed, and its names are not its own any more
		return finished
	}
	err = d.Workspaces.Push(ctx, p.Workspace(t), e.SHA, e.Expected)
	if errors.Is(err, work.ErrMoved) && t.State.MergeSHA != "" {
		return d.publishReport(ctx, e, p, t, err)
	}
	if errors.Is(err, work.ErrRemoved) {
		return report(e, stage.Event{On: stage.OnEffectFailed, At: d.Now(), Gone: true, Reason: t.Deleted()})
	}
	if errors.Is(err, work.ErrMoved) {
		why := "the branch could not be published: " + t.OthersPushed(e.Expected)
		return report(e, stage.Event{On: stage.OnEffectFailed, At: d.Now(), SHA: e.SHA, Reason: why, Others: true})
	}
	if errors.Is(err, work.ErrRefused) && t.State.MergeSHA == "" {
		return report(e, d.unpublished(t, err))
	}
	if errors.Is(err, work.ErrProtected) || errors.Is(err, work.ErrBadName) {
		return dead(err.Error())
	}
	if err != nil {
		return d.retry(e, err)
	}
	o := report(e, stage.Event{On: stage.OnPublished, At: d.Now(), SHA: e.SHA})
	if t.State.PR != 0 && e.Expected != "" {
		said, err := d.saidIn(ctx, p, t, e.SHA)
		if err != nil {
			return d.retry(e, err)
		}
		if len(said) > 0 {
			answers := stage.Effect{Kind: stage.EffectReply, SHA: e.SHA, Expected: e.Expected}
			o.Then = append(o.Then, orchestrator.FollowUpJob(e, answers, e.Key+"/replies"))
		}
	}
	_, plain := githost.PlainOf(d.Host, p.Repo)
	unpulled := t.State.PR == 0 || e.Expected == "" // a branch that is made anew has no pull request
	if !plain && wantsPullRequest(t.State) && unpulled {
		o.Then = append(o.Then, orchestrator.FollowUpJob(e, stage.Effect{Kind: stage.EffectPull}, e.Key+"/pull_request"))
	}
	return o
}

// publishReport puts the report of a deployment onto the pull request when its commit cannot be
// pushed any more: hosts may delete a branch when they merge it.
func (d Deps) publishReport(ctx context.Context, e orchestrator.Effect, p task.Project, t task.Task, unpushed error) queue.Outcome {
	why := "not pushed: the branch is merged, and is not where it was left: " + unpushed.Error()
	o := queue.Outcome{Kind: queue.OutcomeDone, Error: why}
	host, ok := d.Host.(githost.Commenter)
	if _, plain := githost.PlainOf(d.Host, p.Repo); !ok || plain || t.State.PR == 0 {
		return o
	}
	files, err := d.Workspaces.Files(ctx, p.Workspace(t), e.SHA)
	if err != nil {
		return d.retry(e, err)
	}
	const name = stage.DeployReport
	body, err := fs.ReadFile(files, p.Docs(t.WorkItemID)+"/"+name)
	if errors.Is(err, fs.ErrNotExist) {
		return o
	}
	if err == nil {
		err = host.Comment(ctx, githost.NewComment{
			Repo: p.Repo, Number: t.State.PR, Key: task.Identity(t) + "/" + e.SHA + "/" + name,
			Body: fmt.Sprintf("`%s` of %s, whose branch was deleted when it was merged:\n\n%s", name, t.WorkItemID, body),
		})
	}
	switch {
	case err == nil:
		o.Error += "; " + name + " is on the pull request"
	case orchestrator.GivenUp(err, e.Attempt):
		o.Error += "; nor is " + name + " on the pull request: " + err.Error()
	default:
		return d.retry(e, err)
	}
	return o
}

// pull opens the pull request of a branch that was pushed, unless it is open.
func (d Deps) pull(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	if _, plain := githost.PlainOf(d.Host, p.Repo); plain || !wantsPullRequest(t.State) {
		return finished
	}
	pr, err := d.Host.OpenPullRequest(ctx, pullRequest(p, t))
	if err != nil {
		return d.retry(e, err)
	}
	return report(e, stage.Event{On: stage.OnPublished, At: d.Now(), PR: pr.Number, URL: pr.URL})
}

// wantsPullRequest: there is code to integrate, and it is not integrated yet.
func wantsPullRequest(s stage.State) bool {
	return s.Stage != stage.Analysis && s.Stage != stage.Architecture && !s.Stage.Terminal() && s.MergeSHA == ""
}

func pullRequest(p task.Project, t task.Task) githost.NewPullRequest {
	return githost.NewPullRequest{
		Repo: p.Repo, Head: t.Branch, Base: p.Main,
		Title: subject(t),
		Body:  "Requirements, design and reports: `" + p.Docs(t.WorkItemID) + "/` on this branch.",
	}
}

func report(e orchestrator.Effect, ev stage.Event) queue.Outcome {
	return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{orchestrator.TriggerJob(e, ev)}}
}

// tidy removes the workspace, when nothing of an agent lives in it; the mirror keeps the commits.
func (d Deps) tidy(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	if d.Agents != nil {
		err = d.Agents.Quiesce(ctx, e.TaskID)
	}
	if err == nil {
		err = d.Workspaces.Close(ctx, p.Workspace(t))
	}
	if err != nil {
		return d.retry(e, err)
	}
	if _, plain := githost.PlainOf(d.Host, p.Repo); plain && t.State.Stage == stage.Done { // a host has a setting for that
		unbranch := orchestrator.FollowUpJob(e, stage.Effect{Kind: stage.EffectUnbranch}, e.Key+"/branch")
		return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{unbranch}}
	}
	return finished
}

// unbranch deletes the remote branch of a task that is done, in a plain repository: at its last commit, which may have come behind the
// merge, or where it was left before. One that others have pushed to stays; the mirror keeps the commits.
func (d Deps) unbranch(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := e.Target(ctx, d.Store, d.Projects)
	if err != nil {
		return d.retry(e, err)
	}
	host, plain := githost.PlainOf(d.Host, p.Repo)
	if !plain {
		return finished
	}
	heads, err := host.Heads(ctx, p.Repo)
	if err != nil {
		return d.retry(e, err)
	}
	if at := heads[t.Branch]; at != t.State.Head && at != t.State.Pushed {
		why := fmt.Sprintf("not deleted: the branch is at %.12s, and not where it was left", at)
		return queue.Outcome{Kind: queue.OutcomeDone, Error: why}
	}
	if err := host.DeleteBranch(ctx, p.Repo, t.Branch); err != nil {
		return d.retry(e, err)
	}
	return finished
}

// links are where the artefacts of an agent's closing comment can be read, if the repository is
// registered: its own pages, else those of the dashboard, which has the changes and the form too.
func (d Deps) links(e orchestrator.Effect) (out []tracker.Link) {
	p, ok := d.Projects.ByRepo(e.Repo)
	if !ok {
		return nil
	}
	pages := d.Pages != "" && e.SHA != ""
	for _, name := range e.Files {
		at := p.FileURL(e.WorkItem, e.SHA, name)
		if at == "" && pages {
			at = fmt.Sprintf("%s/tasks/%d/documents/%s?commit=%s", d.Pages, e.TaskID, url.PathEscape(name), e.SHA)
		}
		if at != "" {
			out = append(out, tracker.Link{Name: name, URL: at})
		}
	}
	if pages {
		out = append(out, tracker.Link{Name: "documents and changes", URL: fmt.Sprintf("%s/tasks/%d#verdict", d.Pages, e.TaskID)})
	}
	return out
}
