package documents_test

import (
	"context"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/documents"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

func all(string) bool { return true }

func none(string) bool { return false }

// All that a person decides by is of one commit, in the sentence of the explanation; what has changed since the last
// verdict is apart from the whole, and the next one in the line is named.
func TestDecisionHasAllOfACommit(t *testing.T) {
	read(t, map[string]string{"DOCS/requirements.md": "the first\n"}, func(r *Rig, item string, d documents.Reader) {
		ctx, first := context.Background(), r.Task(item)
		got, err := d.Decision(ctx, first, "", all)
		require.NoError(r, err)
		why, err := explain.One(ctx, r.Engine, first.ID)
		require.NoError(r, err)
		require.Equal(r, why.Summary, got.Asked)
		require.Equal(r, why.Blockers[0].Do, got.Do)
		require.Equal(r, []stage.Status{stage.StatusApproved, stage.StatusRejected}, got.Words)
		require.Equal(r, first.State.Head, got.Commit)
		require.Nil(r, got.Seen)
		require.Nil(r, got.Next)
		require.NotEmpty(r, got.Reports)

		r.Begin("y")
		r.Settle(time.Minute)
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			result := GoodAgent(ctx, c, files)
			files[c.Env["SIGNALBOX_DOCS"]+"/requirements.md"] = "the second\n"
			return result
		})
		require.NoError(r, admin.Decide(ctx, r.Engine, first.ID, admin.Word{On: stage.OnRejected, Why: "more", Of: first.State.Head}, admin.OperatorBy(stage.ViaAPI)))
		r.Settle(time.Minute)
		now := r.Task(item)
		got, err = d.Decision(ctx, now, "", all)
		require.NoError(r, err)
		require.NotEqual(r, first.State.Head, got.Commit)
		require.Equal(r, first.State.Head, got.Seen.Commit)
		require.Equal(r, stage.StatusRejected, got.Seen.Word)
		require.Len(r, got.Since.Files, 2, "of the three documents two have changed")
		require.Contains(r, got.Since.Files[1].Text, "-the first\n+the second\n")
		require.Len(r, got.Diff.Files, 3)
		added, removed := got.Since.Files[1].Lines()
		require.Equal(r, []int{1, 1}, []int{added, removed})

		checks := map[string]int{}
		for _, v := range got.Evidence {
			checks[v.Check]++
		}
		require.Equal(r, 1, checks["check_analysis_ready"], "both runs were judged, and the last verdict counts")
		old, err := d.Decision(ctx, now, first.State.Head, all)
		require.NoError(r, err)
		require.Nil(r, old.Seen, "the verdict was of this one")

		line, err := d.Decisions(ctx, all)
		require.NoError(r, err)
		require.Len(r, line, 2)
		require.NotEqual(r, now.ID, line[0].TaskID, "who waits longest is first")
		require.Equal(r, line[0].TaskID, got.Next.TaskID)
		require.Nil(r, line[0].Diff)
		hidden, err := d.Decision(ctx, now, "", none)
		require.NoError(r, err)
		require.Nil(r, hidden.Next, "of a repository that the reader may not read")
		empty, err := d.Decisions(ctx, none)
		require.NoError(r, err)
		require.Empty(r, empty)
	})
}

// Of each gate the last verdict is evidence, with what it has seen of CI.
func TestDecisionShowsTheGates(t *testing.T) {
	read(t, map[string]string{"src/a.go": "package a\n"}, func(r *Rig, item string, d documents.Reader) {
		got, err := d.Decision(context.Background(), r.Task(item), "", all)
		require.NoError(r, err)
		seen := map[string]gates.Verdict{}
		for _, v := range got.Evidence {
			seen[v.Check] = v
		}
		ci := seen["all"].Children
		require.NotEmpty(r, ci, "%+v", got.Evidence)
		require.Equal(r, "check_ci_green", ci[0].Check)
		require.NotEmpty(r, ci[0].Evidence)
		require.Empty(r, got.Words, "it is done")
		require.Equal(r, stage.StatusApproved, got.Seen.Word, "of the requirements")
		require.Positive(r, len(got.Since.Files))
	})
}
