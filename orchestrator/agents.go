package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// unregisteredPoll is how often the agent's job of a repository that left the registry
// is looked at.
const unregisteredPoll = time.Minute

// remoteWait is how long an agent's job is put off at a time whose checkout cannot be
// made because the remote does not answer.
const remoteWait = 5 * time.Second

// handleAgent runs an agent for its job. The result is an event job that is put
// in the transaction that finishes the claim.
func (e *Engine) handleAgent(ctx context.Context, c queue.Claim) *queue.Outcome {
	var p agentPayload
	if err := json.Unmarshal(c.Job.Payload, &p); err != nil {
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	}
	// From here on a STOP ends the run; one that was decided before is in the row.
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	at := &agentAtWork{p.Launch.Run, cancel}
	e.agentStarts(p.TaskID, at)
	defer e.agentEnds(p.TaskID, at)
	task, err := e.Store.Task(ctx, p.TaskID)
	if err != nil {
		return retryOutcome(err)
	}
	if task.State.Active == "" || task.State.Run != p.Launch.Run {
		return done("the task does not wait for this run any more")
	}
	project, ok := e.Projects.ByRepo(task.Repo)
	if !ok {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(unregisteredPoll), Error: (&UnregisteredError{task.Repo}).Error()}
	}
	if o := e.resumeFinishedDeploy(ctx, c, project, task, p.Launch); o != nil {
		return o
	}
	if o := e.awaitAccounts(project); o != nil { // the agent would be given comments, and people's only
		return o
	}
	if job := agentJob(task, p.Launch, e.machine.Pipeline().First(task.State)); !slices.Equal(job.Holds, c.Job.Holds) {
		return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{job}} // by another version, which has held it otherwise
	}
	if why := e.Admission.Claim(ctx, admit.Start{Task: task, JobID: c.Job.ID, Attempt: c.Job.Attempt}); why != "" {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(e.opt.Poll), Error: why}
	}
	o := e.runAgent(ctx, c, project, task, p.Launch)
	if errors.Is(context.Cause(ctx), queue.ErrLost) {
		e.removeStaleCheckout(context.WithoutCancel(ctx), project, task)
	}
	return o
}

// removeStaleCheckout removes the checkout of a task whose claim was lost because the task was
// cancelled: another process may have done that, and cannot reach this machine.
func (e *Engine) removeStaleCheckout(ctx context.Context, p task.Project, t task.Task) {
	ctx, cancel := e.Scheduler.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	now, err := e.Store.Task(ctx, t.ID)
	if err == nil && now.State.Stage != stage.Cancelled {
		return // the next attempt brings its own checkout up to date
	}
	if err == nil {
		err = e.Agents.Quiesce(ctx, t.ID)
	}
	if err == nil {
		err = e.Workspaces.Close(ctx, p.Workspace(t))
	}
	if err != nil {
		e.Log.Warn("the checkout of a cancelled task could not be removed", "task", t.ID, "repo", t.Repo, "err", err)
	}
}

// resumeFinishedDeploy looks whether a deployment that is to be made was made already, and
// reported, by an attempt that was interrupted: one that restarts this service ends
// its own agent. Then it is not made again. nil = it is to be made.
func (e *Engine) resumeFinishedDeploy(ctx context.Context, c queue.Claim, p task.Project, t task.Task, l stage.Launch) *queue.Outcome {
	if l.Phase != stage.PhaseRelease || e.Agents.Quiesce(ctx, t.ID) != nil {
		return nil
	}
	tip, err := e.Workspaces.Take(ctx, p.Workspace(t))
	if err != nil || tip.SHA == "" {
		return nil
	}
	result := work.Result{Kind: work.ResultOK, StartedAt: e.Now(), FinishedAt: e.Now()}
	result.Summary = "An earlier attempt has deployed it and reported so."
	report := reportOf(l.Role, result)
	if report.Filed, tip.SHA, err = e.file(ctx, p, t, l, tip.SHA); err != nil {
		return nil
	}
	if err = e.readLeft(ctx, p, t, l, tip.SHA, &report); err != nil {
		return nil
	}
	ev := stage.Event{On: stage.OnAgentFinished, At: e.Now(), Run: l.Run, Agent: &report, SHA: tip.SHA}
	v, err := e.judge(ctx, c.Job, p, t, ev)
	if err != nil || v == nil || !v.Passed() {
		return nil
	}
	e.Log.Info("the deployment was made by an attempt that was interrupted",
		"task", t.ID, "repo", t.Repo, "run", l.Run, "sha", t.State.MergeSHA)
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{e.agentEvent(c, t, l, result, ev)}}
}

