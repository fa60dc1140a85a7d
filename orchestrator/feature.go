package orchestrator

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Feature is an additive behaviour: edges and rules of the state machine, gates, runners of effects, holds on jobs, loops, words for
// people. The engine has no switch: a feature that is off is not given to New, so the program is then built without it.
type Feature struct {
	Name      string
	Pipeline  func(stage.Pipeline) stage.Pipeline // adds rows behind the pipeline's own
	Rules     []stage.Rule
	Gates     []gates.Gate
	Runners   map[stage.EffectKind]Runner // by kind of effect; one of the engine's own is run in the place of its runner
	Admission []admit.Rule                // which agents may start
	// On takes part in what happens; nil = it does not. m is a Beginning, to whose event it adds, a Change with its
	// transaction, to which it adds too, and whose decision is made again later on an error, a Change that is durable,
	// or a tracker.Hook of a work item. On the last two it returns at once: a loop that has to look now is only nudged.
	On    func(ctx context.Context, m any) error
	Loops []Loop                             // background work
	Show  func(context.Context) (any, error) // the feature's block in /queue; nil = none
}

// Beginning is the event that starts a task, before it is decided.
type Beginning struct {
	Project task.Project
	Event   *stage.Event
}

// Change is a task as a decision leaves it.
type Change struct {
	Task   task.Task
	Before stage.State
	Run    *task.AgentRun // the record of an agent's attempt that the decision brings; the store does not have it before
	Report *stage.Report  // what that attempt came to; nil without Run
	With   *task.Commit   // the transaction; nil = the change is durable

	behind *task.Task // at both ends of a task's life: the unfinished one of its repository right behind it
}

// passOn hands a moment to all features that take part in it. A failure names its feature.
func passOn(ctx context.Context, features []Feature, m any) (err error) {
	for _, f := range features {
		if f.On == nil {
			continue
		}
		var failed error
		if panicked := run.Guard(f.Name, func() { failed = f.On(ctx, m) }); panicked != nil {
			failed = panicked
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("feature %s: %w", f.Name, failed))
		}
	}
	return err
}

// launched reports whether an agent is to work, for the first time or again after a failed attempt.
func (c Change) launched() bool {
	n := c.Task.State
	return n.Active != "" && (n.Run != c.Before.Run || n.Failures != c.Before.Failures)
}

// Began and Ended report whether the change is the beginning or the end of the task's life. They are decided one at a time in a process.
func (c Change) Began() bool { return c.Before.Stage == stage.None }

// Ended reports the end of the task's life.
func (c Change) Ended() bool { return c.Task.State.Stage.Terminal() && !c.Before.Stage.Terminal() }

// Loop is background work that a feature or the engine needs; it ends with ctx.
type Loop struct {
	Name string
	Run  func(ctx context.Context, e *Engine)
}

// Runner makes one kind of effect. It has no error result: a failure is Retry of the
// error, which the engine judges by package fault, or an outcome of its own.
type Runner interface {
	Run(ctx context.Context, e Effect) queue.Outcome
}

// RunnerFunc is a function as a Runner.
type RunnerFunc func(ctx context.Context, e Effect) queue.Outcome

// Run calls f.
func (f RunnerFunc) Run(ctx context.Context, e Effect) queue.Outcome { return f(ctx, e) }

// Effect is an effect as it waits in the queue: what to do, and for which task and work item. TaskID is 0 when a work item was refused.
type Effect struct {
	stage.Effect
	Key       string `json:"key"` // identity, for the outside world
	TaskID    int64  `json:"task_id,omitempty"`
	ProjectID string `json:"project_id"` // tracker project to write to
	ItemID    string `json:"item_id"`
	WorkItem  string `json:"work_item,omitempty"`
	Title     string `json:"title,omitempty"`
	Repo      string `json:"repo"`
	Board     string `json:"board,omitempty"`  // as task.Project has it
	Host      string `json:"host,omitempty"`   // as task.Project.NamedHost
	Moment    string `json:"moment,omitempty"` // of a notice: of the task's state that it tells of
	Attempt   int    `json:"-"`                // of the job
	Killed    bool   `json:"-"`                // the process died that made the attempt before this one

	Put time.Time `json:"-"` // when the job was

	// Confirm is set for what cannot be undone, and called right before it: an error says that the job is another worker's by now.
	Confirm func(context.Context) error `json:"-"`
}

