package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// noReason is the reason of a rejection that came without a comment.
const noReason = "Rejected without a comment."

// intake is an event that is taken in: its job, and the project that it is about.
type intake struct {
	*Engine
	claim   queue.Claim
	project task.Project
	owed    []int64    // status writes that are not begun: one that lands first would be a word about the task that begins
	word    *task.Word // that it carries; without a principal: none. The handler of the event fills it in
}

// handleEvent does an event job. A nil outcome means that the claim was finished
// together with the decision.
func (e *Engine) handleEvent(ctx context.Context, c queue.Claim) *queue.Outcome {
	in := intake{Engine: e, claim: c, word: &task.Word{Number: c.Job.ID, HeardAt: c.Job.CreatedAt}}
	o := in.handle(ctx, c)
	if o != nil && o.Kind == queue.OutcomeDone && in.said() {
		o, _ = in.end(ctx, task.Commit{Jobs: o.Then}, "", o.Error)
	}
	return o
}

func (in intake) handle(ctx context.Context, c queue.Claim) *queue.Outcome {
	var err error
	switch c.Job.Kind {
	case KindTracker:
		var h tracker.Hook
		if err = json.Unmarshal(c.Job.Payload, &h); err == nil {
			return in.onTracker(ctx, h)
		}
	case KindHost:
		var h githost.Hook
		if err = json.Unmarshal(c.Job.Payload, &h); err == nil {
			return in.onHost(ctx, h)
		}
	case KindTrigger:
		var p triggerPayload
		if err = json.Unmarshal(c.Job.Payload, &p); err == nil {
			return in.onTrigger(ctx, p)
		}
	case KindCI:
		var p triggerPayload
		if err = json.Unmarshal(c.Job.Payload, &p); err == nil {
			return in.onOwnCI(ctx, p)
		}
	default:
		err = fmt.Errorf("unknown kind of event %q", c.Job.Kind)
	}
	return &queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
}

func done(why string) *queue.Outcome {
	return &queue.Outcome{Kind: queue.OutcomeDone, Error: why}
}

// retryOutcome is the outcome of an event that met an error.
func retryOutcome(err error) *queue.Outcome {
	o := Retry(err)
	return &o
}

// softQG0 logs what QG-0 would say of a new work item. It starts nothing.
func (in intake) softQG0(ctx context.Context, item tracker.Item) *queue.Outcome {
	v := in.evaluateGates(ctx, in.subjectOfItem(item), "qg0")
	level := slog.LevelInfo
	if !v.Passed() {
		level = slog.LevelWarn
	}
	in.Log.Log(ctx, level, "work item created", "item", item.ID, "repo", in.project.Repo, "qg0", v.Outcome.String(), "reason", v.Reason)
	return done("work item created; QG-0 (soft): " + v.Outcome.String())
}

// taskOf finds the newest task of a work item. When that one is cancelled, the work item has
// none, and what it was is returned as past.
func (in intake) taskOf(ctx context.Context, itemID string) (row task.Task, found bool, past task.Task, err error) {
	newest, err := NewestTask(ctx, in.Store, itemID)
	if newest.State.Stage == stage.Cancelled {
		return row, false, newest, err
	}
	return newest, newest.ID != 0, past, err
}

// NewestTask is the last task that a work item has had, which may be cancelled; zero when
// it had none.
func NewestTask(ctx context.Context, s task.Store, itemID string) (task.Task, error) {
	tasks, err := s.Tasks(ctx, task.Filter{TrackerIssueID: itemID, Cancelled: true, BeforeID: math.MaxInt64, Limit: 1})
	if err != nil || len(tasks) == 0 {
		return task.Task{}, err
	}
	return tasks[0], nil
}

// rejection is the newest comment of a human, or a fixed note.
func (in intake) rejection(ctx context.Context, item tracker.Item) string {
	comments, err := in.Tracker.Comments(ctx, item.ProjectID, item.ID)
	if err != nil {
		in.Log.Warn("comments could not be read", "item", item.ID, "err", err)
		return noReason
	}
	reason, newest := noReason, time.Time{}
	for _, c := range comments {
		if !c.Own && c.Body != "" && !c.CreatedAt.Before(newest) {
			reason, newest = c.Body, c.CreatedAt
		}
	}
	return reason
}

// HostTrigger returns what a git host's webhook may be to a task; empty when it is only noted.
func HostTrigger(h githost.Hook) stage.Trigger {
	removed := strings.Trim(h.SHA, "0") == "" // which is noticed when the branch is needed
	switch {
	case h.Kind == githost.HookCI:
		return stage.OnCI
	case h.Kind == githost.HookReview && h.State != string(githost.ReviewCommented),
		h.Kind == githost.HookThread && h.Action == "resolved":
		return stage.OnReview
	case h.Kind == githost.HookMerged:
		return stage.OnPRMerged
	case h.Kind == githost.HookQueue, h.Kind == githost.HookPullRequest && slices.Contains(pullActions, h.Action):
		return onPullChanged
	case h.Kind == githost.HookPush && task.IsBranch(h.Branch) && !removed:
		return stage.OnPushed
	default:
		return ""
	}
}

