package orchestrator_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// A task is called as the tracker calls its card, where that can be a part of a branch's name and no other task of the
// repository is called so.
func TestTrackersOwnKey(t *testing.T) {
	Run(t, nil, func(r *Rig) {
		for n, c := range []struct{ key, want string }{
			{"ENG-7", "ENG-7"}, {"ENG-7", "APP-2"}, {"../../x", "APP-3"}, {"-rf", "APP-4"}, {"a.lock", "APP-5"}, {"", "APP-6"},
		} {
			item := string(rune('a' + n))
			r.Board.Put(tracker.Item{
				ID: item, ProjectID: App, Sequence: int64(n + 1), Key: c.key, Title: "one", Description: "what is wanted",
			})
			r.Set(item, stage.StatusToAnalyse)
			r.Settle(time.Minute)
			require.Equal(r, c.want, r.Task(item).WorkItemID, c.key)
			require.Equal(r, "feature/"+c.want+"-one", r.Task(item).Branch)
		}
	})
}
