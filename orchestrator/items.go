package orchestrator

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// itemsMax bounds how many work items are kept.
const itemsMax = 1000

// items are the work items that were read last for events. One that was read after an event had come
// shows what the event reports, so that several events of a card are one read: until the task changes,
// or what is owed to its card does.
type items struct {
	mu     sync.Mutex
	byItem map[string]itemRead
}

type itemRead struct {
	item   tracker.Item
	at     time.Time // when it was requested
	beside string    // which task and writes it was judged with
}

// readItem reads the work item of an event, once the event was due.
func (in intake) readItem(ctx context.Context, h tracker.Hook, t task.Task, writes []Effect) (tracker.Item, error) {
	beside := fmt.Sprint(t.ID, t.Version)
	for _, w := range writes {
		beside += " " + w.Key
	}
	last := in.items.get(h.ItemID)
	due := later(in.claim.Job.CreatedAt, in.claim.Job.AvailableAt)
	if _, _, waited := WaitsForRequests(in.claim.Job); waited {
		due = in.claim.Job.CreatedAt // what was read meanwhile need not be read again
	}
	if due.Before(last.at) && last.beside == beside && last.item.ProjectID == h.ProjectID {
		return last.item, nil
	}
	at := in.Now()
	item, err := in.Tracker.Item(ctx, h.ProjectID, h.ItemID)
	if err == nil {
		in.items.put(h.ItemID, itemRead{item, at, beside})
	}
	return item, err
}

func (i *items) get(id string) itemRead {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.byItem[id]
}

func (i *items) put(id string, r itemRead) {
	i.mu.Lock()
	defer i.mu.Unlock()
	if i.byItem == nil || len(i.byItem) >= itemsMax {
		i.byItem = map[string]itemRead{}
	}
	i.byItem[id] = r
}

// Wanted makes the event job of a change on a registered project's board, or returns why
// there is none.
func (e *Engine) Wanted(h tracker.Hook) (job queue.Job, ignored string) {
	switch {
	case h.Kind == tracker.HookComment:
		if !h.Self {
			e.Heard(h)
		}
		return queue.Job{}, "comments are only noted"
	case h.Kind == tracker.HookItemUpdated && !h.Status:
		e.Heard(h) // its relations may be others now
		return queue.Job{}, "the status has not changed"
	case brakes(h):
		job = TrackerJob(h)
		job.Pool, job.Key = queue.PoolEvents, brakeKey(h.ItemID) // it waits neither for the tracker nor for what came before it
		return job, ""
	default:
		return TrackerJob(h), ""
	}
}

// Announce takes a hook of a board that the service keeps itself, as a webhook of another is
// taken: the event is durable when it returns nil. id names the change; a second call is a
// duplicate. While the store cannot take it, it is tried again until ctx ends; the change is
// then found by the reconciler.
func (e *Engine) Announce(ctx context.Context, source, id string, h tracker.Hook) error {
	count := func(outcome string) {
		e.Metrics.Webhooks.Add(1, source, outcome)
	}
	job, ignored := e.Wanted(h)
	if ignored != "" {
		count("ignored")
		return nil
	}
	hash := fmt.Sprintf("%x", sha256.Sum256(append([]byte(id+"\n"), job.Payload...))) // two changes may have equal hooks
	d := task.Delivery{Source: source, ID: id, Event: h.Event, BodyHash: hash, ReceivedAt: e.Now(), Outcome: "queued"}
	for wait := 50 * time.Millisecond; ; wait = min(2*wait, time.Second) {
		duplicate, err := e.Store.Receive(ctx, d, job)
		switch {
		case duplicate:
			count("duplicate")
			e.Metrics.WebhookDedup.Add(1, source)
			return nil
		case err == nil:
			count("queued")
			return nil
		case e.Wait(ctx, wait) != nil:
			count("lost")
			return err
		}
	}
}

// saidFor is how long the comments of a card are taken for known. A webhook of another comment
// ends that at once, and so does a person's move.
const saidFor = 10 * time.Minute

// saidMax bounds how many cards' comments are kept.
const saidMax = 1000

// said are the comments of cards as they were read for agents.
type said struct {
	mu     sync.Mutex
	byItem map[string]saidOn
	heard  int64 // counts the webhooks of comments
}

type saidOn struct {
	list []tracker.Comment
	at   time.Time
}

