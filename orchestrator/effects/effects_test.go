package effects_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

type kit struct {
	testing.TB
	board   *memtracker.Board
	host    *memhost.Host
	merges  *titled
	chat    *memmessenger.Chat
	place   *memwork.Place
	store   *memstore.Store
	runners map[stage.EffectKind]orchestrator.Runner
	task    task.Task
}

func setup(t testing.TB) *kit {
	t.Helper()
	k := &kit{TB: t, board: memtracker.New(nil), host: memhost.New(), chat: memmessenger.New(), place: memwork.New(nil), store: memstore.New(nil)}
	k.place.OnPush, k.merges = k.host.Push, &titled{Host: k.host}
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP", CINone: true})
	require.NoError(t, err)
	k.board.AddProject("p", stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusDone)
	k.board.Put(tracker.Item{ID: "i", ProjectID: "p", Title: "T", Status: stage.StatusToAnalyse})
	k.runners = effects.Runners(effects.Deps{
		Store: k.store, Jobs: k.store, Projects: projects, Tracker: k.board, Host: k.merges, Messenger: k.chat, Workspaces: k.place,
	})
	k.task = task.Task{
		ID: 1, Repo: "acme/app", TrackerProjectID: "p", TrackerIssueID: "i", WorkItemID: "APP-1", Branch: "feature/APP-1-t", Title: "T",
		State: stage.State{Stage: stage.Review},
	}
	require.NoError(t, k.store.Commit(t.Context(), task.Commit{Task: &k.task}))
	return k
}

func (k *kit) run(f stage.Effect, attempt int) queue.Outcome {
	k.Helper()
	e := orchestrator.Effect{Effect: f, Key: "1/2/3", TaskID: 1, ProjectID: "p", ItemID: "i", WorkItem: "APP-1", Title: "T", Repo: "acme/app", Attempt: attempt, Confirm: func(context.Context) error { return nil }}
	return k.runners[f.Kind].Run(k.Context(), e)
}

// change changes the task.
func (k *kit) change(how func(*task.Task)) {
	k.Helper()
	row, err := k.store.Task(k.Context(), 1)
	require.NoError(k, err)
	how(&row)
	require.NoError(k, k.store.Commit(k.Context(), task.Commit{Task: &row}))
}

// head makes the branch and returns its head.
func (k *kit) head() string {
	k.Helper()
	s := task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Main: "main"}.Workspace(k.task)
	_, err := k.place.Open(k.Context(), s, []work.File{{Path: "a", Body: []byte("b")}})
	require.NoError(k, err)
	tip, err := k.place.Tip(k.Context(), s)
	require.NoError(k, err)
	return tip.SHA
}

// Every effect can be made again and is seen once.
func TestTwiceIsOnce(t *testing.T) {
	k := setup(t)
	sha := k.head()
	k.host.Push("acme/app", "main", "base")
	for _, f := range []stage.Effect{
		{Kind: stage.EffectComment, Author: stage.Reviewer, Text: "x"},
		{Kind: stage.EffectStatus, Status: stage.StatusInProgress, Replaces: []stage.Status{stage.StatusToAnalyse}},
		{Kind: stage.EffectPrepare}, {Kind: stage.EffectPublish, SHA: sha}, {Kind: stage.EffectMerge, SHA: sha}, {Kind: stage.EffectTidy},
	} {
		for attempt := range 3 {
			require.Equal(t, queue.OutcomeDone, k.run(f, attempt+1).Kind, f.Kind)
		}
	}
	comments, err := k.board.Comments(t.Context(), "p", "i")
	require.NoError(t, err)
	require.Len(t, comments, 1)
	require.Len(t, k.board.Moves(), 1)
	require.Equal(t, 1, k.host.Merges())
	require.Empty(t, k.place.Checkouts())
}

func TestStatusLeavesAPersonsWord(t *testing.T) {
	k := setup(t)
	o := k.run(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusInProgress}, 1)
	require.Equal(t, queue.OutcomeDone, o.Kind)
	require.Contains(t, o.Error, "a human has set to_analyse")
	require.Empty(t, k.board.Moves())
	o = k.run(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusBlocked, Replaces: []stage.Status{stage.StatusToAnalyse}}, 1)
	require.Equal(t, queue.OutcomeDead, o.Kind, "a board without the column will not get it by waiting")
}

// recalling is a board whose cards were seen a moment ago as they are not any more.
type recalling struct {
	*memtracker.Board

	seen stage.Status
}

func (r recalling) Recent(project, item string) (tracker.Item, bool) {
	return tracker.Item{ID: item, ProjectID: project, Status: r.seen}, true
}

