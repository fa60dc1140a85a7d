package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// HoldPause is the name of the holds of pauses.
const HoldPause = "pause"

// allAgents is the subject that all agents' jobs have.
const allAgents = "agents"

const repoPrefix = "repo/"

// Paused is a pause: no agent starts in a repository, or in any; those at work go on. It is a
// hold of the queue, and so durable and the same for all servers of a database.
type Paused struct {
	Repo  string    `json:"repo,omitempty"` // empty = all
	Why   string    `json:"why"`            // who has paused it, and why
	Since time.Time `json:"since"`
}

func (p Paused) hold() queue.Hold {
	if p.Repo == "" {
		return queue.Hold{Subject: allAgents, Name: HoldPause, Reason: p.Why}
	}
	return queue.Hold{Subject: repoPrefix + p.Repo, Name: HoldPause, Reason: p.Why}
}

// Pause lets no agent start in a repository (empty = in any) until Unpause. It is durable, and in
// the journal, when it returns.
func (e *Engine) Pause(ctx context.Context, repo, why string, by stage.Principal) error {
	if repo != "" {
		p, known := e.Projects.ByRepo(repo)
		if !known {
			return &UnregisteredError{repo}
		}
		repo = p.Repo
	}
	p := Paused{Repo: repo, Why: "paused by " + by.Who()}
	if why != "" {
		p.Why += ": " + why
	}
	act := task.Act{Act: task.ActPause, By: by, Repo: repo, Why: why}
	return e.Store.Commit(ctx, task.Commit{
		Journal: []task.JournalEntry{e.actEntry(task.Task{}, act)}, Hold: []queue.Hold{p.hold()},
	})
}

// Unpause ends a pause, and returns whether there was one. That of all repositories and that
// of one are apart.
func (e *Engine) Unpause(ctx context.Context, repo string, by stage.Principal) (was bool, err error) {
	paused, err := e.Paused(ctx)
	i := slices.IndexFunc(paused, func(p Paused) bool { return strings.EqualFold(p.Repo, repo) })
	if err != nil || i < 0 {
		return false, err
	}
	act := task.Act{Act: task.ActUnpause, By: by, Repo: paused[i].Repo}
	return true, e.Store.Commit(ctx, task.Commit{
		Journal: []task.JournalEntry{e.actEntry(task.Task{}, act)}, Free: []queue.Hold{paused[i].hold()},
	})
}

// Paused lists the pauses, oldest first.
func (e *Engine) Paused(ctx context.Context) ([]Paused, error) {
	held, err := e.Jobs.Holds(ctx)
	out := []Paused{}
	for _, h := range held {
		if h.Name == HoldPause {
			out = append(out, Paused{strings.TrimPrefix(strings.TrimPrefix(h.Subject, allAgents), repoPrefix), h.Reason, h.Since})
		}
	}
	return out, err
}

// CheckPaused returns the pauses as an error for people; nil = there is none.
func (e *Engine) CheckPaused(ctx context.Context) error {
	paused, err := e.Paused(ctx)
	errs := []error{err}
	for _, p := range paused {
		where, end := "anywhere", "signalbox unpause"
		if p.Repo != "" {
			where, end = "in "+p.Repo, end+" "+p.Repo
		}
		errs = append(errs, fmt.Errorf("no agent starts %s since %s, %s; %s ends it", where, Moment(e.Now(), p.Since), p.Why, end))
	}
	return errors.Join(errs...)
}
