// Package livemessage keeps one chat message for each task: sent once, edited
// silently whenever the task moves, sent anew when it can no longer be edited. It
// shows where the task stands, whose move it is, what every stage has cost and where
// card, documents and pull request are, and at the end how long it took.
//
// The effect says only that the message is out of date; the runner shows the task
// as it is then. So a message that was held up catches up in one edit. What a task
// waits for changes without a decision about it: one loop compares that for all.
package livemessage

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// name of the feature.
const name = "live_message"

// workEvery is how often the messages of tasks whose agents are at work are compared with how far these are.
const workEvery = 15 * time.Second

// every is how often all messages of tasks that wait are compared with what the tasks
// wait for. That changes without a decision about them.
const every = time.Minute

// Options of the feature. Messenger is required.
type Options struct {
	orchestrator.Parts

	Messenger messenger.Messenger
	Cards     tracker.Linker  // nil: the message has no link to the card
	Dress     messenger.Dress // nil = nothing is added
	// Work says how far the agent of a task is; empty = it is not at work, or has nothing to show yet. Nil = that is not known.
	Work func(ctx context.Context, taskID int64) (string, error)

	said *said
}

// said holds what messages say of waiting, by task, as this process has shown it or owes it.
type said struct {
	mu    sync.Mutex
	waits map[int64]string
	work  map[int64]string // how far agents are, as shown or owed

	recalled bool // what a former process may have shown; only the loop of refreshes uses it
}

// note keeps what the message of a task shows, of waiting or of work, and reports whether it has shown something else.
func (s *said) note(shown map[int64]string, task int64, text string) (changed bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	changed = shown[task] != text
	if delete(shown, task); text != "" {
		shown[task] = text
	}
	return changed
}

// stale lists the tasks that wait for something else now than their messages say, or for nothing any more.
func (s *said) stale(now map[int64]string) (tasks []int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for id, text := range now {
		if s.waits[id] != text {
			tasks = append(tasks, id)
		}
	}
	for id := range s.waits {
		if now[id] == "" {
			tasks = append(tasks, id)
		}
	}
	slices.Sort(tasks)
	return tasks
}

// Feature is the live message for the engine.
func Feature(o Options) (none orchestrator.Feature, err error) {
	if o.Messenger == nil {
		return none, errors.New("livemessage: Options.Messenger is required")
	}
	if err := o.Complete("livemessage"); err != nil {
		return none, err
	}
	o.said = &said{waits: map[int64]string{}, work: map[int64]string{}}
	loops := []orchestrator.Loop{{Name: "refresh", Run: o.refreshLoop}}
	if o.Work != nil {
		loops = append(loops, orchestrator.Loop{Name: "work", Run: o.workLoop})
	}
	return orchestrator.Feature{
		Name:  name,
		Rules: []stage.Rule{rule},
		Runners: map[stage.EffectKind]orchestrator.Runner{
			orchestrator.EffectLive: orchestrator.RunnerFunc(o.update),
			// A timer of each task, which an earlier version has left in the queue.
			"live_look": orchestrator.RunnerFunc(func(context.Context, orchestrator.Effect) queue.Outcome {
				return queue.Outcome{Kind: queue.OutcomeDone}
			}),
		},
		Loops: loops,
	}, nil
}

// rule adds an update whenever something that the message shows has changed.
func rule(s stage.State, _ stage.Event, d stage.Decision) stage.Decision {
	n := d.State
	documents := s.Pushed != n.Pushed && n.Hold != stage.HoldNone // that a person is to look at
	held := s.Hold != n.Hold || s.HoldReason != n.HoldReason || s.Stopping != n.Stopping
	moved := s.Stage != n.Stage || s.Phase != n.Phase || s.Active != n.Active
	shown := documents || held || moved || s.PRURL != n.PRURL
	if d.Moved && shown {
		d.Effects = append(slices.Clip(d.Effects), stage.Effect{Kind: orchestrator.EffectLive})
	}
	return d
}

