package orchestrator_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/features/waitcomment"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// waits are the comments on what a card waits for.
func (r *rig) waits(item string) (out []string) {
	for _, text := range r.comments(appProject, item) {
		if strings.HasPrefix(text, "Waits") || strings.HasPrefix(text, "Goes on") {
			out = append(out, text)
		}
	}
	return out
}

// partsOf are some of all features.
func partsOf(names ...string) (out []part) {
	for _, name := range names {
		for _, p := range parts() {
			if p.name == name {
				out = append(out, p)
			}
		}
	}
	return out
}

// A card whose task waits for another says so in one comment, which says later that it
// goes on; a service that was started anew meanwhile says it too.
func TestWaitComment(t *testing.T) {
	runWith(t, func(r *rig) { r.with("*", partsOf("serial_gate", "stop", "wait_comment")...) }, func(r *rig) {
		one, two, three := r.card(appProject, "one"), r.card(appProject, "two"), r.card(appProject, "three")
		for _, item := range []string{one, two, three} {
			r.move(appProject, item, stage.StatusToAnalyse)
			r.settle(time.Second)
		}
		before := func(item string) string {
			return "Waits for a place: one task at a time in acme/app, and " + r.task(item).WorkItemID + " is before it."
		}
		r.settle(45 * time.Second)
		require.Empty(r, r.waits(two), "short waits are not worth a comment")
		r.settle(5 * time.Minute)
		require.Empty(r, r.waits(one), "it waits for a person, which its column says")
		require.Equal(r, []string{before(one)}, r.waits(two))
		require.Equal(r, []string{before(two)}, r.waits(three))

		r.move(appProject, two, stage.StatusStop)
		r.settle(3 * time.Minute)
		require.Equal(r, []string{"Waits no more: the task is cancelled."}, r.waits(two))
		require.Equal(r, []string{before(one)}, r.waits(three), "the same comment")

		r.shutdown()
		r.start()
		r.move(appProject, one, stage.StatusApproved)
		r.settle(5 * time.Minute)
		require.Equal(r, stage.Done, r.task(one).State.Stage)
		require.Equal(r, []string{"Goes on."}, r.waits(three))
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held, "nothing is remembered of what is over")
		for _, j := range r.open() {
			require.NotContains(r, j.Kind, orchestrator.EffectWaits)
		}
	})
}

// A git remote that does not answer is what the task waits for.
func TestWaitCommentOfALane(t *testing.T) {
	runWith(t, func(r *rig) { r.with("", partsOf("wait_comment")...) }, func(r *rig) {
		item := r.card(appProject, "x")
		r.move(appProject, item, stage.StatusToAnalyse)
		r.settle(10 * time.Second)
		r.place.FailCall("Push", &fault.Error{Text: "the remote is away", Again: true})
		r.move(appProject, item, stage.StatusApproved)
		r.settle(10 * time.Minute)
		require.Equal(r, []string{"Waits for the git remote, which has not done what is owed."}, r.waits(item))
		r.place.FailCall("Push", nil)
		r.settle(10 * time.Minute)
		require.Equal(r, stage.Done, r.task(item).State.Stage)
		require.Equal(r, []string{"Waits no more: the task is done."}, r.waits(item))
	})
}

func TestWaitCommentText(t *testing.T) {
	for reason, want := range map[string]string{
		"GPX-2 (task 12) of acme/gpx is not finished":              "Waits for GPX-2 to be done.",
		"GPX-2 (task 12) is not finished":                          "Waits for GPX-2 to be done.",
		"the card \"K\", GPX-2 (task 12) are not finished":         "Waits for the card \"K\", GPX-2 to be done.",
		"2nd in line to merge in acme/gpx, behind GPX-4":           "Waits: 2nd in line to merge in acme/gpx, behind GPX-4.",
		"what it depends on is being looked up":                    "Waits: what it depends on is being looked up.",
		"the task costs more than its cap of $5.00 (it costs $6).": "Waits: the task costs more than its cap of $5.00 (it costs $6).",
	} {
		require.Equal(t, want, waitcomment.Text(queue.Held(queue.Hold{Subject: "s", Name: "task_deps", Reason: reason})))
	}
}
