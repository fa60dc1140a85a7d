package github_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func Example() {
	c, err := github.New(github.Options{Token: "t", Secrets: signature.Of("s")})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := c.Decode("check_run", []byte(`{"action":"completed","check_run":{"head_sha":"abc","status":"completed","conclusion":"success",
		"check_suite":{"head_branch":"feature/x"}},"repository":{"full_name":"acme/shop"}}`))
	fmt.Println(h.Kind, h.Repo, h.Branch, h.State, err)
	// Output: ci acme/shop feature/x passed <nil>
}