// update shows a task as it is now.
func (o Options) update(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	v, late, err := o.view(ctx, e)
	if err == nil && !late {
		m := render(v)
		if o.Dress != nil {
			err = o.Dress(ctx, e.TaskID, e.Repo, &m)
		}
		if err == nil {
			err = o.show(ctx, v.Task, m, e.Attempt)
		}
		if err == nil {
			o.said.note(o.said.waits, e.TaskID, strings.Join(v.Waits, "\n"))
		}
	}
	switch {
	case errors.Is(err, errOther):
		return queue.Outcome{Kind: queue.OutcomeRelease, At: o.Now().Add(time.Second), Error: err.Error()}
	case errors.Is(err, messenger.ErrUnreachable) && !fault.Retryable(err): // the store may have failed beside it
		return queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	case err != nil:
		o.Log.Warn("the message of a task could not be updated", "task", e.TaskID, "repo", e.Repo, "attempt", e.Attempt, "err", err)
		return orchestrator.Retry(err)
	default:
		return queue.Outcome{Kind: queue.OutcomeDone}
	}
}

// refreshLoop is the one timer of all messages.
func (o Options) refreshLoop(ctx context.Context, e *orchestrator.Engine) {
	for e.Wait(ctx, every) == nil {
		if err := o.refresh(ctx, e); err != nil && ctx.Err() == nil {
			o.Log.Error("live messages could not be refreshed", "err", err)
		}
	}
}

// workLoop owes an update to each task whose agent is further than its message shows.
func (o Options) workLoop(ctx context.Context, e *orchestrator.Engine) {
	for e.Wait(ctx, workEvery) == nil {
		jobs, err := e.Jobs.Jobs(ctx, queue.Filter{Pool: queue.PoolAgents, Open: true})
		for _, j := range jobs {
			if err == nil && j.Status == queue.Running {
				err = o.refreshWork(ctx, e, j.TaskID)
			}
		}
		if err != nil && ctx.Err() == nil {
			o.Log.Error("how far agents are could not be shown", "err", err)
		}
	}
}

func (o Options) refreshWork(ctx context.Context, e *orchestrator.Engine, id int64) error {
	text, err := o.Work(ctx, id)
	if err != nil || text == "" || !o.said.note(o.said.work, id, text) {
		return err
	}
	t, err := o.Store.Task(ctx, id)
	if err != nil {
		return err
	}
	return o.owe(ctx, e, t)
}

// owe owes an update to a task of a registered repository.
func (o Options) owe(ctx context.Context, e *orchestrator.Engine, t task.Task) error {
	p, ok := o.Projects.ByRepo(t.Repo)
	if !ok {
		return nil
	}
	job := orchestrator.EffectJob(t, p, stage.Effect{Kind: orchestrator.EffectLive}, fmt.Sprintf("refresh/%d", t.ID))
	_, err := e.Jobs.Put(ctx, job)
	return err
}

// refresh owes an update to each task that waits for something else than its message
// shows, or for nothing any more.
func (o Options) refresh(ctx context.Context, e *orchestrator.Engine) error {
	if err := o.recall(ctx); err != nil {
		return err
	}
	waits, err := orchestrator.Waits(ctx, e)
	if err != nil {
		return err
	}
	now := map[int64]string{}
	for _, w := range waits {
		if texts, _ := orchestrator.HeldBy(w); len(texts) > 0 {
			now[w.Job.TaskID] = strings.TrimPrefix(now[w.Job.TaskID]+"\n"+strings.Join(texts, "\n"), "\n")
		}
	}
	for _, id := range o.said.stale(now) {
		t, err := o.Store.Task(ctx, id)
		if err != nil {
			return err
		}
		if err := o.owe(ctx, e, t); err != nil {
			return err
		}
		o.said.note(o.said.waits, id, now[id])
	}
	return nil
}

// recall has each message shown once after a start that may say of a wait what is so no more.
func (o Options) recall(ctx context.Context) error {
	if o.said.recalled {
		return nil
	}
	for t, err := range task.Each(ctx, o.Store, task.Filter{Live: true}) {
		if err != nil {
			return err
		}
		if t.TrackerMessageID != "" && t.State.Hold == stage.HoldNone {
			o.said.note(o.said.waits, t.ID, "what a former process has shown")
		}
	}
	o.said.recalled = true
	return nil
}