// onHost finds the task that a git host's webhook is about.
func (in intake) onHost(ctx context.Context, h githost.Hook) *queue.Outcome {
	var ok bool
	if in.project, ok = in.Projects.ByRepo(h.Repo); !ok {
		return done("the repository is not registered")
	}
	on := HostTrigger(h)
	if on == "" {
		return done(h.Event + " is only noted")
	}
	if on == onPullChanged || on == stage.OnPRMerged {
		if err := in.hastenMerges(ctx); err != nil {
			return retryOutcome(err)
		}
	}
	if h.Kind == githost.HookQueue {
		return done("the merges of the repository were looked at")
	}
	task, inferred, why, err := in.taskOfHook(ctx, h)
	if err != nil {
		return retryOutcome(err)
	}
	if why != "" {
		return done(why)
	}
	if on == stage.OnPushed && (h.SHA == task.State.Head || h.SHA == task.State.Pushed) {
		return done("the service has pushed that itself")
	}
	if on != stage.OnPushed && on != stage.OnCI { // a merge frees a task that was held for its pull request, too
		held, err := LookAtPull(ctx, in.Engine, task, githost.BeforeRun, h.Sender)
		if err != nil && !errors.Is(err, githost.ErrNotFound) {
			return retryOutcome(err)
		}
		if on == onPullChanged {
			return done("the pull request was looked at: " + cmp.Or(held, "nothing holds the task"))
		}
	}
	if on == stage.OnCI && !inferred && h.SHA != "" && task.State.Head != "" && h.SHA != task.State.Head {
		return done("CI speaks of a commit that is not the head any more")
	}
	if on == stage.OnCI && h.State == string(githost.CheckFailed) {
		in.Log.Info("CI failed", "task", task.ID, "repo", task.Repo, "sha", h.SHA)
	}
	if on == stage.OnReview && h.State == string(githost.ReviewApproved) && WaitsForReview(in.project, task) {
		if o, heard := in.onApproval(ctx, task, h.Sender); heard {
			return o
		}
	}
	if h.Event == HookReplayed {
		return done("no approval of " + task.Branch + " is to be judged")
	}
	ev := stage.Event{On: on, At: in.Now(), By: sender(h), SHA: h.SHA}
	in.hearHost(task, ev, h)
	if on == stage.OnPRMerged {
		if o := in.confirmMerge(ctx, task, &ev); o != nil {
			return o
		}
	}
	return in.apply(ctx, task, ev, nil)
}

// confirmMerge reads at the host whether the branch of a task is merged into main, and
// fills in the commit: what a webhook claims is only a hint. CI and reviews are read by
// the gates of their edges. It looks twice, in case the host answered from a replica that
// had not seen the merge yet. A nil outcome means that the branch is merged.
func (in intake) confirmMerge(ctx context.Context, t task.Task, ev *stage.Event) *queue.Outcome {
	if host, plain := githost.PlainOf(in.Host, in.project.Repo); plain {
		return in.confirmLanded(ctx, host, t, ev)
	}
	pr, err := in.Host.PullRequest(ctx, in.project.Repo, t.Branch, in.project.Main)
	if err != nil && !errors.Is(err, githost.ErrNotFound) {
		return retryOutcome(err)
	}
	if err == nil && pr.Merged && pr.MergeSHA == t.State.Landed && t.State.Landed != "" {
		return done("that merge was deployed and rejected")
	}
	if err == nil && pr.Merged && pr.BaseRef == in.project.Main {
		ev.SHA = pr.HeadSHA
		return nil
	}
	if in.claim.Job.Attempt == 1 {
		later := in.Now().Add(2 * in.opt.StatusDefer)
		return &queue.Outcome{Kind: queue.OutcomeRetry, At: later, Error: looksAgain + "at the host nothing is merged"}
	}
	in.Log.Warn("a webhook claims a merge that the host does not confirm",
		"task", t.ID, "repo", t.Repo, "branch", t.Branch, "sender", ev.By.ID)
	return done("the host has no merge of " + t.Branch + " into " + in.project.Main)
}

// sender returns the principal behind a webhook of the git host.
func sender(h githost.Hook) stage.Principal {
	if h.Sender == "" {
		return stage.Principal{}
	}
	p := stage.Principal{Kind: stage.KindPerson, ID: h.Sender, Via: stage.ViaHost, Proof: stage.ProofSignature}
	if h.Bot {
		p.Kind = stage.KindBot
	}
	if h.Unsigned {
		p.Proof = stage.ProofNone
	}
	return p
}

