package githost_test

import (
	"context"
	"fmt"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
)

// A function that needs a git host takes the part that it uses.
func Example() {
	failing := func(h githost.Host, repo, sha string) (names []string) {
		list, _ := h.Checks(context.Background(), repo, "main", sha)
		for _, c := range list {
			if c.State == githost.CheckFailed {
				names = append(names, c.Name)
			}
		}
		return names
	}
	h := memhost.New()
	h.SetChecks("abc", githost.Check{Name: "build", State: githost.CheckPassed}, githost.Check{Name: "e2e", State: githost.CheckFailed})
	fmt.Println(failing(h, "acme/app", "abc"))
	// Output: [e2e]
}

// A repository without a git host says so, and a merge moves its main forward.
func ExamplePlain() {
	h := memhost.New()
	h.MakePlain("acme/app")
	h.Push("acme/app", "main", "a")
	h.Push("acme/app", "feature/x", "b")
	ctx := context.Background()
	if p, ok := githost.PlainOf(h, "acme/app"); ok {
		_, err := h.OpenPullRequest(ctx, githost.NewPullRequest{Repo: "acme/app", Head: "feature/x", Base: "main"})
		fmt.Println(err)
		_, _ = h.Merge(ctx, githost.Merge{Repo: "acme/app", Head: "feature/x", Base: "main", HeadSHA: "b"})
		fmt.Println(githost.Landed(ctx, p, "acme/app", "main", "b"))
	}
	// Output:
	// githost: the repository is git alone: it has no pull requests, reviews or checks
	// b <nil>
}
