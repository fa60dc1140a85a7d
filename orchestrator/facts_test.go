package orchestrator_test

import (
	"context"
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// content reads what an entry names.
func content(r *Rig, id string, into any) (size int) {
	r.Helper()
	body, err := r.Store.Content(context.Background(), id)
	require.NoError(r, err)
	require.NoError(r, json.Unmarshal(body, into))
	return len(id) + len(task.Pack(body))
}

// The facts of a life take at most half as much again as its conclusions took alone, and each decision names the policy
// that it was made by, the subject that was judged, and the word that it answers.
func TestFactsOfALife(t *testing.T) {
	Run(t, func(r *Rig) {
		r.Options.Settings = func() map[string]string { return map[string]string{"program": "v1"} }
	}, func(r *Rig) {
		item := r.Card(App, "x")
		r.SetCI("")
		r.ToDone(App, item)
		row := r.Task(item)
		for range 20 { // CI is polled, and says the same
			r.HostHook(githost.Hook{Kind: githost.HookCI, Repo: AppRepo, SHA: row.State.Head, Branch: row.Branch})
			r.Settle(time.Minute)
		}
		r.Host.SetChecks(row.State.Head, githost.Check{Name: "build", State: githost.CheckPassed})
		r.SetCI(githost.CheckPassed)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)

		entries := read(r, r.Store.Journal, row.ID)
		results := read(r, r.Store.GateResults, row.ID)
		before, now, kept, words := 0, 0, map[string]int{}, map[int64]bool{}
		for _, g := range results {
			tree, _ := json.Marshal(g.Verdict)
			before, now = before+len(tree), now+len(tree)
		}
		for _, e := range entries {
			now += len(e.Payload)
			rec, err := e.Recorded()
			if err != nil {
				if e.Kind != task.KindHolding {
					before += len(e.Payload)
				}
				continue
			}
			require.NotContains(r, string(e.Payload[:4+len(`{"event":{"on":`)]), "verdict")
			old, _ := json.Marshal(struct {
				Event    stage.Event    `json:"event"`
				Decision stage.Decision `json:"decision"`
			}{rec.Event, rec.Decision})
			before += len(old)
			var policy orchestrator.Policy
			kept[rec.Policy] = content(r, rec.Policy, &policy)
			require.Equal(r, "v1", policy.Settings["program"])
			require.Equal(r, AppRepo, policy.Projects[0].Repo)
			words[rec.Word] = true
			if rec.Event.Verdict.Outcome == "" {
				require.Empty(r, rec.Subject)
				continue
			}
			var subject gates.Frozen
			kept[rec.Subject] = content(r, rec.Subject, &subject)
			if subject.Diff != "" {
				kept[subject.Diff] = content(r, subject.Diff, &struct{}{})
			}
		}
		for _, size := range kept {
			now += size
		}
		t.Logf("%d entries, %d contents: %d bytes before, %d now, %.2f times as much", len(entries), len(kept), before, now, float64(now)/float64(before))
		require.Less(r, float64(now), 1.5*float64(before))
		require.Less(r, len(kept), 20, "polls that say the same share their subject")
		require.Len(r, words, 3, "none, To Analyse and Approved")
		require.Positive(r, r.Replays())
	})
}
