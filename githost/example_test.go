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
		list, _ := h.Checks(context.Background(), repo, sha)
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
