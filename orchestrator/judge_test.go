package orchestrator_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// loosening is a developer whose Makefile calls everything good.
func loosening() memwork.Script {
	return Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		res := GoodAgent(ctx, c, files)
		files["Makefile"] = "test: true"
		return res
	})
}

// A branch is judged with main's files of a command; where those do not pass, its own are tried, the result says so, and
// a person has to let them pass. From then on they count.
func TestBranchesAreJudgedByMain(t *testing.T) {
	for name, c := range map[string]struct {
		main, own, after int // how make ends with main's Makefile, and with the branch's before and after a person's word
		note, reason     string
	}{
		"main's passes":        {0, 0, 0, "by main's Makefile", ""},
		"the branch's alone":   {2, 0, 0, "by the branch's own Makefile; by main's it is exit code 2", ""},
		"neither":              {2, 1, 1, "by the branch's own Makefile; by main's it is exit code 2", "CI failed"},
		"not after the person": {0, 0, 2, "by main's Makefile", "CI failed"},
	} {
		t.Run(name, func(t *testing.T) {
			plain(t, func(p *plainRig) {
				p.Projects[0].Protected = task.Protected{More: []string{"Makefile"}}
				p.Projects[0].CI = [][]string{{"make", "test"}}
			}, func(p *plainRig) {
				p.Place.SetScript(loosening())
				vouched := false
				p.endAs(func(ctx context.Context, _ []string) (int, string, error) {
					switch base, main := ctx.Value(filesOfMain{}).(string); {
					case main:
						require.Equal(p, "main-0", base)
						require.False(p, vouched, "a person has let the branch's pass")
						return c.main, "", nil
					case vouched:
						return c.after, "", nil
					}
					return c.own, "", nil
				})
				item := p.Card(App, "x")
				p.ToDone(App, item)
				now := p.Task(item)
				require.Equal(p, stage.Development, now.State.Stage)
				require.Equal(p, c.note, now.State.CI.Results[0].Note)
				by := now.State.CI.Results[0].Provenance
				require.Equal(p, stage.Provenance{Issuer: stage.IssuerService, Proof: stage.ProofExit, SHA: now.State.Head, At: by.At, Judge: by.Judge}, by)
				require.Equal(p, c.main == 0, by.Judge == "main-0")
				if c.own != 0 {
					require.Contains(p, now.State.Feedback+now.State.HoldReason, c.reason)
					return
				}
				require.Equal(p, stage.HoldApproval, now.State.Hold)
				require.Contains(p, now.State.HoldReason, "changes protected paths: Makefile")
				vouched = true
				p.Set(item, stage.StatusApproved)
				p.Settle(2 * time.Minute)
				if c.after == 0 {
					p.Stands(item, stage.Done)
					require.Contains(p, p.Task(item).State.CI.Results[0].Note, "by the branch's own Makefile")
					return
				}
				p.Stands(item, stage.Development)
				require.NotContains(p, p.Roles(), stage.Reviewer, "nothing is reviewed that its own files call red")
			})
		})
	}
}
