package plane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// reconciling adds the reconciler and the serial gate to a rig.
func reconciling(p *rig, _ *planetest.Options, _ *plane.Options) {
	features := p.Features
	p.Features = func() []orchestrator.Feature {
		rec, err := reconcile.New(reconcile.Options{Tracker: p.client, Board: p.client, Sources: []string{"plane"}})
		require.NoError(p, err)
		gate, err := serialgate.New(serialgate.Options{Parts: p.Parts(), Repos: []string{"*"}})
		require.NoError(p, err)
		return append(features(), rec.Feature(), gate.Feature())
	}
}

// Twenty boards of a thousand cards cost ten requests a minute at most while nothing changes, and a
// move of which no webhook has come is found all the same.
func TestCostOfIdleBoards(t *testing.T) {
	boards, cards := 20, 1000
	if testing.Short() {
		cards = 100
	}
	engine(t, func(p *rig, s *planetest.Options, o *plane.Options) {
		reconciling(p, s, o)
		s.RateLimit = 60
	}, func(p *rig) {
		p.Shutdown()
		var last string
		for n := range boards {
			id := p.plane.AddProject(fmt.Sprint("P", n), planetest.StandardStates()...)
			p.Projects = append(p.Projects, task.Project{TrackerProject: id, Repo: fmt.Sprint("acme/p", n), CloneURL: "u", Prefix: fmt.Sprint("P", n), Main: "main"})
			p.plane.SetHookURL("") // nobody hears of these
			for range cards {
				var err error
				last, err = p.plane.AddItem(id, "a card", "<p>"+strings.Repeat("x", 100)+"</p>")
				require.NoError(p, err)
			}
		}
		p.Projects = p.Projects[1:]
		p.Start()
		p.Settle(10 * time.Minute) // all have been listed once
		const hours = 1
		before := p.made()
		p.Settle(hours * time.Hour)
		perMinute := float64(p.made()-before) / (hours * 60)
		t.Logf("%.2f requests a minute; %.2f by IdleCost; %v", perMinute, reconcile.IdleCost(boards, 60, time.Minute), p.plane.Requests())
		require.LessOrEqual(p, perMinute, 10.0)
		require.InDelta(p, reconcile.IdleCost(boards, 60, time.Minute), perMinute, 1)

		require.NoError(p, p.plane.Move(last, "To Analyse"))
		p.Settle(4 * time.Minute)
		require.Equal(p, stage.HoldApproval, p.Task(last).State.Hold, "each board has its turn within three minutes")
	})
}

// made counts the requests of the rig.
func (p *rig) made() (n int) {
	for _, times := range p.plane.Requests() {
		n += times
	}
	return n
}

// A card that is deleted or archived while its task lives, or whose project is, holds the task: people
// are notified once, what waits for the task names it, a card that comes back frees it and an
// operator can stop it.
func TestCardThatIsGone(t *testing.T) {
	const reason = "the card is not on the board any more: it was deleted, archived or moved to another project"
	for name, c := range map[string]struct{ remove, restore func(p *rig, item string) }{
		"deleted": {func(p *rig, item string) { p.plane.Remove(item, planetest.Deleted) }, nil},
		"archived": {
			func(p *rig, item string) { p.plane.Remove(item, planetest.Archived) },
			func(p *rig, item string) { p.plane.Restore(item) },
		},
		"moved": {func(p *rig, item string) { p.plane.MoveTo(item, p.plane.AddProject("OTH", "Backlog")) }, nil},
		"of an archived project": {
			func(p *rig, _ string) { p.plane.ArchiveProject(p.project, true) },
			func(p *rig, _ string) { p.plane.ArchiveProject(p.project, false) },
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine(t, reconciling, func(p *rig) {
				item, next := p.card("one"), p.card("two")
				p.begin(item)
				p.begin(next)
				p.Settle(5 * time.Minute)
				p.isReviewed(item)
				require.Contains(p, p.Explain(next).Blockers[0].Why, "and APP-1 (task 1) is before it")
				c.remove(p, item)
				p.Settle(65 * time.Minute) // an archived project and a move beside a new card fall to the hourly listing
				x := p.Explain(item)
				require.Equal(p, "Held: "+reason+".", x.Summary)
				require.Equal(p, "card", x.Blockers[0].Kind)
				require.Contains(p, x.Blockers[0].Do, "signalbox stop 1")
				behind := p.Explain(next).Blockers[0]
				if name != "of an archived project" {
					require.Contains(p, behind.Why, "; task 1 is held for its card")
					require.Contains(p, behind.Do, "Task 1: restore the card")
				}
				p.Settle(3 * time.Hour)
				require.Equal(p, 1, strings.Count(p.Notices(), "APP-1: one | "+reason+". The task is held"), p.Notices())

				if c.restore != nil {
					c.restore(p, item)
					p.Settle(2 * time.Hour)
					require.Equal(p, "human", p.Explain(item).Blockers[0].Kind)
					c.remove(p, item)
					p.Settle(2 * time.Hour)
					require.Equal(p, "card", p.Explain(item).Blockers[0].Kind)
				}
				require.NoError(p, admin.Stop(context.Background(), p.Engine, p.Task(item).ID, admin.OperatorBy(stage.ViaAPI)))
				p.Settle(30 * time.Second)
				require.Equal(p, stage.Cancelled, p.Cancelled(item).State.Stage)
				held, err := p.Engine.GoneCards(context.Background())
				require.NoError(p, err)
				require.NotContains(p, held, int64(1))
			})
		})
	}
}

