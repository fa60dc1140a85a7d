package benchengine

import (
	"context"
	"fmt"
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/effects"
	"github.com/signalbox-dev/signalbox/orchestrator/service"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Settings of the engine that differ from the reference server's: what others do
// takes no time here, so waiting for them would be all that is measured.
const (
	workers     = 16                    // of each pool
	ciPoll      = 20 * time.Millisecond // how soon CI is looked at
	statusDefer = 50 * time.Millisecond
	person      = 100 * time.Millisecond // between a status and a person's answer to it
)

// quietRepos are the repositories that only the other tasks are in.
const quietRepos = 20

// store lists what a world stands on.
type store = service.Store

// world is an engine with everything but its store in memory. The store may be
// exchanged while the engine is at rest, as a restart does.
type world struct {
	inflight int  // slots that lead lives, each in a repository of its own
	features bool // the default set of the reference server

	boards   *boards
	host     *memhost.Host
	chat     *chat
	place    *memwork.Place
	leases   *memlease.Locker
	projects *task.Projects
	log      *slog.Logger

	store   store
	engine  *orchestrator.Engine
	running *run.Group

	memory int64     // in use before the store was opened
	opened time.Time // when it was

	last atomic.Int64 // of cards and deliveries
}

// shared reports whether a slot's repository has other live tasks in it. Every
// second one has; the others are gated.
func shared(slot int) bool { return slot%2 == 0 }

func slotRepo(slot int) string { return fmt.Sprintf("bench/life-%d", slot) }

func quietRepo(n int) string { return fmt.Sprintf("bench/quiet-%d", n%quietRepos) }

func newWorld(inflight int, features bool, log *slog.Logger) (*world, error) {
	w := &world{
		inflight: inflight, features: features, log: log,
		chat: &chat{}, leases: memlease.New(nil), host: memhost.New(), place: memwork.New(memwork.Good),
	}
	w.place.OnPush = w.pushed
	var list []task.Project
	var names []string
	add := func(repo, prefix string) {
		list = append(list, task.Project{
			TrackerProject: repo, Repo: repo, CloneURL: "u", Prefix: prefix, Main: "main", WebURL: "https://git.example.org/" + repo,
		})
		names = append(names, repo)
		w.host.Push(repo, "main", "base")
	}
	for slot := range inflight {
		add(slotRepo(slot), fmt.Sprint("L", slot))
	}
	for n := range quietRepos {
		add(quietRepo(n), fmt.Sprint("Q", n))
	}
	w.boards = newBoards(names)
	var err error
	w.projects, err = task.NewProjects(list...)
	return w, err
}

// begin makes an engine over a store.
func (w *world) begin(s store) error {
	w.store = s
	runners := effects.Runners(effects.Deps{
		Store: s, Jobs: s, Projects: w.projects, Tracker: w.boards, Host: w.host, Messenger: w.chat,
		Workspaces: w.place, Agents: w.place, Log: w.log,
	})
	features, err := w.list(runners)
	if err != nil {
		return err
	}
	w.engine, err = orchestrator.New(stage.Default(), orchestrator.Deps{
		Store: s, Records: s, Jobs: s, Projects: w.projects, Tracker: w.boards, Host: w.host, Workspaces: w.place, Agents: w.place,
		Gates: checks.All(nil), Runners: runners, Log: w.log,
	}, orchestrator.Options{
		MaxConcurrency: workers, EventWorkers: workers, EffectWorkers: workers,
		StatusDefer: statusDefer, Stage: stage.Options{CIPoll: ciPoll}, Worker: "bench",
	}, features...)
	return err
}

// start lets the engine work.
func (w *world) start(ctx context.Context) {
	w.running = run.New(ctx, w.log)
	engine := w.engine
	w.running.Go("engine", engine.Run)
}

// stop ends the engine and waits for it.
func (w *world) stop() { w.running.Stop() }

// pushed is the git host: its CI passes at once, and its webhook comes.
func (w *world) pushed(repo, branch, sha string) {
	w.host.Push(repo, branch, sha)
	w.host.SetChecks(sha, githost.Check{Name: "build", State: githost.CheckPassed, Kind: "check_run"})
	w.deliver(context.Background(), "github", orchestrator.HostJob(task.Project{}, githost.Hook{
		Kind: githost.HookCI, Event: "check_suite", Repo: repo, SHA: sha, Branch: branch,
		State: string(githost.CheckPassed), Finished: true,
	}))
}

// deliver stores a webhook as its receiver does when the signature is right.
func (w *world) deliver(ctx context.Context, source string, job queue.Job) {
	id := fmt.Sprintf("%d-%d", time.Now().UnixNano(), w.last.Add(1))
	_, err := w.store.Receive(ctx, task.Delivery{Source: source, ID: id, BodyHash: id, ReceivedAt: time.Now(), Outcome: "queued"}, job)
	if err != nil {
		w.log.Error("a webhook could not be stored", "source", source, "err", err)
	}
}

// move is a person who moves a card of a slot.
func (w *world) move(ctx context.Context, slot int, item tracker.Item, to stage.Status) {
	item.Status = to
	w.boards.board.Put(item)
	w.deliver(ctx, "plane", orchestrator.TrackerJob(tracker.Hook{
		Kind: tracker.HookItemUpdated, ProjectID: item.ProjectID, ItemID: item.ID, ActorID: fmt.Sprint("person-", slot), Status: true,
	}))
}

// open puts a new card on the board of a slot and moves it to To Analyse. The
// channel has every status that the service gives it.
func (w *world) open(ctx context.Context, slot int) (tracker.Item, <-chan stage.Status) {
	n := w.last.Add(1)
	item := tracker.Item{
		ID: fmt.Sprint("life-", n), ProjectID: slotRepo(slot), Sequence: n,
		Title:       fmt.Sprintf("A card with a title of usual length, number %d", n),
		Description: "What is wanted, in a sentence or two, as people write it.",
	}
	seen := w.boards.watch(item.ID)
	w.move(ctx, slot, item, stage.StatusToAnalyse)
	return item, seen
}

// live leads a card through its whole life: analysed, approved, developed,
// reviewed, tested, staged, merged, deployed.
func (w *world) live(ctx context.Context, slot int) error {
	item, seen := w.open(ctx, slot)
	defer w.boards.unwatch(item.ID)
	if err := until(ctx, item, seen, stage.StatusInReview); err != nil {
		return err
	}
	if err := run.Sleep(ctx, run.Real{}, person); err != nil {
		return err
	}
	w.move(ctx, slot, item, stage.StatusApproved)
	return until(ctx, item, seen, stage.StatusDone)
}

// until waits for a status of a card.
func until(ctx context.Context, item tracker.Item, seen <-chan stage.Status, want stage.Status) error {
	for {
		select {
		case s := <-seen:
			switch s {
			case want:
				return nil
			case stage.StatusBlocked, stage.StatusNeedsInput:
				return fmt.Errorf("card %s is %s on its way to %s", item.ID, s, want)
			}
		case <-ctx.Done():
			return fmt.Errorf("card %s has not come to %s: %w", item.ID, want, ctx.Err())
		}
	}
}
