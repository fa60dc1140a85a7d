package admin

import (
	"context"
	"errors"
	"slices"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// What an operator can do about effects: have those tried now that failed, and have one
// made again that was given up. The record of the operator's request is durable before it is done.

// Sentinels of HastenLane and Again. See also queue.ErrNotFailed.
var (
	ErrNoLane   = errors.New("orchestrator: no such lane")
	ErrNoEffect = errors.New("orchestrator: no such effect")
	// ErrOutdated means that the board is to show another status by now.
	ErrOutdated = errors.New("orchestrator: another status of the work item was wanted since")
)

// HastenLane makes the jobs of a lane due now that failed before, and lets one through
// now if the lane is sick. It returns how many were made due, or ErrNoLane.
func HastenLane(ctx context.Context, e *orchestrator.Engine, lane string, by stage.Principal) (due int, err error) {
	all := e.NamedLanes()
	i := slices.IndexFunc(all, func(l orchestrator.NamedLane) bool { return l.Name == lane })
	if i < 0 {
		return 0, ErrNoLane
	}
	if err := Audit(ctx, e, task.Task{}, task.Act{Act: task.ActHasten, By: by, Lane: lane}); err != nil {
		return 0, err
	}
	return hasten(ctx, e, all[i].Pool, 0)
}

// HastenTask does the same for the effects of a task: whatever is first in their lanes
// is tried now. ErrNotFound when there is no such task.
func HastenTask(ctx context.Context, e *orchestrator.Engine, taskID int64, by stage.Principal) (due int, err error) {
	t, err := e.Store.Task(ctx, taskID)
	if err != nil {
		return 0, err
	}
	if err := Audit(ctx, e, t, task.Act{Act: task.ActHasten, By: by}); err != nil {
		return 0, err
	}
	open, err := e.Jobs.Jobs(ctx, queue.Filter{TaskID: taskID, Open: true})
	if err != nil {
		return 0, err
	}
	done := map[string]bool{}
	for _, j := range open {
		if done[j.Pool] || !orchestrator.IsEffect(j) {
			continue
		}
		done[j.Pool] = true
		n, err := hasten(ctx, e, j.Pool, taskID)
		if due += n; err != nil {
			return due, err
		}
	}
	return due, nil
}

func hasten(ctx context.Context, e *orchestrator.Engine, pool string, taskID int64) (int, error) {
	n, err := e.Jobs.Hasten(ctx, pool, taskID)
	e.Hurry(pool)
	return n, err
}

// Again makes an effect again that was given up, once, and returns the id of the new
// job. ErrNoEffect, ErrOutdated, or queue.ErrNotFailed when it was not given up or is
// made again already.
func Again(ctx context.Context, e *orchestrator.Engine, jobID int64, by stage.Principal) (int64, error) {
	j, t, err := effectOf(ctx, e, jobID)
	if err == nil && j.Status != queue.Failed {
		err = queue.ErrNotFailed
	}
	if err != nil {
		return 0, err
	}
	outdated, err := outdated(ctx, e, j)
	if err != nil {
		return 0, err
	}
	if outdated {
		return 0, ErrOutdated
	}
	if err := Audit(ctx, e, t, task.Act{Act: task.ActAgain, By: by, Job: jobID}); err != nil {
		return 0, err
	}
	return e.Jobs.Repeat(ctx, jobID)
}

// outdated reports whether a status write has another behind it: the board is a
// register, and to make the older one again would set it back.
func outdated(ctx context.Context, e *orchestrator.Engine, j queue.Job) (bool, error) {
	if kind, _ := orchestrator.EffectKindOf(j); kind != stage.EffectStatus || j.TaskID == 0 {
		return false, nil
	}
	all, err := e.Jobs.Jobs(ctx, queue.Filter{Pool: j.Pool, TaskID: j.TaskID, Limit: statusMax})
	return slices.ContainsFunc(all, func(o queue.Job) bool {
		return o.ID > j.ID && o.Status != queue.Cancelled
	}), err
}

// statusMax bounds the status writes of one task.
const statusMax = 10_000

// How many effects that were given up are shown, and how many failed jobs are looked at
// for them: among those may be agents and events.
const (
	failedMax  = 100
	failedLook = 1000
)

// FailedEffects lists the effects that were given up and not made again, the newest
// first: of a task, or of all.
func FailedEffects(ctx context.Context, e *orchestrator.Engine, taskID int64) (out []queue.Job, err error) {
	jobs, err := e.Jobs.Jobs(ctx, queue.Filter{TaskID: taskID, Failed: true, Limit: failedLook})
	for _, j := range jobs {
		if !orchestrator.IsEffect(j) || len(out) == failedMax {
			continue
		}
		outdated, err := outdated(ctx, e, j)
		if err != nil {
			return nil, err
		}
		if !outdated {
			out = append(out, j)
		}
	}
	return out, err
}

// RepoOfEffect is the repository that an effect is made for; empty: its task is gone, or it has none.
func RepoOfEffect(ctx context.Context, e *orchestrator.Engine, jobID int64) (string, error) {
	_, t, err := effectOf(ctx, e, jobID)
	return t.Repo, err
}

// effectOf reads the job of an effect, or ErrNoEffect, and its task: zero where that is gone, or there is none.
func effectOf(ctx context.Context, e *orchestrator.Engine, jobID int64) (j queue.Job, t task.Task, err error) {
	jobs, err := e.Jobs.Jobs(ctx, queue.Filter{ID: jobID})
	if err == nil && (len(jobs) == 0 || !orchestrator.IsEffect(jobs[0])) {
		err = ErrNoEffect
	}
	if err != nil {
		return j, t, err
	}
	if t, err = e.Store.Task(ctx, jobs[0].TaskID); errors.Is(err, task.ErrNotFound) {
		err = nil
	}
	return jobs[0], t, err
}
