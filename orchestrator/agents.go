package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/prompt"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// unregisteredPoll is how often the agent's job of a repository that left the registry is looked at.
const unregisteredPoll = time.Minute

// remoteWait is how long an agent's job is put off at a time whose checkout cannot be
// made because the remote does not answer.
const remoteWait = 5 * time.Second

// attempt is one attempt of an agent's run: its claim, and what it was launched for.
type attempt struct {
	*Engine
	log     *slog.Logger // of the task
	claim   queue.Claim
	project task.Project
	task    task.Task
	launch  stage.Launch
	ran     bool        // its agent was started
	told    []quotation // what lies in its place beside the commits
}

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
	at := &agentAtWork{run: p.Launch.Run, cancel: cancel}
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
		return released(e.Now().Add(unregisteredPoll), (&UnregisteredError{task.Repo}).Error())
	}
	if isOccupied(e, at, task.Repo+"/"+task.WorkItemID) {
		return released(e.Now().Add(time.Second), "the agent of the card's task before has not ended")
	}
	if waits, err := isUncounted(ctx, e, task, c.Job); err != nil {
		return retryOutcome(err)
	} else if waits {
		return released(e.Now().Add(time.Second), "the attempt before is not counted yet")
	}
	log := e.Log.With("task", task.ID, "repo", task.Repo)
	a := &attempt{Engine: e, log: log, claim: c, project: project, task: task, launch: p.Launch}
	if o := a.resumeFinishedDeploy(ctx); o != nil {
		return o
	}
	if task.State.Stopping { // what has begun before has ended with its process
		return stopUnbegun(e, task)
	}
	if o := e.awaitAccounts(project); o != nil { // the agent would be given comments, and people's only
		return o
	}
	if job := agentJob(task, p.Launch, e.machine.Pipeline().First(task.State)); !slices.Equal(job.Holds, c.Job.Holds) {
		return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{job}} // by another version, which has held it otherwise
	}
	why, unused := e.Admission.Claim(ctx, admit.Start{Task: task, JobID: c.Job.ID, Attempt: c.Job.Attempt})
	if why != "" {
		return released(e.Now().Add(e.opt.Poll), why)
	}
	o := a.work(ctx)
	if ctx.Err() != nil && o.Kind != queue.OutcomeDone { // what it failed at says nothing of the agent
		o = released(a.Now(), "interrupted")
	}
	if !a.ran && (o.Kind == queue.OutcomeRelease || o.Kind == queue.OutcomeRetry && len(o.Then) == 0) { // else a record counts it
		unused(ctx)
	}
	if errors.Is(context.Cause(ctx), queue.ErrLost) {
		a.removeStaleCheckout(context.WithoutCancel(ctx))
	}
	return o
}

// isUncounted reports whether how an earlier attempt has ended waits behind another event of the card. An agent that
// fails meanwhile would never run out of retries.
func isUncounted(ctx context.Context, e *Engine, t task.Task, j queue.Job) (bool, error) {
	if j.Attempt == 1 {
		return false, nil
	}
	open, err := e.Jobs.Jobs(ctx, queue.Filter{Key: itemKey(t.TrackerIssueID), Open: true})
	return slices.ContainsFunc(open, func(o queue.Job) bool {
		return strings.HasPrefix(o.DedupeKey, fmt.Sprintf("run/%d/%d/", t.ID, t.State.Run))
	}), err
}

// removeStaleCheckout removes the checkout of a task whose claim was lost because the task was
// cancelled: another process may have done that, and cannot reach this machine.
func (a *attempt) removeStaleCheckout(ctx context.Context) {
	ctx, cancel := a.Scheduler.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	now, err := a.Store.Task(ctx, a.task.ID)
	if err == nil && now.State.Stage != stage.Cancelled {
		return // the next attempt brings its own checkout up to date
	}
	if err == nil {
		err = a.Agents.Quiesce(ctx, a.task.ID)
	}
	if err == nil {
		err = a.Workspaces.Close(ctx, a.project.Workspace(a.task))
	}
	if err != nil {
		a.log.Warn("the checkout of a cancelled task could not be removed", "err", err)
	}
}