// A card that is deleted while an agent works: the agent ends, the column that is written finds nobody, and
// nothing of the task begins, is merged or deployed.
func TestCardThatIsDeletedAtWork(t *testing.T) {
	for _, at := range []stage.Stage{stage.Architecture, stage.Development, stage.Review, stage.Testing, stage.DeployStaging, stage.Deploy} {
		t.Run(string(at), func(t *testing.T) {
			engine(t, nil, func(p *rig) {
				item := p.card("one")
				var deleted bool
				p.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					if c.Stage == at && !deleted {
						deleted = true
						p.plane.Remove(item, planetest.Deleted)
					}
					return orchestratortest.GoodAgent(ctx, c, files)
				})
				p.begin(item)
				p.Settle(time.Minute)
				p.approve(item)
				p.Settle(3 * time.Hour)
				require.True(p, deleted)
				task := p.Task(item)
				if at == stage.Deploy { // the deployment was under way
					require.Equal(p, stage.Done, task.State.Stage)
					return
				}
				after := 0
				for _, c := range p.Place.Runs() {
					if c.TaskID == task.ID && c.Stage != at && slices.Index(stages, c.Stage) > slices.Index(stages, at) {
						after++
					}
				}
				require.LessOrEqual(p, after, 2, "at most until the column is written next")
				require.Empty(p, task.State.MergeSHA, "nothing is merged")
				require.False(p, task.State.Stage.Terminal())
				require.Equal(p, "card", p.Explain(item).Blockers[0].Kind)
				require.Equal(p, 1, strings.Count(p.Notices(), "The task is held: "), p.Notices())
				require.NotContains(p, p.Notices(), "could not be made")
			})
		})
	}
}

func chanceOf(is bool) float64 {
	if is {
		return 1
	}
	return 0
}

var stages = []stage.Stage{stage.Analysis, stage.Architecture, stage.Development, stage.Review, stage.Testing, stage.DeployStaging, stage.Deploy}

// Nothing is merged or deployed while the board cannot be read; agents go on until then.
func TestNothingIrreversibleWithoutTheBoard(t *testing.T) {
	for name, away := range map[string]func(p *rig, is bool){
		"errors": func(p *rig, is bool) { p.plane.SetFaults(fakehttp.Faults{ErrorBefore: chanceOf(is)}) },
		"hangs":  func(p *rig, is bool) { p.plane.SetFaults(fakehttp.Faults{Held: chanceOf(is), Hold: time.Hour}) },
		"not a member": func(p *rig, is bool) {
			role := planetest.Normal
			if is {
				role = 0
			}
			p.plane.SetRole(p.project, bot, role)
		},
	} {
		t.Run(name, func(t *testing.T) {
			engine(t, nil, func(p *rig) {
				item := p.card("one")
				p.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					if c.Stage == stage.Testing {
						away(p, true)
					}
					return orchestratortest.GoodAgent(ctx, c, files)
				})
				p.begin(item)
				p.Settle(time.Minute)
				p.approve(item)
				p.Settle(2 * time.Hour)
				require.Equal(p, stage.PhaseMerge, p.Task(item).State.Phase)
				require.Empty(p, p.Task(item).State.MergeSHA)
				require.Contains(p, p.Explain(item).Blockers[0].Why, "nothing is merged or deployed until")
				away(p, false)
				p.Settle(10 * time.Minute)
				p.isDone(item)
			})
		})
	}
}

// Plane's own Cancelled holds the task where it is, and the service leaves the card there. What a person has written in
// Plane's editor meanwhile reaches the agents as Markdown.
func TestCardInPlanesCancelled(t *testing.T) {
	engine(t, reconciling, func(p *rig) {
		item := p.started("one")
		require.NoError(p, p.plane.MoveAs(planetest.Human, item, "Cancelled"))
		p.Settle(5 * time.Minute)
		require.Equal(p, "Cancelled", p.column(item))
		require.Contains(p, p.Explain(item).Blockers[0].Why, "the card stands in Cancelled")
		p.plane.Edit(item, "one", `<p>See <a href="https://figma.example/x">mockup</a></p><pre><code class="language-go">a()</code></pre>`)
		p.move(planetest.Human, item, stage.StatusInProgress)
		p.approve(item)
		p.Settle(5 * time.Minute)
		p.isDone(item)
		for _, c := range p.Place.Runs()[1:] {
			require.Contains(p, c.Prompt, "    See [mockup](https://figma.example/x)\n    \n    ```go\n    a()\n", c.Role)
		}
	})
}
