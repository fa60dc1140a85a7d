package plane_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/adapters/plane"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/fakehttp"
	"github.com/signalbox-dev/signalbox/internal/planetest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// gauges keeps the newest value of each gauge, by name and labels.
type gauges struct {
	sync.Mutex
	values map[string]float64
}

func (g *gauges) Add(string, float64, ...string)     {}
func (g *gauges) Observe(string, float64, ...string) {}

func (g *gauges) Set(name string, v float64, labels ...string) {
	g.Lock()
	defer g.Unlock()
	g.values[name+" "+strings.Join(labels, "=")] = v
}

func (g *gauges) get(name string) float64 {
	g.Lock()
	defer g.Unlock()
	return g.values[name]
}

// takes is a good agent that needs some time.
func takes(d time.Duration) memwork.Script {
	return func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		time.Sleep(d)
		return orchestratortest.GoodAgent(ctx, c, files)
	}
}

// What is used of the budget is in /queue and measured.
func TestBudgetIsShown(t *testing.T) {
	meter := &gauges{values: map[string]float64{}}
	engine(t, func(p *rig, s *planetest.Options, _ *plane.Options) {
		s.RateLimit = 60
		p.Deps = func(d *orchestrator.Deps) { d.Meter = meter }
	}, func(p *rig) {
		p.started("one")
		v, err := explain.ReadQueue(context.Background(), p.Engine)
		require.NoError(p, err)
		body, err := v.MarshalJSON()
		require.NoError(p, err)
		require.Contains(p, string(body), `"tracker_requests":[{"limit":60,"token":"Token","used":`)
		p.Settle(20 * time.Second)
		require.Equal(p, []float64{60, 0}, []float64{meter.get("tracker_requests_limit token=Token"), meter.get("tracker_paused token=Token")})
		require.EqualValues(p, p.client.Budgets()[0].Used, meter.get("tracker_requests_used token=Token"))
		require.Positive(p, p.client.Budgets()[0].Used)
	})
}

// A card that goes through the pipeline without a hitch costs at most 49 requests, by agents of a minute each: less than a
// minute of a token that may make 60. Four are the looks at its text by agents that begin long after a person's word, and
// two at its log for a STOP that was moved on, before the merge and the deployment; seven at its relations, one for each agent. Up to
// two come where a status is set right before its agent looks.
func TestCostOfALife(t *testing.T) {
	engine(t, func(p *rig, _ *planetest.Options, _ *plane.Options) {
		p.Place.OnPush = func(repo, branch, sha string) {
			p.Pushed(repo, branch, sha)
			p.HostHook(githost.Hook{Kind: githost.HookCI, Repo: repo, Branch: branch, SHA: sha, State: string(githost.CheckPassed)})
		}
		features := p.Features
		p.Features = func() []orchestrator.Feature {
			d, err := deps.New(deps.Options{Parts: p.Parts(), Relations: p.client, Items: p.client})
			require.NoError(p, err)
			return append(features(), d.Feature())
		}
	}, func(p *rig) {
		p.Place.SetScript(takes(time.Minute))
		p.plane.AddMember(planetest.Member{ID: planetest.Human})
		item := p.started("one")
		p.Settle(2 * time.Minute)
		p.approve(item)
		p.Settle(10 * time.Minute)
		p.isDone(item)
		made := p.plane.Requests()
		total := -made["GET users/me"] // of the start
		for call, n := range made {
			t.Logf("%3d %s", n, call)
			total += n
		}
		require.LessOrEqual(p, total, 49)
		require.Equal(p, 1, made["GET states"])
	})
}

// Comments are read once for agents that follow each other, and again when a webhook of one has
// come or ten minutes have passed.
func TestCommentsAreReadAgain(t *testing.T) {
	for name, c := range map[string]struct {
		lost bool // the webhook
		work time.Duration
		want bool
	}{
		"a webhook":      {want: true},
		"none":           {lost: true},
		"none, and time": {lost: true, work: 11 * time.Minute, want: true},
	} {
		t.Run(name, func(t *testing.T) {
			engine(t, nil, func(p *rig) {
				item := p.card("one")
				p.Place.SetScript(orchestratortest.Instead(stage.Architect, func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
					if c.lost {
						p.plane.SetFaults(fakehttp.Faults{HookLost: 1})
					}
					require.NoError(p, p.plane.Say(item, "<p>Mind the gap.</p>"))
					p.plane.SetFaults(fakehttp.Faults{})
					time.Sleep(c.work)
					return orchestratortest.GoodAgent(ctx, cmd, files)
				}))
				p.begin(item)
				p.approve(item)
				p.Settle(time.Hour)
				for _, run := range p.Place.Runs() {
					if run.Role == stage.Developer {
						require.Equal(p, c.want, strings.Contains(run.Prompt, "Mind the gap."))
					}
				}
				p.isDone(item)
			})
		})
	}
}

// A status is written without another look at a card that was read or written a moment ago, and
// with one later: a person may have moved it since.
func TestLookBeforeAWrite(t *testing.T) {
	for wait, looks := range map[time.Duration]int{time.Second: 2, time.Minute: 3} { // two are for the webhooks
		engine(t, nil, func(p *rig) {
			p.Place.SetScript(orchestratortest.Instead(stage.Analyst, takes(wait)))
			item := p.started("one")
			p.Settle(2 * time.Minute)
			require.Equal(p, "In Review", p.column(item))
			require.Equal(p, looks, p.plane.Requests()["GET work-items/*"])
		})
	}
}
