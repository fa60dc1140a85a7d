package app

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/internal/jail"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// rehearsalBranch begins the names of the branches that rehearsals merge into.
const rehearsalBranch = "signalbox-rehearsal-"

// Rehearsal is one card that goes through every stage of a project with the rehearsal agent: in the jail, with the project's CI and gates,
// and on its real git host. It is merged into a branch of its own that begins at main, so that main stays what it is. The store, the
// checkouts and the board, which is one of our own, are scratch ones in the data directory; a server that runs meanwhile sees nothing of
// it. On a board of another program only a person's account may set To Analyse and Approved.
type Rehearsal struct {
	Settings Settings
	Program  []string // as for Open
	Repo     string   // of the registry
	Out      io.Writer
	Limit    time.Duration // for all of it; 0 = 10 minutes

	service *Service
	project task.Project      // as it is rehearsed
	main    string            // of the real project
	mark    string            // in the names of all that is made
	before  map[string]string // branches of the remote
}

// Run makes the rehearsal and removes what it has made, also when ctx ends. An error says where the card has stopped and why.
func (r *Rehearsal) Run(ctx context.Context) (err error) {
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(r.Limit, 10*time.Minute))
	defer cancel()
	if err := r.find(); err != nil {
		return err
	}
	if err := r.Settings.Prepare(); err != nil {
		return err
	}
	scratch := filepath.Join(r.Settings.DataDir, scratchDir+r.mark)
	held, err := r.hold(scratch)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, jail.RemoveTree(scratch), held.Close()) }()
	var lc net.ListenConfig
	l, err := lc.Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	defer func() { _ = l.Close() }() // the server closes it first
	s := r.Settings.scratch(scratch, l.Addr().String())
	if r.service, err = Open(ctx, s, r.Program, s.Logger(io.Discard)); err != nil {
		return err
	}
	defer func() { err = errors.Join(err, r.service.Close()) }()
	return r.play(ctx, l)
}

// find reads the project from the registry.
func (r *Rehearsal) find() error {
	registry, _, err := r.Settings.ReadRegistry()
	if err != nil {
		return err
	}
	p, ok := registry.Projects.ByRepo(r.Repo)
	if !ok {
		return fmt.Errorf("%s has no repository %q", r.Settings.Projects, r.Repo)
	}
	r.mark, r.main, r.project = strings.ToLower(rand.Text()[:8]), p.Main, p
	r.project.Prefix, r.project.Main = prefixOf(r.mark), rehearsalBranch+r.mark
	r.project.Agents, r.project.Required, r.project.SyncProject = nil, nil, ""
	r.project.People, r.project.MoreBoards = task.People{}, nil
	r.project.Board, r.project.TrackerProject = "", rehearsalBranch+r.mark // its card is on a board of the scratch's own
	// Nothing is deployed.
	r.project.SelfHosting, r.project.Monitor, r.project.Probe = false, nil, task.Probe{}
	r.project.Credential = task.Credential{}
	return nil
}

// scratch are the settings of a service beside the real one.
func (s Settings) scratch(dir, listen string) Settings {
	s.DataDir, s.DatabaseURL, s.Tracker, s.rehearses = dir, secret.String{}, trackerBoard, true
	s.Listen, s.HooksListen, s.PublicURL = listen, "", ""
	s.Agent, s.Engine.AgentRetries, s.Engine.Stage.MaxRetries = rehearse.Name, nil, 1
	s.Features.BudgetTask, s.Features.BudgetRepoDay = 0, 0
	s.GPSTracks, s.Features.Monitor, s.Features.LiveMessage, s.Features.WaitComment = false, false, false, false
	s.Features.SerialGate.Repos, s.Features.MergeGate.Repos = nil, nil
	s.Engine.Poll, s.Engine.StatusDefer = 100*time.Millisecond, 50*time.Millisecond
	s.Engine.Stage.CIPoll, s.Features.Remotes.Every = 2*time.Second, time.Second
	return s
}

// space is the repository with a branch of a rehearsal.
func (r *Rehearsal) space(branch string) work.Workspace {
	return work.Workspace{Repo: r.project.Repo, CloneURL: r.project.CloneURL, Main: r.main, Branch: branch, WorkItem: "rehearsal"}
}

// play runs the service and the card, and takes its branches away.
func (r *Rehearsal) play(ctx context.Context, l net.Listener) (err error) {
	v := r.service
	if r.before, err = v.Git.Heads(ctx, r.space(r.project.Main)); err != nil {
		return err
	}
	if r.before[r.main] == "" {
		return fmt.Errorf("%s has no branch %s", r.Repo, r.main)
	}
	if err := v.Git.MayPush(ctx, r.space(r.project.Main)); err != nil { // it brings main here, too
		return fmt.Errorf("the service may not push to %s: %w", r.Repo, err)
	}
	if err := r.sweep(ctx); err != nil {
		return err
	}
	projects, err := task.NewProjects(r.project)
	if err == nil {
		err = v.Engine.Check(projects)
	}
	if err != nil {
		return err
	}
	v.Engine.Replace(projects)
	defer func() { err = errors.Join(err, r.cleanUp(context.WithoutCancel(ctx))) }()
	if err := v.Git.Push(ctx, r.space(r.project.Main), r.before[r.main], ""); err != nil {
		return err
	}
	fmt.Fprintf(r.Out, "rehearsal: a card for %s, merged into %s, which is removed afterwards\n", r.Repo, r.project.Main)
	g := run.New(ctx, v.Log)
	g.Go("service", func(ctx context.Context) {
		if failed := v.Run(ctx, l, nil); failed != nil {
			fmt.Fprintln(r.Out, "rehearsal:", failed)
		}
	})
	defer g.Stop()
	return r.follow(ctx)
}

