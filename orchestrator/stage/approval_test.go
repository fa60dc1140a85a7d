package stage_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// An approval is of what was shown when it was given: one that was set while the
// analyst worked again, and is acted on when that has finished, is not taken for the
// new requirements. How far the board's clock is off does not matter.
func TestApprovalIsOfWhatWasShown(t *testing.T) {
	m, err := stage.New(stage.Default(), stage.Options{})
	require.NoError(t, err)
	kim := stage.Principal{Kind: stage.KindPerson, ID: "kim", Via: stage.ViaWebhook, Proof: stage.ProofSignature}
	for _, off := range []time.Duration{-time.Hour, 0, time.Hour} {
		var s stage.State
		at := t0
		do := func(e stage.Event) stage.Decision {
			e.At, e.Run = at, s.Run
			e.Verdict.Outcome = stage.Green
			if e.Agent != nil {
				e.Agent.Role = s.Active
			}
			d := m.Decide(s, e)
			s = d.State
			return d
		}
		word := func(on stage.Trigger, set time.Time) stage.Decision {
			return do(stage.Event{On: on, By: kim, Seen: set.Add(off)})
		}
		finish := func(sha string) { do(stage.Event{On: stage.OnAgentFinished, Agent: &stage.Report{}, SHA: sha}) }

		word(stage.OnToAnalyse, at)
		at = at.Add(10 * time.Minute)
		finish("aaaa")
		at = at.Add(time.Minute)
		word(stage.OnInProgress, at)
		approved := at.Add(2 * time.Minute) // of aaaa, and not acted on yet
		at = at.Add(10 * time.Minute)
		finish("bbbb")
		at = at.Add(time.Minute)
		d := word(stage.OnApproved, approved)
		require.Equal(t, stage.Analysis, s.Stage)
		require.Equal(t, stage.HoldApproval, s.Hold)
		require.Contains(t, d.Notes[0], "the requirements have changed since Approved was set")
		require.Equal(t, stage.StatusInReview, d.Effects[1].Status, "the column goes back")
		at = at.Add(time.Second)
		word(stage.OnApproved, at)
		require.Equal(t, stage.Architecture, s.Stage, "and the next one is of what is shown now")
	}
}

// A principal that may not make a move is answered, and nothing else happens: at every stage,
// whatever the word.
func TestDeniedMovesNothing(t *testing.T) {
	m, err := stage.New(stage.Default(), stage.Options{})
	require.NoError(t, err)
	for _, at := range stage.Stages() {
		for _, info := range stage.Statuses() {
			on, trigger := stage.BoardTrigger(info.Key)
			if !trigger || at.Terminal() {
				continue
			}
			before := stage.State{Stage: at, Run: 3, Active: stage.Developer, Set: stage.StatusCodeReview, Head: "aaaa"}
			e := stage.Event{On: on, At: t0, Seen: t0, Derived: stage.Derived{Denied: "ann may not", Verdict: stage.Verdict{Outcome: stage.Green}}}
			_, judged := m.Edge(before, e)
			require.False(t, judged, "no gate is judged")
			d := m.Decide(before, e)
			require.Nil(t, d.Launch)
			require.False(t, d.Cancel)
			require.Len(t, d.Effects, 2)
			require.Equal(t, "ann may not.", d.Effects[0].Text)
			require.Equal(t, stage.StatusCodeReview, d.Effects[1].Status)
			require.Contains(t, d.Effects[1].Replaces, info.Key)
			after := d.State
			after.Seq, after.Acted, after.ActedAt = before.Seq, before.Acted, before.ActedAt
			require.Equal(t, before, after)
		}
	}
}
