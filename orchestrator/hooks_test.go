package orchestrator_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// hookRunner runs the developer's hooks as the test says, and lists what happened, agents
// among it. Its checkouts remember what was created.
type hookRunner struct {
	orchestrator.Workspaces

	mu      sync.Mutex
	ends    func(ctx context.Context, argv []string) (int, string, error)
	happens []string
	created bool
	env     map[string]string
}

func (h *hookRunner) happened(what string) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.happens = append(h.happens, what)
}

func (h *hookRunner) list() string {
	h.mu.Lock()
	defer h.mu.Unlock()
	return strings.Join(h.happens, ", ")
}

func (h *hookRunner) RunHook(ctx context.Context, s work.Workspace, k work.Hook) (int, string, error) {
	if s.Role != stage.Developer {
		return 0, "", nil
	}
	h.happened(k.Argv[0])
	h.env = k.Env
	exit, said, err := h.ends(ctx, k.Argv)
	_, _ = io.WriteString(k.Log, said)
	return exit, said, err
}

func (h *hookRunner) Created(_ context.Context, s work.Workspace) error {
	h.created = h.created || s.Role == stage.Developer
	return nil
}

func (h *hookRunner) Open(ctx context.Context, s work.Workspace, first []work.File) (work.Checkout, error) {
	at, err := h.Workspaces.Open(ctx, s, first)
	at.Created = h.created && s.Role == stage.Developer
	return at, err
}

// hooked is a rig whose developer has hooks; agent is what the developer does.
func hooked(t *testing.T, h *hookRunner, agent func(work.Command) string, f func(*Rig, *keeper)) {
	t.Helper()
	logs := &keeper{logs: map[work.LogName]*kept{}}
	Run(t, func(r *Rig) {
		h.Workspaces = r.Place
		r.Projects[0].Hooks = task.Hooks{AfterCreate: [][]string{{"install", "all"}}, BeforeRun: [][]string{{"up"}, {"wait"}}, AfterRun: [][]string{{"down"}}}
		r.Deps = func(d *orchestrator.Deps) { d.Hooks, d.Workspaces, d.Logs = h, h, logs }
		r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{stopFeature(r)} }
		r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			h.happened("agent")
			if kind := agent(c); kind != work.ResultOK {
				return work.Result{Kind: kind, Reason: "tripped"}
			}
			return GoodAgent(ctx, c, files)
		}))
	}, func(r *Rig) { f(r, logs) })
}

func works(work.Command) string { return work.ResultOK }

func firstFails(kind string) func(work.Command) string {
	return func(c work.Command) string {
		if c.Attempt == 1 {
			return kind
		}
		return work.ResultOK
	}
}

func passes(context.Context, []string) (int, string, error) { return 0, "fine\n", nil }

// Hooks go around each attempt, whatever comes of it; what is created once is created once. All that
// they print is in one log.
func TestHooks(t *testing.T) {
	for _, kind := range []string{work.ResultFailed, work.ResultTimeout, work.ResultStalled, work.ResultUnusable} {
		h := &hookRunner{ends: passes}
		hooked(t, h, firstFails(kind), func(r *Rig, logs *keeper) {
			item := r.Finish("x")
			r.Settle(time.Minute)
			row := r.Task(item)
			require.Equal(r, stage.Done, row.State.Stage)
			require.Equal(r, "install, up, wait, agent, down, up, wait, agent, down", h.list())
			require.Equal(r, []string{"developer", "APP-1", "docs/work/APP-1", row.Branch}, []string{h.env["SIGNALBOX_ROLE"], h.env["SIGNALBOX_WORK_ITEM"], h.env["SIGNALBOX_DOCS"], h.env["SIGNALBOX_BRANCH"]})
			for n, want := range map[int]string{1: "$ install all # after_create\nfine\n$ up # before_run\nfine\n$ wait # before_run\nfine\n$ down # after_run\nfine\n", 2: "$ up # before_run\nfine\n$ wait # before_run\nfine\n$ down # after_run\nfine\n"} {
				log := logs.logs[orchestrator.HookLog(row.ID, 3, n)]
				require.Equal(r, want, log.String())
				require.True(r, log.closed)
			}
			require.Empty(r, story(r, item, task.KindHook))
		})
	}
}

