package gitonly_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/signalbox-dev/signalbox/adapters/gitcli"
	"github.com/signalbox-dev/signalbox/adapters/gitonly"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// A bare repository on this machine is served without a git host: what it lacks is said.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "gitonly")
	if err != nil {
		fmt.Println(err)
		return
	}
	defer os.RemoveAll(dir)
	bare := filepath.Join(dir, "shop.git")
	for _, command := range []string{
		"git init --quiet --bare --initial-branch=main shop.git",
		"git --git-dir shop.git update-ref refs/heads/main $(git --git-dir shop.git commit-tree -m first $(git --git-dir shop.git mktree </dev/null))",
	} {
		cmd := exec.CommandContext(ctx, "sh", "-c", command)
		cmd.Dir = dir
		cmd.Env = append(os.Environ(), "GIT_AUTHOR_NAME=kim", "GIT_AUTHOR_EMAIL=kim@example.org", "GIT_COMMITTER_NAME=kim", "GIT_COMMITTER_EMAIL=kim@example.org")
		if out, err := cmd.CombinedOutput(); err != nil {
			fmt.Println(err, string(out))
			return
		}
	}
	git, err := gitcli.New(ctx, gitcli.Options{Root: filepath.Join(dir, "mirrors")})
	if err != nil {
		fmt.Println(err)
		return
	}
	host := gitonly.New(git, func(repo string) (work.Workspace, bool) {
		return work.Workspace{Repo: repo, CloneURL: bare, Main: "main"}, repo == "acme/shop"
	})
	heads, err := host.Heads(ctx, "acme/shop")
	fmt.Println("branches:", len(heads), err)
	_, err = host.PullRequest(ctx, "acme/shop", "feature/SHOP-1", "main")
	fmt.Println(err)
	// Output:
	// branches: 1 <nil>
	// githost: the repository is git alone: it has no pull requests, reviews or checks
}
