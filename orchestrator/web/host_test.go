package web_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What people do with the branch or the pull request of a task is heard of.
func TestPeopleAtTheHost(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	sha := strings.Repeat("a", 40)
	pull := `{"action":%q,"number":1,"pull_request":{"number":1,"state":"open","head":{"ref":"feature/APP-1-x","sha":"` + sha + `","repo":{"full_name":"acme/app"}}},"repository":{"full_name":"acme/app"},"sender":{"login":"ann"}}`
	for n, c := range []struct{ event, body, want string }{
		{"push", `{"ref":"refs/heads/feature/APP-1-x","after":"` + sha + `","repository":{"full_name":"acme/app"}}`, "queued"},
		{"push", `{"ref":"refs/heads/main","after":"` + sha + `","repository":{"full_name":"acme/app"}}`, "ignored"},
		{"pull_request", fmt.Sprintf(pull, "synchronize"), "queued"}, {"pull_request", fmt.Sprintf(pull, "closed"), "queued"},
		{"pull_request", fmt.Sprintf(pull, "labeled"), "ignored"},
	} {
		require.Contains(t, k.github(fmt.Sprint("d", n), c.event, []byte(c.body)).body, c.want, c)
	}
	require.Len(t, k.jobs(), 3)
}
