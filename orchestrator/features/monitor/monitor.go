// Package monitor looks at what was deployed for a while after a task is done.
//
//	HEALTHY       the last look was good when the window ended: the board shows Done
//	DEGRADED      several bad looks in a row: the board shows Blocked, people are
//	              alerted, and the repository is frozen; for the repository of the
//	              service itself there is the alert only
//	INCONCLUSIVE  the probe itself did not work: nothing is changed
//	REPLACED      a later deployment is looked at: the board shows Done
//
// Each look is an effect that puts the next one in the transaction that ends it,
// with what has been seen so far: a restart goes on where it stood.
package monitor

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/internal/defaults"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// name of the feature, and of its effect.
const name = "monitor"

// Results of a monitor.
const (
	Healthy      = "HEALTHY"
	Degraded     = "DEGRADED"
	Inconclusive = "INCONCLUSIVE"
	replaced     = "REPLACED"
)

// Look names what one look at an address saw.
type Look int

// Looks.
const (
	Unknown Look = iota // the probe itself did not work
	Good
	Bad
)

// Probe looks at an address. detail reports what was seen.
type Probe func(ctx context.Context, address string) (l Look, detail string)

// Options of the feature.
type Options struct {
	orchestrator.Parts

	Probe    Probe         // nil = HTTP
	Window   time.Duration `env:"MONITOR_WINDOW" envDefault:"15m" doc:"for how long"`
	Interval time.Duration `env:"MONITOR_INTERVAL" envDefault:"30s" doc:"how often"`
	Failures int           `env:"MONITOR_FAILURES" envDefault:"3" min:"1" doc:"bad looks in a row that count as degraded"`
	// Freeze lets no task of a repository begin; nil = freezes are off.
	Freeze func(ctx context.Context, repo string, taskID int64, reason string) error
}

// Feature is the monitor for the engine.
func Feature(o Options) (orchestrator.Feature, error) {
	if err := o.Complete("monitor"); err != nil {
		return orchestrator.Feature{}, err
	}
	if o.Probe == nil {
		o.Probe = HTTP(nil)
	}
	defaults.Fill(&o)
	return orchestrator.Feature{
		Name:    name,
		Rules:   []stage.Rule{rule},
		Runners: map[stage.EffectKind]orchestrator.Runner{name: orchestrator.RunnerFunc(o.observe)},
		Show:    o.show,
	}, nil
}

// rule begins to look when a deployment has ended well.
func rule(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	if d.Moved && s.Stage == stage.Deploy && d.State.Stage == stage.Done && d.State.MergeSHA != "" {
		d.Effects = append(slices.Clip(d.Effects), stage.Effect{Kind: name, SHA: d.State.MergeSHA})
	}
	return d
}

// seen holds what a monitor keeps from look to look, in the effect's text.
type seen struct {
	Until   time.Time `json:"until"`
	Looks   int       `json:"looks"`
	Bad     int       `json:"bad_in_a_row"`
	Known   bool      `json:"known"` // a look worked
	Last    string    `json:"last"`
	Healthy bool      `json:"healthy"` // the last look that worked was good
}

// observe looks once and decides what comes next.
func (o Options) observe(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	p, ok := o.Projects.ByRepo(e.Repo)
	if !ok {
		return orchestrator.Retry(&orchestrator.UnregisteredError{Repo: e.Repo})
	}
	if len(p.Monitor) == 0 {
		return queue.Outcome{Kind: queue.OutcomeDone, Error: "there is nothing to look at"}
	}
	s := seen{Until: o.Now().Add(o.Window)}
	if e.Text != "" {
		if err := json.Unmarshal([]byte(e.Text), &s); err != nil {
			return queue.Outcome{Kind: queue.OutcomeDead, Error: err.Error()}
		}
	}
	all, err := o.watched(ctx)
	if err != nil {
		return orchestrator.Retry(err)
	}
	others := slices.DeleteFunc(all, func(w watching) bool { return w.Repo != e.Repo || w.TaskID == e.TaskID })
	later := func(w watching) bool { return w.Until.After(s.Until) || w.Until.Equal(s.Until) && w.TaskID > e.TaskID }
	if slices.ContainsFunc(others, later) {
		s.Last = "a later deployment is looked at"
		return o.end(ctx, e, p, s, replaced)
	}
	o.probe(ctx, p, &s)
	if ctx.Err() != nil {
		return queue.Outcome{Kind: queue.OutcomeRelease, At: o.Now(), Error: "interrupted"}
	}
	switch {
	case s.Bad >= o.Failures && len(others) == 0: // the others find this one at their next look, and are not blamed for it
		return o.end(ctx, e, p, s, Degraded)
	case o.Now().Before(s.Until):
		return o.scheduleNext(e, s)
	case s.Known && s.Healthy:
		return o.end(ctx, e, p, s, Healthy)
	case s.Known && s.Bad > 0: // bad at the very end: look on until it is one or the other
		s.Until = o.Now().Add(o.Interval)
		return o.scheduleNext(e, s)
	default:
		return o.end(ctx, e, p, s, Inconclusive)
	}
}

