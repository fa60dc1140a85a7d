package features_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/features"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
)

// security is a stage that no program of ours has heard of.
func security() stage.Info {
	return stage.Info{
		Stage: "security", Role: "auditor", Status: stage.StatusCodeReview, Gates: []string{checks.Reported}, Green: "nothing was found",
		Report: "security.md", Good: []string{"clean"}, Bad: []string{"vulnerable"}, Prompt: "Look for holes in {{.Branch}}.",
	}
}

// without are the built-in stages but some.
func without(names ...stage.Stage) []stage.Info {
	return slices.DeleteFunc(stage.DefaultStages(), func(i stage.Info) bool { return slices.Contains(names, i.Stage) })
}

// Pipelines of other stages take a card to done with every feature on, whether the merge gate covers the repository or
// not: the decisions that are made again are the same, and each agent has been told what to write.
func TestOtherPipelines(t *testing.T) {
	for name, stages := range map[string][]stage.Info{
		"security":             slices.Insert(stage.DefaultStages(), 4, security()),
		"without architecture": without(stage.Architecture),
		"three stages":         without(stage.Analysis, stage.Architecture, stage.Testing, stage.DeployStaging),
	} {
		t.Run(name, func(t *testing.T) {
			at, err := stage.CheckStages(stages)
			require.NoError(t, err, at)
			for _, gated := range []bool{true, false} {
				play(t, stage.Of(stages...), gated, false, false)
			}
		})
	}
}

// Where nothing is deployed no deployer works: a merge ends the task, with Confirm Deploy before it where the repository
// is the service's own.
func TestNothingIsDeployed(t *testing.T) {
	for _, gated := range []bool{true, false} {
		for _, self := range []bool{true, false} {
			play(t, stage.Default(), gated, true, self)
		}
	}
}

// A card with a label takes a lane, and one without the whole pipeline, in one repository with every feature on: what else it
// met stays, whatever becomes of its label or its process, and its first agent has what a first agent needs.
func TestLanes(t *testing.T) {
	p := stage.Default()
	for _, lane := range [][]stage.Stage{
		{stage.Development, stage.Review, stage.Deploy},
		{stage.Architecture, stage.Development, stage.Testing, stage.Deploy},
		{stage.Analysis, stage.Development, stage.DeployStaging, stage.Deploy},
	} {
		p.Lanes = []stage.Lane{{Name: "fix", Stages: lane}}
		for _, gated := range []bool{true, false} {
			play(t, p, gated, false, false)
		}
	}
	p.Lanes = []stage.Lane{{Name: "fix", Stages: []stage.Stage{stage.Development, stage.Review, stage.DeployStaging, stage.Deploy}}}
	play(t, p, true, true, false)
	play(t, p, true, false, true)
}

// begunInLane looks at a task of a lane that has begun, whose process then dies and whose card loses its label.
func begunInLane(r *Rig, p stage.Pipeline, item string) {
	row := r.Task(item)
	require.Equal(r, "fix", row.State.Lane)
	story, err := r.Store.Journal(context.Background(), row.ID)
	require.NoError(r, err)
	first, err := story[0].Recorded()
	require.NoError(r, err)
	require.Equal(r, "fix", first.Event.Lane)
	require.Contains(r, first.Decision.Notes, "its lane is fix")
	require.Equal(r, p.Lanes[0].Stages[0], first.Decision.State.Stage)
	require.Contains(r, first.Decision.Edge, string(p.Lanes[0].Stages[0]))
	x := r.Explain(item)
	require.Equal(r, "fix", x.Lane)
	for _, m := range x.Moves {
		require.False(r, p.Lacks(row.State, m.To) && m.To != stage.DeployStaging, m)
	}
	label(r, item)
	r.Shutdown()
	r.Start()
}

// label gives a card labels.
func label(r *Rig, item string, labels ...string) {
	i, err := r.Board.Item(context.Background(), App, item)
	require.NoError(r, err)
	i.Labels = labels
	r.Board.Put(i)
}

