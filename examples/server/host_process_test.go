package main

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// cardIn makes a card and moves it to a column.
func (w *world) cardIn(prefix, title, column string) string {
	w.Helper()
	id := w.card(prefix, title)
	w.move(id, column)
	return id
}

// analysed waits until a person is to approve what the analyst has written.
func (w *world) analysed(item string) {
	w.Helper()
	w.until("the analyst finishes", func() bool { return w.task(item).Hold == "approval" && w.column(item) == "In Review" })
}

// ends waits until a card is done, and the outside has had all of it.
func (w *world) ends(item string) {
	w.Helper()
	w.until("it is done", func() bool { return w.column(item) == "Done" && !owed(w.task(item)) })
}

// holds waits until a card's task waits in a way.
func (w *world) holds(item, hold string) {
	w.Helper()
	w.until("the task waits: "+hold, func() bool { return string(w.task(item).Hold) == hold })
}

// over waits until the service has ended a card's task.
func (w *world) over(item string) {
	w.Helper()
	w.until("the task is done", func() bool { return w.isOver(item) })
}

// reaches waits until a card stands in a column.
func (w *world) reaches(item, column string) {
	w.Helper()
	w.until("the card gets to "+column, func() bool { return w.column(item) == column })
}

// at waits until a card is at a stage with a role at work.
func (w *world) at(item string, s stage.Stage, role stage.Role) {
	w.Helper()
	w.until(fmt.Sprintf("the %s works at %s", role, s), func() bool {
		t := w.task(item)
		return t.Stage == s && t.Active == role && w.worked(t.WorkItemID, string(role)+" ")
	})
}

// What the host reports: pushes, reviews of people, merges by hand, CI; each delivery once,
// and nothing of repositories that nobody has registered.
func TestWhatTheHostTells(t *testing.T) {
	t.Parallel()
	w := newWorld(t, nil, &place{prefix: "HST"}, &place{prefix: "SLF", self: true})
	for event, body := range map[string]string{
		"push":   `{"ref":"refs/heads/x","after":"%s","repository":{"full_name":"acme/foreign"}}`,
		"status": `{"state":"success","sha":"%s","repository":{"full_name":"acme/foreign"}}`,
	} {
		require.Equal(t, http.StatusOK, w.hook(w.addr, w.env["GITHUB_WEBHOOK_SECRET"], "foreign-"+event, event, fmt.Sprintf(body, strings.Repeat("a", 40))), "ignored")
	}
	ci := fmt.Sprintf(`{"state":"success","sha":"%s","repository":{"full_name":"acme/hst"}}`, strings.Repeat("b", 40))
	for _, want := range []int{http.StatusAccepted, http.StatusOK} {
		require.Equal(t, want, w.hook(w.addr, w.env["GITHUB_WEBHOOK_SECRET"], "twice", "status", ci), "the second is a duplicate")
	}
	require.Equal(t, http.StatusUnauthorized, w.hook(w.addr, "a secret of somebody else", "forged", "status", ci))

	w.host.SetRole("kim", "write")
	w.write("HST-1-reviewer", "await $WORLD_DIR/never\n")
	w.write("HST-1-tester", "await $WORLD_DIR/never\n")
	w.write("HST-1-developer", `printf '%s\n' "$SIGNALBOX_FEEDBACK" >>"$WORLD_DIR/feedback"`+"\n")
	item := w.cardIn("HST", "Look at it", "To Analyse")
	w.approve(item)
	w.at(item, stage.Review, stage.Reviewer)
	branch := w.task(item).Branch
	require.NoError(t, w.host.Review("acme/hst", branch, "kim", "CHANGES_REQUESTED", "", "name it otherwise"))
	w.until("the developer works again", func() bool { return strings.Contains(w.read("feedback"), "name it otherwise") })
	w.at(item, stage.Review, stage.Reviewer)
	require.NoError(t, w.host.Review("acme/hst", branch, "kim", "APPROVED", "", ""))
	w.at(item, stage.Testing, stage.Tester)
	require.NoError(t, w.host.Merge("acme/hst", branch))
	w.until("a merge by hand ends the task", func() bool { return w.isOver(item) && w.column(item) == "Done" })
	w.until("and its agent", func() bool { return len(w.living("HST-1", "no mark")) == 0 && !owed(w.task(item)) })
	require.Empty(t, w.read("deployed-HST-1"))

	item = w.card("SLF", "Merged too early")
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("Confirm Deploy is waited for", func() bool { return w.task(item).Hold == stage.HoldConfirm && w.column(item) == "Awaiting Deploy" })
	require.NotEmpty(t, w.holder())
	require.NoError(t, w.host.Merge("acme/slf", w.task(item).Branch))
	w.until("the merge is heard of", func() bool { return strings.Contains(w.read("server.log"), "on=pr_merged stage=deploy") })
	require.Equal(t, []any{stage.Deploy, stage.HoldConfirm}, []any{w.task(item).Stage, w.task(item).Hold}, "which ends no deployment")
	w.move(item, "Confirm Deploy")
	w.over(item)
	require.Equal(t, w.task(item).MergeSHA+"\n", w.read("deployed-SLF-1"))
	require.Equal(t, 2, w.host.Merges())
	w.until("the lease is free", func() bool { return w.holder() == "" })
}

// ORCH_PREMERGE_REBASE_ALWAYS makes every branch straight before it is merged; without it
// only a branch that main has left behind is touched.
func TestRebaseAlways(t *testing.T) {
	t.Parallel()
	for setting, merges := range map[string]string{"true": "0", "false": "1"} {
		t.Run(setting, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, map[string]string{"SERIAL_GATE_ENABLED": "false", "MERGE_GATE_REPOS": "*", "PREMERGE_REBASE_ALWAYS": setting}, &place{prefix: "RBS"})
			// The developer brings a merge along.
			w.write("RBS-1-developer", `own=$(git branch --show-current)
git checkout --quiet -b side; echo s >side; keep; git checkout --quiet "$own"; echo o >other; keep; git merge --quiet --no-ff -m side side; git branch --quiet -D side
`)
			w.write("RBS-2-tester", "await $WORLD_DIR/test\n")
			one, two := w.card("RBS", "with a merge"), w.card("RBS", "left behind")
			for _, item := range []string{one, two} {
				w.move(item, "To Analyse")
				w.approve(item)
			}
			bare, base := w.places["RBS"].bare, w.heads("RBS")["main"]
			w.over(one)
			merged := w.task(one).MergeSHA
			require.Equal(t, merges, w.git(bare, "rev-list", "--count", "--merges", base+".."+merged+"^2"))
			w.write("test", "")
			w.over(two)
			require.Equal(t, merged, w.git(bare, "merge-base", merged, w.task(two).MergeSHA+"^2"), "behind main it is brought onto it")
		})
	}
}