// What fails before the agent is an attempt that failed, with the hook's exit code and words;
// it is tried again, and the agent is not begun.
func TestHooksBefore(t *testing.T) {
	for name, c := range map[string]struct {
		fails, happens, why string
		exit                int
		ends                func(ctx context.Context, argv []string) (int, string, error)
	}{
		"exit code":  {"wait", "install, up, wait, up, wait, agent, down", "the hook before_run has failed: wait: exit code 3: no database\nat port 5432", 3, func(context.Context, []string) (int, string, error) { return 3, "no database\nat port 5432\n", nil }},
		"silent":     {"install", "install, install, up, wait, agent, down", "the hook after_create has failed: install all: exit code 1: it printed nothing", 1, func(context.Context, []string) (int, string, error) { return 1, " \n", nil }},
		"not run":    {"up", "install, up, up, wait, agent, down", "the hook before_run has failed: up: no such program", -1, func(context.Context, []string) (int, string, error) { return -1, "", errors.New("no such program") }},
		"takes long": {"up", "install, up, up, wait, agent, down", "the hook before_run has failed: up: it did not end within 1 min: it printed nothing", -1, never},
	} {
		t.Run(name, func(t *testing.T) {
			failed := false
			h := &hookRunner{ends: func(ctx context.Context, argv []string) (int, string, error) {
				if argv[0] == c.fails && !failed {
					failed = true
					return c.ends(ctx, argv)
				}
				return 0, "", nil
			}}
			hooked(t, h, works, func(r *Rig, _ *keeper) {
				item := r.Finish("x")
				r.Settle(5 * time.Minute)
				r.Stands(item, stage.Done)
				require.Equal(r, c.happens, h.list())
				runs := runsOf(r, r.Task(item).ID)
				require.Equal(r, []any{work.ResultFailed, c.exit}, []any{runs[2].Status, runs[2].ExitCode})
				require.NotZero(r, runs[2].Started)
				require.Contains(r, r.Place.Runs()[2].Prompt, "The attempt before this one failed: "+strings.ReplaceAll(c.why, "\n", "\n    "))
			})
		})
	}
}

// A hook that never passes takes the card to Blocked, in its words.
func TestHooksBlock(t *testing.T) {
	h := &hookRunner{ends: func(context.Context, []string) (int, string, error) {
		return 7, strings.Repeat("x", 5000) + " no disk", nil
	}}
	hooked(t, h, works, func(r *Rig, _ *keeper) {
		item := r.Finish("x")
		r.Settle(time.Hour)
		s := r.Task(item).State
		require.Equal(r, stage.HoldBlocked, s.Hold)
		require.Contains(r, s.HoldReason, "the hook after_create has failed: install all: exit code 7: ")
		require.Contains(r, s.HoldReason, " no disk")
		require.Less(r, len(s.HoldReason), 3000)
		require.NotContains(r, h.list(), "agent")
	})
}

// What fails after the agent is in the story, and changes nothing.
func TestHooksAfter(t *testing.T) {
	h := &hookRunner{ends: func(_ context.Context, argv []string) (int, string, error) {
		if argv[0] == "down" {
			return 2, "still there\n", nil
		}
		return 0, "", nil
	}}
	hooked(t, h, works, func(r *Rig, _ *keeper) {
		item := r.Finish("x")
		r.Stands(item, stage.Done)
		require.Equal(r, 1, r.Ran(stage.Developer))
		require.Equal(r, []string{"hook: the hook after_run has failed: down: exit code 2: still there"}, story(r, item, task.KindHook))
	})
}

// A STOP ends a hook at once and begins no other; so does the end of the service, after which
// the attempt is made again.
func TestHooksAreEnded(t *testing.T) {
	for _, at := range []string{"install", "wait", "down", "agent"} {
		ended := 0
		h := &hookRunner{ends: func(ctx context.Context, argv []string) (int, string, error) {
			if argv[0] == at {
				defer func() { ended++ }()
				return never(ctx, argv)
			}
			return 0, "", nil
		}}
		hooked(t, h, works, func(r *Rig, _ *keeper) {
			if at == "agent" {
				r.Place.SetScript(Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
					h.happened("agent")
					defer func() { ended++ }()
					return Hang(ctx, c, files)
				}))
			}
			item := r.Begin("x")
			r.Settle(10 * time.Second)
			r.Set(item, stage.StatusApproved)
			r.Settle(10 * time.Second)
			before := h.list()
			require.True(r, strings.HasSuffix(before, at), before)
			lives := 1
			if at != "down" { // what was done before is not done again
				r.Shutdown()
				require.Equal(r, 1, ended, at)
				require.Equal(r, before, h.list())
				r.Start()
				r.Settle(10 * time.Second)
				require.True(r, strings.HasSuffix(h.list(), at), h.list())
				lives++
			}
			r.Set(item, stage.StatusStop)
			r.Settle(3 * time.Second)
			r.Cancelled(item)
			require.Equal(r, lives, ended, at)
			now := h.list()
			r.Settle(time.Hour)
			require.Equal(r, now, h.list(), "nothing begins any more")
			require.Empty(r, r.Place.Checkouts())
		})
	}
}

// Without a part that runs them there are no hooks.
func TestNoHooks(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].Hooks = task.Hooks{BeforeRun: [][]string{{"false"}}}
	}, func(r *Rig) {
		item := r.Finish("x")
		require.Equal(r, stage.Done, r.Task(item).State.Stage, fmt.Sprint(r.Comments(App, item)))
	})
}