// EffectOf is the effect of a job; ok is false when it cannot be read.
func EffectOf(j queue.Job) (f Effect, ok bool) {
	err := json.Unmarshal(j.Payload, &f)
	return f, err == nil && IsEffect(j)
}

// Target reads the task and the project that an effect is about. One that is gone is an error.
func (f Effect) Target(ctx context.Context, tasks task.Store, projects *task.Projects) (task.Task, task.Project, error) {
	p, ok := projects.ByRepo(f.Repo)
	t, err := tasks.Task(ctx, f.TaskID)
	if err == nil && !ok {
		err = &UnregisteredError{f.Repo}
	}
	return t, p, err
}

// Describe names the effect for people.
func (f Effect) Describe() string {
	if info, known := stage.StatusNamed(f.Status); f.Kind == stage.EffectStatus && known {
		return "the board status " + info.Name
	}
	if words, ok := effectWords[f.Kind]; ok {
		return words
	}
	return fmt.Sprintf("the effect %q", f.Kind)
}

var effectWords = map[stage.EffectKind]string{
	stage.EffectComment:  "the comment",
	stage.EffectStatus:   "the board status",
	stage.EffectNotify:   "the notice",
	EffectLive:           "the live message",
	EffectEvent:          "the event for the subscriber",
	EffectTrace:          "the trace",
	EffectWaits:          "the comment on what it waits for",
	stage.EffectPrepare:  "the making of the branch",
	stage.EffectPublish:  "the push of the branch",
	EffectCatchUp:        "the rebase",
	EffectLanded:         "the look at what was merged",
	EffectRevert:         "the revert",
	stage.EffectPull:     "the pull request",
	stage.EffectReply:    "the answers to reviewers",
	stage.EffectMerge:    "the merge",
	EffectGatedMerge:     "the merge",
	EffectLeave:          "the removal from the merge queue",
	EffectRelease:        "the return of the merge lease",
	stage.EffectTidy:     "the removal of the workspace",
	stage.EffectUnbranch: "the removal of the branch",
	EffectCancel:         "the removal of what the cancelled task left",
}

// questionsMax bounds what is taken over of an agent's questions, in bytes.
const questionsMax = 4000

// file takes over the report of a run: what its outbox holds is the verdict, and goes into the branch, where people read it. It returns
// the branch's tip too, which is tip when nothing was put there. A file that somebody has committed is no verdict.
func (a *attempt) file(ctx context.Context, tip string) (stage.Filed, string, error) {
	name := a.machine.Info(a.launch.Stage).ReportFile(a.launch.Phase)
	if name == "" || tip == "" {
		return stage.Filed{}, tip, nil
	}
	text, err := a.Agents.Report(ctx, work.Command{TaskID: a.task.ID, Run: a.launch.Run, Report: name})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stage.Filed{}, tip, nil
	case err != nil:
		return stage.Filed{Role: a.launch.Role, Run: a.launch.Run, Problem: fault.Words(err.Error())}, tip, nil
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	filed := gates.ParseReport(a.launch.Role, a.launch.Run, text)
	if filed.Problem != "" {
		return filed, tip, nil
	}
	space := a.project.Workspace(a.task)
	space.Head = tip
	files := []work.File{{Path: a.project.Docs(a.task.WorkItemID) + "/" + name, Body: []byte(text)}}
	added, err := a.Workspaces.Add(ctx, space, files, fmt.Sprintf("%s: %s of run %d", a.task.WorkItemID, name, a.launch.Run))
	return filed, added.SHA, err
}