// What this process has seen a moment ago is no person's word, and is not taken for what is owed: another process has written meanwhile.
func TestStatusBesideAnotherProcess(t *testing.T) {
	for seen, now := range map[stage.Status]stage.Status{
		stage.StatusToAnalyse:  stage.StatusInProgress, // our own column of before
		stage.StatusDone:       stage.StatusInProgress, // what is owed, overwritten since
		stage.StatusInProgress: stage.StatusInProgress,
	} {
		k := setup(t)
		k.runners = effects.Runners(effects.Deps{Store: k.store, Jobs: k.store, Tracker: recalling{k.board, seen}})
		require.NoError(t, k.board.SetStatus(t.Context(), "p", "i", now))
		o := k.run(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusDone, Previous: now, Replaces: []stage.Status{now}}, 1)
		require.Equal(t, queue.Outcome{Kind: queue.OutcomeDone}, o, seen)
		item, err := k.board.Item(t.Context(), "p", "i")
		require.NoError(t, err)
		require.Equal(t, stage.StatusDone, item.Status, seen)
	}
}

func TestOutages(t *testing.T) {
	k := setup(t)
	k.head()
	down := errors.New("down")
	k.board.FailWith(down)
	k.host.FailWith(down)
	k.chat.FailWith(down)
	k.place.FailWith(down)
	for kind := range k.runners {
		if kind == stage.EffectUnbranch { // it is for repositories without a host
			continue
		}
		o := k.run(stage.Effect{Kind: kind, SHA: "abc"}, 1)
		require.Equal(t, queue.OutcomeRetry, o.Kind, kind)
		require.ErrorIs(t, o.Cause, down, kind)
	}
	o := k.run(stage.Effect{Kind: stage.EffectMerge, SHA: "abc"}, 3)
	require.Equal(t, queue.OutcomeDone, o.Kind, "a merge that is refused for good goes to a person")
	require.Contains(t, string(o.Then[0].Payload), `"final":true`)
}

// Another attempt publishes no branch: an agent may have committed to it meanwhile, which nothing is decided by.
func TestPrepareAgain(t *testing.T) {
	k := setup(t)
	for attempt, want := range map[int]string{2: "", 1: k.head()} {
		k.place.SetRemote("acme/app", k.task.Branch, "")
		k.run(stage.Effect{Kind: stage.EffectPrepare}, attempt)
		require.Equal(t, want, k.place.Remote("acme/app", k.task.Branch))
	}
}

// The card shows what the newest of its tasks does, such as the undo of a task whose monitor ends.
func TestStatusOfAnEarlierTask(t *testing.T) {
	k := setup(t)
	f := stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusDone, Replaces: []stage.Status{stage.StatusToAnalyse}}
	k.change(func(t *task.Task) { t.State.Stage = stage.Done })
	next := k.task
	next.ID, next.Version, next.WorkItemID, next.Branch = 2, 0, "APP-1-2", "feature/APP-1-2-t"
	require.NoError(t, k.store.Commit(t.Context(), task.Commit{Task: &next}))
	require.Contains(t, k.run(f, 1).Error, "another task of the card")
	i, err := k.board.Item(t.Context(), "p", "i")
	require.NoError(t, err)
	require.Equal(t, stage.StatusToAnalyse, i.Status)
}

func TestMergeIsPinned(t *testing.T) {
	k := setup(t)
	k.host.Push("acme/app", "main", "base")
	k.host.Push("acme/app", k.task.Branch, "somebody else's")
	f := stage.Effect{Kind: stage.EffectMerge, SHA: k.head()}
	k.change(func(t *task.Task) { t.State.Stopping = true })
	require.Contains(t, string(k.run(f, 2).Then[0].Payload), stage.OnStop)
	_, err := k.host.PullRequest(t.Context(), "acme/app", k.task.Branch, "main")
	require.ErrorIs(t, err, githost.ErrNotFound, "none is opened after STOP")
	k.change(func(t *task.Task) { t.State.Stopping = false })
	k.place.SetRemote("acme/app", k.task.Branch, "somebody else's")
	require.Equal(t, queue.OutcomeRetry, k.run(f, 1).Kind, "the host may show our push a moment later")
	o := k.run(f, 3)
	require.Equal(t, queue.OutcomeDone, o.Kind)
	require.Contains(t, string(o.Then[0].Payload), string(stage.OnMergeFailed))
	require.Contains(t, string(o.Then[0].Payload), "origin "+k.head()+":refs/heads/")
	require.Zero(t, k.host.Merges())
	k.host.FailWith(githost.ErrDenied)
	o = k.run(stage.Effect{Kind: stage.EffectMerge, SHA: "x"}, 1)
	require.Contains(t, string(o.Then[0].Payload), `"final":true`)
}

