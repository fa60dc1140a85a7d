package orchestrator_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/remotes"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// remote is the remote of a plain repository, whose main moves with merges.
type remote struct {
	*memhost.Host
	r      *Rig
	before func() // runs before each merge
}

func (m *remote) Merge(ctx context.Context, x githost.Merge) (string, error) {
	if m.before != nil {
		m.before()
	}
	sha, err := m.Host.Merge(ctx, x)
	if err == nil {
		m.r.Place.SetRemote(x.Repo, x.Base, sha)
	}
	return sha, err
}

// pushMain is a person who pushes to main.
func (m *remote) pushMain(sha string) {
	m.Push(AppRepo, "main", sha)
	m.r.Place.SetRemote(AppRepo, "main", sha)
}

// plainRig is a rig whose first repository has no git host, with CI of two commands, the
// merge gate and the look at remotes.
type plainRig struct {
	*Rig
	*commands
	remote *remote
	logs   *keeper
}

func plain(t *testing.T, change func(*plainRig), f func(*plainRig)) {
	t.Helper()
	p := &plainRig{commands: &commands{ends: func(context.Context, []string) (int, string, error) { return 0, "fine", nil }}, logs: &keeper{logs: map[work.LogName]*kept{}}}
	Run(t, func(r *Rig) {
		p.Rig, p.remote = r, &remote{Host: r.Host, r: r}
		r.Projects[0].Host, r.Projects[0].WebURL, r.Projects[0].CloneURL = task.HostGit, "", "/srv/git/app.git"
		r.Projects[0].CI = [][]string{{"make", "test"}, {"./lint"}}
		r.Options.EventWorkers, r.Options.MaxConcurrency = 1, 8
		r.Host.MakePlain(AppRepo)
		r.Host.History = r.Place.Contains
		r.Host.Push(AppRepo, "main", "main-0")
		r.Deps = func(d *orchestrator.Deps) { d.Commands, d.Logs = p.commands, p.logs }
		r.Effects = func(d *effects.Deps) { d.Host = p.remote }
		leases := memlease.New(nil)
		r.Features = func() []orchestrator.Feature {
			parts := r.Parts(p.remote)
			merge := effects.Runners(effects.Deps{Store: r.Store, Jobs: r.Store, Projects: parts.Projects, Tracker: r.Board, Host: p.remote, Messenger: r.Chat, Workspaces: r.Place})
			gate, err1 := mergegate.New(mergegate.Options{Parts: parts, Leases: leases, Merge: merge[stage.EffectMerge], Repos: []string{"*"}, DeferMax: 5})
			end, err2 := stop.Feature(r.Parts())
			look, err3 := remotes.Feature(remotes.Options{Parts: parts})
			require.NoError(r, errors.Join(err1, err2, err3))
			return []orchestrator.Feature{end, gate.Feature(), look}
		}
		if change != nil {
			change(p)
		}
	}, func(*Rig) { f(p) })
}

func (p *plainRig) heads() map[string]string {
	p.Helper()
	heads, err := p.Host.Heads(context.Background(), AppRepo)
	require.NoError(p, err)
	return heads
}

// A card's whole life without a host: the service runs CI on each commit that is judged,
// once; no pull request is tried; main becomes the very commit that was tested, and the
// branch goes.
func TestPlainLife(t *testing.T) {
	plain(t, nil, func(p *plainRig) {
		item := p.Finish("x")
		task := p.Task(item)
		require.Equal(p, stage.Done, task.State.Stage, p.Comments(App, item))
		require.Empty(p, p.Open())
		require.Zero(p, task.State.PR)
		require.Equal(p, 1, p.Host.Merges())
		seen := map[string]int{}
		for _, one := range p.runs() {
			seen[one]++
			require.Equal(p, 1, seen[one], "%s was run twice", one)
		}
		require.Contains(p, seen, "make test "+task.State.MergeSHA)
		require.Contains(p, seen, "./lint "+task.State.MergeSHA)
		require.Equal(p, task.State.MergeSHA, p.heads()["main"])
		require.NotContains(p, p.heads(), task.Branch, "the branch is deleted")
		require.NotContains(p, strings.Join(p.Comments(App, item), "\n"), "http")
		x := p.Explain(item)
		require.Contains(p, x.CI, "make test: exit code 0; ./lint: exit code 0 (at ")
		log := p.logs.logs[orchestrator.CILog(task.ID, task.State.CI)]
		require.Equal(p, "$ make test\n$ ./lint\n", log.String())
		require.True(p, log.closed)
		p.Replays()
	})
}

