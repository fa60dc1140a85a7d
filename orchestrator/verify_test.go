package orchestrator_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// commands are the commands of the registry: how each ends, and what was run where.
type commands struct {
	mu   sync.Mutex
	ends func(ctx context.Context, argv []string) (int, string, error)
	ran  []string
}

func (c *commands) RunCheck(ctx context.Context, argv []string, s gates.Facts) (int, string, error) {
	c.mu.Lock()
	c.ran = append(c.ran, strings.Join(argv, " ")+" "+s.SHA)
	if len(s.FromMain) > 0 {
		ctx = context.WithValue(ctx, filesOfMain{}, s.Base)
	}
	ends := c.ends
	c.mu.Unlock()
	return ends(ctx, argv)
}

// filesOfMain is the key of the commit of main whose files a command is run with.
type filesOfMain struct{}

// runs lists the commands that were run.
func (c *commands) runs() []string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.ran)
}

// endAs changes how commands end from now on.
func (c *commands) endAs(ends func(ctx context.Context, argv []string) (int, string, error)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.ends = ends
}

// verifying is a rig whose service runs two commands itself.
func verifying(t *testing.T, ends func(ctx context.Context, argv []string) (int, string, error), f func(*Rig, *commands)) {
	t.Helper()
	c := &commands{ends: ends}
	Run(t, func(r *Rig) {
		r.Projects[0].Verify = [][]string{{"make", "test"}, {"./bin/e2e"}}
		r.Deps = func(d *orchestrator.Deps) { d.Commands = c }
	}, func(r *Rig) { f(r, c) })
}

// The exit codes decide, on the very commit that is judged; each is in the gate's results.
func TestVerifyGreen(t *testing.T) {
	verifying(t, func(context.Context, []string) (int, string, error) { return 0, "fine", nil }, func(r *Rig, c *commands) {
		task := r.Task(r.Finish("x"))
		require.Equal(r, stage.Done, task.State.Stage)
		require.Len(r, c.runs(), 2)
		results := read(r, r.Store.GateResults, task.ID)
		var seen []string
		for _, g := range results {
			for _, e := range g.Verdict.Evidence {
				if e.Kind == "command" {
					require.True(r, strings.HasSuffix(e.Note, g.Verdict.SHA[:12]), "%s: %s", e.Note, g.Verdict.SHA)
					require.Contains(r, c.runs(), e.Name+" "+g.Verdict.SHA)
					seen = append(seen, e.Name+": "+strings.TrimSuffix(e.Note, " at "+g.Verdict.SHA[:12]))
				}
			}
		}
		require.Equal(r, []string{"make test: exit code 0", "./bin/e2e: exit code 0"}, seen)
		r.Replays()
	})
}

// What the service does itself at the built-in stages it does where they have other gates, names, words and roles.
func TestStagesOfOnesOwn(t *testing.T) {
	for name, change := range map[string]func([]stage.Info){
		"CI at review": func(l []stage.Info) { l[3].Gates = []string{checks.ReviewApproved, checks.CIGreen} },
		"a name":       func(l []stage.Info) { l[4].Stage = "qa" },
		"words":        func(l []stage.Info) { l[4].Good, l[5].Good = []string{"works"}, []string{"live"} },
		"a role":       func(l []stage.Info) { l[5].Role, l[5].Prompt = "shipper", "Ship it." },
	} {
		item, c, look := "", &commands{ends: func(context.Context, []string) (int, string, error) { return 0, "", nil }}, &answers{}
		t.Run(name, func(t *testing.T) {
			Run(t, func(r *Rig) {
				list := stage.DefaultStages()
				change(list)
				r.Pipeline = stage.Of(list...)
				look.says = func(int) (string, error) { return r.Task(item).State.Head, nil }
				r.Projects[0].Verify, r.Projects[0].Probe.Staging = [][]string{{"make", "test"}}, stagingProbe
				r.Deps = func(d *orchestrator.Deps) { d.Commands, d.Probe = c, look }
			}, func(r *Rig) {
				item = r.Card(App, "x")
				r.ToDone(App, item)
				r.Stands(item, stage.Done)
				require.Equal(r, []int{1, 1}, []int{len(c.runs()), len(look.read)})
			})
		})
	}
}

