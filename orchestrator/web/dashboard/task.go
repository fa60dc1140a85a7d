package dashboard

import (
	"context"
	"errors"
	"iter"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
	"github.com/signalbox-dev/signalbox/queue"
)

// taskPage is one task with its story.
type taskPage struct {
	Task     task.Task
	Lamp     card
	Why      explain.Explanation
	Sums     []sum
	Total    task.Cost
	Runs     []follow.Execution // newest first
	AtWork   *follow.Execution  // of them; nil = none
	Doing    follow.Progress
	Story    []chapter // newest first
	Older    bool      // the story is longer than what is shown
	Card     *cardPage // of our own board; nil: it is elsewhere, or a later task has it
	WaitsFor []task.Task
	Blocks   []task.Task
	Before   []task.Task // of the same card
	After    []task.Task
	Review   time.Duration // of the requirements, by a person
	Desk     desk
	MayStop  bool
	MayRetry bool
	MayUndo  bool
	Stages   []stageMark
}

// stageMark is a stage of the line above a task: passed, here, or ahead.
type stageMark struct {
	Stage stage.Stage
	Mark  string
}

// sum adds up what a stage's agents have cost with one model.
type sum struct {
	Stage stage.Stage
	Model string
	Cost  task.Cost
}

func (s *server) task(r *http.Request) (view, error) { return s.taskAgain(r, blank()) }

func (s *server) taskAgain(r *http.Request, in typed) (view, error) { return s.taskPage(r, id(r), in) }

// taskPage is the page of a task and of its card; in holds what was typed and not taken.
func (s *server) taskPage(r *http.Request, id int64, in typed) (view, error) {
	ctx := r.Context()
	t, runs, err := follow.Of(ctx, s.Engine, id, 0)
	if err != nil {
		return view{}, err
	}
	p := taskPage{Task: t, Runs: runs, MayStop: s.Stop && !t.State.Stage.Terminal() && !t.State.Stopping}
	verdicts, err1 := s.Engine.Records.GateResults(ctx, id)
	jobs, err2 := s.Engine.Jobs.Jobs(ctx, queue.Filter{TaskID: id, Limit: 10_000})
	story, err3 := s.History.JournalBefore(ctx, id, 0, storyMax+1)
	why, err4 := s.lives.One(ctx, s.Engine, id)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return view{}, err
	}
	if p.Older = len(story) > storyMax; p.Older {
		story = story[:storyMax]
	}
	p.Why, p.Lamp = why, cardOf(t, why)
	degrade(&p.Lamp, story)
	readBlocks(ctx, s.Engine).Serial.blame(&p.Lamp)
	delayed := slices.ContainsFunc(why.Blockers, func(b explain.Blocker) bool { return b.Kind == string(queue.ReasonDelay) })
	p.MayRetry = !t.State.Stage.Terminal() && (t.State.Active == "" || delayed)
	p.Sums, p.Total = sums(slices.Backward(runs))
	p.Story = chaptersOf(timeline(p.Runs, verdicts, jobs, story), s.Engine.Now(), t.State.Stage.Terminal())
	p.Stages = marks(s.Engine.Machine().Pipeline(), t.State, story)
	p.Review = t.Reviewed(s.Engine.Now())
	if p.Desk, err = s.deskOf(r, t, in); err == nil {
		err = s.dependencies(ctx, &p)
	}
	if err == nil {
		p.Before, p.After, err = task.Around(ctx, s.Engine.Store, t)
	}
	if story := p.Desk.story; err == nil && story != nil && len(p.After) == 0 {
		p.Card, err = s.cardOf(ctx, *story, in, rightsOf(r))
		p.Card.want(t, why)
	}
	if err == nil && t.State.Stage == stage.Done {
		var refused string
		refused, err = orchestrator.RefusalOfUndo(ctx, s.Engine, t)
		p.MayUndo = refused == ""
	}
	if err != nil {
		return view{}, err
	}
	v := view{Name: "task", Title: item(t.WorkItemID) + ": " + t.Title, Nav: "board"}
	if p.Card != nil {
		v.Script = "cards.js"
	}
	if i := slices.IndexFunc(p.Runs, func(x follow.Execution) bool { return x.Live }); i >= 0 {
		p.AtWork = &p.Runs[i]
		p.Doing = s.progress(ctx, *p.AtWork)
		v.watch(p.Runs[i], p.Doing)
	}
	v.Data = p
	return v, nil
}

// sums adds runs that have ended up by stage and model, in the order of first use.
func sums(runs iter.Seq2[int, follow.Execution]) (out []sum, total task.Cost) {
	for _, r := range runs {
		if r.Live {
			continue
		}
		c := r.Cost()
		total.Add(c)
		i := slices.IndexFunc(out, func(s sum) bool { return s.Stage == r.Stage && s.Model == r.Usage.Model })
		if i < 0 {
			i, out = len(out), append(out, sum{Stage: r.Stage, Model: r.Usage.Model})
		}
		out[i].Cost.Add(c)
	}
	return out, total
}

// marks draws the lane of a task: a stage that the story has seen is passed, unless the
// task is there now or was sent back behind it.
func marks(p stage.Pipeline, now stage.State, story []task.JournalEntry) []stageMark {
	seen := map[stage.Stage]bool{}
	for _, e := range story {
		if r, err := e.Recorded(); err == nil {
			seen[r.Decision.State.Stage] = true
		}
	}
	var out []stageMark
	behind := true
	for _, i := range p.Stages {
		if (i.Stage == stage.Cancelled || p.Lacks(now, i.Stage) && !seen[i.Stage]) && now.Stage != i.Stage {
			continue
		}
		m := stageMark{Stage: i.Stage, Mark: "ahead"}
		switch {
		case i.Stage == now.Stage:
			m.Mark, behind = "here", false
		case behind && seen[i.Stage]:
			m.Mark = "passed"
		}
		out = append(out, m)
	}
	return out
}

// dependencies are the tasks that this one waits for, and those that wait for it.
func (s *server) dependencies(ctx context.Context, p *taskPage) error {
	ids := map[int64]bool{}
	table := readBlocks(ctx, s.Engine).Deps.Table
	for _, d := range table {
		if d.TaskID == p.Task.ID {
			ids[d.On] = true
		} else if d.On == p.Task.ID {
			ids[d.TaskID] = true
		}
	}
	tasks, err := s.tasksOf(ctx, ids)
	maps.DeleteFunc(tasks, func(_ int64, t task.Task) bool { return !access.Of(ctx).Reads(t.Repo) })
	for _, d := range table {
		if t, ok := tasks[d.On]; ok && d.TaskID == p.Task.ID {
			p.WaitsFor = append(p.WaitsFor, t)
		} else if t, ok := tasks[d.TaskID]; ok && d.On == p.Task.ID {
			p.Blocks = append(p.Blocks, t)
		}
	}
	return err
}
