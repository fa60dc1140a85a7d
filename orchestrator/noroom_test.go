package orchestrator_test

import (
	"fmt"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Whatever cannot be written for a while as a disk is full is written when it has room again: no agent runs twice for it, and no
// attempt counts as failed.
func TestNoRoom(t *testing.T) {
	for _, call := range []string{"Open", "Take", "Add", "Files", "Push", "Tip", "Changed", "Close"} {
		t.Run(call, func(t *testing.T) {
			t.Parallel()
			stoppable(t, func(r *Rig) {
				full := fmt.Errorf("write config: %w", syscall.ENOSPC)
				r.Place.FailCall(call, full)
				item := r.Begin("x")
				r.Settle(20 * time.Minute)
				r.Place.FailCall(call, nil)
				r.Settle(10 * time.Minute)
				r.Waits(item, stage.HoldApproval)
				r.Place.FailCall(call, full)
				r.Set(item, stage.StatusApproved)
				r.Settle(20 * time.Minute)
				r.Place.FailCall(call, nil)
				r.Settle(10 * time.Minute)
				r.Stands(item, stage.Done)
				require.Zero(r, r.Task(item).State.Retries)
				require.Equal(r, []stage.Role{stage.Analyst, stage.Architect, stage.Developer, stage.Reviewer, stage.Tester, stage.Deployer, stage.Deployer}, r.Roles())
				r.Replays()
			})
		})
	}
}