// take takes what a run has left: its commit, its report and what the report names; why is an error in words. While the disk has
// no room it is tried again, so that no agent runs again for that.
func (a *attempt) take(ctx context.Context, space work.Workspace, report *stage.Report) (tip work.Tip, why string, err error) {
	for {
		if tip, err = a.Workspaces.Take(ctx, space); err != nil {
			why = a.untaken(ctx, err)
		} else if report.Filed, tip.SHA, err = a.file(ctx, tip.SHA); err != nil {
			why = "its report could not be put into the branch: " + fault.Words(err.Error())
		} else if err = a.readLeft(ctx, tip.SHA, report); err != nil {
			why = "what it has left could not be read: " + fault.Words(err.Error())
		}
		if !fault.IsShortage(err) {
			return tip, why, err
		}
		a.log.Warn("what a run has left waits for room", "run", a.launch.Run, "err", err)
		if a.Wait(ctx, remoteWait) != nil {
			return tip, why, err
		}
	}
}

// readLeft reads what a run has left for people in its commit: open questions, if any, and which of its artefacts are there. Questions
// that stood there when it began were put to people then. What cannot be read is an error: a task whose questions are overlooked goes on
// without the answers.
func (a *attempt) readLeft(ctx context.Context, sha string, r *stage.Report) error {
	if sha == "" {
		return nil
	}
	tree, err := a.Workspaces.Files(ctx, a.project.Workspace(a.task), sha)
	if err != nil {
		return err
	}
	docs, works := a.project.Docs(a.task.WorkItemID)+"/", a.machine.Info(a.launch.Stage)
	for _, name := range slices.Concat(works.Written(a.launch.Phase), a.project.Required[a.launch.Stage]) {
		_, err := fs.Stat(tree, docs+name)
		stale := name == works.ReportFile(a.launch.Phase) && r.Filed.Role == "" // of a run before
		switch {
		case err == nil && !stale && !slices.Contains(r.Files, name):
			r.Files = append(r.Files, name)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	now, err := readNote(tree, docs+stage.QuestionsFile)
	if err != nil || now == "" || a.launch.Head == "" {
		r.Questions = now
		return err
	}
	if tree, err = a.Workspaces.Files(ctx, a.project.Workspace(a.task), a.launch.Head); err != nil {
		return err
	}
	if before, err := readNote(tree, docs+stage.QuestionsFile); err != nil || before == now {
		return err
	}
	r.Questions = now
	return nil
}

// readNote reads what a run has left in a file of a commit.
func readNote(tree fs.FS, name string) (string, error) {
	body, err := fs.ReadFile(tree, name)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), questionsMax)]), "")), err
}

// untaken returns why the commits of a run could not be taken.
func (a *attempt) untaken(ctx context.Context, err error) string {
	var outside *work.OutsideError
	if !errors.As(err, &outside) {
		return "the commits could not be taken: " + fault.Words(err.Error())
	}
	a.noteLeft(ctx, a.task, outside.Left)
	kept := "they could not be kept"
	if outside.Left.Ref != "" {
		kept = "they are kept as " + outside.Left.Ref
	}
	return fmt.Sprintf("the commits of the %s change %s, and it may change %s; none of them was taken, %s",
		a.launch.Role, outside.List(), a.project.Writable(a.task, a.launch, a.machine.Info(a.launch.Stage)), kept)
}

// failedBefore returns why the attempt before this one failed; empty when none of the run has.
func (a *attempt) failedBefore(ctx context.Context) string {
	if a.task.State.Failures == 0 {
		return ""
	}
	entries, err := a.Records.Journal(ctx, a.task.ID)
	if err != nil {
		a.log.Warn("why the last attempt failed cannot be read", "err", err)
		return ""
	}
	for i := len(entries) - 1; i >= 0; i-- {
		r, err := entries[i].Recorded()
		if err != nil || r.Event.On != stage.OnAgentAttempt || r.Event.Run != a.task.State.Run {
			continue
		}
		if failed := r.Event.Agent; failed != nil && failed.Hindered == nil {
			return failed.Reason
		}
	}
	return ""
}
