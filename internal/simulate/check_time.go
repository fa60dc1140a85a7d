package simulate

import (
	"io/fs"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Invariants of progress while a neighbour is sick.
const (
	Progress Invariant = "progress" // what does not need a sick neighbour goes on
	Prompt   Invariant = "prompt"   // a person's STOP takes effect, whatever the service owes the board
)

// Times of progress.
const (
	sampled = time.Minute
	waitMax = 3 * time.Minute  // that an effect waits for its first attempt while its neighbour is well
	stopMax = 10 * time.Minute // that a STOP waits
)

// sample looks at what waits, now and then.
func (c *checker) sample() {
	s := c.s
	if s.calm || c.rested || c.broken() {
		return
	}
	s.v.After(sampled, c.sample)
	if !slices.ContainsFunc(s.nodes, (*node).up) {
		return
	}
	open, _ := s.store.Waiting(s.ctx, queue.Filter{Limit: 1 << 20})
	for _, w := range open {
		lane := laneOf(w.Job)
		_, sick := s.spell(lane)
		late := min(s.v.Now().Sub(w.Job.CreatedAt), s.v.Now().Sub(w.Job.AvailableAt))
		if len(w.Reasons) == 0 && w.Job.Attempt == 0 && late > waitMax && lane != "" && !sick && !c.sickSince(lane, late) {
			c.fail(Progress, "job %d (%s, task %d) could be done since %s and has not been tried, and its neighbour is well",
				w.Job.ID, w.Job.Kind, w.Job.TaskID, late)
		}
	}
}

// sickSince reports whether a lane was sick at some time in the last d, or whether
// something else may have kept the replicas from working.
func (c *checker) sickSince(lane string, d time.Duration) bool {
	now := c.s.since()
	return c.quietSince > now-d || len(c.s.world.Upsets) > 0 ||
		slices.ContainsFunc(c.s.world.Spells, func(p Spell) bool { return p.Lane == lane && p.At+p.For > now-d && p.At < now })
}

// laneOf is where an effect goes; empty = to several places.
func laneOf(j queue.Job) string {
	kind, _ := orchestrator.EffectKindOf(j)
	return map[stage.EffectKind]string{
		stage.EffectComment: LaneComments, stage.EffectNotify: LaneChat, stage.EffectPrepare: LaneGit,
	}[kind]
}

// stopSet looks later whether a STOP that a person has set has taken effect, wherever the card
// was moved since.
func (c *checker) stopSet(t task.Task) {
	s, at := c.s, c.s.since()
	if s.calm || !s.nodes[0].has("stop") || !slices.ContainsFunc(s.nodes, (*node).up) { // its webhook reaches nobody
		return
	}
	s.v.After(stopMax, func() {
		now, err := s.store.Task(s.ctx, t.ID)
		waits := now.State.Stage.Terminal() || now.State.Stopping
		if err == nil && !waits && !s.calm && c.quietSince < at && !c.sickSince(LaneBoard, stopMax) {
			c.fail(Prompt, "task %d goes on %s after a person has set STOP: %s", t.ID, stopMax, now.State.Stage)
		}
	})
}

// NothingLost is an invariant: what people have pushed on top of a branch is in all that is pushed and merged after it.
const NothingLost Invariant = "nothing-lost"

// keeps looks whether a commit of a task has what people have pushed to its branch until now. One that was taken by an earlier task is
// not its branch any more.
func (c *checker) keeps(n *node, task int64, branch, sha, how string) {
	tree, err := c.s.places[n.machine].Files(c.s.ctx, work.Workspace{}, sha)
	for _, pushed := range c.theirs[task] {
		name := pushed[1]
		if pushed[0] != branch {
			continue
		}
		if err == nil {
			_, err = fs.Stat(tree, name)
		}
		if err != nil {
			c.fail(NothingLost, "%s %s %.12s of task %d, which lacks %s of a person: %v", n.name, how, sha, task, name, err)
		}
	}
}

// legal are the moves between stages that any edge or feature can make. The merge gate is at work at deploy-staging, whatever
// the lane.
func (c *checker) legal(s stage.State, from, to stage.Stage) bool {
	order := slices.DeleteFunc(stage.Stages(), func(at stage.Stage) bool {
		return c.pipeline.Lacks(s, at) && (at != stage.DeployStaging || at != from && at != to)
	})
	i, k := slices.Index(order, from), slices.Index(order, to)
	return from == to || s.Lane == stage.UndoLane || to == stage.Cancelled || to == stage.Done || to == stage.Development && i > k ||
		from == stage.Deploy && to == stage.DeployStaging || // the merge gate tests again
		k == i+1
}
