package admin_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// An operator lets no agent start for a while.
func Example() {
	store, board, host, place := memstore.New(nil), memtracker.New(nil), memhost.New(), memwork.New(memwork.Good)
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "u", Prefix: "APP", Main: "main"})
	if err != nil {
		fmt.Println(err)
		return
	}
	engine, err := orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: store, Records: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Workspaces: place, Agents: place,
		Gates: checks.All(nil), Runners: effects.Runners(effects.Deps{
			Store: store, Jobs: store, Projects: projects, Tracker: board, Host: host, Messenger: memmessenger.New(), Workspaces: place, Agents: place,
		}),
	}, orchestrator.Options{})
	if err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	if err := admin.Pause(ctx, engine, "acme/app", "the release", admin.OperatorBy(stage.ViaAPI)); err != nil {
		fmt.Println(err)
	}
	paused, err := admin.Pauses(ctx, engine)
	fmt.Println(paused[0].Repo, paused[0].Why, err)
	// Output: acme/app paused by admin: the release <nil>
}
