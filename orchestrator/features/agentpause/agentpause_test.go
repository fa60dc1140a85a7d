package agentpause_test

import (
	"bytes"
	"cmp"
	"context"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/agentpause"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// account models what agents work by; it can be in trouble.
type account struct {
	mu      sync.Mutex
	trouble work.Trouble
	of      string // the agent that has it; empty = each
}

func (a *account) set(t work.Trouble) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.trouble = t
}

func (a *account) work(ctx context.Context, c work.Command, files map[string]string) work.Result {
	a.mu.Lock()
	trouble := a.trouble
	if a.of != "" && a.of != c.Agent.Use {
		trouble = work.Trouble{}
	}
	a.mu.Unlock()
	if trouble.Kind == "" {
		return GoodAgent(ctx, c, files)
	}
	return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: "Claude usage limit reached", Usage: work.Usage{MicroUSD: 7}, Trouble: trouble}
}

// world is a rig with the feature, whose newest one it has.
type world struct {
	*Rig
	account
	feature *agentpause.Pauses
	said    bytes.Buffer // the log of the feature
}

// paused makes a rig whose roles have agents: all claude, the reviewer codex.
func paused(t *testing.T, f func(*world)) {
	t.Helper()
	w := &world{}
	log := slog.New(slog.NewTextHandler(&w.said, nil)) // of all processes: its lock is the handler's
	Run(t, func(r *Rig) {
		w.Rig = r
		r.Place.SetScript(w.work)
		r.Options.MaxConcurrency = 8
		for i := range r.Projects {
			r.Projects[i].Agents = map[stage.Role]work.Agent{stage.Reviewer: {Use: "codex"}}
			for _, role := range []stage.Role{stage.Analyst, stage.Architect, stage.Developer, stage.Tester, stage.Deployer} {
				r.Projects[i].Agents[role] = work.Agent{Use: "claude", Model: "opus"}
			}
		}
		r.Features = func() []orchestrator.Feature {
			projects, err := task.NewProjects(r.Projects...)
			require.NoError(r, err)
			r.Registry = projects
			w.feature, err = agentpause.New(orchestrator.Parts{Store: r.Store, Projects: projects, Agents: r.Place, Log: log})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			c, err := waitcomment.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{s, w.feature.Feature(), c}
		}
	}, func(*Rig) { f(w) })
}

// notices counts the notices with a text in them.
func (w *world) notices(part string) (n int) {
	for line := range strings.Lines(w.Notices()) {
		if strings.Contains(line, part) {
			n++
		}
	}
	return n
}

func (w *world) stored() []task.Pause {
	w.Helper()
	list, err := w.Store.Pauses(context.Background())
	require.NoError(w, err)
	return list
}

func (w *world) cards(n int) (items []string) {
	for range n {
		items = append(items, w.Begin("x"))
	}
	return items
}

// approve lets cards go on that wait for it.
func (w *world) approve(items ...string) {
	for _, item := range items {
		w.Set(item, stage.StatusApproved)
	}
}

// A limit pauses the agent for all tasks until it ends: one notice, no failure of a task,
// no slot.
func TestUsageLimit(t *testing.T) {
	paused(t, func(w *world) {
		until := time.Now().Add(3 * time.Hour)
		w.set(work.Trouble{Kind: work.TroubleLimit, Until: until})
		items := w.cards(5)
		w.Settle(2 * time.Minute)
		later := w.cards(3)
		w.Settle(2 * time.Hour)
		require.LessOrEqual(w, len(w.Roles()), 5+2, "those that had begun, once each, and two tries")
		require.Equal(w, 1, w.notices("is paused"))
		require.Contains(w, w.Notices(), "claude is paused | claude: its usage limit is reached. Wait, or name another agent in the registry and reload it. It is used again by itself at 03:00 UTC. One task tries it every hour before. "+
			"Tasks wait for it and lose no try. It said: Claude usage limit reached")
		for _, item := range append(items, later...) {
			x := w.Explain(item)
			require.Zero(w, w.Task(item).State.Failures)
			require.Equal(w, stage.Analyst, w.Task(item).State.Active)
			require.Len(w, x.Blockers, 1)
			require.Equal(w, "waits for claude until 1 Jan 03:00 UTC: its usage limit is reached (agent pause)", x.Blockers[0].Why)
			require.WithinDuration(w, until, x.Blockers[0].Until, time.Second)
			require.Contains(w, x.Blockers[0].Do, "Wait, it ends by itself; to try at once, run signalbox resume claude, or press Resume")
			require.True(w, w.Commented(App, item, "Waits for claude until 1 Jan 03:00 UTC: its usage limit is reached."))
		}
		v, err := explain.ReadQueue(context.Background(), w.Engine)
		require.NoError(w, err)
		require.Contains(w, fmt.Sprint(v.Features[agentpause.Name]), "its usage limit is reached")
		runs, err := w.Store.AgentRuns(context.Background())
		require.NoError(w, err)
		require.Equal(w, work.TroubleLimit, runs[0].Trouble)
		require.EqualValues(w, 7, runs[0].Usage.MicroUSD)
		require.Positive(w, w.Replays())

		w.set(work.Trouble{})
		w.Settle(time.Hour)
		require.Equal(w, 1, w.notices("claude is used again | claude: it can be used again, by its own word. It was paused since 00:00 UTC: its usage limit is reached."))
		require.Equal(w, 2, len(strings.Split(strings.TrimSpace(w.Notices()), "\n"))-w.notices("approval needed"), "and nothing besides: %s", w.Notices())
		require.Empty(w, w.stored())
		require.Equal(w, len(runs)+8, w.Ran(stage.Analyst))
		w.approve(append(items, later...)...)
		w.Settle(5 * time.Minute)
		w.Stands(items[0], stage.Done)
		w.nothingLeft()
	})
}

