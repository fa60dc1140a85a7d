package orchestrator_test

import (
	"context"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// happyComments are the comments of a life in which nothing goes wrong, as docs/operations.md has them:
// of whom, and how many at most.
var happyComments = []struct {
	kind, author, form string
	most               int
}{
	{"the start", "analyst", `^The task is taken up: the analyst is next\.$`, 1},
	{"an agent's end that asks for the approval", "analyst", `^The analyst has finished \(analysis\)\. The requirements are ready\. Set the status Approved to go on, or Rejected with a comment that says why\.\n` + small, 1},
	{"an agent's end that asks for Confirm Deploy", "deployer", `^The deployer has finished \(deploy\)\. The deployment is prepared\. Set the status Confirm Deploy to merge and deploy it\.\n` + small, 1},
	{"an agent's end", "", `^The [a-z]+ has finished \([a-z-]+\)\.\n` + small, 6},
	{"a transition", "stream", `^[a-z-]+ → [a-z-]+: [^\n]+$`, 7},
}

// small is the last line of an agent's comment: links, and what the run has cost.
const small = `([a-z-]+\.md: https://git\.example\.org/acme/[a-z]+/blob/[0-9a-f]+/docs/work/[A-Z]+-1/[a-z-]+\.md · )*350 tokens in \(300 cached\), 20 out, \$0\.0015, m$`

// merges makes a rig with the merge gate on, whose branches main has left behind.
func merges(r *Rig) {
	with(r, "*", part{"merge_gate", mergeGatePart})
	r.Place.SetRemote(AppRepo, "main", "m0")
	r.Place.SetRemote("acme/self", "main", "m0")
}

// A life in which nothing goes wrong leaves the listed comments on its card and no others,
// each of two lines at most.
func TestCommentsOfALife(t *testing.T) {
	for name, c := range map[string]struct {
		prepare func(*Rig)
		project string
		most    int
	}{
		"in a repository":                 {nil, App, 15},
		"in the service's own":            {nil, Self, 16},
		"in one with the merge gate":      {merges, App, 15},
		"in its own, with the merge gate": {merges, Self, 16},
	} {
		t.Run(name, func(t *testing.T) {
			Run(t, c.prepare, func(r *Rig) {
				item := r.Card(c.project, "x")
				r.ToDone(c.project, item)
				if r.Task(item).State.Hold == stage.HoldConfirm {
					r.Move(c.project, item, stage.StatusConfirmDeploy)
				}
				r.Settle(5 * time.Minute)
				r.Stands(item, stage.Done)
				list, err := r.Board.Comments(r.Context(), c.project, item)
				require.NoError(r, err)
				count := map[string]int{}
				for _, m := range list {
					kind := "none that is listed: " + m.Body
					for _, l := range happyComments {
						if strings.HasSuffix(m.AuthorID, l.author) && regexp.MustCompile(l.form).MatchString(m.Body) {
							kind = l.kind
							break
						}
					}
					count[kind]++
				}
				for _, l := range happyComments {
					require.LessOrEqual(r, count[l.kind], l.most, l.kind)
					delete(count, l.kind)
				}
				require.Empty(r, count)
				require.Len(r, list, c.most)
			})
		})
	}
}

// A reason of many lines is one line of a comment, and not all of it when it is long.
func TestCommentsAreShort(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Developer, func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: strings.Repeat("line after line\n", 200)}
		}))
		item := r.Finish("x")
		r.Settle(time.Hour)
		r.Waits(item, stage.HoldBlocked)
		all := r.Comments(App, item)
		last := all[len(all)-1]
		require.Equal(r, 1, strings.Count(last, "\n"), last)
		require.Less(r, len(last), 600)
		require.True(r, strings.HasSuffix(last, "…\nSet the status In Progress to try again."), last)
		require.Contains(r, r.Task(item).State.HoldReason, strings.Repeat("line after line\n", 100), "the story has all of it")
	})
}