// probe looks at every address. One that is bad is bad for all; one that could
// not be looked at makes the look count for nothing.
func (o Options) probe(ctx context.Context, p task.Project, s *seen) {
	worst, detail := Good, ""
	for _, address := range p.Monitor {
		look, said := o.Probe(ctx, address)
		if look == Bad || look == Unknown && worst == Good {
			worst, detail = look, address+": "+said
		}
	}
	s.Looks++
	s.Last = detail
	switch worst {
	case Good:
		s.Bad, s.Known, s.Healthy = 0, true, true
	case Bad:
		s.Bad, s.Known, s.Healthy = s.Bad+1, true, false
	default:
		o.Log.Warn("a monitor could not look", "repo", p.Repo, "detail", detail)
	}
}

// scheduleNext puts the next look.
func (o Options) scheduleNext(e orchestrator.Effect, s seen) queue.Outcome {
	text, _ := json.Marshal(s) // it has nothing that could fail
	look := stage.Effect{Kind: name, SHA: e.SHA, Text: string(text)}
	key := fmt.Sprintf("monitor/%d/%s/%d", e.TaskID, e.SHA, s.Looks)
	next := orchestrator.FollowUpJob(e, look, key)
	next.AvailableAt = o.Now().Add(o.Interval)
	return queue.Outcome{Kind: queue.OutcomeDone, Then: []queue.Job{next}}
}

// end writes the result down and acts on it.
func (o Options) end(ctx context.Context, e orchestrator.Effect, p task.Project, s seen, result string) queue.Outcome {
	log := o.Log.With("task", e.TaskID, "repo", e.Repo, "result", result, "looks", s.Looks)
	log.Info("the monitor has ended", "last", s.Last)
	reason := fmt.Sprintf("%s (task %d) is degraded after its deployment: %s", e.WorkItem, e.TaskID, s.Last)
	freezes := result == Degraded && !p.SelfHosting && o.Freeze != nil
	if freezes {
		if err := o.Freeze(ctx, e.Repo, e.TaskID, reason); err != nil {
			log.Error("the repository could not be frozen", "err", err)
			return orchestrator.Retry(err)
		}
	}
	if err := o.record(ctx, e, s, result); err != nil {
		return orchestrator.Retry(err)
	}
	out := queue.Outcome{Kind: queue.OutcomeDone}
	then := func(f stage.Effect) {
		out.Then = append(out.Then, orchestrator.FollowUpJob(e, f, fmt.Sprintf("monitor/%d/%s/%s", e.TaskID, e.SHA, f.Kind)))
	}
	switch result {
	case Healthy, replaced:
		then(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusDone})
	case Degraded:
		frozen := ""
		if freezes { // of the service's own repository people are only notified
			frozen = fmt.Sprintf("\n%s is frozen: no task of it begins until an operator ends that, "+
				"with the button Unfreeze of the dashboard (Repositories) or signalbox unfreeze %s.", e.Repo, e.Repo)
		}
		then(stage.Effect{Kind: stage.EffectNotify, Text: "DEGRADED after deployment: " + s.Last + frozen})
		then(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusBlocked})
		then(stage.Effect{Kind: stage.EffectComment, Author: stage.Deployer, Text: "The deployment is degraded: " + s.Last + frozen})
	}
	return out
}

// record adds the result to the task's story.
func (o Options) record(ctx context.Context, e orchestrator.Effect, s seen, result string) error {
	payload, err := json.Marshal(map[string]any{"result": result, "sha": e.SHA, "looks": s.Looks, "last": s.Last})
	if err != nil {
		return err
	}
	t, err := o.Store.Task(ctx, e.TaskID)
	if err != nil {
		return err
	}
	return o.Store.Commit(ctx, task.Commit{Journal: []task.JournalEntry{{
		TaskID: e.TaskID, Seq: t.State.Seq, At: o.Now(), Kind: "monitor", Payload: payload,
	}}})
}

// view is the block in /queue.
type view struct {
	Enabled  bool       `json:"enabled"`
	Watching []watching `json:"watching"`
}

type watching struct {
	TaskID int64     `json:"task_id"`
	Repo   string    `json:"repo"`
	Until  time.Time `json:"until,omitzero"`
	Looks  int       `json:"looks"`
	Bad    int       `json:"bad_in_a_row"`
	Last   string    `json:"last,omitempty"`
}

func (o Options) show(ctx context.Context) (any, error) {
	all, err := o.watched(ctx)
	return view{Enabled: true, Watching: all}, err
}

// watched lists what monitors look at.
func (o Options) watched(ctx context.Context) ([]watching, error) {
	out := []watching{}
	waits, err := o.Store.Waiting(ctx, queue.Filter{Pool: orchestrator.LaneOf(name).Pool()})
	for _, w := range waits {
		var e orchestrator.Effect
		var s seen
		if json.Unmarshal(w.Job.Payload, &e) != nil || e.Kind != name {
			continue
		}
		_ = json.Unmarshal([]byte(e.Text), &s) // the first look has seen nothing yet
		out = append(out, watching{TaskID: e.TaskID, Repo: e.Repo, Until: s.Until, Looks: s.Looks, Bad: s.Bad, Last: s.Last})
	}
	return out, err
}
