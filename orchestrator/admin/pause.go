package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Paused is a pause: no agent starts in a repository, or in any; those at work go on. It is a
// hold of the queue, and so durable and the same for all servers of a database.
type Paused struct {
	Repo  string    `json:"repo,omitempty"` // empty = all
	Why   string    `json:"why"`            // who has paused it, and why
	Since time.Time `json:"since"`
}

func (p Paused) hold() queue.Hold {
	subject := orchestrator.AllAgents
	if p.Repo != "" {
		subject = orchestrator.RepoPrefix + p.Repo
	}
	return queue.Hold{Subject: subject, Name: orchestrator.HoldPause, Reason: p.Why}
}

// Pause lets no agent start in a repository (empty = in any) until Unpause. It is durable, and in
// the journal, when it returns.
func Pause(ctx context.Context, e *orchestrator.Engine, repo, why string, by stage.Principal) error {
	if repo != "" {
		p, known := e.Projects.ByRepo(repo)
		if !known {
			return &orchestrator.UnregisteredError{Repo: repo}
		}
		repo = p.Repo
	}
	p := Paused{Repo: repo, Why: "paused by " + by.Who()}
	if why != "" {
		p.Why += ": " + why
	}
	act := task.Act{Act: task.ActPause, By: by, Repo: repo, Why: why}
	return record(ctx, e, task.Task{}, act, task.Commit{Hold: []queue.Hold{p.hold()}})
}

// Unpause ends a pause, and returns whether there was one. That of all repositories and that
// of one are apart.
func Unpause(ctx context.Context, e *orchestrator.Engine, repo string, by stage.Principal) (was bool, err error) {
	paused, err := Pauses(ctx, e)
	i := slices.IndexFunc(paused, func(p Paused) bool { return strings.EqualFold(p.Repo, repo) })
	if err != nil || i < 0 {
		return false, err
	}
	act := task.Act{Act: task.ActUnpause, By: by, Repo: paused[i].Repo}
	return true, record(ctx, e, task.Task{}, act, task.Commit{Free: []queue.Hold{paused[i].hold()}})
}

// pausesMax bounds the pauses that are listed.
const pausesMax = 10_000

// Pauses lists the pauses, oldest first.
func Pauses(ctx context.Context, e *orchestrator.Engine) ([]Paused, error) {
	all, err1 := e.Jobs.HoldsIn(ctx, orchestrator.AllAgents, orchestrator.AllAgents+"\x00", pausesMax)
	some, err2 := e.Jobs.HoldsIn(ctx, orchestrator.RepoPrefix, orchestrator.RepoPrefix+"~", pausesMax)
	out := []Paused{}
	for _, h := range append(all, some...) {
		if h.Name == orchestrator.HoldPause {
			repo := strings.TrimPrefix(strings.TrimPrefix(h.Subject, orchestrator.AllAgents), orchestrator.RepoPrefix)
			out = append(out, Paused{repo, h.Reason, h.Since})
		}
	}
	slices.SortStableFunc(out, func(a, b Paused) int { return a.Since.Compare(b.Since) })
	return out, errors.Join(err1, err2)
}

// CheckPaused returns the pauses as an error for people; nil = there is none.
func CheckPaused(ctx context.Context, e *orchestrator.Engine) error {
	paused, err := Pauses(ctx, e)
	errs := []error{err}
	for _, p := range paused {
		where, end := "anywhere", "signalbox unpause"
		if p.Repo != "" {
			where, end = "in "+p.Repo, end+" "+p.Repo
		}
		since := orchestrator.Moment(e.Now(), p.Since)
		errs = append(errs, fmt.Errorf("no agent starts %s since %s, %s; %s ends it", where, since, p.Why, end))
	}
	return errors.Join(errs...)
}
