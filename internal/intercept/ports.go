package intercept

import (
	"context"
	"io/fs"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// Queueing is the port of the queue.
type Queueing interface {
	queue.Queue
	queue.Admin
	queue.Restarter
	queue.Inspector
	queue.HoldFinder
}

// Queue puts a hook around a queue.
func Queue(to Queueing, on Hook) Queueing { return jobs{port[Queueing]{to, on}} }

type jobs struct{ q port[Queueing] }

func (s jobs) Put(ctx context.Context, js ...queue.Job) ([]int64, error) {
	return get(ctx, s.q, "Put", func(to Queueing) ([]int64, error) { return to.Put(ctx, js...) }, js)
}
func (s jobs) Take(ctx context.Context, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return get(ctx, s.q, "Take", func(to Queueing) ([]queue.Claim, error) { return to.Take(ctx, pool, worker, n, ttl) }, pool)
}
func (s jobs) Extend(ctx context.Context, c queue.Claim, ttl time.Duration) error {
	return do2(ctx, s.q, "Extend", Queueing.Extend, c, ttl)
}
func (s jobs) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return do2(ctx, s.q, "Finish", Queueing.Finish, c, o)
}
func (s jobs) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	return get(ctx, s.q, "FinishTake", func(to Queueing) ([]queue.Claim, error) {
		return to.FinishTake(ctx, c, o, pool, worker, n, ttl)
	}, c, o)
}
func (s jobs) Cancel(ctx context.Context, taskID int64, pools ...string) ([]queue.Job, error) {
	return get(ctx, s.q, "Cancel", func(to Queueing) ([]queue.Job, error) { return to.Cancel(ctx, taskID, pools...) }, taskID)
}
func (s jobs) Reap(ctx context.Context) ([]queue.Job, error) {
	return get0(ctx, s.q, "Reap", Queueing.Reap)
}
func (s jobs) Hold(ctx context.Context, holds ...queue.Hold) error {
	return doAll(ctx, s.q, "Hold", Queueing.Hold, holds)
}
func (s jobs) Free(ctx context.Context, holds ...queue.Hold) error {
	return doAll(ctx, s.q, "Free", Queueing.Free, holds)
}
func (s jobs) Hasten(ctx context.Context, pool string, taskID int64) (int, error) {
	return get2(ctx, s.q, "Hasten", Queueing.Hasten, pool, taskID)
}
func (s jobs) Repeat(ctx context.Context, id int64) (int64, error) {
	return get1(ctx, s.q, "Repeat", Queueing.Repeat, id)
}
func (s jobs) Jobs(ctx context.Context, f queue.Filter) ([]queue.Job, error) {
	return get1(ctx, s.q, "Jobs", Queueing.Jobs, f)
}
func (s jobs) Waiting(ctx context.Context, f queue.Filter) ([]queue.Wait, error) {
	return get1(ctx, s.q, "Waiting", Queueing.Waiting, f)
}
func (s jobs) Holds(ctx context.Context) ([]queue.Hold, error) {
	return get0(ctx, s.q, "Holds", Queueing.Holds)
}
func (s jobs) Depth(ctx context.Context) ([]queue.Depth, error) {
	return get0(ctx, s.q, "Depth", Queueing.Depth)
}
func (s jobs) Wake(pool string) <-chan struct{} { return s.q.to.Wake(pool) }
func (s jobs) HoldsIn(ctx context.Context, from, before string, limit int) ([]queue.Hold, error) {
	return get3(ctx, s.q, "HoldsIn", Queueing.HoldsIn, from, before, limit)
}

// Records keeps tasks and their story.
type Records interface {
	task.Store
	task.Records
	task.Pruner
	task.History
	reasons
}

type reasons interface {
	task.Dependencies
	task.CostStore
	task.Pauses
	task.Facts
	task.Contents
}

// Kept keeps tasks and their queue.
type Kept interface {
	Records
	Queueing
}

// Store puts a hook around a store.
func Store(to Kept, on Hook) Kept { return store{Queue(to, on), port[Records]{to, on}} }

type store struct {
	Queueing

	r port[Records]
}

