package app_test

import (
	"context"
	"fmt"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// What a reviewer says on a line reaches the developer with its side of the diff, is answered in its thread and resolved: a base that
// demands resolved conversations is merged into without a wait. What others say is neither given nor answered.
func TestConversations(t *testing.T) {
	t.Parallel()
	for _, onGitea := range []bool{false, true} {
		twinned(t, onGitea, "success", func(r *orchestratortest.Rig, w *twin) {
			w.server.SetRole("passer", "read")
			const branch = "feature/APP-1-x"
			reviewed, prompt := 0, ""
			r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				res := orchestratortest.GoodAgent(ctx, c, files)
				switch {
				case c.Role == stage.Reviewer && reviewed < 2:
					reviewed++
					files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
					if reviewed == 2 { // the answers of the run before stand in the branch
						break
					}
					for i, by := range []string{"kim", "passer", "kim"} {
						l := forgetest.LineComment{Author: by, Path: "cart.go", Line: 9 + i, Body: "Why so, says " + by, Old: by == "kim"}
						require.NoError(r, w.server.Comment(orchestratortest.AppRepo, branch, l))
					}
					w.server.SetSettings(orchestratortest.AppRepo, func(s *forgetest.Settings) { s.Conversations, s.Admin = true, true })
					w.server.ResolveThread(orchestratortest.AppRepo, branch, 2) // the passer's own matter
				case c.Role == stage.Developer && reviewed == 1:
					prompt = c.Prompt
					files[c.Env["SIGNALBOX_DOCS"]+"/"+stage.RepliesFile] = "1: It is an int now.\n2: Go away.\n3: See 1.\n3: Twice.\n17: No such.\nNo answer.\n"
				}
				return res
			})
			item := r.Card(orchestratortest.App, "x")
			r.ToDone(orchestratortest.App, item)
			r.Settle(20 * time.Minute)
			isDone(r, item)
			require.Len(r, r.Roles(), 11, "two reviews and two developer's runs more")
			require.Contains(r, prompt, "    1. cart.go:9 as it was (kim): Why so, says kim\n")
			require.NotContains(r, prompt, "passer")
			require.Regexp(r, regexp.MustCompile(`NUMBER: WHAT WAS DONE in \S+/replies.md`), prompt)
			lines, said := w.server.LineComments(orchestratortest.AppRepo, branch), []string{}
			for i, l := range lines {
				require.True(r, l.Resolved || i > 2, "%d", i)
				if l.Answers != 0 {
					_, text, _ := strings.Cut(l.Body, "-->\n")
					said = append(said, text)
				}
			}
			require.Equal(r, []string{"It is an int now.", "See 1."}, said)
			r.Replays()
		})
	}
}

// What the developer answers is kept with a push that the remote refuses: it comes with the one that is taken, after the end of the
// process too, and once.
func TestAnswersOfARefusedPush(t *testing.T) {
	t.Parallel()
	twinned(t, false, "success", func(r *orchestratortest.Rig, w *twin) {
		const branch = "feature/APP-1-x"
		reviewed, developed := 0, 0
		r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
			res := orchestratortest.GoodAgent(ctx, c, files)
			switch {
			case c.Role == stage.Reviewer && reviewed == 0:
				reviewed++
				files[work.ReportPath] = "---\nverdict: changes_requested\nsha: " + c.Env["SIGNALBOX_SHA"] + "\n---\n"
				for _, why := range []string{"Why?", "How?"} {
					l := forgetest.LineComment{Author: "kim", Path: "cart.go", Line: 9, Body: why}
					require.NoError(r, w.server.Comment(orchestratortest.AppRepo, branch, l))
				}
			case c.Role == stage.Developer && reviewed == 1:
				developed++
				files[c.Env["SIGNALBOX_DOCS"]+"/"+stage.RepliesFile] = []string{"1: It is an int now.", "1: It is an int now.\n2: So."}[developed-1]
				if developed == 1 {
					r.Place.FailCall("Push", fmt.Errorf("%w: not on a Friday", work.ErrRefused))
				}
			}
			return res
		})
		item := r.Card(orchestratortest.App, "x")
		r.ToDone(orchestratortest.App, item)
		r.Settle(10 * time.Minute)
		r.Waits(item, stage.HoldBlocked)
		require.Len(r, w.server.LineComments(orchestratortest.AppRepo, branch), 2, "no answer to what nobody can see")
		r.Shutdown()
		r.Place.FailCall("Push", nil)
		r.Start()
		r.Set(item, stage.StatusInProgress)
		r.Settle(20 * time.Minute)
		isDone(r, item)
		require.Equal(r, 2, developed)
		said := map[string]int{}
		for _, l := range w.server.LineComments(orchestratortest.AppRepo, branch)[2:] {
			_, text, _ := strings.Cut(l.Body, "-->\n")
			said[fmt.Sprint(l.Answers, " ", text)]++
		}
		require.Equal(r, map[string]int{"1 It is an int now.": 1, "2 So.": 1}, said)
		r.Replays()
	})
}

// A card that the host does not merge because a conversation is not resolved goes on within seconds of its last one, also behind
// the merge gate; one that is opened again is none of that.
func TestResolvedConversation(t *testing.T) {
	t.Parallel()
	for _, gated := range []bool{false, true} {
		twinned(t, false, "success", func(r *orchestratortest.Rig, w *twin) {
			const branch = "feature/APP-1-x"
			if w.gated = gated; gated {
				r.Shutdown()
				r.Start()
			}
			w.server.SetSettings(orchestratortest.AppRepo, func(s *forgetest.Settings) { s.Conversations = true })
			r.Place.SetScript(func(ctx context.Context, c work.Command, files map[string]string) work.Result {
				if c.Role == stage.Reviewer {
					for range 2 {
						l := forgetest.LineComment{Author: "kim", Path: "cart.go", Line: 9, Body: "Why?"}
						require.NoError(r, w.server.Comment(orchestratortest.AppRepo, branch, l))
					}
				}
				return orchestratortest.GoodAgent(ctx, c, files)
			})
			item := r.Card(orchestratortest.App, "x")
			r.ToDone(orchestratortest.App, item)
			r.Settle(20 * time.Minute)
			r.Waits(item, stage.HoldBlocked)
			require.Contains(r, r.Task(item).State.HoldReason, "conversation")
			hook := githost.Hook{Kind: githost.HookThread, Action: "resolved", Repo: orchestratortest.AppRepo, Branch: branch, Number: 1, Sender: "kim"}
			w.server.ResolveThread(orchestratortest.AppRepo, branch, 1)
			r.HostHook(hook)
			r.Settle(5 * time.Second)
			r.Waits(item, stage.HoldBlocked)
			w.server.ResolveThread(orchestratortest.AppRepo, branch, 2)
			hook.Action = "unresolved"
			r.HostHook(hook)
			r.Settle(5 * time.Second)
			r.Waits(item, stage.HoldBlocked)
			hook.Action = "resolved"
			r.HostHook(hook)
			r.Settle(5 * time.Second)
			require.NotEmpty(r, r.Task(item).State.MergeSHA, r.Explain(item).Summary)
			r.Settle(5 * time.Minute)
			r.Stands(item, stage.Done)
			require.Len(r, r.Roles(), 7)
			r.Replays()
		})
	}
}
