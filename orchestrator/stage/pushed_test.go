package stage_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// A push of the service that is heard of after others' push on top of it does not take the branch back; one that
// comes behind that does count.
func TestPublishedBeforeAPush(t *testing.T) {
	m := machine(t)
	s := stage.State{Stage: stage.Development, Seq: 9, Head: "ours", Pushed: "begun", CINone: true}
	s = m.Decide(s, stage.Event{On: stage.OnPushed, At: t0, SHA: "theirs", Push: &stage.Push{SHA: "theirs", Commits: 1}}).State
	require.Equal(t, []string{"theirs", "theirs", "theirs"}, []string{s.Head, s.Pushed, s.Adopted})
	s = m.Decide(s, stage.Event{On: stage.OnPublished, At: t0, SHA: "ours"}).State
	require.Equal(t, "theirs", s.Pushed)
	s.Head = "more"
	s = m.Decide(s, stage.Event{On: stage.OnPublished, At: t0, SHA: "more"}).State
	require.Equal(t, "more", s.Pushed)
	s = m.Decide(s, stage.Event{On: stage.OnRejected, At: t0}).State
	require.Empty(t, s.Adopted, "the next run begins with it")
}
