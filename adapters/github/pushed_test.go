package github_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/github"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What a person pushes to the branch of a pull request, by git, "Update branch" or a suggestion in a review, comes as
// push and as pull_request; it is taken in once, and costs the runs that judge it again. Seven is a card without.
func TestPushesAreTakenIn(t *testing.T) {
	t.Parallel()
	for event, body := range map[string]string{
		"push": `{"ref":"refs/heads/%s","after":"%s","repository":{"full_name":"acme/app"},"sender":{"login":"ann","type":"User"}}`,
		"pull_request": `{"action":"synchronize","number":1,"pull_request":{"number":1,"state":"open","head":{"ref":"%s","sha":"%s","repo":{"full_name":"acme/app"}}},` +
			`"repository":{"full_name":"acme/app"},"sender":{"login":"autofix-ci[bot]","type":"Bot"}}`,
	} {
		t.Run(event, func(t *testing.T) {
			t.Parallel()
			f := &forge{standing: "clean"}
			c := client(t, github.Options{})
			played(t, f, func(r *orchestratortest.Rig) {
				item, pushed := r.Card(orchestratortest.App, "x"), ""
				r.Place.SetScript(func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
					if cmd.Role == stage.Tester && pushed == "" {
						pushed = r.PushUnheard(item, "", map[string]string{"theirs.go": "package theirs"})
						hook := decode(r, c, event, fmt.Appendf(nil, body, r.Task(item).Branch, pushed))
						r.HostHook(hook)
						r.HostHook(hook)
						return orchestratortest.Hang(ctx, cmd, files)
					}
					return orchestratortest.GoodAgent(ctx, cmd, files)
				})
				r.ToDone(orchestratortest.App, item)
				r.Settle(10 * time.Minute)
				require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Comments(orchestratortest.App, item))
				require.True(r, r.Place.Contains(r.Task(item).State.Head, pushed))
				require.Len(r, r.Roles(), 9)
				require.Equal(r, 1, f.merges)
				require.Equal(r, 1, strings.Count(strings.Join(r.Comments(orchestratortest.App, item), "\n"), "1 commit, up to "+pushed[:12]))
				r.Replays()
			})
		})
	}
}