// resumeFinishedDeploy looks whether a deployment that is to be made was made already, and
// reported, by an attempt that was interrupted: one that restarts this service ends
// its own agent. Then it is not made again. nil = it is to be made.
func (a *attempt) resumeFinishedDeploy(ctx context.Context) *queue.Outcome {
	if a.launch.Phase != stage.PhaseRelease || a.Agents.Quiesce(ctx, a.task.ID) != nil {
		return nil
	}
	result := work.Result{Kind: work.ResultOK, StartedAt: a.Now(), FinishedAt: a.Now()}
	result.Summary = "An earlier attempt has deployed it and reported so."
	report := reportOf(a.launch.Role, result)
	tip, _, err := a.take(ctx, a.project.Workspace(a.task), &report)
	if err != nil || tip.SHA == "" {
		return nil
	}
	ev := stage.Event{On: stage.OnAgentFinished, At: a.Now(), Run: a.launch.Run, Agent: &report, SHA: tip.SHA}
	v, _, err := intake{Engine: a.Engine, claim: a.claim, project: a.project}.judge(ctx, a.task, ev)
	if err != nil || v == nil || !v.Passed() {
		return nil
	}
	a.log.Info("the deployment was made by an attempt that was interrupted", "run", a.launch.Run, "sha", a.task.State.MergeSHA)
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{a.event(result, ev)}}
}

func (a *attempt) work(ctx context.Context) *queue.Outcome {
	space := a.project.Workspace(a.task)
	space.Role, space.FromMain = a.launch.Role, a.launch.FromMain()
	space.Writes = a.project.Writable(a.task, a.launch, a.machine.Info(a.launch.Stage))
	var at work.Checkout
	// A cancelled task of the card had the same checkout, and may have been ended by another machine.
	all, err := a.Store.Tasks(ctx, task.Filter{TrackerIssueID: a.task.TrackerIssueID, Cancelled: true, BeforeID: a.task.ID + 1})
	for _, t := range all {
		err = errors.Join(err, a.Agents.Quiesce(ctx, t.ID))
	}
	if err == nil && ctx.Err() == nil {
		if o := holdForPushed(ctx, a.Engine, a.project, a.task); o != nil {
			return o
		}
		if held, err := LookAtPull(ctx, a.Engine, a.task, githost.BeforeRun, ""); held != "" {
			return released(a.Now(), held)
		} else if err != nil { // what is wrong with the host is met again where it is needed
			a.log.Warn("the pull request of a task cannot be read", "err", err)
		}
		if o := a.readText(ctx); o != nil {
			return o
		}
		space.Beside, a.told = a.filesOf(ctx)
		at, err = a.Workspaces.Open(ctx, space, SeedFiles(a.project, a.task))
		a.noteLeft(ctx, a.task, at.Left)
	}
	if ctx.Err() != nil {
		return released(a.Now(), "interrupted")
	}
	begins := a.task.State.Head == "" || a.task.State.Stage == stage.Analysis
	if errors.Is(err, work.ErrTaken) && begins { // again, on a branch of another name
		ev := stage.Event{On: stage.OnBranchTaken, At: a.Now(), Branch: a.task.Branch}
		next := a.triggerJob(a.task, ev, nil, fmt.Sprintf("taken/%d/%s", a.task.ID, a.task.Branch))
		return &queue.Outcome{Kind: queue.OutcomeRelease, At: a.Now().Add(time.Second), Error: err.Error(), Then: []queue.Job{next}}
	}
	if errors.Is(err, work.ErrRemote) && fault.Retryable(err) || fault.IsShortage(err) { // the agent keeps its retries
		a.log.Warn("an agent waits for its checkout", "err", err)
		return released(a.Now().Add(remoteWait), err.Error())
	}
	if err != nil {
		why := "the workspace: " + fault.Words(err.Error())
		return a.failed(work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: why})
	}
	around := a.hooks(space)
	defer around.close()
	if failed := around.before(ctx, at); failed != nil && ctx.Err() == nil {
		return a.failed(*failed)
	}
	if ctx.Err() != nil {
		return released(a.Now(), "interrupted")
	}
	defer around.after(ctx)
	cmd := a.command(ctx, at)
	caveat := a.vendorCaveat(ctx, cmd.Agent)
	if caveat != "" {
		a.log.Warn("an agent is not independent", "run", a.launch.Run, "why", caveat)
	}
	if a.launch.Phase == stage.PhaseRelease { // a STOP of meanwhile waits for what has begun
		if now, err := a.Store.Task(ctx, a.task.ID); err != nil {
			return retryOutcome(err)
		} else if now.State.Stopping {
			return stopUnbegun(a.Engine, now)
		}
	}
	a.ran = true
	result := a.Agents.Run(ctx, cmd)
	name, vendor := work.Identify(a.Agents, cmd.Agent)
	result.Agent, result.Vendor, result.Template = cmp.Or(result.Agent, name), cmp.Or(result.Vendor, vendor), cmd.Template
	if result.Kind == work.ResultOK {
		result.Trouble = work.Trouble{} // it has come over it
	}
	if result.Kind == work.ResultCancelled {
		return released(a.Now(), "interrupted")
	}
	if result.Kind != work.ResultOK {
		return a.failed(result)
	}
	report := reportOf(a.launch.Role, result)
	report.Caveat = strings.Trim(caveat+"; "+refusedHosts(a.project, a.launch.Role, result.Refused), "; ")
	tip, why, err := a.take(ctx, space, &report)
	if err != nil {
		result.Kind, result.Reason = work.ResultUnusable, why
		return a.failed(result)
	}
	ev := stage.Event{On: stage.OnAgentFinished, Run: a.launch.Run, Agent: &report, SHA: tip.SHA}
	report.Filed.Verified, err = a.verified(ctx, ev)
	if err == nil {
		report.Filed.Probed, err = a.probed(ctx, ev)
	}
	if ctx.Err() != nil {
		return released(a.Now(), "interrupted")
	}
	if err != nil {
		result.Kind, result.Reason = work.ResultUnusable, fault.Words(err.Error())
		return a.failed(result)
	}
	ev.At = a.Now()
	return &queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{a.event(result, ev)}}
}