// A tester that says passed of what does not pass sends the card back with the command's
// words.
func TestVerifyRed(t *testing.T) {
	failed := false
	verifying(t, func(_ context.Context, argv []string) (int, string, error) {
		if argv[0] == "./bin/e2e" && !failed {
			failed = true
			return 1, strings.Repeat("x", 5000) + "FAIL: two screens break\n", nil
		}
		return 0, "", nil
	}, func(r *Rig, c *commands) {
		item := r.Finish("x")
		r.Settle(time.Minute)
		r.Stands(item, stage.Done)
		require.Len(r, c.runs(), 4)
		require.Equal(r, 2, r.Ran(stage.Developer))
		for _, cmd := range r.Place.Runs() {
			if cmd.Role == stage.Developer && cmd.Run > 3 {
				require.Contains(r, cmd.Prompt, "the service has run ./bin/e2e itself: exit code 1 at ")
				require.Contains(r, cmd.Prompt, "FAIL: two screens break")
				require.Less(r, strings.Count(cmd.Prompt, "x"), 3000)
			}
		}
	})
}

// What does not end is ended at the limit, and that is red.
func TestVerifyExpires(t *testing.T) {
	verifying(t, func(ctx context.Context, _ []string) (int, string, error) {
		<-ctx.Done()
		return -1, "", ctx.Err()
	}, func(r *Rig, _ *commands) {
		item := r.Finish("x")
		r.Settle(40 * time.Minute)
		entries := read(r, r.Store.Journal, r.Task(item).ID)
		var notes []string
		for _, e := range entries {
			if rec, err := e.Recorded(); err == nil {
				notes = append(notes, rec.Decision.Notes...)
			}
		}
		require.True(r, contains(notes, "the service has run make test itself: it did not end within 30m0s"), "%q", notes)
	})
}

// A report that says failed stays red, and nothing is run for it.
func TestVerifyRedReport(t *testing.T) {
	verifying(t, func(context.Context, []string) (int, string, error) { return 0, "", nil }, func(r *Rig, c *commands) {
		r.Place.SetScript(Instead(stage.Tester, func(_ context.Context, cmd work.Command, files map[string]string) work.Result {
			files[work.ReportPath] = "---\nverdict: failed\nsha: " + cmd.Env["SIGNALBOX_SHA"] + "\nsummary: no\n---\n"
			return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
		}))
		item := r.Finish("x")
		r.Settle(time.Hour)
		r.Waits(item, stage.HoldBlocked)
		require.Contains(r, r.Task(item).State.HoldReason, "says failed")
		require.Empty(r, c.runs())
	})
}

// A command that cannot be run fails the attempt in its words; one that a stop of the
// service interrupts is no failure; and events of others wait for none.
func TestVerifyCannotRun(t *testing.T) {
	verifying(t, func(context.Context, []string) (int, string, error) { return -1, "", errors.New("make: not found") }, func(r *Rig, _ *commands) {
		item := r.Finish("x")
		r.Settle(time.Hour)
		task := r.Task(item)
		require.Equal(r, stage.Testing, task.State.Stage)
		require.Contains(r, task.State.HoldReason, "verify: make test: make: not found")
	})
	verifying(t, func(ctx context.Context, _ []string) (int, string, error) {
		<-ctx.Done()
		return -1, "", ctx.Err()
	}, func(r *Rig, c *commands) {
		for range 2 { // all slots of agents
			r.ToDone(App, r.Card(App, "slow"))
		}
		require.Len(r, c.runs(), 2)
		item := r.Card(Self, "quick")
		r.Move(Self, item, stage.StatusToAnalyse)
		r.Settle(5 * time.Second)
		require.Equal(r, stage.Analysis, r.Task(item).State.Stage, "it was begun")
		r.Shutdown()
		c.endAs(func(context.Context, []string) (int, string, error) { return 0, "", nil })
		r.Start()
		r.Settle(20 * time.Minute)
		require.Len(r, read(r, r.Store.Tasks, task.Filter{Stage: stage.Done}), 2)
	})
}