// agentAtWork is a claimed job of this process.
type agentAtWork struct {
	run    int64
	cancel context.CancelFunc
}

// agentStarts notes a job that was claimed. One of the same task that has not
// ended yet has lost its claim.
func (e *Engine) agentStarts(taskID int64, a *agentAtWork) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if old := e.running[taskID]; old != nil {
		old.cancel()
	}
	e.running[taskID] = a
	e.Metrics.SessionsRunning.Set(float64(len(e.running)), NoLabels{})
}

func (e *Engine) agentEnds(taskID int64, a *agentAtWork) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.running[taskID] == a {
		delete(e.running, taskID)
	}
	e.Metrics.SessionsRunning.Set(float64(len(e.running)), NoLabels{})
}

// stopAgents ends the agent of a task if it works in this process, at a run up to the last.
// A later one may have been claimed already.
func (e *Engine) stopAgents(taskID, last int64) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if a := e.running[taskID]; a != nil && a.run <= last {
		a.cancel()
	}
}

func (e *Engine) runAgent(ctx context.Context, c queue.Claim, p task.Project, t task.Task, l stage.Launch) *queue.Outcome {
	space := p.Workspace(t)
	space.Role, space.Writes, space.FromMain = l.Role, p.Writable(t, l, e.machine.Info(l.Stage)), l.FromMain()
	var at work.Checkout
	err := e.Agents.Quiesce(ctx, t.ID)
	if err == nil && ctx.Err() == nil {
		o := holdForPushed(ctx, e, p, t)
		if o != nil {
			return o
		}
		if t, o = e.readText(ctx, p, t, l); o != nil {
			return o
		}
		at, err = e.Workspaces.Open(ctx, space, SeedFiles(p, t))
		e.noteLeft(ctx, t, at.Left)
	}
	if ctx.Err() != nil {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now(), Error: "interrupted"}
	}
	begins := t.State.Head == "" || t.State.Stage == stage.Analysis
	if errors.Is(err, work.ErrTaken) && begins { // again, on a branch of another name
		ev := stage.Event{On: stage.OnBranchTaken, At: e.Now(), Branch: t.Branch}
		next := e.triggerJob(t, ev, nil, fmt.Sprintf("taken/%d/%s", t.ID, t.Branch))
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(time.Second), Error: err.Error(), Then: []queue.Job{next}}
	}
	if errors.Is(err, work.ErrRemote) && fault.Retryable(err) { // it has nothing to do with the agent, which keeps its retries
		e.Log.Warn("an agent waits for the remote of its repository", "task", t.ID, "repo", t.Repo, "err", err)
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now().Add(remoteWait), Error: err.Error()}
	}
	if err != nil {
		why := "the workspace: " + fault.Words(err.Error())
		return e.attempt(c, p, t, l, work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: why})
	}
	around := e.hooksOf(c, p, t, l, space)
	defer around.close()
	if failed := around.before(ctx, at); failed != nil && ctx.Err() == nil {
		return e.attempt(c, p, t, l, *failed)
	}
	if ctx.Err() != nil {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now(), Error: "interrupted"}
	}
	defer around.after(ctx)
	cmd := e.command(ctx, p, t, l, c, at)
	caveat := e.vendorCaveat(ctx, t, l.Role, cmd.Agent)
	if caveat != "" {
		e.Log.Warn("an agent is not independent", "task", t.ID, "repo", t.Repo, "run", l.Run, "why", caveat)
	}
	result := e.Agents.Run(ctx, cmd)
	name, vendor := work.Identify(e.Agents, cmd.Agent)
	result.Agent, result.Vendor, result.Template = cmp.Or(result.Agent, name), cmp.Or(result.Vendor, vendor), cmd.Template
	if result.Kind == work.ResultOK {
		result.Trouble = work.Trouble{} // it has come over it
	}
	if result.Kind == work.ResultCancelled {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now(), Error: "interrupted"}
	}
	if result.Kind != work.ResultOK {
		return e.attempt(c, p, t, l, result)
	}
	tip, err := e.Workspaces.Take(ctx, space)
	if err != nil {
		result.Kind, result.Reason = work.ResultUnusable, e.untaken(ctx, p, t, l, err)
		return e.attempt(c, p, t, l, result)
	}
	report := reportOf(l.Role, result)
	report.Caveat = strings.Trim(caveat+"; "+refusedHosts(p, l.Role, result.Refused), "; ")
	if report.Filed, tip.SHA, err = e.file(ctx, p, t, l, tip.SHA); err != nil {
		result.Kind, result.Reason = work.ResultUnusable, "its report could not be put into the branch: "+fault.Words(err.Error())
		return e.attempt(c, p, t, l, result)
	}
	if err = e.readLeft(ctx, p, t, l, tip.SHA, &report); err != nil {
		result.Kind, result.Reason = work.ResultUnusable, "what it has left could not be read: "+fault.Words(err.Error())
		return e.attempt(c, p, t, l, result)
	}
	ev := stage.Event{On: stage.OnAgentFinished, Run: l.Run, Agent: &report, SHA: tip.SHA}
	report.Filed.Verified, err = e.verified(ctx, p, t, l, ev)
	if err == nil {
		report.Filed.Probed, err = e.probed(ctx, p, t, ev)
	}
	if ctx.Err() != nil {
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: e.Now(), Error: "interrupted"}
	}
	if err != nil {
		result.Kind, result.Reason = work.ResultUnusable, fault.Words(err.Error())
		return e.attempt(c, p, t, l, result)
	}
	ev.At = e.Now()
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{e.agentEvent(c, t, l, result, ev)}}
}

