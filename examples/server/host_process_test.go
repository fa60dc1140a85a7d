package main

import (
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

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
	item := w.card("HST", "Look at it")
	w.move(item, "To Analyse")
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
	w.until("it is deployed", func() bool { return w.isOver(item) })
	require.Equal(t, w.task(item).MergeSHA+"\n", w.read("deployed-SLF-1"))
	require.Equal(t, 2, w.host.Merges())
	w.until("the lease is free", func() bool { return w.holder() == "" })
}

// A red CI sends the task back as often as the setting says; then a person is notified, once,
// whose word begins anew.
func TestRedCIOfTheServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"MAX_DEVELOPER_RETRIES": "2", "TELEGRAM_TOKEN": chatToken, "TELEGRAM_CHAT_ID": "1"}, &place{prefix: "RED"})
	w.builds(func(p forgetest.Push) bool { _, err := p.File("src/RED-1"); return err != nil }) // what the developer makes does not build
	w.write("RED-1-developer", `date +%N >"$docs/try"; printf '%s\n' "$SIGNALBOX_FEEDBACK" >>"$WORLD_DIR/feedback"`+"\n")
	item := w.card("RED", "Never builds")
	w.move(item, "To Analyse")
	w.approve(item)
	w.until("it is Blocked", func() bool { return w.column(item) == "Blocked" })
	developers := func() int { return strings.Count(w.read("runs"), "RED-1 developer") }
	require.Equal(t, 3, developers(), "once, and two retries")
	require.Equal(t, []any{stage.Development, stage.HoldBlocked, 2}, []any{w.task(item).Stage, w.task(item).Hold, w.task(item).Retries})
	require.Contains(t, w.read("feedback"), "does not build")
	require.Contains(t, w.read("server.log"), `msg="CI failed"`)
	errors := 0
	for _, m := range w.chat.Messages() {
		if !m.Silent && strings.Contains(m.Text, "task error") {
			errors++
		}
	}
	require.Equal(t, 1, errors)
	w.builds(nil)
	w.move(item, "In Progress")
	w.until("a person's word begins anew", func() bool { return w.isOver(item) })
}

// A branch that conflicts with main, and one whose tests are red on it, go back to the
// developer; the lease is free meanwhile, and main is never rewritten.
func TestMergeGateSendsBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"SERIAL_GATE_ENABLED": "false", "MERGE_GATE_REPOS": "*"}, &place{prefix: "CON"}, &place{prefix: "RET"})
	// Both tasks write one file; the second one's developer, sent back, stands it on main.
	w.write("CON-1-developer", "echo one >same\n")
	w.write("CON-2-developer", `cp "$SIGNALBOX_PROMPT_FILE" "$WORLD_DIR/prompt-CON"
if [ -n "$SIGNALBOX_FEEDBACK" ]; then git rebase --quiet -X theirs origin/main; await "$WORLD_DIR/developed"; else echo two >same; fi
`)
	// The second task builds on its own, and on the first one's work only when it is mended.
	w.builds(func(p forgetest.Push) bool {
		_, first := p.File("src/RET-1")
		_, second := p.File("src/RET-2")
		_, mended := p.File("mended")
		return first != nil || second != nil || mended == nil
	})
	w.write("RET-2-developer", `cp "$SIGNALBOX_PROMPT_FILE" "$WORLD_DIR/prompt-RET"
if [ -n "$SIGNALBOX_FEEDBACK" ]; then touch mended; await "$WORLD_DIR/developed"; fi
`)
	for prefix, want := range map[string]string{"CON": "the branch conflicts with main at ", "RET": "does not build"} {
		w.write(prefix+"-2-tester", "await $WORLD_DIR/test-"+prefix+"\n")
		one, two := w.card(prefix, "one"), w.card(prefix, "two")
		for _, item := range []string{one, two} {
			w.move(item, "To Analyse")
			w.approve(item)
		}
		w.until("the first is done", func() bool { return w.isOver(one) })
		main := w.task(one).MergeSHA
		w.at(two, stage.Testing, stage.Tester)
		w.write("test-"+prefix, "")
		w.until("the second goes back", func() bool {
			return w.task(two).Stage == stage.Development && w.task(two).Active == stage.Developer && w.task(two).Retries == 1
		})
		w.until("the developer reads why", func() bool { return strings.Contains(w.read("prompt-"+prefix), want) })
		w.until("the lease is free", func() bool { return w.holder() == "" })
		require.Equal(t, main, w.heads(prefix)["main"])
		w.write("developed", "")
		w.until("the second is done", func() bool { return w.isOver(two) })
		bare := w.places[prefix].bare
		require.Equal(t, main, w.git(bare, "merge-base", main, w.heads(prefix)["main"]), "main only grew")
	}
	require.Contains(t, w.read("prompt-CON"), " in same: rebase it onto origin/main and resolve that")
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
			w.until("the first is done", func() bool { return w.isOver(one) })
			merged := w.task(one).MergeSHA
			require.Equal(t, merges, w.git(bare, "rev-list", "--count", "--merges", base+".."+merged+"^2"))
			w.write("test", "")
			w.until("the second is done", func() bool { return w.isOver(two) })
			require.Equal(t, merged, w.git(bare, "merge-base", merged, w.task(two).MergeSHA+"^2"), "behind main it is brought onto it")
		})
	}
}