// What a run has left is linked to at its commit; without a commit, or pages of the repository, there is nothing to link to.
func TestLinksAreToCommits(t *testing.T) {
	f := stage.Effect{Kind: stage.EffectComment, Text: "done", Files: []string{"a.md", "b.md"}, SHA: "abc", Note: "$0.10"}
	bare := f
	bare.SHA = ""
	const page = "https://git.example.org/acme/app"
	for _, c := range []struct {
		web    string
		effect stage.Effect
		want   string
		pages  string
	}{
		{"", f, "done\na.md: https://box.example.org/dashboard/tasks/1/documents/a.md?commit=abc · b.md: https://box.example.org/dashboard/tasks/1/documents/b.md?commit=abc · " +
			"documents and changes: https://box.example.org/dashboard/tasks/1#verdict · $0.10", "https://box.example.org/dashboard"},
		{page, bare, "done\n$0.10", "https://box.example.org/dashboard"},
		{page + "/", f, "done\na.md: " + page + "/blob/abc/docs/work/APP-1/a.md · b.md: " + page + "/blob/abc/docs/work/APP-1/b.md · $0.10", ""},
		{page, bare, "done\n$0.10", ""},
		{"", f, "done\n$0.10", ""},
	} {
		k := setup(t)
		projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP", WebURL: c.web})
		require.NoError(t, err)
		k.runners = effects.Runners(effects.Deps{Store: k.store, Projects: projects, Tracker: k.board, Pages: c.pages})
		require.Equal(t, queue.OutcomeDone, k.run(c.effect, 1).Kind)
		list, err := k.board.Comments(t.Context(), "p", "i")
		require.NoError(t, err)
		require.Len(t, list, 1)
		require.Equal(t, c.want, list[0].Body)
	}
}

func TestGoneItems(t *testing.T) {
	k := setup(t)
	e := orchestrator.Effect{Effect: stage.Effect{Kind: stage.EffectComment, Text: "x"}, Key: "k", ProjectID: "p", ItemID: "deleted", Repo: "acme/app"}
	for _, kind := range []stage.EffectKind{stage.EffectComment, stage.EffectStatus} {
		e.Kind = kind
		require.ErrorIs(t, k.runners[kind].Run(t.Context(), e).Cause, tracker.ErrNotFound)
	}
}

// Every kind of effect that the machine decides has a runner.
func ExampleRunners() {
	var kinds []stage.EffectKind
	for kind := range effects.Runners(effects.Deps{}) {
		kinds = append(kinds, kind)
	}
	slices.Sort(kinds)
	fmt.Println(kinds)
	// Output: [comment leave merge notify prepare publish pull_request reply status tidy unbranch waits]
}

// On a board with few columns our own status may stand in the column of a trigger: it is not a person's word, and is replaced. Where the
// column of our status is another, it is a person's; where the card's own column is gone, it was renamed while the card was read.
func TestStatusInAFallbackColumn(t *testing.T) {
	for _, c := range []struct {
		columns []stage.Status
		want    stage.Status
		outcome queue.OutcomeKind
	}{
		{[]stage.Status{stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusDone}, stage.StatusDone, queue.OutcomeDone},
		{nil, stage.StatusInProgress, queue.OutcomeDone},
		{[]stage.Status{stage.StatusToAnalyse, stage.StatusDone}, stage.StatusInProgress, queue.OutcomeRetry},
	} {
		k := setup(t)
		k.board.AddProject("p", c.columns...)
		k.board.Put(tracker.Item{ID: "i", ProjectID: "p", Title: "T", Status: stage.StatusInProgress})
		o := k.run(stage.Effect{Kind: stage.EffectStatus, Status: stage.StatusDone, Previous: stage.StatusDeploying}, 1)
		require.Equal(t, c.outcome, o.Kind)
		item, err := k.board.Item(t.Context(), "p", "i")
		require.NoError(t, err)
		require.Equal(t, c.want, item.Status)
	}
}

// A workspace is removed when nothing of an agent lives in it, and not before.
func TestTidyWaitsForTheAgent(t *testing.T) {
	k := setup(t)
	k.head()
	alive := errors.New("an agent lives")
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	tidy := effects.Runners(effects.Deps{Store: k.store, Jobs: k.store, Projects: projects, Workspaces: k.place, Agents: agents{k.place, alive}})[stage.EffectTidy]
	e := orchestrator.Effect{Effect: stage.Effect{Kind: stage.EffectTidy}, TaskID: 1, Repo: "acme/app", Attempt: 1}
	require.Equal(t, queue.OutcomeRetry, tidy.Run(t.Context(), e).Kind)
	require.Len(t, k.place.Checkouts(), 1)
}