// attempt reports an attempt that failed: the queue tries again until the agent has had
// all its retries. One that ended at its budget, or that the network refused a host, would do so again.
func (e *Engine) attempt(c queue.Claim, p task.Project, t task.Task, l stage.Launch, r work.Result) *queue.Outcome {
	if r.Kind == work.ResultBudget {
		budget := stage.Dollars(p.Agents[l.Role].MicroUSD)
		r.Reason = fmt.Sprintf("the run was ended at its budget of %s (budget_usd of the %s)", budget, l.Role)
	}
	report := reportOf(l.Role, r)
	report.Hindered = e.hindrance(p, l.Role, r)
	ev := stage.Event{On: stage.OnAgentAttempt, At: e.Now(), Run: l.Run, Agent: &report}
	if report.Hindered != nil {
		return e.hindered(c, t, l, r, ev)
	}
	failures, refused := t.State.Failures, refusedHosts(p, l.Role, r.Refused)
	if refused != "" {
		r.Reason = strings.TrimPrefix(r.Reason+"; "+refused, "; ")
		report.Reason = r.Reason
	}
	if failures >= len(e.opt.AgentRetries) || r.Kind == work.ResultBudget || refused != "" {
		ev.On = stage.OnAgentFailed
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: r.Reason, Then: []queue.Job{e.agentEvent(c, t, l, r, ev)}}
	}
	return &queue.Outcome{
		Kind: queue.OutcomeRetry, At: e.Now().Add(e.opt.AgentRetries[failures]), Error: r.Reason,
		Then: []queue.Job{e.agentEvent(c, t, l, r, ev)},
	}
}

// agentEvent is the event job of an attempt, with the record of what it cost.
func (e *Engine) agentEvent(c queue.Claim, t task.Task, l stage.Launch, r work.Result, ev stage.Event) queue.Job {
	e.Metrics.WorkerDuration.Observe(r.FinishedAt.Sub(r.StartedAt).Seconds(), ByResult{Role: string(l.Role), Result: r.Kind})
	run := task.AgentRun{
		TaskID: t.ID, JobID: c.Job.ID, Attempt: c.Job.Attempt, Run: l.Run, Stage: l.Stage, Role: l.Role,
		Started: r.StartedAt, Finished: r.FinishedAt, Status: r.Kind, ExitCode: r.ExitCode, Trouble: r.Trouble.Kind,
		Usage: r.Usage, Measured: r.Measured, Refused: r.Refused, LogPath: r.LogPath, Summary: r.Summary,
		Agent: r.Agent, Vendor: r.Vendor, Session: r.SessionID, Prompt: r.Template, Text: textHash(t),
	}
	return e.triggerJob(t, ev, &run, fmt.Sprintf("run/%d/%d/%d", t.ID, l.Run, c.Job.Attempt))
}

func reportOf(role stage.Role, r work.Result) stage.Report {
	return stage.Report{
		Role: role, Model: r.Usage.Model, Input: r.Usage.Input, Output: r.Usage.Output,
		CacheRead: r.Usage.CacheRead, CacheCreate: r.Usage.CacheCreate, MicroUSD: r.Usage.MicroUSD, Reason: r.Reason,
	}
}

