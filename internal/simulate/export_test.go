package simulate

import (
	"context"
	"fmt"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// watched is how often a world is watched.
const watched = 15 * time.Second

// Watch plays a world. When a task has come to another stage, look is called on a replica, with how long the world lives.
func Watch(w World, look func(context.Context, *orchestrator.Engine, *memstore.Store, task.Task, time.Duration) error) (*memstore.Store, *Failure) {
	s, seen := newSim(w, false), map[string]bool{}
	s.root.Go(func() {
		for !s.check.rested && !s.check.broken() && run.Sleep(s.ctx, s.root, watched) == nil {
			tasks, _ := s.store.Tasks(s.ctx, task.Filter{Live: true, Limit: 10_000})
			for _, t := range tasks {
				if key := fmt.Sprint(t.ID, t.State.Stage); !seen[key] {
					seen[key] = true
					if err := s.inside(func(ctx context.Context, e *orchestrator.Engine) error { return look(ctx, e, s.store, t, s.since()) }); err != nil {
						s.check.fail(BadStart, "task %d at %s: %v", t.ID, t.State.Stage, err)
					}
				}
			}
		}
	})
	s.play()
	return s.store, s.check.failed
}

// Epoch is when every world begins.
func Epoch() time.Time { return epoch() }
