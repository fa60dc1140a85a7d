package waitcomment_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/serialgate"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// waits are the comments on what a card waits for.
func waits(r *Rig, item string) (out []string) {
	for _, text := range r.Comments(App, item) {
		if strings.HasPrefix(text, "Waits") || strings.HasPrefix(text, "Goes on") {
			out = append(out, text)
		}
	}
	return out
}

// commenting makes a rig with comments on what cards wait for, and with STOP; the serial gate
// covers the repositories.
func commenting(t *testing.T, repos []string, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			gate, err := serialgate.New(serialgate.Options{Parts: r.Parts(), Repos: repos})
			require.NoError(r, err)
			s, err := stop.Feature(r.Parts())
			require.NoError(r, err)
			w, err := waitcomment.Feature(r.Parts())
			require.NoError(r, err)
			return []orchestrator.Feature{gate.Feature(), s, w}
		}
	}, f)
}

// A card whose task waits for another says so in one comment, which says later that it
// goes on; a service that was started anew meanwhile says it too.
func TestWaitComment(t *testing.T) {
	commenting(t, []string{"*"}, func(r *Rig) {
		one, two, three := r.Card(App, "one"), r.Card(App, "two"), r.Card(App, "three")
		for _, item := range []string{one, two, three} {
			r.Set(item, stage.StatusToAnalyse)
			r.Settle(time.Second)
		}
		before := func(item string) string {
			return "Waits for a place: one task at a time in acme/app, and " + r.Task(item).WorkItemID + " is before it."
		}
		r.Settle(45 * time.Second)
		require.Empty(r, waits(r, two), "short waits are not worth a comment")
		r.Settle(5 * time.Minute)
		require.Empty(r, waits(r, one), "it waits for a person, which its column says")
		require.Equal(r, []string{before(one)}, waits(r, two))
		require.Equal(r, []string{before(two)}, waits(r, three))

		r.Set(two, stage.StatusStop)
		r.Settle(3 * time.Minute)
		require.Equal(r, []string{"Waits no more: the task is cancelled."}, waits(r, two))
		require.Equal(r, []string{before(one)}, waits(r, three), "the same comment")

		r.Shutdown()
		r.Start()
		r.Set(one, stage.StatusApproved)
		r.Settle(5 * time.Minute)
		r.Stands(one, stage.Done)
		require.Equal(r, []string{"Goes on."}, waits(r, three))
		held, err := r.Store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held, "nothing is remembered of what is over")
		for _, j := range r.Open() {
			require.NotContains(r, j.Kind, orchestrator.EffectWaits)
		}
	})
}

// A git remote that does not answer is what the task waits for.
func TestWaitCommentOfALane(t *testing.T) {
	commenting(t, nil, func(r *Rig) {
		item := r.Begin("x")
		r.Settle(10 * time.Second)
		r.Place.FailCall("Push", &fault.Error{Text: "the remote is away", Again: true})
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Minute)
		require.Equal(r, []string{"Waits for the git remote, which has not done what is owed."}, waits(r, item))
		r.Place.FailCall("Push", nil)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		require.Equal(r, []string{"Waits no more: the task is done."}, waits(r, item))
	})
}

func TestWaitCommentText(t *testing.T) {
	for reason, want := range map[string]string{
		"waits for GPX-2 (task 12)":                                "Waits for GPX-2.",
		"waits for the card \"K\", GPX-2 (task 12)":                "Waits for the card \"K\", GPX-2.",
		"number 2 in line to merge in acme/gpx, behind GPX-4":      "Waits: number 2 in line to merge in acme/gpx, behind GPX-4.",
		"the task costs more than its cap of $5.00 (it costs $6).": "Waits: the task costs more than its cap of $5.00 (it costs $6).",
	} {
		texts, _ := orchestrator.HeldBy(queue.Wait{Reasons: []queue.Reason{queue.Held(queue.Hold{Subject: "s", Name: "task_deps", Reason: reason})}})
		require.Equal(t, want, waitcomment.Sentences(texts))
	}
}