// follow makes the card and approves it, and says where it stands until it is done.
func (r *Rehearsal) follow(ctx context.Context) error {
	person := cards.Person{Name: "rehearsal", Proof: stage.ProofToken}
	card, _, err := r.service.Board.Make(ctx, cards.New{
		Key: r.project.Prefix, Project: r.project.TrackerProject, Title: "Rehearsal of signalbox", By: person,
		Description: "A card that goes through every stage with an agent that costs nothing. It can be deleted.",
	})
	if err == nil {
		err = r.move(ctx, card.ID, stage.StatusToAnalyse, person)
	}
	last := stage.Stage("")
	for approved := false; err == nil; {
		var tasks []task.Task
		if tasks, err = r.service.DB.Tasks(ctx, task.Filter{}); err != nil {
			break
		}
		if len(tasks) == 0 {
			err = r.refused(ctx, card.ID)
		} else {
			t := tasks[0]
			if t.State.Stage != last {
				last = t.State.Stage
				fmt.Fprintf(r.Out, "rehearsal: %s\n", last)
			}
			switch {
			case last == stage.Done:
				if done, wrong := r.settled(ctx, t); done || wrong != nil {
					return wrong
				}
			case t.State.Hold == stage.HoldApproval && t.State.Refused == "" && !approved:
				approved = true
				err = r.move(ctx, card.ID, stage.StatusApproved, person)
			case t.State.Hold != stage.HoldNone && (t.State.Hold != stage.HoldApproval || t.State.Refused != ""):
				return fmt.Errorf("the rehearsal stopped at %s: %s", last, cmp.Or(t.State.Refused, t.State.HoldReason))
			case t.State.Retries > 0:
				return fmt.Errorf("the rehearsal was sent back to %s: %s", last, t.State.Feedback)
			}
		}
		err = cmp.Or(err, run.Sleep(ctx, run.Real{}, 100*time.Millisecond))
	}
	if ctx.Err() != nil {
		return r.late(context.WithoutCancel(ctx), last)
	}
	return err
}

// move moves the card as the board's pages do.
func (r *Rehearsal) move(ctx context.Context, card string, to stage.Status, by cards.Person) error {
	desk := admin.Desk{Engine: r.service.Engine, Cards: r.service.Board, Source: trackerBoard}
	return desk.Do(ctx, admin.Act{Card: card, Column: string(to), By: by})
}

// refused is the error of a card that was not begun, in the words of the comment that says so.
func (r *Rehearsal) refused(ctx context.Context, card string) error {
	s, err := r.service.Board.Story(ctx, card)
	if err == nil && s.Column == string(stage.StatusBlocked) && len(s.Comments) > 0 {
		err = fmt.Errorf("the rehearsal's card was refused: %s", s.Comments[len(s.Comments)-1].Body)
	}
	return err
}

// settled reports whether the outside world has had all of a task that is done.
func (r *Rehearsal) settled(ctx context.Context, t task.Task) (bool, error) {
	x, err := explain.One(ctx, r.service.Engine, t.ID)
	return err == nil && len(x.Owed) == 0, err
}

// late is the error of a rehearsal that took too long, or was stopped.
func (r *Rehearsal) late(ctx context.Context, at stage.Stage) error {
	tasks, err := r.service.DB.Tasks(ctx, task.Filter{})
	if err != nil || len(tasks) == 0 {
		return errors.Join(errors.New("the rehearsal was stopped before its card began"), err)
	}
	x, err := explain.One(ctx, r.service.Engine, tasks[0].ID)
	return errors.Join(fmt.Errorf("the rehearsal was stopped at %s. %s", at, x.Summary), err)
}

// cleanUpTime bounds what is done when a rehearsal is over.
const cleanUpTime = 2 * time.Minute

// cleanUp removes the branches that the rehearsal has made. Pull requests of a branch that is gone are closed by their host.
func (r *Rehearsal) cleanUp(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, cleanUpTime)
	defer cancel()
	own := []string{r.project.Main}
	tasks, err := r.service.DB.Tasks(ctx, task.Filter{})
	for _, t := range tasks {
		own = append(own, t.Branch)
	}
	heads, unread := r.service.Git.Heads(ctx, r.space(r.project.Main))
	err = errors.Join(err, unread)
	for _, name := range slices.Backward(own) {
		if _, old := r.before[name]; old || heads[name] == "" {
			continue
		}
		if failed := r.service.Git.RemoveBranch(ctx, r.space(name), name, heads[name]); failed != nil {
			err = errors.Join(err, fmt.Errorf("the branch %s of %s is left, remove it: %w", name, r.Repo, failed))
		}
	}
	return err
}
