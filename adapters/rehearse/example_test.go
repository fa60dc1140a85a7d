package rehearse_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"

	"github.com/signalbox-dev/signalbox/adapters/rehearse"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// The agent costs nothing, reads nothing, and commits what its role owes.
func Example() {
	dir, err := os.MkdirTemp("", "checkout")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	git := exec.Command("sh", "-c", "git init -q && git config user.name a && git config user.email a@example.org")
	git.Dir = dir
	_ = git.Run()
	var agents rehearse.Agents
	done := agents.Run(context.Background(), work.Command{
		Dir: dir, Role: stage.Developer, WorkItem: "APP-1", Env: map[string]string{"SIGNALBOX_DOCS": "docs/work/APP-1"},
	})
	fmt.Println(done.Kind, done.Summary, done.Reason)
	// Output:
	// ok The rehearsal's developer has written what its role owes.
}