func play(t *testing.T, p stage.Pipeline, gated, undeployed, self bool) {
	Run(t, func(r *Rig) {
		r.Pipeline = p
		r.Projects[0].Deploy.None, r.Projects[0].SelfHosting = undeployed, self
		if len(p.Lanes) > 0 {
			r.Projects[0].Lanes.Labels = []task.LabelLane{{Label: "other", Lane: stage.WholeLane}, {Label: "fix", Lane: "fix"}}
		}
		leases := memlease.New(nil)
		r.Features = func() []orchestrator.Feature {
			deps := effects.Deps{
				Store: r.Store, Jobs: r.Store, Projects: r.Parts().Projects, Tracker: r.Board, Host: r.Host, Messenger: r.Chat, Workspaces: r.Place, Agents: r.Place,
			}
			set := features.Default()
			set.BudgetTask, set.BudgetRepoDay, set.BudgetRun = 1e9, 1e9, 1e6
			set.SerialGate.Repos = []string{"*"}
			if gated {
				set.MergeGate.Repos = []string{"*"}
			}
			made, err := set.Make(features.Parts{
				Parts: r.Parts(), Tracker: r.Board, Messenger: r.Chat, Leases: leases, Merger: effects.Runners(deps)[stage.EffectMerge],
			})
			require.NoError(r, err)
			return made.List
		}
	}, func(r *Rig) {
		rejected := false
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			out := GoodAgent(ctx, c, files)
			if c.Role == "auditor" && !rejected {
				rejected = true
				require.Contains(r, c.Prompt, "Look for holes in "+c.Env["SIGNALBOX_BRANCH"])
				require.Contains(r, c.Prompt, "verdict: clean or vulnerable")
				files[work.ReportPath] = "---\nverdict: vulnerable\nsha: " + c.Env["SIGNALBOX_SHA"] + "\nsummary: a hole\n---\n"
			}
			return out
		})
		first, second := r.Card(App, "one"), r.Card(App, "two")
		if len(p.Lanes) > 0 {
			label(r, second, "more", "Fix")
			r.Place.SetRemote(AppRepo, "feature/APP-2-two", "a-person's-commit")
		}
		for _, item := range []string{first, second} {
			r.Set(item, stage.StatusToAnalyse)
		}
		r.Settle(time.Second)
		if len(p.Lanes) > 0 {
			begunInLane(r, p, second)
		}
		r.Settle(time.Minute)
		for range 4 {
			for _, item := range []string{first, second} {
				switch r.Task(item).State.Hold {
				case stage.HoldApproval:
					r.Set(item, stage.StatusApproved)
				case stage.HoldConfirm:
					r.Set(item, stage.StatusConfirmDeploy)
				}
			}
			r.Settle(time.Hour)
		}
		for _, item := range []string{first, second} {
			require.Equal(r, stage.Done, r.Task(item).State.Stage, r.Explain(item).Summary)
			var met []stage.Stage
			for _, c := range r.Place.Runs() {
				if c.TaskID == r.Task(item).ID && !slices.Contains(met, c.Stage) {
					met = append(met, c.Stage)
				}
			}
			var want []stage.Stage
			for _, i := range p.Stages {
				lacks := item == second && len(p.Lanes) > 0 && !slices.Contains(p.Lanes[0].Stages, i.Stage)
				if !i.Sink && !(undeployed && i.Role == stage.Deployer) && !lacks {
					want = append(want, i.Stage)
				}
			}
			require.Equal(r, want, met)
			replayed, err := admin.Replay(context.Background(), r.Engine, r.Task(item).ID)
			require.NoError(r, err)
			require.Empty(r, replayed.First())
			require.NotEmpty(r, r.Task(item).State.MergeSHA)
		}
		ran := r.Place.Runs()
		if len(p.Lanes) > 0 {
			i := slices.IndexFunc(ran, func(c work.Command) bool { return c.TaskID == r.Task(second).ID })
			require.Contains(r, ran[i].Prompt, "what is wanted")
			require.Contains(r, ran[i].Prompt, "/request.md")
			require.NotEqual(r, "feature/APP-2-two", r.Task(second).Branch)
			require.Equal(r, "a-person's-commit", r.Place.Remote(AppRepo, "feature/APP-2-two"))
		}
		// One begins at a time.
		begun := slices.IndexFunc(ran, func(c work.Command) bool { return c.TaskID != ran[0].TaskID })
		require.False(r, slices.ContainsFunc(ran[begun:], func(c work.Command) bool { return c.TaskID == ran[0].TaskID }))
		require.Equal(r, p.Info("security").Stage != "", rejected)
	})
}
