package app_test

import (
	"cmp"
	"context"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/forgetest"
	"github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// Of the verdicts of CI only those that the developer can mend run an agent again; what GitHub may mend is run again once for
// each commit, and a person is told once of the rest.
func TestVerdictsRunNoAgent(t *testing.T) {
	t.Parallel()
	type row struct {
		runs, retries, reruns int
		at                    stage.Stage
		hold                  stage.Hold
		says                  string
	}
	done, waits := row{runs: 7, at: stage.Done}, row{runs: 3, at: stage.Development}
	person := func(reruns int, says string) row {
		return row{3, 0, reruns, stage.Development, stage.HoldBlocked, says}
	}
	for verdict, want := range map[string]row{
		"success": done, "neutral": done, "skipped": done, "optional red": done,
		"pending": waits, "queued": waits, "waiting": waits, "expected": waits,
		"failure":           {6, 3, 0, stage.Development, stage.HoldBlocked, "out of retries"},
		"timed_out":         {6, 3, 4, stage.Development, stage.HoldBlocked, "out of retries"},
		"cancelled":         person(1, "have it run again at the git host: build cancelled"),
		"stale":             person(1, "stale"),
		"startup_failure":   person(1, "startup_failure"),
		"action_required":   person(0, "build held by app/github-actions: action_required (https://"),
		"awaiting approval": person(0, "waits for a person at the git host: GitHub Actions held"),
		"":                  person(0, "no CI is configured"),
	} {
		t.Run(cmp.Or(verdict, "no CI at all"), func(t *testing.T) {
			t.Parallel()
			reports, without := verdict, slices.Contains([]string{"expected", "optional red", "awaiting approval"}, verdict) // contexts
			if without {
				reports = ""
			}
			twinned(t, false, reports, func(r *orchestratortest.Rig, w *twin) {
				if without && verdict != "expected" {
					w.ci = verdict
				}
				switch verdict {
				case "expected", "optional red":
					w.server.SetSettings(orchestratortest.AppRepo, func(s *forgetest.Settings) { s.Required["main"] = []string{"build"} })
				case "":
					without := func(ctx context.Context, cmd work.Command, files map[string]string) work.Result {
						delete(files, ".github/workflows/ci.yml")
						return orchestratortest.GoodAgent(ctx, cmd, files)
					}
					r.Place.SetScript(orchestratortest.Instead(stage.Developer, without))
				}
				item := r.Card(orchestratortest.App, "x")
				r.ToDone(orchestratortest.App, item)
				for range 6 { // what was run again comes to the same
					r.Settle(4 * time.Minute)
					w.report(w.heads[len(w.heads)-1])
				}
				r.Settle(5 * time.Minute)
				now := r.Task(item)
				require.Len(r, r.Roles(), want.runs, now.State.HoldReason)
				require.Equal(r, want.at, now.State.Stage)
				require.Equal(r, want.hold, now.State.Hold)
				require.Equal(r, want.retries, now.State.Retries)
				require.Contains(r, now.State.HoldReason, want.says)
				require.Equal(r, want.reruns, w.server.Requests()[rerun])
				if !now.State.Outside {
					return
				}
				hook := githost.Hook{Kind: githost.HookCI, Repo: orchestratortest.AppRepo, Branch: now.Branch, SHA: now.State.Head}
				r.HostHook(hook) // of what was reported last, under another address
				r.Settle(time.Minute)
				said := len(r.Comments(orchestratortest.App, item))
				r.HostHook(hook)
				r.Settle(time.Minute)
				require.Len(r, r.Comments(orchestratortest.App, item), said, "people are told once")
				r.Move(orchestratortest.App, item, stage.StatusInProgress)
				r.Settle(time.Minute)
				require.Equal(r, stage.StatusBlocked, r.Status(orchestratortest.App, item), "it was looked at again")
				w.server.SetSuite(orchestratortest.AppRepo, w.heads[len(w.heads)-1], forgetest.Actions, "completed", "success")
				w.ci = "success"
				w.report(w.heads[len(w.heads)-1])
				r.HostHook(hook)
				r.Settle(5 * time.Minute)
				r.Stands(item, stage.Done)
				require.Len(r, r.Roles(), 7)
				r.Replays()
			})
		})
	}
}

const rerun = "POST /repos/{owner}/{repo}/actions/jobs/{id}/rerun"

// A check that is run again and passes then costs nobody anything.
func TestRunAgainAndGreen(t *testing.T) {
	t.Parallel()
	for _, conclusion := range []string{"timed_out", "cancelled", "stale", "startup_failure"} {
		twinned(t, false, conclusion, func(r *orchestratortest.Rig, w *twin) {
			item := r.Card(orchestratortest.App, "x")
			r.ToDone(orchestratortest.App, item)
			r.Settle(2 * time.Minute)
			require.Equal(r, 1, w.server.Requests()[rerun], conclusion)
			r.Waits(item, stage.HoldNone)
			for _, ci := range []string{"pending", "success"} {
				w.ci = ci
				w.report(w.heads[len(w.heads)-1])
				r.Settle(10 * time.Minute)
				r.Waits(item, stage.HoldNone)
			}
			r.Stands(item, stage.Done)
			require.Len(r, r.Roles(), 7)
			require.Equal(r, 1, w.server.Requests()[rerun])
			r.Replays()
		})
	}
}
