package gitea_test

import (
	"fmt"

	"github.com/signalbox-dev/signalbox/adapters/gitea"
	"github.com/signalbox-dev/signalbox/orchestrator/signature"
)

func Example() {
	c, err := gitea.New(gitea.Options{BaseURL: "https://git.example.org", Token: "t", Secrets: signature.Of("s")})
	if err != nil {
		fmt.Println(err)
		return
	}
	h, err := c.Decode("pull_request_approved", []byte(`{"action":"reviewed","number":4,"review":{"type":"pull_request_review_approved"},
		"pull_request":{"head":{"label":"feature/x","sha":"abc","repo_id":5},"base":{"repo_id":5}},"repository":{"full_name":"acme/shop"},"sender":{"login":"kim"}}`))
	fmt.Println(h.Kind, h.Repo, h.Branch, h.State, h.Sender, err)
	// Output:
	// review acme/shop feature/x approved kim <nil>
}