// taskOfHook resolves a hook to a task: by its branches, else by querying the
// host which branches are at the commit, else the repo's only task at
// development. Ambiguous is left alone. why reports that there is none. inferred reports
// that no branch names the task: the hook is a hint to look at the task's own head,
// whatever commit it is of.
func (in intake) taskOfHook(ctx context.Context, h githost.Hook) (t task.Task, inferred bool, why string, err error) {
	branches := h.Branches
	if h.Branch != "" {
		branches = append([]string{h.Branch}, branches...)
	}
	if len(branches) == 0 && h.SHA != "" {
		if branches, err = in.Host.BranchesAt(ctx, in.project.Repo, h.SHA); err != nil && !errors.Is(err, githost.ErrNotFound) {
			return t, false, "", err
		}
	}
	for _, b := range branches {
		tasks, err := in.Store.Tasks(ctx, task.Filter{Repo: in.project.Repo, Branch: b, Live: true})
		if err != nil {
			return t, false, "", err
		}
		if len(tasks) == 1 {
			return tasks[0], false, "", nil
		}
	}
	if h.Kind != githost.HookCI || len(branches) > 0 {
		return t, false, "no task has that branch", nil
	}
	tasks, err := in.Store.Tasks(ctx, task.Filter{Repo: in.project.Repo, Live: true, Stage: stage.Development})
	if err != nil {
		return t, false, "", err
	}
	if len(tasks) != 1 {
		return t, false, fmt.Sprintf("the commit belongs to no branch, and %d tasks are at development", len(tasks)), nil
	}
	return tasks[0], true, "", nil
}

// onTrigger handles an event of our own making.
func (in intake) onTrigger(ctx context.Context, p triggerPayload) *queue.Outcome {
	row, err := in.Store.Task(ctx, p.TaskID)
	if errors.Is(err, task.ErrNotFound) {
		return done("there is no such task")
	}
	if err != nil {
		return retryOutcome(err)
	}
	var ok bool
	if in.project, ok = in.projectOf(row, p.Event.On); !ok {
		return retryOutcome(&UnregisteredError{row.Repo})
	}
	ev := p.Event
	ev.At = cmp.Or(ev.At, in.Now())
	in.hear(row, ev)
	if ev.On == OnUndo {
		return in.undo(ctx, row, ev)
	}
	switch ev.On {
	case stage.OnApproved, stage.OnRejected, stage.OnConfirmDeploy: // otherwise than by the board; see package admin
		if err := in.complete(ctx, row, &ev); err != nil {
			return retryOutcome(err)
		}
	}
	if ev.On == stage.OnBranchTaken && ev.Branch != row.Branch {
		return done("the branch has another name by now")
	}
	if ev.On == stage.OnCI && ev.SHA != row.State.Head {
		return done("the commit is not the head any more")
	}
	return in.apply(ctx, row, ev, p.Run)
}

// begin decides the beginning of a task once. The error is that of the commit.
func (in intake) begin(ctx context.Context, item tracker.Item, ev stage.Event) (*queue.Outcome, error) {
	if ev.Denied != "" {
		return in.refuse(ctx, item, in.machine.Decide(stage.State{}, ev)), nil
	}
	s, of := gates.Record(in.subjectOfItem(item))
	v := in.evaluateGates(ctx, s, "qg0")
	if v.Outcome == gates.Error && v.Retryable {
		return retryOutcome(unreachable(v)), nil
	}
	ev.Verdict, ev.Labels = verdictOf(v), item.Labels
	if err := in.deriveBeginning(ctx, in.project, &ev); err != nil {
		return retryOutcome(err), nil
	}
	d := in.machine.Decide(stage.State{}, ev)
	if !d.Moved {
		return in.refuse(ctx, item, d), nil
	}
	task, err := in.name(ctx, item, ev)
	if err != nil {
		return retryOutcome(err), nil
	}
	err = in.commit(ctx, task, ev, d, &v, of, nil)
	return in.finish(err), err
}

// refuse owes the work item a word on why it was not taken.
func (in intake) refuse(ctx context.Context, item tracker.Item, d stage.Decision) *queue.Outcome {
	in.Log.Info("work item refused", "item", item.ID, "repo", in.project.Repo, "why", d.Notes)
	var jobs []queue.Job
	for i, f := range d.Effects {
		key := fmt.Sprintf("refused/%d.%d/%d", in.claim.Job.ID, in.claim.Job.CreatedAt.Unix(), i)
		jobs = append(jobs, EffectJob(task.Task{TrackerIssueID: item.ID, Title: item.Title}, in.project, f, key))
	}
	why := strings.Join(d.Notes, "; ")
	o, _ := in.end(ctx, task.Commit{Jobs: jobs, Facts: []task.Fact{in.refusalOf(item, why)}}, task.FateRefused, why)
	return o
}

// finish turns the result of a commit into an outcome: a commit that went
// through has finished the claim itself.
func (in intake) finish(err error) *queue.Outcome {
	switch {
	case err == nil, errors.Is(err, queue.ErrLost):
		return nil
	default:
		return retryOutcome(err)
	}
}