// failed reports that it failed: the queue tries again until the agent has had
// all its retries. One that ended at its budget, that did the same again and again, or that the network refused a host,
// would do so again.
func (a *attempt) failed(r work.Result) *queue.Outcome {
	if r.Kind == work.ResultBudget {
		budget := stage.Dollars(a.project.Agents[a.launch.Role].MicroUSD)
		r.Reason = fmt.Sprintf("the run was ended at its budget of %s (budget_usd of the %s)", budget, a.launch.Role)
	}
	report := reportOf(a.launch.Role, r)
	report.Hindered = a.hindrance(r)
	ev := stage.Event{On: stage.OnAgentAttempt, At: a.Now(), Run: a.launch.Run, Agent: &report}
	if report.Hindered != nil {
		return a.hindered(r, ev)
	}
	failures, refused := a.task.State.Failures, refusedHosts(a.project, a.launch.Role, r.Refused)
	if refused != "" {
		r.Reason = strings.TrimPrefix(r.Reason+"; "+refused, "; ")
		report.Reason = r.Reason
	}
	if r.Kind == work.ResultStuck {
		report.Questions = stage.WordsStuck(a.launch.Role, r.Reason)
	}
	if failures >= len(a.opt.AgentRetries) || r.Kind == work.ResultBudget || r.Kind == work.ResultStuck || refused != "" {
		ev.On = stage.OnAgentFailed
		return &queue.Outcome{Kind: queue.OutcomeDead, Error: r.Reason, Then: []queue.Job{a.event(r, ev)}}
	}
	return &queue.Outcome{
		Kind: queue.OutcomeRetry, At: a.Now().Add(a.opt.AgentRetries[failures]), Error: r.Reason,
		Then: []queue.Job{a.event(r, ev)},
	}
}

