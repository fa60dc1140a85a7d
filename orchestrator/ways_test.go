package orchestrator_test

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Where the board has no way into a column the card says so once, with the ways that there are, and the task goes on.
func TestNoWayIntoAColumn(t *testing.T) {
	Run(t, withReconciler, func(r *Rig) {
		r.Board.SetWays(map[stage.Status][]stage.Status{
			stage.StatusApproved: {stage.StatusInProgress, stage.StatusBlocked}, stage.StatusInProgress: {},
		})
		item := r.Begin("one")
		r.Settle(10 * time.Second)
		r.Set(item, stage.StatusApproved)
		r.Settle(10 * time.Minute)
		r.Stands(item, stage.Done)
		said := strings.Join(r.Comments(App, item), "\n")
		require.Equal(r, 1, strings.Count(said, "This card does not show where its task is: the board moves no card into Done from the column where this one stands"), said)
		require.Contains(r, r.Notices(), "the board moves no card into ")
	})
}