// noteLeft writes into the task's story where people find what an attempt had not
// committed. The ref is there without the note too.
func (e *Engine) noteLeft(ctx context.Context, t task.Task, left work.Left) {
	if left.Ref == "" {
		return
	}
	e.Log.Info("what an attempt had not committed is kept", "task", t.ID, "repo", t.Repo, "ref", left.Ref, "sha", left.SHA)
	e.journal(ctx, t, task.KindLeft, left)
}

// command builds the command, the prompt and the environment of an agent's run.
func (e *Engine) command(ctx context.Context, p task.Project, t task.Task, l stage.Launch, c queue.Claim, at work.Checkout) work.Command {
	target := l.Head
	if l.Phase == stage.PhaseRelease {
		target = t.State.MergeSHA
	}
	tip, err := e.Workspaces.Tip(ctx, p.Workspace(t))
	if err == nil && tip.SHA != "" && l.Phase != stage.PhaseRelease {
		target = tip.SHA
	}
	if why := e.failedBefore(ctx, t); why != "" {
		l.Feedback = strings.TrimSpace(l.Feedback + "\nThe attempt before this one failed: " + why)
	}
	agent := p.Agents[l.Role]
	agent.Timeout = cmp.Or(agent.Timeout, e.opt.AgentTimeout)
	docs, works := p.Docs(t.WorkItemID), e.machine.Info(l.Stage)
	assigned, template := e.assignment(ctx, p, t, l, target, at.Main)
	env := map[string]string{
		"SIGNALBOX_BRANCH": t.Branch, "SIGNALBOX_DOCS": docs, "SIGNALBOX_SHA": target,
		"SIGNALBOX_PHASE": string(l.Phase), "SIGNALBOX_FEEDBACK": l.Feedback, "SIGNALBOX_TITLE": t.Title,
		"SIGNALBOX_DOCUMENTS": strings.Join(works.Written(l.Phase), " "), "SIGNALBOX_VERDICTS": strings.Join(works.Verdicts(l.Phase), " "),
	}
	for name, value := range env {
		env[name] = cut(value, envMax, " (cut; the prompt has more)")
	}
	return work.Command{
		TaskID: t.ID, WorkItem: t.WorkItemID, Repo: t.Repo, Role: l.Role, Stage: l.Stage, Run: l.Run,
		Attempt: c.Job.Attempt, Dir: at.Dir, Jail: at.Jail, Agent: agent,
		Template: template,
		Prompt:   Prompt(p, t, l, works, target, assigned, e.answers(ctx, p, t), e.findings(ctx, p, t, l)...),
		Report:   works.ReportFile(l.Phase), Env: env,
	}
}

// failOrphanedRuns finds tasks that wait for an agent job that does not exist any more and
// raises its failure, so that no task is left without a next step.
func (e *Engine) failOrphanedRuns(ctx context.Context) error {
	for after := int64(0); ; {
		tasks, err := e.Store.Tasks(ctx, task.Filter{Live: true, AfterID: after})
		if err != nil || len(tasks) == 0 {
			return err
		}
		for _, t := range tasks {
			after = t.ID
			if t.State.Active != "" {
				err = errors.Join(err, e.mendTask(ctx, t))
			}
		}
		if err != nil {
			return err
		}
	}
}

func (e *Engine) mendTask(ctx context.Context, t task.Task) error {
	open, err := e.Jobs.Jobs(ctx, queue.Filter{TaskID: t.ID, Open: true})
	if err != nil {
		return err
	}
	for _, j := range open {
		if j.Kind == KindAgent || j.Kind == KindTrigger {
			return nil
		}
	}
	// The job may have been finished and its event applied while we looked.
	now, err := e.Store.Task(ctx, t.ID)
	if err != nil || now.State.Run != t.State.Run || now.State.Active == "" {
		return err
	}
	e.Log.Warn("the agent job of a task is gone", "task", t.ID, "run", t.State.Run)
	report := stage.Report{Role: t.State.Active, Reason: "the job was given up"}
	ev := stage.Event{On: stage.OnAgentFailed, At: e.Now(), Run: t.State.Run, Agent: &report}
	_, err = e.Jobs.Put(ctx, e.triggerJob(t, ev, nil, fmt.Sprintf("gone/%d/%d", t.ID, t.State.Run)))
	return err
}