// event is the event job of the attempt, with the record of what it cost.
func (a *attempt) event(r work.Result, ev stage.Event) queue.Job {
	a.Metrics.WorkerDuration.Observe(r.FinishedAt.Sub(r.StartedAt).Seconds(), string(a.launch.Role), r.Kind)
	run := task.AgentRun{
		TaskID: a.task.ID, JobID: a.claim.Job.ID, Attempt: a.claim.Job.Attempt,
		Run: a.launch.Run, Stage: a.launch.Stage, Role: a.launch.Role,
		Started: r.StartedAt, Finished: r.FinishedAt, Status: r.Kind, ExitCode: r.ExitCode, Trouble: r.Trouble.Kind,
		Usage: r.Usage, Measured: r.Measured, Refused: r.Refused, LogPath: r.LogPath, Summary: r.Summary,
		Agent: r.Agent, Vendor: r.Vendor, Session: r.SessionID, Prompt: r.Template,
		Text: prompt.Hash(a.task.Title + "\n" + a.task.Description),
	}
	return a.triggerJob(a.task, ev, &run, fmt.Sprintf("run/%d/%d/%d", a.task.ID, a.launch.Run, a.claim.Job.Attempt))
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
func (a *attempt) command(ctx context.Context, at work.Checkout) work.Command {
	target := a.launch.Head
	if a.launch.Phase == stage.PhaseRelease {
		target = a.task.State.MergeSHA
	}
	tip, err := a.Workspaces.Tip(ctx, a.project.Workspace(a.task))
	if err == nil && tip.SHA != "" && a.launch.Phase != stage.PhaseRelease {
		target = tip.SHA
	}
	if why := a.failedBefore(ctx); why != "" {
		a.launch.Feedback = strings.TrimSpace(a.launch.Feedback + "\nThe attempt before this one failed: " + why)
	}
	agent := a.project.Agents[a.launch.Role]
	agent.Timeout = cmp.Or(agent.Timeout, a.opt.AgentTimeout)
	docs, works := a.project.Docs(a.task.WorkItemID), a.machine.Info(a.launch.Stage)
	assigned, template := a.assignment(ctx, target, at.Main)
	env := map[string]string{
		"SIGNALBOX_BRANCH": a.task.Branch, "SIGNALBOX_DOCS": docs, "SIGNALBOX_SHA": target,
		"SIGNALBOX_PHASE": string(a.launch.Phase), "SIGNALBOX_FEEDBACK": a.launch.Feedback, "SIGNALBOX_TITLE": a.task.Title,
		"SIGNALBOX_DOCUMENTS": strings.Join(works.Written(a.launch.Phase), " "),
		"SIGNALBOX_VERDICTS":  strings.Join(works.Verdicts(a.launch.Phase), " "),
	}
	for name, value := range env {
		env[name] = cut(value, envMax, " (cut; the prompt has more)")
	}
	return work.Command{
		TaskID: a.task.ID, WorkItem: a.task.WorkItemID, Repo: a.task.Repo, Role: a.launch.Role, Stage: a.launch.Stage, Run: a.launch.Run,
		Attempt: a.claim.Job.Attempt, Dir: at.Dir, Jail: at.Jail, Agent: agent, Template: template,
		Prompt: Prompt(a.project, a.task, a.launch, works, target, assigned, a.answers(ctx),
			slices.Concat(a.findings(ctx), a.former(ctx), a.told)...),
		Report: works.ReportFile(a.launch.Phase), Env: env,
	}
}

// failOrphanedRuns finds tasks that wait for an agent job that does not exist any more and
// raises its failure, so that no task is left without a next step.
func (r reaper) failOrphanedRuns(ctx context.Context) (err error) {
	for t, failed := range task.Each(ctx, r.Store, task.Filter{Live: true}) {
		if failed == nil && t.State.Active != "" {
			failed = r.mendTask(ctx, t)
		}
		err = errors.Join(err, failed)
	}
	return err
}

func (r reaper) mendTask(ctx context.Context, t task.Task) error {
	open, err := r.Jobs.Jobs(ctx, queue.Filter{TaskID: t.ID, Open: true})
	if err != nil {
		return err
	}
	for _, j := range open {
		if j.Kind == KindAgent || j.Kind == KindTrigger {
			return nil
		}
	}
	// The job may have been finished and its event applied while we looked.
	now, err := r.Store.Task(ctx, t.ID)
	if err != nil || now.State.Run != t.State.Run || now.State.Active == "" {
		return err
	}
	r.Log.Warn("the agent job of a task is gone", "task", t.ID, "run", t.State.Run)
	report := stage.Report{Role: t.State.Active, Reason: "the job was given up"}
	ev := stage.Event{On: stage.OnAgentFailed, At: r.Now(), Run: t.State.Run, Agent: &report}
	_, err = r.Jobs.Put(ctx, r.triggerJob(t, ev, nil, fmt.Sprintf("gone/%d/%d", t.ID, t.State.Run)))
	return err
}
