package gitcli_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A task gets a branch and a checkout of its own from a repository's main.
func Example() {
	dir, err := os.MkdirTemp("", "gitcli")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	origin := filepath.Join(dir, "origin.git")
	script := `git init -q --bare --initial-branch=main "$1" && git clone -q "$1" "$1.seed" 2>/dev/null && cd "$1.seed" &&
		git checkout -q -B main && git -c user.name=kim -c user.email=kim@example.org commit -q --allow-empty -m first && git push -q origin main`
	if err := exec.Command("sh", "-c", script, "sh", origin).Run(); err != nil {
		fmt.Println(err)
		return
	}
	ctx := context.Background()
	git, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(dir, "data")})
	if err != nil {
		fmt.Println(err)
		return
	}
	space := work.Workspace{
		Repo: "acme/app", CloneURL: origin, Main: "main", Branch: "feature/APP-1-cache-tiles", WorkItem: "APP-1", Docs: "docs/work/APP-1",
	}
	checkout, err := git.Open(ctx, space, []work.File{{Path: "docs/work/APP-1/request.md", Body: []byte("# APP-1\n")}})
	if err != nil {
		fmt.Println(err)
		return
	}
	rel, _ := filepath.Rel(dir, checkout.Dir)
	tip, err := git.Tip(ctx, space)
	fmt.Println(rel, len(tip.SHA), err)
	err = git.Push(ctx, space, tip.SHA, "")
	fmt.Println("pushed:", err)
	// Output:
	// data/work/acme--app/APP-1 40 <nil>
	// pushed: <nil>
}