// An end that is named too late, or by a liar, keeps nobody waiting for longer than an hour.
func TestNamedEndIsTried(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleLimit, Until: time.Now().Add(300 * 24 * time.Hour)})
		items := w.cards(3)
		w.Settle(50 * time.Minute)
		ran := len(w.Roles())
		w.set(work.Trouble{})
		w.Settle(time.Minute)
		require.Len(w, w.Roles(), ran, "it is not tried before its time")
		w.Settle(15 * time.Minute)
		require.Equal(w, 1, w.notices("claude: a run of it has worked"))
		require.Empty(w, w.stored())
		w.approve(items...)
		w.Settle(5 * time.Minute)
		w.Stands(items[0], stage.Done)
		w.nothingLeft()
	})
}

func (w *world) nothingLeft() {
	w.Helper()
	held, err := w.Store.Holds(context.Background())
	require.NoError(w, err)
	for _, h := range held {
		require.NotEqual(w, agentpause.Name, h.Name, "%+v", h)
	}
	require.Empty(w, w.stored())
}

// Where nobody can say when it ends, one task at a time tries the agent, at times that
// double, and a success ends the pause for all.
func TestLogin(t *testing.T) {
	paused(t, func(w *world) {
		begun := time.Now()
		w.set(work.Trouble{Kind: work.TroubleLogin})
		items := w.cards(1)
		w.Settle(time.Minute)
		items = append(items, w.cards(3)...)
		var tries []time.Duration
		for had := len(w.Roles()); time.Since(begun) < 5*time.Hour; {
			w.Settle(10 * time.Second)
			if now := len(w.Roles()); now > had {
				require.Equal(w, had+1, now, "one at a time")
				tries, had = append(tries, time.Since(begun).Round(time.Minute)), now
			}
		}
		require.Equal(w, []time.Duration{5 * time.Minute, 15 * time.Minute, 35 * time.Minute, 75 * time.Minute, 135 * time.Minute, 195 * time.Minute, 255 * time.Minute}, tries)
		require.Contains(w, w.Notices(), "claude: nobody is signed in, or its key is refused. Run `claude /login` as the service's user, or set ANTHROPIC_API_KEY and restart the service. It is tried again by itself at 00:05 UTC, or at once by Resume on the dashboard (Queue).")
		require.Equal(w, 1, w.notices("claude"), "and one notice: %s", w.Notices())
		require.Contains(w, w.Explain(items[3]).Blockers[0].Why, "waits for claude: nobody is signed in, or its key is refused; it is tried again at 05:15 UTC")

		w.set(work.Trouble{})
		w.Settle(20 * time.Minute)
		require.Equal(w, 1, w.notices("claude: a run of it has worked"))
		w.approve(items...)
		w.Settle(5 * time.Minute)
		for _, item := range items {
			w.Stands(item, stage.Done)
		}
		require.Equal(w, 2, w.notices("claude"))
		w.nothingLeft()
	})
}

// A program that is not there is to be installed, not updated; no log line has a time that is none.
func TestMissingProgram(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleMissing})
		w.cards(1)
		w.Settle(time.Minute)
		require.Contains(w, w.Notices(), "claude: its program is not installed. Install it for the service's user, or name another agent in the registry and reload it.")
		require.Contains(w, w.said.String(), "an agent is paused for all tasks")
		require.NotContains(w, w.said.String(), "0001-01-01")
	})
}