// Squashed, a card is one commit of main, which is what was merged and deployed; a service that died behind the push finds it.
func TestPlainLifeSquashed(t *testing.T) {
	plain(t, func(p *plainRig) { p.Projects[0].Merge = githost.MergeSquash }, func(p *plainRig) {
		item := p.Finish("x")
		done := p.Task(item)
		require.Equal(p, stage.Done, done.State.Stage, p.Comments(App, item))
		require.Equal(p, 1, p.Host.Merges())
		require.NotEqual(p, done.State.Head, done.State.MergeSHA)
		require.Equal(p, done.State.MergeSHA, p.heads()["main"])
		require.NotContains(p, p.heads(), done.Branch, "the branch is deleted")
		p.Replays()
	})
}

// What CI says is the developer's feedback, with the end of its log; what follows the
// command that failed is not run.
func TestPlainCIRed(t *testing.T) {
	failed := false
	plain(t, func(p *plainRig) {
		p.ends = func(_ context.Context, argv []string) (int, string, error) {
			if argv[0] == "make" && !failed {
				failed = true
				return 2, "FAIL: the cart loses its last item\n", nil
			}
			return 0, "", nil
		}
	}, func(p *plainRig) {
		item := p.Finish("x")
		p.Settle(time.Minute)
		p.Stands(item, stage.Done)
		developers := 0
		for _, c := range p.Place.Runs() {
			if c.Role == stage.Developer {
				if developers++; developers == 2 {
					require.Contains(p, c.Prompt, "CI failed at ")
					require.Contains(p, c.Prompt, "make test failed: exit code 2: FAIL: the cart loses its last item")
				}
			}
		}
		require.Equal(p, 2, developers)
		require.Equal(p, "make test", p.runs()[0][:9])
		require.Equal(p, "make test", p.runs()[1][:9], "lint was not run on what does not pass the tests")
		p.Replays()
	})
}

// What was red for no fault of the commit is run again on the same commit, when a person
// has the stage run again and nothing has changed.
func TestPlainCIFlaky(t *testing.T) {
	bad := true
	plain(t, func(p *plainRig) {
		p.Options.Stage.MaxRetries = 1
		p.ends = func(context.Context, []string) (int, string, error) {
			if bad {
				return 1, "no space left on device", nil
			}
			return 0, "", nil
		}
		p.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Role == stage.Developer && len(p.runs()) > 0 { // there is nothing to mend
				return work.Result{Kind: work.ResultOK, Usage: memwork.Usage()}
			}
			return GoodAgent(ctx, c, files)
		})
	}, func(p *plainRig) {
		item := p.Finish("x")
		p.Settle(5 * time.Minute)
		p.Waits(item, stage.HoldBlocked)
		bad = false
		p.Set(item, stage.StatusInProgress)
		p.Settle(5 * time.Minute)
		p.Stands(item, stage.Done)
		require.Len(p, p.runs(), 2+2+2, "red twice, then green, and what is merged")
		require.Equal(p, p.runs()[0], p.runs()[1])
		require.Equal(p, p.runs()[1], p.runs()[2])
		p.Replays()
	})
}

// No command is green by that word, and everywhere it is said.
func TestPlainWithoutCI(t *testing.T) {
	plain(t, func(p *plainRig) { p.Projects[0].CI = nil }, func(p *plainRig) {
		item := p.Finish("x")
		task := p.Task(item)
		require.Equal(p, stage.Done, task.State.Stage, p.Comments(App, item))
		require.Empty(p, p.runs())
		x := p.Explain(item)
		require.Contains(p, x.CI, "none configured")
		results := read(p, p.Store.GateResults, task.ID)
		said := ""
		for _, g := range results {
			said += g.Verdict.Reason + "\n"
			for _, c := range g.Verdict.Children {
				said += c.Reason + "\n"
			}
		}
		require.Contains(p, said, "CI: none configured")
	})
}

// CI that takes long delays nobody, is explained, and a STOP ends it.
func TestPlainCIDelaysNobody(t *testing.T) {
	ended := 0
	plain(t, func(p *plainRig) {
		p.ends = func(ctx context.Context, argv []string) (int, string, error) {
			defer func() { ended++ }()
			return never(ctx, argv)
		}
	}, func(p *plainRig) {
		item := p.Finish("slow")
		p.Stands(item, stage.Development)
		x := p.Explain(item)
		require.Equal(p, "Waits for CI, which the service runs.", x.Summary)
		require.Equal(p, admit.WhoService, x.Blockers[0].Who)
		require.Contains(p, x.Blockers[0].Why, "make test; ./lint")
		other := p.Begin("other")
		p.Settle(5 * time.Second)
		p.Waits(other, stage.HoldApproval)
		require.Zero(p, ended)
		p.Set(item, stage.StatusStop)
		p.Settle(3 * time.Second)
		p.Cancelled(item)
		require.Equal(p, 1, ended)
		p.Settle(time.Hour)
		require.Len(p, p.runs(), 1)
		require.Empty(p, p.Open())
	})
}

