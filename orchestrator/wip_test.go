package orchestrator_test

import (
	"context"
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// limited makes a rig in which so many tasks of the app are in work at a time.
func limited(t *testing.T, places int, more func(*rig, *wip.Limit) []orchestrator.Feature, f func(*rig)) {
	t.Helper()
	runWith(t, func(r *rig) {
		r.opt.MaxConcurrency = 8
		r.project[0].WIP = places
		r.features = func() []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			l, err := wip.New(wip.Options{Store: r.store, Holds: r.store, Finder: r.store, Projects: projects})
			require.NoError(r, err)
			out := []orchestrator.Feature{l.Feature()}
			if more != nil {
				out = append(out, more(r, l)...)
			}
			return out
		}
	}, f)
}

// begin puts cards on the board and sets them To Analyse, one after the other.
func (r *rig) begin(n int) (items []string) {
	for i := range n {
		items = append(items, r.card(appProject, fmt.Sprint("card ", i)))
		r.move(appProject, items[i], stage.StatusToAnalyse)
		r.settle(200 * time.Millisecond)
	}
	return items
}

func (r *rig) explained(item string) orchestrator.Explanation {
	r.Helper()
	x, err := r.engine.Explain(context.Background(), r.task(item).ID)
	require.NoError(r, err)
	return x
}

// analysed lists the tasks of the app whose analyst has been run, in order, by id.
func (r *rig) analysed() (out []int64) {
	for _, c := range r.place.Runs() {
		if c.Role == stage.Analyst && c.Repo == appRepo {
			out = append(out, c.TaskID)
		}
	}
	return out
}