// agents cannot be ended.
type agents struct {
	work.Agents
	err error
}

func (a agents) Quiesce(context.Context, int64) error { return a.err }

// A process that dies while it sends a notice makes one more copy, however often that
// happens; what is written into the effect survives the next death.
func TestNoticeOfADeadProcess(t *testing.T) {
	k := setup(t)
	e := orchestrator.Effect{Effect: stage.Effect{Kind: stage.EffectNotify, Text: "look at it"}, Key: "1/2/3", TaskID: 1, ItemID: "i", WorkItem: "APP-1", Repo: "acme/app"}
	run := func(attempt int, killed bool) queue.Outcome {
		e.Attempt, e.Killed = attempt, killed
		return k.runners[stage.EffectNotify].Run(t.Context(), e)
	}
	require.Equal(t, queue.OutcomeDone, run(1, false).Kind) // the process dies before that is stored
	o := run(2, true)
	require.Equal(t, queue.OutcomeDone, o.Kind)
	require.Len(t, k.chat.Messages(), 1, "it is written down first")
	require.Len(t, o.Then, 1)
	require.NoError(t, json.Unmarshal(o.Then[0].Payload, &e))
	require.Equal(t, queue.OutcomeDone, run(1, false).Kind)
	o = run(2, true)
	require.Equal(t, queue.OutcomeDead, o.Kind)
	require.Contains(t, o.Error, "two processes have died")
	list := k.chat.Messages()
	require.Len(t, list, 2)
	require.Equal(t, []string{"look at it"}, list[0].Shown.Lines)
	require.Equal(t, []string{"look at it", "(This may be a second copy.)"}, list[1].Shown.Lines)
}

// A branch that the host deleted when it merged it is no failure: what is left to push is said to be missing, and nobody is called.
func TestPublishAfterTheMerge(t *testing.T) {
	k := setup(t)
	sha := k.head()
	for _, merged := range []string{"", "m"} {
		k.change(func(t *task.Task) { t.State.Stage, t.State.MergeSHA = stage.Deploy, merged })
		o := k.run(stage.Effect{Kind: stage.EffectPublish, SHA: sha, Expected: "where it was"}, 1)
		require.Equal(t, queue.OutcomeDone, o.Kind)
		if merged == "" { // it was removed by somebody: that is for a person
			require.Len(t, o.Then, 1)
			require.Contains(t, string(o.Then[0].Payload), `"gone":true`)
			continue
		}
		require.Contains(t, o.Error, "the remote branch has moved")
		require.Empty(t, o.Then)
	}
}

// What was judged green is judged again on the head that would land: results that have come since keep it from the host.
func TestMergeOfWhatIsNotGreen(t *testing.T) {
	k := setup(t)
	sha := k.head()
	k.host.Push("acme/app", "main", "base")
	k.host.Push("acme/app", k.task.Branch, sha)
	projects, err := task.NewProjects(task.Project{TrackerProject: "p", Repo: "acme/app", CloneURL: "u", Prefix: "APP"})
	require.NoError(t, err)
	k.runners = effects.Runners(effects.Deps{Store: k.store, Jobs: k.store, Projects: projects, Tracker: k.board, Host: k.host, Workspaces: k.place})
	k.change(func(t *task.Task) { t.State.Stage, t.State.Head, t.State.Pushed = stage.Deploy, sha, sha })
	build := githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"}
	for reason, late := range map[string]githost.Check{
		"CI failed": {Name: "e2e", State: githost.CheckFailed, Kind: "check_run"}, "not finished": {Name: "e2e", State: githost.CheckPending, Kind: "check_run"},
		"(expected)": {Name: "e2e", State: githost.CheckExpected},
	} {
		k.host.SetChecks(sha, build, late)
		o := k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1)
		require.Equal(t, queue.OutcomeDone, o.Kind)
		require.Contains(t, string(o.Then[0].Payload), `"unready":true`)
		require.Contains(t, string(o.Then[0].Payload), reason)
		require.Zero(t, k.host.Merges())
	}
	k.host.FailCall("Checks", errors.New("down"))
	require.Equal(t, queue.OutcomeRetry, k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1).Kind, "nothing is known")
	require.Zero(t, k.host.Merges())
	k.host.FailCall("Checks", nil)
	k.host.SetChecks(sha, build)
	require.Contains(t, string(k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1).Then[0].Payload), string(stage.OnMergeDone))
	k.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckFailed})
	require.Contains(t, string(k.run(stage.Effect{Kind: stage.EffectMerge, SHA: sha}, 1).Then[0].Payload), string(stage.OnMergeDone), "what is merged is not judged")
}
