package orchestrator_test

import (
	"context"
	"io/fs"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// trespass makes a role commit files besides, in some of its runs.
func trespass(role stage.Role, when func(work.Command) bool, names ...string) memwork.Script {
	return Instead(role, func(ctx context.Context, c work.Command, files map[string]string) work.Result {
		res := GoodAgent(ctx, c, files)
		if when(c) {
			for _, name := range names {
				files[strings.ReplaceAll(name, "{docs}", c.Env["SIGNALBOX_DOCS"])] = "trespassed"
			}
		}
		return res
	})
}

func always(work.Command) bool { return true }

// trespassed lists the files of a task's branch that hold what nobody should have committed.
func trespassed(r *Rig, t task.Task) (out []string) {
	r.Helper()
	tree, err := r.Place.Files(r.Context(), work.Workspace{}, r.Place.Remote(t.Repo, t.Branch))
	require.NoError(r, err)
	require.NoError(r, fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		body, err := fs.ReadFile(tree, name)
		if string(body) == "trespassed" {
			out = append(out, name)
		}
		return err
	}))
	return out
}

// What a role commits outside of its set is taken by nobody; after its last attempt the
// task waits for a person, who reads what was tried and what is allowed.
func TestWritesOutside(t *testing.T) {
	for role, c := range map[stage.Role]struct {
		path string
		at   stage.Stage
	}{
		stage.Analyst:   {"src/early.go", stage.Analysis},
		stage.Architect: {".github/workflows/ci.yml", stage.Architecture},
		stage.Developer: {"{docs}/review.md", stage.Development},
		stage.Reviewer:  {"src/late.go", stage.Review},
		stage.Tester:    {"{docs}/requirements.md", stage.Testing},
		stage.Deployer:  {"deploy.sh", stage.DeployStaging},
	} {
		t.Run(string(role), func(t *testing.T) {
			Run(t, nil, func(r *Rig) {
				r.Place.SetScript(trespass(role, always, c.path))
				item := r.Finish("x")
				r.Settle(2 * time.Hour)
				task := r.Task(item)
				require.Equal(r, c.at, task.State.Stage)
				require.Equal(r, stage.HoldBlocked, task.State.Hold)
				path := strings.ReplaceAll(c.path, "{docs}", "docs/work/"+task.WorkItemID)
				require.Contains(r, task.State.HoldReason, "the commits of the "+string(role)+" change "+path+", and it may change ")
				require.Contains(r, task.State.HoldReason, "kept as refs/signalbox/left/")
				require.True(r, r.Commented(App, item, path))
				require.Equal(r, 4, r.Ran(role), "each attempt begins anew")
				require.Zero(r, r.Host.Merges())
				require.Empty(r, trespassed(r, task))
				entries := read(r, r.Store.Journal, task.ID)
				left := 0
				for _, e := range entries {
					if l, err := e.Left(); err == nil {
						require.Contains(r, l.Ref, "refs/signalbox/left/")
						left++
					}
				}
				require.Equal(r, 4, left)
				r.Replays()
			})
		})
	}
}

// A refusal is in the prompt of the next attempt, which begins at the branch and can do better.
func TestWritesOutsideOnce(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(trespass(stage.Reviewer, func(c work.Command) bool { return c.Attempt == 1 }, "src/fix.go"))
		item := r.Finish("x")
		r.Settle(time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.Done, task.State.Stage)
		require.Empty(r, trespassed(r, task))
		var prompts []string
		for _, c := range r.Place.Runs() {
			if c.Role == stage.Reviewer {
				prompts = append(prompts, c.Prompt)
			}
		}
		require.Len(r, prompts, 2)
		require.Contains(r, prompts[0], "may change only docs/work/"+task.WorkItemID+"/questions.md")
		require.NotContains(r, prompts[0], "src/fix.go")
		require.Contains(r, prompts[1], "The attempt before this one failed: the commits of the reviewer change src/fix.go")
	})
}

// The registry can let a role write more.
func TestWritesOfTheRegistry(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Projects[0].Writes = map[stage.Role][]string{stage.Tester: {"tests/**"}}
	}, func(r *Rig) {
		r.Place.SetScript(trespass(stage.Tester, always, "tests/deep/more_test.go"))
		task := r.Task(r.Finish("x"))
		require.Equal(r, stage.Done, task.State.Stage)
		require.Equal(r, []string{"tests/deep/more_test.go"}, trespassed(r, task))
	})
	_, err := task.NewProjects(task.Project{
		TrackerProject: "p", Repo: "a/b", CloneURL: "u", Prefix: "A", Writes: map[stage.Role][]string{stage.Tester: {"../x"}},
	})
	require.ErrorContains(t, err, `writes: tester: "../x" is no pattern`)
}

// What a reviewer has committed before it died is nobody's to go on from, not even for
// the developer.
func TestNobodyInheritsTrespasses(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(trespass(stage.Reviewer, always, "src/fix.go"))
		item := r.Finish("x")
		r.Settle(2 * time.Hour)
		r.Waits(item, stage.HoldBlocked)
		r.Place.SetScript(GoodAgent)
		r.Set(item, stage.StatusRejected)
		r.Settle(time.Minute)
		task := r.Task(item)
		require.Equal(r, stage.Done, task.State.Stage)
		require.Empty(r, trespassed(r, task))
	})
}