// A service that is stopped in the middle runs CI again when it is back, and what does not
// end is ended at the limit, which is red.
func TestPlainCIInterrupted(t *testing.T) {
	plain(t, func(p *plainRig) { p.endAs(never) }, func(p *plainRig) {
		item := p.Finish("x")
		require.Len(p, p.runs(), 1)
		p.Shutdown()
		p.Start()
		p.Settle(5 * time.Second)
		require.Len(p, p.runs(), 2)
		require.Equal(p, p.runs()[0], p.runs()[1], "the same commit")
		p.Settle(31 * time.Minute)
		require.Equal(p, 2, count(p.Roles(), stage.Developer))
		p.endAs(func(context.Context, []string) (int, string, error) { return 0, "", nil })
		p.Settle(time.Hour)
		p.Stands(item, stage.Done)
		p.Replays()
	})
}

// A command that cannot be run is a person's matter, not the developer's.
func TestPlainCICannotRun(t *testing.T) {
	plain(t, func(p *plainRig) {
		p.ends = func(context.Context, []string) (int, string, error) {
			return -1, "", errors.New("make is not installed")
		}
	}, func(p *plainRig) {
		item := p.Finish("x")
		p.Settle(time.Minute)
		s := p.Task(item).State
		require.Equal(p, []any{stage.Development, stage.HoldBlocked}, []any{s.Stage, s.Hold})
		require.Contains(p, s.HoldReason, "could not be run: make test: make is not installed")
		require.Equal(p, 1, count(p.Roles(), stage.Developer))
		p.endAs(func(context.Context, []string) (int, string, error) { return 0, "", nil })
		p.Set(item, stage.StatusInProgress)
		p.Settle(time.Minute)
		p.Stands(item, stage.Done)
	})
}

// Main that people push to is caught up with before the merge, and at the very moment of
// the merge too: what lands is always what was tested.
func TestPlainMainMoves(t *testing.T) {
	plain(t, nil, func(p *plainRig) {
		pushed := 0
		p.remote.before = func() {
			if pushed++; pushed == 1 {
				p.remote.pushMain("theirs")
			}
		}
		p.remote.pushMain("ours")
		item := p.Finish("x")
		p.Settle(time.Minute)
		task := p.Task(item)
		require.Equal(p, stage.Done, task.State.Stage, p.Comments(App, item))
		require.Equal(p, 2, pushed)
		require.True(p, p.Place.Contains(task.State.MergeSHA, "theirs"))
		require.Contains(p, p.runs(), "./lint "+task.State.MergeSHA, "the very commit was tested")
		require.Equal(p, 1, count(p.Roles(), stage.Developer), "nobody has to be asked")
		require.Zero(p, task.State.Retries)
	})
}

// No webhook reports what people do; reads of the repository find it. A merge by hand ends the
// task, a deleted branch is reported, and In Progress makes it anew.
func TestPlainPeople(t *testing.T) {
	slow := true
	plain(t, func(p *plainRig) {
		p.ends = func(ctx context.Context, argv []string) (int, string, error) {
			if slow {
				return never(ctx, argv)
			}
			return 0, "", nil
		}
	}, func(p *plainRig) {
		item := p.Finish("merged")
		p.remote.pushMain(p.Task(item).State.Head)
		p.Settle(2 * time.Minute)
		p.Stands(item, stage.Done)
		require.Zero(p, p.Host.Merges())
		require.NotContains(p, p.heads(), p.Task(item).Branch)

		item = p.Finish("deleted")
		branch := p.Task(item).Branch
		require.NoError(p, p.Host.DeleteBranch(p.Context(), AppRepo, branch))
		p.Place.SetRemote(AppRepo, branch, "")
		p.Settle(2 * time.Minute)
		p.Waits(item, stage.HoldBlocked)
		require.Contains(p, p.Task(item).State.HoldReason, "was deleted on the remote")
		slow = false
		p.Set(item, stage.StatusInProgress)
		p.Settle(2 * time.Minute)
		p.Stands(item, stage.Done)
		require.Equal(p, 1, p.Host.Merges())
	})
}

// kept is a log in memory.
type kept struct {
	strings.Builder
	closed bool
}

func (k *kept) Close() error { k.closed = true; return nil }

type keeper struct {
	mu   sync.Mutex
	logs map[work.LogName]*kept
}

func (k *keeper) KeepLog(_ context.Context, n work.LogName) (io.WriteCloser, error) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.logs[n] = &kept{}
	return k.logs[n], nil
}

// Nobody announces a push to a repository without a host: it is seen before the next run at the latest.
func TestPlainPushIsTakenIn(t *testing.T) {
	plain(t, nil, func(p *plainRig) {
		item, sha := p.Card(App, "x"), ""
		p.Place.SetScript(atWork(stage.Reviewer, func() { sha = p.PushUnheard(item, "", theirs) }))
		p.ToDone(App, item)
		p.Settle(5 * time.Minute)
		adopted(p.Rig, item, sha, 8)
		require.True(p, p.Place.Contains(p.heads()["main"], sha))
	})
}
