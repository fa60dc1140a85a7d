// Package livemessage keeps one chat message for each task: sent once, edited
// silently whenever the task moves, sent anew when it can no longer be edited. It
// shows what every stage has cost, what the task waits for, and at the end how
// long it took and where its work can be found.
//
// The effect says only that the message is out of date; the runner shows the task
// as it is then. So a message that was held up catches up in one edit. While it
// shows that the task waits it is looked at again now and then: that an agent
// starts is nobody's decision.
package livemessage

import (
	"context"
	"errors"
	"fmt"
	"hash/fnv"
	"log/slog"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// Name of the feature. Effect brings the message up to date, and Look is a timer
// that asks for that.
const (
	Name   = "live_message"
	Effect = "live"
	Look   = "live_look"
)

// every is how often the message of a task that waits is looked at.
const every = 15 * time.Second

// Jobs is what the feature reads of the queue.
type Jobs interface {
	Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error)
}

// Options of the feature. All but Log and Now are required.
type Options struct {
	Store     orchestrator.Store
	Story     orchestrator.Story
	Jobs      Jobs
	Projects  *orchestrator.Projects
	Messenger messenger.Messenger
	Log       *slog.Logger // nil discards
	Now       func() time.Time
}

// Feature is the live message for the engine.
func Feature(o Options) (orchestrator.Feature, error) {
	if o.Store == nil || o.Story == nil || o.Jobs == nil || o.Projects == nil || o.Messenger == nil {
		return orchestrator.Feature{}, errors.New("livemessage: Options.Store, Story, Jobs, Projects and Messenger are required")
	}
	if o.Log == nil {
		o.Log = slog.New(slog.DiscardHandler)
	}
	if o.Now == nil {
		o.Now = run.Real{}.Now
	}
	return orchestrator.Feature{
		Name: Name, Doc: "One chat message for each task shows where it stands.",
		Rules:   []stage.Rule{Rule},
		Runners: map[string]orchestrator.Runner{Effect: orchestrator.RunnerFunc(o.update), Look: orchestrator.RunnerFunc(o.again)},
	}, nil
}

// Rule asks for an update whenever something that the message shows has changed.
func Rule(s stage.State, _ stage.Event, d stage.Decision) stage.Decision {
	n := d.State
	shown := s.Stage != n.Stage || s.Phase != n.Phase || s.Hold != n.Hold || s.Active != n.Active || s.PRURL != n.PRURL || s.Stopping != n.Stopping
	if d.Moved && shown {
		d.Effects = append(append([]stage.Effect(nil), d.Effects...), stage.Effect{Kind: Effect})
	}
	return d
}

// update shows a task as it is now.
func (o Options) update(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	v, late, err := o.view(ctx, e)
	m := Render(v)
	if err == nil && !late && e.Text != mark(m) { // else it shows that already
		err = o.show(ctx, v.Task, m, e.Attempt)
	}
	switch {
	case errors.Is(err, messenger.ErrUnreachable):
		return queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
	case err != nil:
		o.Log.Warn("the message of a task could not be updated", "task", e.TaskID, "repo", e.Repo, "attempt", e.Attempt, "err", err)
		return orchestrator.Retry(err)
	case !late && len(v.Waits) > 0:
		return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{o.timer(e, mark(m))}}
	default:
		return queue.Outcome{Kind: queue.OutcomeDone}
	}
}

// mark tells one message from another.
func mark(m messenger.Message) string {
	h := fnv.New64a()
	fmt.Fprintf(h, "%q %q %q", m.Title, m.Lines, m.Link)
	return strconv.FormatUint(h.Sum64(), 16)
}

// timer has the message looked at again, and changed when it is not what is shown
// now. It has no key: a job that waits for its time would hold up the updates behind
// it.
func (o Options) timer(e orchestrator.Effect, shown string) queue.Job {
	j := orchestrator.NextEffect(e, stage.Effect{Kind: Look, Text: shown}, fmt.Sprintf("%s/%d", Look, e.TaskID), o.Now().Add(every))
	j.Key = ""
	return j
}

// again asks for an update in its turn.
func (o Options) again(_ context.Context, e orchestrator.Effect) queue.Outcome {
	next := orchestrator.NextEffect(e, stage.Effect{Kind: Effect, Text: e.Text}, fmt.Sprintf("%s/%d/%s", Effect, e.TaskID, Look), time.Time{})
	return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{next}}
}

// view gathers what the message shows. late says that a newer update waits behind
// this one, which will show the same and more.
func (o Options) view(ctx context.Context, e orchestrator.Effect) (v View, late bool, err error) {
	v.Now = o.Now()
	if v.Task, err = o.Store.Task(ctx, e.TaskID); err != nil {
		return v, false, err
	}
	if v.Runs, err = o.Story.AgentRuns(ctx, e.TaskID); err != nil {
		return v, false, err
	}
	waits, err := o.Jobs.Waiting(ctx, queue.Filter{TaskID: e.TaskID})
	if err != nil {
		return v, false, err
	}
	updates := 0
	for _, w := range waits {
		if strings.HasSuffix(w.Job.Kind, "/"+Effect) {
			updates++
		}
		for _, r := range w.Reasons {
			if r.Kind == queue.ReasonHold {
				v.Waits = append(v.Waits, r.Text)
			}
		}
	}
	if p, ok := o.Projects.ByRepo(v.Task.Repo); ok && p.WebURL != "" {
		item, _ := orchestrator.Untomb(v.Task.WorkItemID)
		branch, _ := orchestrator.Untomb(v.Task.Branch)
		v.Artifacts = strings.TrimSuffix(p.WebURL, "/") + "/tree/" + branch + "/" + p.Docs(item)
	}
	return v, updates > 1, nil
}

// show edits the task's message, or sends it when there is none to edit.
func (o Options) show(ctx context.Context, t orchestrator.Task, m messenger.Message, attempt int) error {
	if t.TrackerMessageID != "" {
		if err := o.Messenger.Edit(ctx, t.TrackerMessageID, m); !errors.Is(err, messenger.ErrGone) {
			return err
		}
	}
	if attempt > 1 { // an earlier attempt may have got through: there is no identity on the wire
		m.Lines = append(m.Lines, "(This may be a second copy.)")
	}
	id, err := o.Messenger.Send(ctx, m)
	if err != nil {
		return err
	}
	return o.remember(ctx, t.ID, id)
}

// remember stores the message's id, whatever the task does meanwhile.
func (o Options) remember(ctx context.Context, taskID int64, id string) error {
	for range 10 {
		t, err := o.Store.Task(ctx, taskID)
		if err != nil {
			return err
		}
		t.TrackerMessageID = id
		if err = o.Store.Commit(ctx, orchestrator.Commit{Task: &t}); !errors.Is(err, orchestrator.ErrConflict) {
			return err
		}
	}
	return orchestrator.ErrConflict
}
