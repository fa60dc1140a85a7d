package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// parties holds what the engine works with; here they are doubles in memory.
type parties struct {
	store  *memstore.Store
	board  *memtracker.Board
	host   *memhost.Host
	place  *memwork.Place
	engine *orchestrator.Engine
}

// connect makes an engine without features for one repository.
func connect() (*parties, error) {
	p := &parties{store: memstore.New(nil), board: memtracker.New(nil), host: memhost.New()}
	p.place = memwork.New(memwork.Good) // an agent writes the documents, the change or the report that its role is for
	p.board.AddProject("p1")
	p.host.Push("acme/app", "main", "base")
	p.place.OnPush = func(repo, branch, sha string) { // the host sees the commit, and its CI passes
		p.host.Push(repo, branch, sha)
		p.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
	}
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP", Main: "main"})
	if err != nil {
		return nil, err
	}
	runners := effects.Runners(effects.Deps{
		Store: p.store, Jobs: p.store, Projects: projects, Tracker: p.board, Host: p.host, Messenger: memmessenger.New(), Workspaces: p.place, Agents: p.place,
	})
	p.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: p.store, Records: p.store, Jobs: p.store, Projects: projects, Tracker: p.board, Host: p.host, Workspaces: p.place, Agents: p.place,
		Gates: checks.All(nil), Runners: runners,
	}, orchestrator.Options{Poll: 5 * time.Millisecond, StatusDefer: time.Millisecond, Stage: stage.Options{CIPoll: 10 * time.Millisecond}})
	return p, err
}

// move sets the status of a card and delivers the webhook of that.
func (p *parties) move(ctx context.Context, item tracker.Item, to stage.Status) error {
	item.Status = to
	p.board.Put(item)
	hook := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: item.ProjectID, ItemID: item.ID, ActorID: "kim", Status: true}
	d := task.Delivery{Source: "plane", ID: string(to), BodyHash: string(to), ReceivedAt: time.Now()}
	_, err := p.store.Receive(ctx, d, orchestrator.TrackerJob(hook))
	return err
}

// until waits until the task of the card stands so.
func (p *parties) until(ctx context.Context, item tracker.Item, stands func(stage.State) bool) error {
	for ; ; time.Sleep(5 * time.Millisecond) {
		list, err := p.store.Tasks(ctx, task.Filter{TrackerIssueID: item.ID})
		if err == nil {
			err = ctx.Err()
		}
		if err != nil || len(list) == 1 && stands(list[0].State) {
			return err
		}
	}
}

// A card goes from To Analyse to Done: a person begins it and approves the requirements,
// agents do the rest.
func Example_card() {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	p, err := connect()
	if err != nil {
		fmt.Println(err)
		return
	}
	running, stop := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() { defer close(ended); p.engine.Run(running) }()
	defer func() { stop(); <-ended }()

	card := tracker.Item{ID: "item-1", ProjectID: "p1", Sequence: 42, Title: "Cache the tiles", Description: "The map is slow."}
	fmt.Println(errors.Join(
		p.move(ctx, card, stage.StatusToAnalyse),
		p.until(ctx, card, func(stage.State) bool { // the card shows that it waits for the person
			shown, _ := p.board.Item(ctx, card.ProjectID, card.ID)
			return shown.Status == stage.StatusInReview
		}),
		p.move(ctx, card, stage.StatusApproved),
		p.until(ctx, card, func(s stage.State) bool { return s.Stage == stage.Done }),
	))
	for _, c := range p.place.Runs() {
		fmt.Println(c.WorkItem, c.Stage, c.Role)
	}
	fmt.Println(p.host.Merges(), "merge")
	// Output:
	// <nil>
	// APP-42 analysis analyst
	// APP-42 architecture architect
	// APP-42 development developer
	// APP-42 review reviewer
	// APP-42 testing tester
	// APP-42 deploy-staging deployer
	// APP-42 deploy deployer
	// 1 merge
}
