// Package waitcomment reports on a card what its task waits for: another task, its turn to
// merge, whatever holds its job, or a destination that does not answer. It is one comment
// for each task, which is edited as that changes, and says "Goes on." afterwards.
//
// Nothing is said of a wait that is over within a minute. What was said last is a fact that is
// written with the effect that says it.
package waitcomment

import (
	"context"
	"fmt"
	"hash/fnv"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Name of the feature.
const Name = string(orchestrator.FactWait)

const (
	every  = time.Minute // how often cards are compared with what their tasks wait for
	least  = time.Minute // shorter waits are not worth a comment
	unwell = 5           // attempts after which an effect is taken to wait for its destination
)

type feature struct{ orchestrator.Parts }

// Feature is the comment for the engine.
func Feature(p orchestrator.Parts) (orchestrator.Feature, error) {
	o := feature{p}
	if err := o.Complete("waitcomment"); err != nil {
		return orchestrator.Feature{}, err
	}
	return orchestrator.Feature{
		Name:  Name,
		Loops: []orchestrator.Loop{{Name: "loop", Run: o.loop}},
	}, nil
}

func (o feature) loop(ctx context.Context, e *orchestrator.Engine) {
	for e.Wait(ctx, every) == nil {
		if err := o.pass(ctx, e); err != nil && ctx.Err() == nil {
			o.Log.Error("what tasks wait for could not be said on their cards", "err", err)
		}
	}
}

// wait holds what a task waits for.
type wait struct {
	text  string
	since time.Time
}

// pass owes a comment to each card that says something else than its task waits for.
func (o feature) pass(ctx context.Context, e *orchestrator.Engine) error {
	said, err := o.lastTexts(ctx)
	if err != nil {
		return err
	}
	now, err := waits(ctx, e)
	if err != nil {
		return err
	}
	ids := slices.AppendSeq(slices.Collect(maps.Keys(said)), maps.Keys(now))
	slices.Sort(ids)
	for _, id := range slices.Compact(ids) {
		w, waits := now[id]
		was, told := said[id]
		if waits && told && w.text == was || waits && !told && e.Now().Sub(w.since) < least {
			continue
		}
		if err := o.post(ctx, e, id, w.text); err != nil {
			return err
		}
	}
	return nil
}

// lastTexts reads what the comments say, by task.
func (o feature) lastTexts(ctx context.Context) (map[int64]string, error) {
	out := map[int64]string{}
	said, err := o.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactWait}, 0)
	for _, f := range said {
		out[f.Task] = f.Text
	}
	return out, err
}

// post puts the comment's job and records its text, in one transaction; an empty text is
// the end of the wait.
func (o feature) post(ctx context.Context, e *orchestrator.Engine, id int64, text string) error {
	t, err := o.Store.Task(ctx, id)
	if err != nil {
		return err
	}
	said := orchestrator.WaitSaid(id)
	said.Text = text
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		return nil // until it is registered again
	}
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(text)) // never fails
	key := fmt.Sprintf("waits/%d.%d/%x", t.ID, t.CreatedAt.Unix(), hash.Sum64())
	c := task.Commit{Jobs: []queue.Job{orchestrator.EffectJob(t, p, stage.Effect{Kind: orchestrator.EffectWaits}, key)}}
	if text == "" {
		c.Over = []task.Fact{said}
	} else {
		c.Facts = []task.Fact{said}
	}
	return o.Store.Commit(ctx, c)
}

// neighbours are the destinations that a task needs to go on.
var neighbours = map[orchestrator.Lane]string{orchestrator.LaneGit: "the git remote", orchestrator.LaneHost: "the git host"}

// waits finds what tasks wait for, by task.
func waits(ctx context.Context, e *orchestrator.Engine) (map[int64]wait, error) {
	out := map[int64]wait{}
	list, err := orchestrator.Waits(ctx, e)
	for _, w := range list {
		texts, since := orchestrator.HeldBy(w)
		one := wait{sentences(texts), since}
		if kind, effect := orchestrator.EffectKindOf(w.Job); one.text == "" && effect && stuck(w, e.Now()) {
			one = wait{"Waits for " + neighbours[orchestrator.LaneOf(kind)] + ", which has not done what is owed.", w.Job.CreatedAt}
		}
		if had := out[w.Job.TaskID]; one.text != "" && had.text == "" && w.Job.TaskID != 0 {
			out[w.Job.TaskID] = one
		}
	}
	return out, err
}

// stuck reports whether an effect has failed again and again, or is due and not made.
func stuck(w queue.Wait, now time.Time) bool {
	turn := strings.HasSuffix(w.Job.Kind, "/"+string(orchestrator.EffectCatchUp)) // it has just been let go, perhaps
	return w.Job.Attempt >= unwell || len(w.Reasons) == 0 && !turn && now.Sub(w.Job.CreatedAt) >= least
}

// sentences renders what holds a job for a card, a line each.
func sentences(texts []string) string {
	lines := make([]string, len(texts))
	for i, text := range texts {
		lines[i] = "W" + strings.TrimSuffix(text[1:], ".") + "."
	}
	return strings.Join(lines, "\n")
}
