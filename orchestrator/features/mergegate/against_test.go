package mergegate_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// A journal that was made without the merge gate and without lists of people differs under another policy where that
// policy has a say, once, and nowhere else.
func TestJournalAgainstOtherPolicies(t *testing.T) {
	mergeGate(t, func(g *gateRig) {
		features := g.Features
		restart := func(change func()) {
			g.Shutdown()
			change()
			g.Start()
		}
		restart(func() { g.Features = nil })
		green := g.Finish("x")
		g.SetCI(githost.CheckFailed)
		sentBack := g.Begin("y")
		g.Settle(10 * time.Second)
		g.Set(sentBack, stage.StatusApproved)
		g.Settle(time.Minute)
		g.SetCI(githost.CheckPassed)
		g.Settle(10 * time.Minute)
		restart(func() {})

		differ := func(all bool) (causes []string) {
			g.Helper()
			for _, item := range []string{green, sentBack} {
				c, err := admin.Compare(context.Background(), g.Engine, g.Task(item).ID, all)
				require.NoError(g, err)
				require.Empty(g, c.Broken)
				require.Empty(g, c.Unknown)
				require.Greater(g, c.Decisions, 4)
				for _, d := range c.Differ {
					causes = append(causes, fmt.Sprint(d.On, d.Causes))
				}
			}
			return causes
		}
		require.Empty(g, differ(true), "no change")
		base := slices.Clone(g.Projects)
		for _, c := range []struct {
			name   string
			change func(*task.Project)
			want   []string
		}{
			{"other approvers", func(p *task.Project) { p.People.Approvers = []string{"nobody"} }, []string{"approved[other person later]", "approved[other person later]"}},
			{"other starters", func(p *task.Project) { p.People.Starters = []string{"nobody"} }, []string{"to_analyse[other person later]", "to_analyse[other person later]"}},
			{"those who have approved", func(p *task.Project) { p.People.Approvers = []string{"kim"} }, nil},
			{"a further file", func(p *task.Project) {
				p.Required = map[stage.Stage][]string{stage.Architecture: {"design.md", "threats.md"}}
			}, []string{"agent_finished[other verdict of the gates later more runs]", "agent_finished[other verdict of the gates later more runs]"}},
			{"a file that was there", func(p *task.Project) { p.Required = map[stage.Stage][]string{stage.Architecture: {"requirements.md"}} }, nil},
			{"another chat", func(p *task.Project) { p.Chat = "elsewhere" }, nil},
		} {
			restart(func() {
				g.Projects = slices.Clone(base)
				c.change(&g.Projects[0])
			})
			require.Equal(g, c.want, differ(false), c.name)
		}
		restart(func() { g.Projects, g.Features = base, func() []orchestrator.Feature { return features()[1:] } })
		require.Equal(g, []string{"agent_finished[later]", "agent_finished[later]"}, differ(false), "each is brought up to date first")
		restart(func() { g.Features, g.Options.Stage.CIPoll = nil, time.Hour })
		require.Empty(g, differ(false))
		require.NotEmpty(g, differ(true), "a delay is told on demand")
	})
}