// view gathers what the message shows. late reports that a newer update waits behind
// this one, which will show the same and more.
func (o Options) view(ctx context.Context, e orchestrator.Effect) (v view, late bool, err error) {
	v.Now = o.Now()
	if v.Task, err = o.Store.Task(ctx, e.TaskID); err != nil {
		return v, false, err
	}
	if v.Runs, err = o.Store.AgentRuns(ctx, e.TaskID); err != nil {
		return v, false, err
	}
	waits, err := o.Store.Waiting(ctx, queue.Filter{TaskID: e.TaskID})
	if err != nil {
		return v, false, err
	}
	updates := 0
	for _, w := range waits {
		if strings.HasSuffix(w.Job.Kind, "/"+string(orchestrator.EffectLive)) {
			updates++
		}
		texts, _ := orchestrator.HeldBy(w)
		v.Waits = append(v.Waits, texts...)
	}
	if p, ok := o.Projects.ByRepo(v.Task.Repo); ok && v.Task.State.Stage != stage.Cancelled { // whose branch is removed
		v.Artifacts = p.DocsURL(v.Task.WorkItemID, v.Task.State.Pushed)
	}
	if o.Work != nil && v.Task.State.Active != "" {
		if v.Work, err = o.Work(ctx, e.TaskID); err != nil {
			return v, false, err
		}
	}
	o.said.note(o.said.work, e.TaskID, v.Work)
	if o.Cards != nil {
		v.Card = o.Cards.ItemURL(e.ProjectID, e.ItemID)
	}
	return v, updates > 1, nil
}

// What stands in the place of a message's id while it is sent. Where it is found, a process has
// died in the middle: its message may be in the chat, and its id is lost.
const (
	sending      = "sending"
	sendingAgain = "sending again"
)

// errOther means that somebody else has begun to send a task's message meanwhile.
var errOther = errors.New("another process sends the message of the task")

// show edits the task's message, or sends it when there is none to edit. Of messages
// whose id nobody has there is one at most, beside the one that is kept up to date.
func (o Options) show(ctx context.Context, t task.Task, m messenger.Message, attempt int) error {
	had, mark := t.TrackerMessageID, sending
	switch had {
	case "":
	case sendingAgain:
		o.Log.Warn("the message of a task is not sent a third time: two processes have died while they sent it",
			"task", t.ID, "repo", t.Repo)
		return nil
	case sending:
		mark = sendingAgain
	default:
		if err := o.Messenger.Edit(ctx, had, m); !errors.Is(err, messenger.ErrGone) {
			return err
		}
	}
	if attempt > 1 || mark == sendingAgain { // an earlier one may have got through: there is no identity on the wire
		m.Lines = append(m.Lines, "(This may be a second copy.)")
	}
	if now, err := o.replace(ctx, t.ID, had, mark); err != nil || now != mark {
		return cmp.Or(err, errOther)
	}
	id, err := o.Messenger.Send(ctx, m)
	if err != nil {
		_, back := o.replace(ctx, t.ID, mark, had)
		return errors.Join(err, back)
	}
	now, err := o.replace(ctx, t.ID, mark, id)
	if err != nil || now != id {
		return errors.Join(err, o.endOf(ctx, id, m))
	}
	return nil
}

// endOf edits a message that is not brought up to date any more: it says that there is another.
func (o Options) endOf(ctx context.Context, id string, m messenger.Message) error {
	last := messenger.Message{Title: m.Title, Silent: true, Lines: []string{"This is continued in another message."}}
	err := o.Messenger.Edit(ctx, id, last)
	if errors.Is(err, messenger.ErrGone) {
		return nil
	}
	return err
}

// replace stores a message's id in the place of what is there, whatever the task does
// meanwhile, and returns what is there then: another process may have been quicker.
func (o Options) replace(ctx context.Context, taskID int64, from, to string) (string, error) {
	for range 10 {
		t, err := o.Store.Task(ctx, taskID)
		if err != nil || t.TrackerMessageID != from {
			return t.TrackerMessageID, err
		}
		t.TrackerMessageID = to
		if err = o.Store.Commit(ctx, task.Commit{Task: &t}); !errors.Is(err, task.ErrConflict) {
			return to, err
		}
	}
	return "", task.ErrConflict
}