// A branch that a person deletes on the remote while an agent works is made anew by In Progress at
// every stage, with a git host and without one: the word that why gives ends it.
func TestDeletedBranch(t *testing.T) {
	t.Parallel()
	settings := map[string]string{"GIT_POLL": "10m", "MONITOR_ENABLED": "false"}
	w := newWorld(t, settings, &place{prefix: "HST"}, &place{prefix: "PLN", plain: true, more: ", ci: [[\"true\"]]"})
	for _, prefix := range []string{"HST", "PLN"} {
		for i, at := range []struct {
			stage stage.Stage
			role  stage.Role
		}{{stage.Architecture, stage.Architect}, {stage.Testing, stage.Tester}, {stage.DeployStaging, stage.Deployer}} {
			name := fmt.Sprintf("%s-%d", prefix, i+1)
			w.write(name+"-"+string(at.role), "await $WORLD_DIR/go-"+name+"\n")
			item := w.card(prefix, "deleted at "+string(at.stage))
			w.move(item, "To Analyse")
			w.approve(item)
			w.at(item, at.stage, at.role)
			branch := w.task(item).Branch
			w.until("it is published", func() bool {
				owed := slices.DeleteFunc(w.task(item).Jobs, func(j web.JobView) bool { return j.Status.Terminal() })
				return w.branches(prefix)[branch] != "" && len(owed) == 1 // the agent
			})
			w.git(w.places[prefix].bare, "update-ref", "-d", "refs/heads/"+branch)
			w.write("go-"+name, "")
			w.until("it is said", func() bool { return w.column(item) == "Blocked" && !owed(w.task(item)) })
			require.Contains(t, w.task(item).HoldReason, "was deleted on the remote; In Progress")
			w.move(item, "In Progress")
			w.until("it is done", func() bool { return w.isOver(item) })
			require.NotContains(t, strings.Join(w.said(item, "bot"), "\n"), "force-with-lease")
		}
	}
}

// A remote whose rules refuse the branches is quoted at the first push: the task is held there, no
// further agent starts, and the word on the card ends it.
func TestRefusedBranch(t *testing.T) {
	t.Parallel()
	w := newWorld(t, map[string]string{"MONITOR_ENABLED": "false"}, &place{prefix: "HST"}, &place{prefix: "PLN", plain: true, more: ", ci: [[\"true\"]]"})
	for _, prefix := range []string{"HST", "PLN"} {
		hook := filepath.Join(w.places[prefix].bare, "hooks", "update")
		require.NoError(t, os.WriteFile(hook, []byte("#!/bin/sh\ncase $1 in refs/heads/feature/*) echo 'names begin with team/' >&2; exit 1;; esac\n"), 0o700))
		item := w.card(prefix, "Refused")
		w.move(item, "To Analyse")
		w.until("it is held", func() bool { return w.column(item) == "Blocked" && !owed(w.task(item)) })
		require.Len(t, w.runs(prefix+"-1"), 1)
		require.Contains(t, w.task(item).HoldReason, "names begin with team/")
		require.Equal(t, 1, strings.Count(strings.Join(w.said(item, "bot"), "\n"), "names begin with team/"), "it is said once")
		require.NoError(t, os.Remove(hook))
		w.move(item, "In Progress")
		w.approve(item)
		w.until("it is done", func() bool { return w.isOver(item) })
	}
}