// Other agents work on, and a model that is missing pauses the pair alone.
func TestOthersGoOn(t *testing.T) {
	paused(t, func(w *world) {
		item := w.Finish("x")
		w.Stands(item, stage.Done)

		w.mu.Lock()
		w.of = "codex"
		w.mu.Unlock()
		w.set(work.Trouble{Kind: work.TroubleModel})
		second := w.Finish("y")
		w.Stands(second, stage.Review)
		require.Equal(w, "codex", w.stored()[0].Agent)
		third := w.Finish("z")
		require.Equal(w, stage.Review, w.Task(third).State.Stage, "claude works on")
		require.Equal(w, 1, w.notices("codex: its vendor has no such model"))

		projects := w.Registry.All()
		for i := range projects {
			projects[i].Agents[stage.Reviewer] = work.Agent{Use: "codex", Model: "gpt-5"}
		}
		w.set(work.Trouble{})
		with, err := task.NewProjects(projects...)
		require.NoError(w, err)
		w.Engine.Replace(with)
		w.Settle(2 * time.Minute)
		require.Equal(w, stage.Done, w.Task(second).State.Stage, "another registry ends the pause")
		w.Stands(third, stage.Done)
		require.Equal(w, 1, w.notices("codex: the registry was read again"))
		w.nothingLeft()
	})
}

func TestModelAlone(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleModel})
		item := w.cards(1)[0]
		w.Settle(time.Minute)
		p := w.stored()[0]
		require.Equal(w, "claude opus", p.Agent+" "+p.Model)
		require.True(w, p.Stops("claude", "opus"))
		require.False(w, p.Stops("claude", "sonnet"))
		require.Contains(w, w.Explain(item).Blockers[0].Why, "waits for claude with the model opus: its vendor has no such model")
	})
}

// An operator ends a pause at once.
func TestResume(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleCredit})
		items := w.cards(2)
		w.Settle(time.Minute)
		was, err := w.feature.Resume(context.Background(), "codex")
		require.NoError(w, err)
		require.False(w, was)
		w.set(work.Trouble{})
		was, err = w.feature.Resume(context.Background(), "claude")
		require.NoError(w, err)
		require.True(w, was)
		w.Engine.Admission.Mark("")
		w.Settle(10 * time.Second)
		w.Waits(items[0], stage.HoldApproval)
		w.Waits(items[1], stage.HoldApproval)
		require.Equal(w, 1, w.notices("claude: an operator has resumed it"))
		w.nothingLeft()
	})
}

// A death loses nothing, replicas share the pause, and who starts the service may have mended
// the agent: it is tried at once.
func TestRestartAndReplicas(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleLogin})
		w.Start() // a second process
		items := w.cards(3)
		w.Settle(20 * time.Minute)
		require.Equal(w, 1, w.notices("claude"))
		w.Shutdown()
		w.set(work.Trouble{})
		before := len(w.Roles())
		w.Start()
		w.Start()
		w.Settle(3 * time.Second)
		require.Greater(w, len(w.Roles()), before)
		w.Settle(time.Minute)
		require.Equal(w, 2, w.notices("claude"), w.Notices())
		for _, item := range items {
			w.Waits(item, stage.HoldApproval)
		}
		w.nothingLeft()
	})
}

// A task that was to try the agent and cannot gives way to another.
func TestTryGivesWay(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroubleLogin})
		items := w.cards(3)
		w.Settle(4 * time.Minute)
		slices.SortFunc(items, func(a, b string) int { return cmp.Compare(w.Task(a).ID, w.Task(b).ID) })
		first := w.Task(items[0]).ID
		w.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.TaskID == first {
				return Hang(ctx, c, files)
			}
			return GoodAgent(ctx, c, files)
		})
		require.NoError(w, w.Store.Hold(context.Background(), queue.Hold{Subject: admit.Subjects(AppRepo, w.Task(items[1]).ID)[0], Name: "other"}))
		w.Settle(2 * time.Minute)
		require.Equal(w, first, w.stored()[0].Task)
		require.Contains(w, w.Explain(items[2]).Blockers[0].Why, "another task tries it now")
		w.Set(items[0], stage.StatusStop)
		w.Settle(2 * time.Minute)
		require.Equal(w, stage.HoldApproval, w.Task(items[2]).State.Hold, "the second is held by something else")
		w.nothingLeft()
	})
}

// A failure of another kind is the task's own, and says nothing of the agent.
func TestOtherFailures(t *testing.T) {
	paused(t, func(w *world) {
		w.set(work.Trouble{Kind: work.TroublePerson})
		item := w.cards(1)[0]
		w.Settle(time.Minute)
		stalled := work.Result{Kind: work.ResultStalled, Reason: "no output for 10m0s"}
		w.Place.SetScript(func(context.Context, work.Command, map[string]string) work.Result { return stalled })
		w.Settle(5 * time.Minute)
		require.Equal(w, 1, w.Task(item).State.Failures)
		require.Len(w, w.stored(), 1, "it is still paused")
		w.Settle(4 * time.Hour)
		w.Waits(item, stage.HoldBlocked)
		require.Contains(w, w.Notices(), "agent failure: the analyst: no output for 10m0s.")
		require.Equal(w, 1, w.notices("is paused"))
	})
}