// So many are in work, the others wait in order; who waits for a person has no place.
func TestLimitOfWorkInProgress(t *testing.T) {
	limited(t, 2, nil, func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, hang))
		items := r.begin(5)
		r.settle(10 * time.Second)
		require.Equal(r, []int64{1, 2}, r.analysed())
		x := r.explained(items[3])
		require.Equal(r, fmt.Sprintf("The analyst waits for a place: 2 of 2 in work in acme/app: %s, %s", r.task(items[0]).WorkItemID, r.task(items[1]).WorkItemID), x.Summary)
		require.Len(r, x.Blockers, 1)
		require.Equal(r, "Wait until one of them is done or waits for a person, stop one, or raise wip of the repository in projects.yaml", x.Blockers[0].Do)
		require.Empty(r, r.place.Remote(appRepo, r.task(items[3]).Branch), "the branch of a waiting task is not made yet")
		other := r.card(selfProject, "elsewhere")
		r.move(selfProject, other, stage.StatusToAnalyse)
		v, err := r.engine.QueueView(context.Background())
		require.NoError(r, err)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"repo":"acme/app"`)
		require.Contains(r, string(body), fmt.Sprintf(`"places":2,"in_work":[%q,%q]`, r.task(items[0]).WorkItemID, r.task(items[1]).WorkItemID))

		r.shutdown() // a kill in the middle loses no place, and gives none twice
		r.place.SetScript(goodAgent)
		r.start()
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(other).State.Hold)
		for i, item := range items {
			require.Equal(r, stage.HoldApproval, r.task(item).State.Hold, "%d: those before it wait for a person", i)
			require.NotEmpty(r, r.place.Remote(appRepo, r.task(item).Branch))
		}
		last := r.analysed()[len(r.analysed())-3:]
		require.ElementsMatch(r, []int64{3, 4}, last[:2], "both places are free at once")
		require.EqualValues(r, 5, last[2])
		held, err := r.store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held)
		for _, item := range items {
			r.move(appProject, item, stage.StatusApproved)
		}
		r.settle(2 * time.Minute)
		for _, item := range items {
			require.Equal(r, stage.Done, r.task(item).State.Stage, "what has begun goes on, whatever the limit")
		}
	})
}

// A place is given to the next one promptly, not by the look that comes each minute.
func TestAPlaceThatIsFreeIsGivenAtOnce(t *testing.T) {
	for name, free := range map[string]func(*rig, string){
		"a stop":      func(r *rig, item string) { r.move(appProject, item, stage.StatusStop) },
		"a question":  func(*rig, string) {},
		"a blocked":   func(*rig, string) {},
		"an approval": func(*rig, string) {},
	} {
		stopped := func(r *rig, _ *wip.Limit) []orchestrator.Feature {
			projects, err := orchestrator.NewProjects(r.project...)
			require.NoError(r, err)
			f, err := stop.Feature(stop.Options{Store: r.store, Workspaces: r.place, Agents: r.place, Projects: projects})
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
		asks := func(_ context.Context, c work.Command, files map[string]string) work.Result {
			files[c.Env["SIGNALBOX_DOCS"]+"/questions.md"] = "Which?"
			return work.Result{Kind: work.ResultOK}
		}
		fails := func(context.Context, work.Command, map[string]string) work.Result {
			return work.Result{Kind: work.ResultFailed, Reason: "no key"}
		}
		limited(t, 1, stopped, func(r *rig) {
			r.opt.AgentRetries = []time.Duration{}
			switch name {
			case "a stop":
				r.place.SetScript(instead(stage.Analyst, hang))
			case "a question":
				r.place.SetScript(instead(stage.Analyst, asks))
			case "a blocked":
				r.place.SetScript(instead(stage.Analyst, fails))
			}
			r.shutdown()
			r.start()
			items := r.begin(2)
			free(r, items[0])
			r.settle(5 * time.Second)
			require.Equal(r, []int64{1, 2}, r.analysed(), name)
		})
	}
}

// What waits for another task has no place, whenever it begins to wait: with one place the
// two do not wait for each other.
func TestNoPlaceForWhatWaitsForAnotherTask(t *testing.T) {
	with := func(r *rig, l *wip.Limit) []orchestrator.Feature {
		d, err := deps.New(deps.Options{Store: r.store, Table: r.store, Queue: r.store, Lister: r.store, Relations: r.board, Items: r.board, Changed: l.Look})
		require.NoError(r, err)
		return []orchestrator.Feature{d.Feature()}
	}
	limited(t, 1, with, func(r *rig) {
		first, second := r.card(appProject, "waits"), r.card(appProject, "is waited for")
		r.board.Block(first, second)
		r.move(appProject, first, stage.StatusToAnalyse)
		r.settle(time.Second)
		r.move(appProject, second, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		require.Equal(r, []int64{2}, r.analysed())
		r.move(appProject, second, stage.StatusApproved)
		r.settle(2 * time.Minute)
		require.Equal(r, []int64{2, 1}, r.analysed())
	})
	limited(t, 1, with, func(r *rig) {
		// The dependency is found when the first one is in development, and the second waits.
		r.place.SetScript(instead(stage.Developer, hang))
		first := r.begin(1)[0]
		r.settle(5 * time.Second)
		r.move(appProject, first, stage.StatusApproved)
		r.settle(5 * time.Second)
		second := r.card(appProject, "is waited for")
		r.move(appProject, second, stage.StatusToAnalyse)
		r.settle(5 * time.Second)
		require.Equal(r, []int64{1}, r.analysed(), "the developer has the place")
		r.board.Block(first, second)
		require.NoError(r, r.store.Depend(context.Background(), orchestrator.Dependency{TaskID: r.task(first).ID, On: r.task(second).ID, Source: deps.SourceDB}))
		r.place.SetScript(goodAgent)
		r.shutdown()
		r.start() // its developer begins again, and is held
		r.settle(2 * time.Minute)
		require.Equal(r, []int64{1, 2}, r.analysed())
		r.move(appProject, second, stage.StatusApproved)
		r.settle(2 * time.Minute)
		require.Equal(r, stage.Done, r.task(second).State.Stage)
		require.Equal(r, stage.Done, r.task(first).State.Stage)
	})
}

// Rejected, set while a task waits, has its analyst launched again: it waits for the same
// place, and a start in between gives it none that it does not use.
func TestAPlaceForWhatIsRejectedWhileItWaits(t *testing.T) {
	limited(t, 1, nil, func(r *rig) {
		r.place.SetScript(instead(stage.Analyst, hang))
		items := r.begin(2)
		r.move(appProject, items[1], stage.StatusRejected)
		r.settle(5 * time.Second)
		require.EqualValues(r, 2, r.task(items[1]).State.Run)
		r.shutdown()
		r.start()
		r.settle(5 * time.Second)
		require.NotContains(r, r.analysed(), int64(2))
		r.shutdown()
		r.place.SetScript(goodAgent)
		r.start()
		r.settle(20 * time.Second)
		require.Equal(r, stage.HoldApproval, r.task(items[1]).State.Hold)
	})
}

// Tasks that had begun before there was a limit have places, and who waits in a repository
// that has none any more begins.
func TestLimitRepairs(t *testing.T) {
	ctx, s := t.Context(), memstore.New(nil)
	projects, err := orchestrator.NewProjects(
		orchestrator.Project{TrackerProject: "a", Repo: appRepo, CloneURL: "u", Prefix: "APP"}, orchestrator.Project{TrackerProject: "b", Repo: selfRepo, CloneURL: "u", Prefix: "SLF"})
	require.NoError(t, err)
	for id, repo := range []string{1: appRepo, 2: appRepo, 3: appRepo, 4: selfRepo, 5: "acme/gone"} {
		state := stage.State{Stage: stage.Development, Active: stage.Developer, Run: 3}
		switch id {
		case 0:
			continue
		case 2:
			state = stage.State{Stage: stage.Analysis, Active: stage.Analyst, Run: 1}
		case 3:
			state.Hold = stage.HoldBlocked
		}
		task := orchestrator.Task{ID: int64(id), Repo: repo, TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint("APP-", id), Branch: fmt.Sprint(id), State: state}
		require.NoError(t, s.Commit(ctx, orchestrator.Commit{Task: &task}))
	}
	require.NoError(t, s.Hold(ctx,
		queue.Hold{Subject: "analyst/5", Name: wip.Name}, queue.Hold{Subject: "wip_waits/acme/gone/0000000000000000005", Name: wip.Waits, Reason: "GON-5"}))
	l, err := wip.New(wip.Options{Store: s, Holds: s, Finder: s, Projects: projects, Except: func(repo string) bool { return repo == selfRepo }})
	require.NoError(t, err)
	for range 2 {
		require.NoError(t, l.Repair(ctx))
		held, err := s.Holds(ctx)
		require.NoError(t, err)
		var got []string
		for _, h := range held {
			got = append(got, h.Name+" "+h.Subject)
		}
		require.ElementsMatch(t, []string{"wip_works wip_works/acme/app/0000000000000000001", "wip_works wip_works/acme/gone/0000000000000000005"}, got)
	}
	_, err = wip.New(wip.Options{})
	require.ErrorContains(t, err, "required")
}

// What beginnings cost does not grow with the tasks of the repository that wait: none of
// the questions lists more than the places and the head of the line.
func TestLimitReadsNoMoreThanItsPlaces(t *testing.T) {
	ctx, s := t.Context(), memstore.New(nil)
	projects, err := orchestrator.NewProjects(orchestrator.Project{TrackerProject: "a", Repo: appRepo, CloneURL: "u", Prefix: "APP", WIP: 2})
	require.NoError(t, err)
	for id := int64(1); id <= 300; id++ {
		state := stage.State{Stage: stage.Analysis, Active: stage.Analyst, Run: 1}
		task := orchestrator.Task{ID: id, Repo: appRepo, TrackerIssueID: fmt.Sprint(id), WorkItemID: fmt.Sprint("APP-", id), Branch: fmt.Sprint(id), State: state}
		require.NoError(t, s.Commit(ctx, orchestrator.Commit{Task: &task}))
	}
	counted := &reads{Store: s}
	l, err := wip.New(wip.Options{Store: counted, Holds: s, Finder: counted, Projects: projects})
	require.NoError(t, err)
	admit := l.Feature().Admit
	for id := int64(1); id <= 300; id++ {
		task, err := s.Task(ctx, id)
		require.NoError(t, err)
		counted.rows = 0
		why := admit(ctx, orchestrator.Start{Task: task, JobID: id, Attempt: 1})
		require.Equal(t, id > 2, why != "", id)
		require.LessOrEqual(t, counted.rows, 24, id)
	}
	first, err := s.Task(ctx, 1)
	require.NoError(t, err)
	first.State = stage.State{Stage: stage.Done}
	require.NoError(t, s.Commit(ctx, orchestrator.Commit{Task: &first}))
	counted.rows = 0
	require.NoError(t, l.Give(ctx, appRepo))
	require.LessOrEqual(t, counted.rows, 220, "two batches of the line, and the places")
	held, err := s.HoldsIn(ctx, "analyst/3", "analyst/3 ", 9)
	require.NoError(t, err)
	require.Empty(t, held, "the one that waits longest has the place")
	held, err = s.HoldsIn(ctx, "analyst/4", "analyst/4 ", 9)
	require.NoError(t, err)
	require.Len(t, held, 1)
}

// reads counts the rows that are read of a store.
type reads struct {
	*memstore.Store
	rows int
}

func (r *reads) Task(ctx context.Context, id int64) (orchestrator.Task, error) {
	r.rows++
	return r.Store.Task(ctx, id)
}

func (r *reads) Tasks(ctx context.Context, f orchestrator.TaskFilter) ([]orchestrator.Task, error) {
	list, err := r.Store.Tasks(ctx, f)
	r.rows += len(list)
	return list, err
}

func (r *reads) Holds(ctx context.Context) ([]queue.Hold, error) {
	list, err := r.Store.Holds(ctx)
	r.rows += len(list)
	return list, err
}

func (r *reads) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	list, err := r.Store.HoldsIn(ctx, from, before, limit)
	r.rows += len(list)
	return list, err
}