func (s store) NewTaskID(ctx context.Context) (int64, error) {
	return get0(ctx, s.r, "NewTaskID", Records.NewTaskID)
}
func (s store) Task(ctx context.Context, id int64) (task.Task, error) {
	return get1(ctx, s.r, "Task", Records.Task, id)
}
func (s store) Tasks(ctx context.Context, f task.Filter) ([]task.Task, error) {
	return get1(ctx, s.r, "Tasks", Records.Tasks, f)
}
func (s store) Facts(ctx context.Context, like task.Fact, limit int) ([]task.Fact, error) {
	return get2(ctx, s.r, "Facts", Records.Facts, like, limit)
}
func (s store) Commit(ctx context.Context, c task.Commit) error {
	return do1(ctx, s.r, "Commit", Records.Commit, c)
}
func (s store) Receive(ctx context.Context, d task.Delivery, job queue.Job) (bool, error) {
	return get2(ctx, s.r, "Receive", Records.Receive, d, job)
}
func (s store) Journal(ctx context.Context, taskID int64) ([]task.JournalEntry, error) {
	return get1(ctx, s.r, "Journal", Records.Journal, taskID)
}
func (s store) JournalSince(ctx context.Context, after int64, limit int) ([]task.JournalEntry, error) {
	return get2(ctx, s.r, "JournalSince", Records.JournalSince, after, limit)
}
func (s store) GateResults(ctx context.Context, taskID int64) ([]task.GateResult, error) {
	return get1(ctx, s.r, "GateResults", Records.GateResults, taskID)
}
func (s store) AgentRuns(ctx context.Context, taskIDs ...int64) ([]task.AgentRun, error) {
	return get(ctx, s.r, "AgentRuns", func(to Records) ([]task.AgentRun, error) { return to.AgentRuns(ctx, taskIDs...) }, taskIDs)
}
func (s store) Content(ctx context.Context, id string) ([]byte, error) {
	return get1(ctx, s.r, "Content", Records.Content, id)
}

func (s store) LastDelivery(ctx context.Context, source string) (time.Time, error) {
	return get1(ctx, s.r, "LastDelivery", Records.LastDelivery, source)
}
func (s store) PruneJobs(ctx context.Context, before time.Time, after int64, limit int) (removed int, next int64, err error) {
	err = do(ctx, s.r, "PruneJobs", func(to Records) (err error) {
		removed, next, err = to.PruneJobs(ctx, before, after, limit)
		return err
	}, after)
	return removed, next, err
}
func (s store) PruneDeliveries(ctx context.Context, before time.Time, limit int) (int, error) {
	return get2(ctx, s.r, "PruneDeliveries", Records.PruneDeliveries, before, limit)
}
func (s store) Dependencies(ctx context.Context, taskID int64) ([]task.Dependency, error) {
	return get1(ctx, s.r, "Dependencies", Records.Dependencies, taskID)
}
func (s store) SetDependencies(ctx context.Context, taskID int64, source string, on []int64) error {
	return do(ctx, s.r, "SetDependencies", func(to Records) error { return to.SetDependencies(ctx, taskID, source, on) }, taskID, on)
}
func (s store) Depend(ctx context.Context, d task.Dependency) error {
	return do1(ctx, s.r, "Depend", Records.Depend, d)
}
func (s store) Undepend(ctx context.Context, d task.Dependency) error {
	return do1(ctx, s.r, "Undepend", Records.Undepend, d)
}
func (s store) Reserve(ctx context.Context, r task.Reservation) error {
	return do1(ctx, s.r, "Reserve", Records.Reserve, r)
}
func (s store) Reservations(ctx context.Context, repo string) ([]task.Reservation, error) {
	return get1(ctx, s.r, "Reservations", Records.Reservations, repo)
}
func (s store) Forget(ctx context.Context, rs ...task.Reservation) error {
	return doAll(ctx, s.r, "Forget", Records.Forget, rs)
}
func (s store) RunsSince(ctx context.Context, repo string, since time.Time) ([]task.AgentRun, error) {
	return get2(ctx, s.r, "RunsSince", Records.RunsSince, repo, since)
}
func (s store) Pauses(ctx context.Context) ([]task.Pause, error) {
	return get0(ctx, s.r, "Pauses", Records.Pauses)
}
func (s store) DayCosts(ctx context.Context, since time.Time) ([]task.DayCost, error) {
	return get1(ctx, s.r, "DayCosts", Records.DayCosts, since)
}
func (s store) Ended(ctx context.Context, since time.Time, limit int) ([]task.Task, error) {
	return get2(ctx, s.r, "Ended", Records.Ended, since, limit)
}
func (s store) JournalBefore(ctx context.Context, taskID, before int64, limit int) ([]task.JournalEntry, error) {
	return get3(ctx, s.r, "JournalBefore", Records.JournalBefore, taskID, before, limit)
}
func (s store) DecisionsAt(ctx context.Context, id int64) ([]task.JournalEntry, error) {
	return get1(ctx, s.r, "DecisionsAt", Records.DecisionsAt, id)
}

// Hosting is the port of the git host.
type Hosting interface {
	githost.Host
	githost.Branches
}

// Host puts a hook around a git host.
func Host(to Hosting, on Hook) Hosting { return host{port[Hosting]{to, on}} }

type host struct{ p port[Hosting] }