// comments reads what is said on the card of a task, once for agents that follow each other.
func (e *Engine) comments(ctx context.Context, p task.Project, t task.Task) ([]tracker.Comment, error) {
	known, heard := e.said.get(t.TrackerIssueID)
	if !known.at.Before(t.State.HeardAt) && e.Now().Sub(known.at) < saidFor {
		return known.list, nil
	}
	at := e.Now()
	list, err := e.Tracker.Comments(ctx, p.On(t.TrackerProjectID).TrackerProject, t.TrackerIssueID)
	if err == nil {
		e.said.put(t.TrackerIssueID, saidOn{list, at}, heard)
	}
	return list, err
}

func (s *said) get(item string) (known saidOn, heard int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.byItem[item], s.heard
}

// put keeps comments, unless a webhook of one has come since they were requested.
func (s *said) put(item string, now saidOn, heard int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.heard != heard {
		return
	}
	if s.byItem == nil || len(s.byItem) >= saidMax {
		s.byItem = map[string]saidOn{}
	}
	s.byItem[item] = now
}

// drop forgets the comments of a card on which something is said.
func (s *said) drop(item string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.heard++
	delete(s.byItem, item)
}

// UnregisteredError reports that work is owed to a repository which the registry does not
// have at present. It is done when the repository is there again.
type UnregisteredError struct{ Repo string }

// Error names the repository.
func (u *UnregisteredError) Error() string {
	return fmt.Sprintf("the repository %s is not registered any more", u.Repo)
}

// Retryable reports true.
func (u *UnregisteredError) Retryable() bool { return true }

// projectOf is the entry of a task's own repository. A STOP is taken where there is none:
// what it removes is owed until the repository is back.
func (e *Engine) projectOf(t task.Task, on stage.Trigger) (task.Project, bool) {
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok && on == stage.OnStop {
		return task.Project{TrackerProject: t.TrackerProjectID, Repo: t.Repo}, true
	}
	return p, ok
}

// name fills in the identity of a new task, which may come after another of its card.
func (in intake) name(ctx context.Context, item tracker.Item, ev stage.Event) (task.Task, error) {
	var failed error
	taken := func(f task.Filter) bool {
		tasks, err := in.Store.Tasks(ctx, f)
		failed = errors.Join(failed, err)
		return err == nil && len(tasks) > 0
	}
	id, err := in.Store.NewTaskID(ctx)
	if err != nil {
		return task.Task{}, err
	}
	now := in.Now()
	t := task.Task{
		ID: id, TrackerProjectID: in.project.TrackerProject, TrackerIssueID: item.ID, Repo: in.project.Repo,
		Title: item.Title, Description: item.Description, Slug: task.Slug(item.Title), CreatedAt: now,
	}
	known := func(s string) bool { return taken(task.Filter{Repo: in.project.Repo, WorkItemID: s}) }
	switch {
	case ev.On == OnUndo:
		t.WorkItemID = task.UndoID(ev.Follows, known)
	case ev.Follows != "":
		t.WorkItemID = task.FollowUpID(in.project.Prefix, ev.Follows, known)
	case item.Key != "" && task.IsKey(item.Key) && !known(item.Key):
		t.WorkItemID = item.Key
	default:
		t.WorkItemID = task.WorkItemID(in.project.Prefix, item.Sequence, known)
		if item.Key != "" {
			in.Log.Warn("the tracker's name of a work item is taken in the repository, or cannot be a part of a branch's name",
				"key", item.Key, "work_item", t.WorkItemID, "item", item.ID, "repo", in.project.Repo)
		}
	}
	t.Branch = task.BranchName(t.WorkItemID, t.Slug, item.ID, func(s string) bool {
		return taken(task.Filter{Repo: in.project.Repo, Branch: s})
	})
	return t, failed
}

// otherBranch names the branch of a task anew: the remote has one of its name that is
// not the task's.
func (in intake) otherBranch(ctx context.Context, t task.Task) (string, error) {
	var failed error
	first := task.BranchName(t.WorkItemID, t.Slug, t.TrackerIssueID, func(string) bool { return false })
	name := task.BranchName(t.WorkItemID, t.Slug, t.TrackerIssueID, func(s string) bool {
		tasks, err := in.Store.Tasks(ctx, task.Filter{Repo: t.Repo, Branch: s})
		failed = errors.Join(failed, err)
		return s == first || s == t.Branch || len(tasks) > 0
	})
	return name, failed
}
