package orchestratortest_test

import (
	"context"
	"fmt"
	"io/fs"
	"sync/atomic"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// changelog is a gate of a program's own: a change has a line for its users.
type changelog struct{}

func (changelog) Name() string { return "changelog" }

func (changelog) Judge(_ context.Context, s gates.Facts) gates.Verdict {
	if _, err := fs.Stat(s.Tree, "CHANGELOG.md"); err != nil {
		return gates.Redf("CHANGELOG.md is missing")
	}
	return gates.Greenf("CHANGELOG.md is there")
}

// A gate is tested with a whole card: where it is red the developer gets its reason, and
// where it is green the card goes on to Done.
func TestOwnGate(t *testing.T) {
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Features = func() []orchestrator.Feature {
			return []orchestrator.Feature{{Name: "changelog", Gates: []gates.Gate{changelog{}}}}
		}
		r.Projects[0].Gates = map[stage.Stage][]string{stage.Development: {"changelog"}}
		r.Place.SetScript(orchestratortest.Instead(stage.Developer, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			if c.Env["SIGNALBOX_FEEDBACK"] != "" {
				files["CHANGELOG.md"] = "- tiles are cached\n"
			}
			return orchestratortest.GoodAgent(ctx, c, files)
		}))
	}, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "Cache the tiles")
		r.ToDone(orchestratortest.App, item)
		r.Settle(time.Minute)
		require.True(r, r.Commented(orchestratortest.App, item, "CHANGELOG.md is missing"))
		require.Equal(r, 2, r.Ran(stage.Developer))
		r.Stands(item, stage.Done)
		require.Equal(r, stage.StatusDone, r.Status(orchestratortest.App, item))
		require.Positive(r, r.Replays())
	})
}

// night is whether it is, for a rule of a quiet night.
type night bool

func (n night) Judge(s admit.Start) (admit.Reason, bool) {
	return admit.Reason{Text: "nothing begins at night", Who: admit.WhoService, Do: "Wait for the morning"}, s.Begins && bool(n)
}

// A rule is tested over a restart: what waits by it goes on when it says so.
func TestOwnFeature(t *testing.T) {
	var day atomic.Bool
	feature := orchestrator.Feature{Name: "night", Admission: []admit.Rule{{
		Name: "night", Read: func(context.Context, *admit.Pass, admit.Start) (admit.Facts, error) { return night(!day.Load()), nil },
	}}}
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Features = func() []orchestrator.Feature { return []orchestrator.Feature{feature} }
	}, func(r *orchestratortest.Rig) {
		item := r.Card(orchestratortest.App, "x")
		r.Move(orchestratortest.App, item, stage.StatusToAnalyse)
		r.Settle(time.Hour)
		require.Empty(r, r.Roles())
		require.Contains(r, r.Explain(item).Summary, "nothing begins at night")
		require.Equal(r, "Wait for the morning", r.Explain(item).Blockers[0].Do)
		r.Shutdown()
		r.Start()
		r.Settle(time.Hour)
		require.Empty(r, r.Roles(), "a restart forgets no hold")
		day.Store(true)
		r.Settle(70 * time.Second)
		require.Equal(r, []stage.Role{stage.Analyst}, r.Roles())
		require.Equal(r, stage.StatusInReview, r.Status(orchestratortest.App, item))
		require.Len(r, r.Comments(orchestratortest.App, item), 2)
		require.Contains(r, r.Notices(), "approval needed")
		require.Empty(r, r.Open())
	})
}

// Two engines over one store are two processes, and Shutdown ends both.
func TestTwoProcesses(t *testing.T) {
	var working atomic.Int32
	orchestratortest.Run(t, func(r *orchestratortest.Rig) {
		r.Options.MaxConcurrency, r.Options.EventWorkers = 1, 1
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			working.Add(1)
			defer working.Add(-1)
			return orchestratortest.Hang(ctx, c, files)
		})
	}, func(r *orchestratortest.Rig) {
		r.Start()
		for range 3 {
			r.Move(orchestratortest.App, r.Card(orchestratortest.App, "x"), stage.StatusToAnalyse)
		}
		r.Settle(10 * time.Second)
		require.EqualValues(r, 2, working.Load(), "one agent of each process")
		r.Shutdown()
		require.Zero(r, working.Load())
	})
}

// A whole card, from To Analyse to Done. A test calls Run with its own t; here it is called
// without go test's list.
func ExampleRun() {
	card := func(t *testing.T) {
		orchestratortest.Run(t, nil, func(r *orchestratortest.Rig) {
			begun := time.Now()
			item := r.Card(orchestratortest.App, "Cache the tiles")
			r.ToDone(orchestratortest.App, item)
			fmt.Println(r.Roles())
			fmt.Println(r.Status(orchestratortest.App, item), "after", time.Since(begun))
		})
	}
	testing.RunTests(func(string, string) (bool, error) { return true, nil }, []testing.InternalTest{{Name: "TestCard", F: card}})
	// Output:
	// [analyst architect developer reviewer tester deployer deployer]
	// done after 1m10s
}
