package explain_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

func ExampleOne() {
	ctx, store, board, host, place := context.Background(), memstore.New(nil), memtracker.New(nil), memhost.New(), memwork.New(nil)
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: store, Records: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place,
		Gates:   checks.All(nil),
		Runners: effects.Runners(effects.Deps{Store: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place}),
	}, orchestrator.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	id, err := store.NewTaskID(ctx)
	if err == nil {
		waits := stage.State{Stage: stage.Analysis, Hold: stage.HoldApproval, HoldReason: "a human's verdict on the requirements"}
		err = store.Commit(ctx, task.Commit{Task: &task.Task{ID: id, WorkItemID: "APP-7", TrackerProjectID: "p1", TrackerIssueID: "i7", Repo: "acme/app", Branch: "feature/APP-7", State: waits}})
	}
	if err != nil {
		fmt.Println(err)
		return
	}
	x, err := explain.One(ctx, engine, id)
	fmt.Println(x.Summary, err)
	for _, b := range x.Blockers {
		fmt.Printf("%s: %s\n", b.Who, b.Do)
	}
	// Output:
	// Waits for a human: a human's verdict on the requirements <nil>
	// you: Set Approved on the card, or Rejected with a comment that says what is wrong
}
