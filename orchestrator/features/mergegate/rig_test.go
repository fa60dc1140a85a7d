package mergegate_test

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features/mergegate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// forge is the git host whose merges move main.
type forge struct {
	checked func() // while a merge reads CI
	orchestrator.Hosting
	r      *Rig
	before func() // runs before each merge

	mu  sync.Mutex
	had []string
}

// bases are, of each merge, where main was.
func (f *forge) bases() []string {
	f.mu.Lock()
	defer f.mu.Unlock()
	return slices.Clone(f.had)
}

func (f *forge) Merge(ctx context.Context, m githost.Merge) (string, error) {
	if f.before != nil {
		f.before()
	}
	main := f.r.Place.Remote(m.Repo, "main")
	sha, err := f.Hosting.Merge(ctx, m)
	if err == nil {
		f.mu.Lock()
		f.had = append(f.had, main)
		f.mu.Unlock()
		f.r.Place.SetRemote(m.Repo, "main", sha)
	}
	return sha, err
}

// gateRig is a rig with the merge gate on for all repositories.
func (f *forge) Checks(ctx context.Context, repo, branch, sha string) ([]githost.Check, error) {
	if f.checked != nil {
		f.checked()
	}
	return f.Hosting.Checks(ctx, repo, branch, sha)
}

type gateRig struct {
	*Rig
	forge  *forge
	leases *memlease.Locker
	off    bool     // from the next start on
	repos  []string // that have the gate, from the next start on

	full atomic.Bool // no lease can be given back
}

// slippery is a locker whose leases cannot always be given back.
type slippery struct {
	lease.Locker
	full *atomic.Bool
}

func (s *slippery) Release(ctx context.Context, l lease.Lease) error {
	if s.full.Load() {
		return fmt.Errorf("write .lease: %w", syscall.ENOSPC)
	}
	return s.Locker.Release(ctx, l)
}

const mergeLease = "merge/" + AppRepo

func mergeGate(t *testing.T, f func(*gateRig)) {
	t.Helper()
	g := &gateRig{repos: []string{"*"}}
	Run(t, func(r *Rig) {
		g.Rig, g.forge, g.leases = r, &forge{Hosting: r.Host, r: r}, memlease.New(nil)
		r.Options.MaxConcurrency = 8
		r.Projects[1].Writes = map[stage.Role][]string{stage.Deployer: {"src/late.go"}} // a deployer that mends what it deploys
		r.Place.SetRemote(AppRepo, "main", "m0")
		r.Features = func() []orchestrator.Feature {
			merge := effects.Runners(effects.Deps{Store: r.Store, Jobs: r.Store, Projects: r.Parts().Projects, Tracker: r.Board, Host: g.forge, Messenger: r.Chat, Workspaces: r.Place})
			gate, err := mergegate.New(mergegate.Options{Parts: r.Parts(g.forge), Leases: &slippery{g.leases, &g.full}, Merge: merge[stage.EffectMerge], Off: g.off, Repos: g.repos, DeferMax: 5})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{s, gate.Feature()}
		}
	}, func(r *Rig) { f(g) })
}

// free requires that nobody has the merge lease.
func (g *gateRig) free() {
	g.Helper()
	_, held, err := g.leases.Holder(context.Background(), mergeLease)
	require.NoError(g, err)
	require.False(g, held, "the lease is given back")
}

// green ends CI of a task's branch well, and red that of a commit badly.
func (g *gateRig) green(item string) {
	g.Host.SetChecks(g.Task(item).State.Head, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
}

func (g *gateRig) red(sha string) {
	check := githost.Check{Name: "build", State: githost.CheckFailed, Kind: "check_run", Note: "does not compile on the new main"}
	g.Host.SetChecks(sha, check)
}

func (g *gateRig) summary(item string) string {
	g.Helper()
	return g.Explain(item).Summary
}

// both takes two cards as far as they come at the same time.
func (g *gateRig) both() (one, two string) {
	one, two = g.Card(App, "one"), g.Card(App, "two")
	for _, to := range []stage.Status{stage.StatusToAnalyse, stage.StatusApproved} {
		g.Set(one, to)
		g.Set(two, to)
		g.Settle(10 * time.Second)
	}
	g.Settle(10 * time.Minute)
	return one, two
}
