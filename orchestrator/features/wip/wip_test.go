package wip_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/deps"
	"github.com/signalbox-dev/signalbox/orchestrator/features/stop"
	"github.com/signalbox-dev/signalbox/orchestrator/features/wip"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// limited makes a rig in which so many tasks of the app are in work at a time.
func limited(t *testing.T, places int, more func(*Rig) []orchestrator.Feature, f func(*Rig)) {
	t.Helper()
	Run(t, func(r *Rig) {
		r.Options.MaxConcurrency = 8
		r.Projects[0].WIP = places
		r.Features = func() []orchestrator.Feature {
			l, err := wip.New(wip.Options{Parts: r.Parts()})
			require.NoError(r, err)
			out := []orchestrator.Feature{l.Feature()}
			if more != nil {
				out = append(out, more(r)...)
			}
			return out
		}
	}, f)
}

// begin puts cards on the board and sets them To Analyse, one after the other.
func begin(r *Rig, n int) (items []string) {
	for i := range n {
		items = append(items, r.Card(App, fmt.Sprint("card ", i)))
		r.Set(items[i], stage.StatusToAnalyse)
		r.Settle(200 * time.Millisecond)
	}
	return items
}

// analysed lists the tasks of the app whose analyst has been run, in order, by id.
func analysed(r *Rig) (out []int64) {
	for _, c := range r.Place.Runs() {
		if c.Role == stage.Analyst && c.Repo == AppRepo {
			out = append(out, c.TaskID)
		}
	}
	return out
}

// So many are in work, the others wait in order; a task that waits for a person has no place.
func TestLimitOfWorkInProgress(t *testing.T) {
	limited(t, 2, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, Hang))
		items := begin(r, 5)
		r.Settle(10 * time.Second)
		require.Equal(r, []int64{1, 2}, analysed(r))
		x := r.Explain(items[3])
		require.Equal(r, fmt.Sprintf("The analyst waits for a place: 2 of 2 in work in acme/app: %s, %s (wip)", r.Task(items[0]).WorkItemID, r.Task(items[1]).WorkItemID), x.Summary)
		require.Len(r, x.Blockers, 1)
		require.Equal(r, "Wait until one of them is done or waits for a person, stop one, or raise wip of the repository in projects.yaml", x.Blockers[0].Do)
		require.Empty(r, r.Place.Remote(AppRepo, r.Task(items[3]).Branch), "the branch of a waiting task is not made yet")
		other := r.Card(Self, "elsewhere")
		r.Move(Self, other, stage.StatusToAnalyse)
		v, err := explain.ReadQueue(context.Background(), r.Engine)
		require.NoError(r, err)
		body, err := json.Marshal(v)
		require.NoError(r, err)
		require.Contains(r, string(body), `"repo":"acme/app"`)
		require.Contains(r, string(body), fmt.Sprintf(`"places":2,"in_work":[%q,%q]`, r.Task(items[0]).WorkItemID, r.Task(items[1]).WorkItemID))

		r.Shutdown() // a kill in the middle loses no place, and gives none twice
		r.Place.SetScript(GoodAgent)
		r.Start()
		r.Settle(20 * time.Second)
		r.Waits(other, stage.HoldApproval)
		for i, item := range items {
			require.Equal(r, stage.HoldApproval, r.Task(item).State.Hold, "%d: those before it wait for a person", i)
			require.NotEmpty(r, r.Place.Remote(AppRepo, r.Task(item).Branch))
		}
		last := analysed(r)[len(analysed(r))-3:]
		require.ElementsMatch(r, []int64{3, 4}, last[:2], "both places are free at once")
		require.EqualValues(r, 5, last[2])
		held, err := r.Store.Holds(context.Background())
		require.NoError(r, err)
		require.Empty(r, held)
		for _, item := range items {
			r.Set(item, stage.StatusApproved)
		}
		r.Settle(2 * time.Minute)
		for _, item := range items {
			require.Equal(r, stage.Done, r.Task(item).State.Stage, "what has begun goes on, whatever the limit")
		}
		took, left, waited, freed, saw := told(r, items[3])
		require.Equal(r, []int{2, 2, 1, 1}, []int{took, left, waited, freed}, "in turn: its beginning, and the approval")
		require.Equal(r, map[string]any{"places": 2.0, "in": []any{1.0, 2.0}, "before": 0.0, "older": false}, saw[wip.Name])
		took, left, waited, _, _ = told(r, items[0])
		require.Equal(r, []int{2, 2, 0}, []int{took, left, waited})
	})
}

