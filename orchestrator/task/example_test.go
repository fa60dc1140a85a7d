package task_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

func Example() {
	projects, err := task.NewProjects(task.Project{TrackerProject: "p1", Repo: "acme/app", CloneURL: "https://example.org/acme/app.git", Prefix: "APP"})
	if err != nil {
		fmt.Println(err)
		return
	}
	p, _ := projects.ByTracker("p1")
	free := func(string) bool { return false }
	id := task.WorkItemID(p.Prefix, 7, free)
	fmt.Println(id, task.BranchName(id, task.Slug("Cache the tiles"), "c0ffee", free), p.Docs(id))

	_, err = task.NewProjects(task.Project{TrackerProject: "p1", Repo: "app"})
	fmt.Println(err)
	// Output:
	// APP-7 feature/APP-7-cache-the-tiles docs/work/APP-7
	// project 1 (app): repo: is "app", want owner/name
}
