package plane_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/adapters/plane/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/reconcile"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// reconciling adds the reconciler and the serial gate to a rig.
func reconciling(p *rig, _ *planetest.Options, _ *plane.Options) {
	features := p.Features
	p.Features = func() []orchestrator.Feature {
		rec, err := reconcile.New(reconcile.Options{Tracker: p.client, Board: p.client, Source: "plane"})
		require.NoError(p, err)
		gate, err := serialgate.New(serialgate.Options{Store: p.Store, Holds: p.Store, Inspector: p.Store, Repos: []string{"*"}})
		require.NoError(p, err)
		return append(features(), rec.Feature(), gate.Feature())
	}
}

// Twenty boards of a thousand cards cost ten requests a minute at most while nothing changes, and a
// move of which no webhook has come is found all the same.
func TestCostOfIdleBoards(t *testing.T) {
	const boards, cards = 20, 1000
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

// A card that is deleted or archived while its task lives is noticed, told of once, named by what
// waits for its task, and stopped by an operator. Nothing is made of one that a tracker lost for a
// moment, and of one that comes back.
func TestCardThatIsGone(t *testing.T) {
	for _, why := range []planetest.Gone{planetest.Deleted, planetest.Archived} {
		t.Run(string(why), func(t *testing.T) {
			engine(t, reconciling, func(p *rig) {
				item, next := p.card("one"), p.card("two")
				p.move(planetest.Human, item, stage.StatusToAnalyse)
				p.move(planetest.Human, next, stage.StatusToAnalyse)
				p.Settle(5 * time.Minute)
				require.Equal(p, stage.HoldApproval, p.Task(item).State.Hold)
				require.Contains(p, p.Explain(next).Blockers[0].Why, "and APP-1 (task 1) is before it")
				p.plane.Remove(item, why)
				p.Settle(time.Minute + 30*time.Second)
				require.Equal(p, "human", p.Explain(item).Blockers[0].Kind, "it may be a replica that lags")
				p.Settle(4 * time.Minute)
				x := p.Explain(item)
				require.Equal(p, "Goes on without its card: the card was deleted or archived on the board.", x.Summary)
				require.Equal(p, "card", x.Blockers[0].Kind)
				require.Equal(p, "Stop the task (its page on the dashboard, or POST /tasks/1/stop), or restore a card that was only archived", x.Blockers[0].Do)
				behind := p.Explain(next).Blockers[0]
				require.Contains(p, behind.Why, "; the card of task 1 was deleted or archived, so nobody can move it on the board")
				require.Equal(p, "Stop task 1: its page on the dashboard, or POST /tasks/1/stop", behind.Do)
				p.Settle(3 * time.Hour)
				require.Equal(p, 1, strings.Count(p.Notices(), "The card of APP-1 was deleted or archived on the board"), p.Notices())

				if why == planetest.Archived {
					p.plane.Restore(item)
					p.Settle(2 * time.Hour)
					require.Equal(p, "human", p.Explain(item).Blockers[0].Kind)
					p.plane.Remove(item, why)
					p.Settle(10 * time.Minute)
					require.Equal(p, "card", p.Explain(item).Blockers[0].Kind)
				}
				require.NoError(p, p.Engine.Stop(context.Background(), p.Task(item).ID, orchestrator.OperatorBy(stage.ViaAPI)))
				p.Settle(30 * time.Second)
				require.Equal(p, stage.Cancelled, p.Cancelled(item).State.Stage)
				require.Equal(p, stage.HoldApproval, p.Task(next).State.Hold, "the next one has begun")
				held, err := p.Store.Holds(context.Background())
				require.NoError(p, err)
				for _, h := range held {
					require.NotEqual(p, orchestrator.CardGone, h.Name)
				}
			})
		})
	}
}

// A card that cannot be found for a moment is not gone.
func TestCardThatIsBackSoon(t *testing.T) {
	engine(t, reconciling, func(p *rig) {
		item := p.card("one")
		p.move(planetest.Human, item, stage.StatusToAnalyse)
		p.Settle(5 * time.Minute)
		p.plane.Remove(item, planetest.Archived)
		p.Settle(90 * time.Second)
		p.plane.Restore(item)
		p.Settle(3 * time.Hour)
		require.NotContains(p, p.Notices(), "deleted or archived")
		require.Equal(p, "human", p.Explain(item).Blockers[0].Kind)
		require.Equal(p, 1, p.Ran(stage.Analyst))
	})
}