// told counts what the journal tells of a task's places and holds, and returns what was seen when it was first held.
func told(r *Rig, item string) (took, left, held, freed int, saw map[string]any) {
	r.Helper()
	entries, err := r.Store.Journal(context.Background(), r.Task(item).ID)
	require.NoError(r, err)
	for _, e := range entries {
		var h task.Holding
		if e.Kind != task.KindHolding {
			continue
		}
		require.NoError(r, json.Unmarshal(e.Payload, &h))
		took, left, held, freed = took+len(h.Took), left+len(h.Left), held+len(h.Held), freed+len(h.Freed)
		if saw == nil && len(h.Held) > 0 {
			saw = h.Saw
		}
	}
	return took, left, held, freed, saw
}

// A place is given to the next one promptly, not by the look that comes each minute.
func TestAPlaceThatIsFreeIsGivenAtOnce(t *testing.T) {
	for name, free := range map[string]func(*Rig, string){
		"a stop":      func(r *Rig, item string) { r.Set(item, stage.StatusStop) },
		"a question":  func(*Rig, string) {},
		"a blocked":   func(*Rig, string) {},
		"an approval": func(*Rig, string) {},
	} {
		stopped := func(r *Rig) []orchestrator.Feature {
			f, err := stop.Feature(r.Parts())
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
		limited(t, 1, stopped, func(r *Rig) {
			r.Options.AgentRetries = []time.Duration{}
			switch name {
			case "a stop":
				r.Place.SetScript(Instead(stage.Analyst, Hang))
			case "a question":
				r.Place.SetScript(Instead(stage.Analyst, asks))
			case "a blocked":
				r.Place.SetScript(Instead(stage.Analyst, fails))
			}
			r.Shutdown()
			r.Start()
			items := begin(r, 2)
			free(r, items[0])
			r.Settle(5 * time.Second)
			require.Equal(r, []int64{1, 2}, analysed(r), name)
		})
	}
}

// What waits for another task has no place, whenever it begins to wait: with one place the
// two do not wait for each other.
func TestNoPlaceForWhatWaitsForAnotherTask(t *testing.T) {
	with := func(r *Rig) []orchestrator.Feature {
		d, err := deps.New(deps.Options{Parts: r.Parts(), Relations: r.Board, Items: r.Board})
		require.NoError(r, err)
		return []orchestrator.Feature{d.Feature()}
	}
	limited(t, 1, with, func(r *Rig) {
		first, second := r.Card(App, "waits"), r.Card(App, "is waited for")
		r.Board.Block(first, second)
		r.Set(first, stage.StatusToAnalyse)
		r.Settle(time.Second)
		r.Set(second, stage.StatusToAnalyse)
		r.Settle(5 * time.Second)
		require.Equal(r, []int64{2}, analysed(r))
		r.Set(second, stage.StatusApproved)
		r.Settle(2 * time.Minute)
		require.Equal(r, []int64{2, 1}, analysed(r))
	})
	limited(t, 1, with, func(r *Rig) {
		// The dependency is found when the first one is in development, and the second waits.
		r.Place.SetScript(Instead(stage.Developer, Hang))
		first := begin(r, 1)[0]
		r.Settle(5 * time.Second)
		r.Set(first, stage.StatusApproved)
		r.Settle(5 * time.Second)
		second := r.Begin("is waited for")
		r.Settle(5 * time.Second)
		require.Equal(r, []int64{1}, analysed(r), "the developer has the place")
		r.Board.Block(first, second)
		require.NoError(r, r.Store.Depend(context.Background(), task.Dependency{TaskID: r.Task(first).ID, On: r.Task(second).ID, Source: deps.SourceDB}))
		r.Place.SetScript(GoodAgent)
		r.Shutdown()
		r.Start() // its developer begins again, and is held
		r.Settle(2 * time.Minute)
		require.Equal(r, []int64{1, 2}, analysed(r))
		r.Set(second, stage.StatusApproved)
		r.Settle(2 * time.Minute)
		r.Stands(second, stage.Done)
		r.Stands(first, stage.Done)
	})
}

// Rejected, set while a task waits, has its analyst launched again: it waits for the same
// place, and a start in between gives it none that it does not use.
func TestAPlaceForWhatIsRejectedWhileItWaits(t *testing.T) {
	limited(t, 1, nil, func(r *Rig) {
		r.Place.SetScript(Instead(stage.Analyst, Hang))
		items := begin(r, 2)
		r.Set(items[1], stage.StatusRejected)
		r.Settle(5 * time.Second)
		require.EqualValues(r, 2, r.Task(items[1]).State.Run)
		r.Shutdown()
		r.Start()
		r.Settle(5 * time.Second)
		require.NotContains(r, analysed(r), int64(2))
		r.Shutdown()
		r.Place.SetScript(GoodAgent)
		r.Start()
		r.Settle(20 * time.Second)
		r.Waits(items[1], stage.HoldApproval)
	})
}

// Tasks that had begun before there was a limit have places.
func TestPlacesOfWhatHadBegun(t *testing.T) {
	limited(t, 1, nil, func(r *Rig) {
		with := r.Features
		r.Shutdown()
		r.Features = nil
		r.Place.SetScript(Instead(stage.Developer, Hang))
		r.Start()
		first := begin(r, 1)[0]
		r.Settle(5 * time.Second)
		r.Set(first, stage.StatusApproved)
		r.Settle(10 * time.Second)
		r.Stands(first, stage.Development)
		r.Shutdown()
		r.Features = with
		r.Start()
		begin(r, 1)
		r.Settle(5 * time.Second)
		require.Equal(r, []int64{1}, analysed(r))
	})
}

// ordered is the order that people have put cards in, by board.
type ordered map[string][]string

// Order implements what wip.Options requires of cards.
func (o ordered) Order(_ context.Context, board string) ([]string, error) { return o[board], nil }

// What people have put first begins first: of those that wait for a place, and of those that wait for an agent only.
func TestTheOrderOfTheBoardIsThatOfTheLine(t *testing.T) {
	for name, agents := range map[string]int{"places are short": 8, "agents are short": 1, "on a second board": 9} {
		t.Run(name, func(t *testing.T) {
			by := ordered{}
			Run(t, func(r *Rig) {
				r.Options.MaxConcurrency, r.Projects[0].WIP = agents, 2
				if agents == 9 {
					r.Board.AddProject("p-first")
					r.Projects[0].TrackerProject, r.Projects[0].MoreBoards = "p-first", []task.Board{{TrackerProject: App, Prefix: "MOR"}}
				}
				r.Features = func() []orchestrator.Feature {
					l, err := wip.New(wip.Options{Parts: r.Parts(), Cards: by})
					require.NoError(r, err)
					return []orchestrator.Feature{l.Feature()}
				}
			}, func(r *Rig) {
				r.Place.SetScript(Instead(stage.Analyst, Hang))
				items := begin(r, 6)
				r.Settle(10 * time.Second)
				begun := len(analysed(r))
				by[App] = []string{items[0], items[4], items[5], items[1], items[3]} // the third is on another board
				r.Engine.Admission.Mark(AppRepo)
				r.Settle(10 * time.Second)
				require.Len(r, analysed(r), begun, "there is no place")
				r.Shutdown()
				r.Place.SetScript(GoodAgent)
				r.Start()
				r.Settle(40 * time.Second) // not by the look that comes each minute
				var order []int64
				for _, id := range analysed(r)[begun:] {
					if id != 1 && (begun == 1 || id != 2) {
						order = append(order, id)
					}
				}
				want := []int64{5, 6, 2, 4, 3}
				if begun == 2 {
					want = []int64{5, 6, 3, 4}
					require.Len(r, order, 4)
					slices.Sort(order[2:]) // both have a place at one moment
				}
				require.Equal(r, want, order)
				held, err := r.Store.Holds(context.Background())
				require.NoError(r, err)
				require.Empty(r, held)
			})
		})
	}
}
