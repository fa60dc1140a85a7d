package service_test

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// A whole service over the doubles: a card goes from To Analyse to Done.
func Example() {
	board, host, place := memtracker.New(nil), memhost.New(), memwork.New(memwork.Good)
	board.AddProject("app")
	host.Push("acme/app", "main", "base")
	place.OnPush = func(repo, branch, sha string) { // the host runs CI
		host.Push(repo, branch, sha)
		host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
	}
	projects, err := task.NewProjects(task.Project{TrackerProject: "app", Repo: "acme/app", CloneURL: "u", Prefix: "APP", Main: "main"})
	if err != nil {
		fmt.Println(err)
		return
	}
	s, err := service.New(service.Options{
		Store: memstore.New(nil), Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place, Leases: memlease.New(nil),
		Web:    web.Options{Access: access.New(access.Options{})},
		Engine: orchestrator.Options{Poll: 5 * time.Millisecond, StatusDefer: time.Millisecond, Stage: stage.Options{CIPoll: 10 * time.Millisecond}},
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	ended := make(chan error)
	go func() { ended <- s.Run(ctx, nil, nil) }()

	move := func(to stage.Status) { // a person moves the card
		board.Put(tracker.Item{ID: "card", ProjectID: "app", Sequence: 42, Title: "Cache the tiles", Description: "The map is slow.", Status: to})
		hook := tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: "app", ItemID: "card", ActorID: "kim", Status: true}
		if err := s.Engine.Announce(ctx, "board", string(to), hook); err != nil {
			fmt.Println(err)
		}
	}
	until := func(status stage.Status) {
		i, err := board.Item(ctx, "app", "card")
		for ; err == nil && ctx.Err() == nil && i.Status != status; i, err = board.Item(ctx, "app", "card") {
			time.Sleep(time.Millisecond)
		}
		fmt.Println("the card stands at", i.Status, err)
	}
	move(stage.StatusToAnalyse)
	until(stage.StatusInReview)
	move(stage.StatusApproved)
	until(stage.StatusDone)
	fmt.Println("merges:", host.Merges())
	stop()
	fmt.Println(<-ended)
	// Output:
	// the card stands at in_review <nil>
	// the card stands at done <nil>
	// merges: 1
	// <nil>
}