func (h host) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	return get3(ctx, h.p, "Checks", Hosting.Checks, repo, base, sha)
}
func (h host) Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error) {
	return get3(ctx, h.p, "Reviews", Hosting.Reviews, repo, branch, base)
}
func (h host) PullRequest(ctx context.Context, repo, branch, base string) (githost.PullRequest, error) {
	return get3(ctx, h.p, "PullRequest", Hosting.PullRequest, repo, branch, base)
}
func (h host) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	return get1(ctx, h.p, "OpenPullRequest", Hosting.OpenPullRequest, n)
}
func (h host) Merge(ctx context.Context, m githost.Merge) (string, error) {
	return get1(ctx, h.p, "Merge", Hosting.Merge, m)
}
func (h host) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	return get2(ctx, h.p, "BranchesAt", Hosting.BranchesAt, repo, sha)
}
func (h host) DeleteBranch(ctx context.Context, repo, branch string) error {
	return do2(ctx, h.p, "DeleteBranch", Hosting.DeleteBranch, repo, branch)
}

// Places is the port of the places of work.
type Places interface {
	work.Workspaces
	work.Mirror
	work.Rebaser
	work.Adopter
	work.Disk
}

// Workspaces puts a hook around places of work.
func Workspaces(to Places, on Hook) Places { return places{port[Places]{to, on}} }

type places struct{ p port[Places] }

func (w places) Open(ctx context.Context, s work.Workspace, first []work.File) (work.Checkout, error) {
	return get2(ctx, w.p, "Open", Places.Open, s, first)
}
func (w places) Take(ctx context.Context, s work.Workspace) (work.Tip, error) {
	return get1(ctx, w.p, "Take", Places.Take, s)
}
func (w places) Push(ctx context.Context, s work.Workspace, sha, expected string) error {
	return do(ctx, w.p, "Push", func(to Places) error { return to.Push(ctx, s, sha, expected) }, s, sha)
}
func (w places) Close(ctx context.Context, s work.Workspace) error {
	return do1(ctx, w.p, "Close", Places.Close, s)
}
func (w places) Drop(ctx context.Context, s work.Workspace, keep string) error {
	return do2(ctx, w.p, "Drop", Places.Drop, s, keep)
}
func (w places) Begin(ctx context.Context, s work.Workspace, first []work.File) error {
	return do2(ctx, w.p, "Begin", Places.Begin, s, first)
}
func (w places) Tip(ctx context.Context, s work.Workspace) (work.Tip, error) {
	return get1(ctx, w.p, "Tip", Places.Tip, s)
}
func (w places) Add(ctx context.Context, s work.Workspace, files []work.File, message string) (work.Tip, error) {
	return get3(ctx, w.p, "Add", Places.Add, s, files, message)
}
func (w places) Files(ctx context.Context, s work.Workspace, sha string) (fs.FS, error) {
	return get2(ctx, w.p, "Files", Places.Files, s, sha)
}
func (w places) Changed(ctx context.Context, s work.Workspace, from, to string, patterns []string) ([]string, error) {
	return get(ctx, w.p, "Changed", func(p Places) ([]string, error) { return p.Changed(ctx, s, from, to, patterns) }, s, from, to)
}
func (w places) Diff(ctx context.Context, s work.Workspace, from, to string) (work.Diff, error) {
	return get3(ctx, w.p, "Diff", Places.Diff, s, from, to)
}
func (w places) CatchUp(ctx context.Context, s work.Workspace, always bool) (work.CaughtUp, error) {
	return get2(ctx, w.p, "CatchUp", Places.CatchUp, s, always)
}
func (w places) MainTip(ctx context.Context, s work.Workspace) (string, error) {
	return get1(ctx, w.p, "MainTip", Places.MainTip, s)
}
func (w places) SameTree(ctx context.Context, s work.Workspace, a, b string) (bool, error) {
	return get3(ctx, w.p, "SameTree", Places.SameTree, s, a, b)
}
func (w places) TryMerge(ctx context.Context, s work.Workspace, sha string, at time.Time) (bool, error) {
	return get3(ctx, w.p, "TryMerge", Places.TryMerge, s, sha, at)
}
func (w places) Adopt(ctx context.Context, s work.Workspace, pushed string) (work.Adopted, error) {
	return get2(ctx, w.p, "Adopt", Places.Adopt, s, pushed)
}
func (w places) Join(ctx context.Context, s work.Workspace, onto string) (work.Adopted, error) {
	return get2(ctx, w.p, "Join", Places.Join, s, onto)
}
func (w places) Heads(ctx context.Context, s work.Workspace) (map[string]string, error) {
	return get1(ctx, w.p, "Heads", Places.Heads, s)
}
func (w places) Remains(ctx context.Context) ([]work.Remains, error) {
	return get0(ctx, w.p, "Remains", Places.Remains)
}
func (w places) Remove(ctx context.Context, r work.Remains) error {
	return do1(ctx, w.p, "Remove", Places.Remove, r)
}
