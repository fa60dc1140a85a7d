package orchestrator

import (
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/allowance"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/mux"
)

// Kinds of jobs.
const (
	KindTracker = "tracker" // a tracker's webhook
	KindHost    = "host"    // a git host's webhook
	KindTrigger = "trigger" // an event of our own making
	KindCI      = "ci"      // CI that the service runs itself; its end is a trigger
	KindAgent   = "agent"
	KindEffect  = "effect/" // followed by the effect's kind
)

// agentAttempts is how often an agent's job is claimed before it is given up; failures of the agent are counted by the machine's state.
// Events and effects have no bound: see settle.
const agentAttempts = 40

// triggerPayload is an event of our own making.
type triggerPayload struct {
	TaskID int64          `json:"task_id"`
	Event  stage.Event    `json:"event"`
	Run    *task.AgentRun `json:"agent_run,omitempty"` // the record that comes with an agent's result
	Last   string         `json:"last,omitempty"`      // of a timer: why the look before has decided nothing
}

// CITimer decodes the job of the next look at CI; last is why the look before has decided nothing. ok is false for another job.
func CITimer(j queue.Job) (ev stage.Event, last string, ok bool) {
	var p triggerPayload
	if j.Kind != KindTrigger || json.Unmarshal(j.Payload, &p) != nil || p.Event.On != stage.OnCI {
		return ev, "", false
	}
	return p.Event, p.Last, true
}

// agentPayload is an agent job.
type agentPayload struct {
	TaskID int64        `json:"task_id"`
	Launch stage.Launch `json:"launch"`
}

// TrackerJob makes the event job of a tracker's webhook.
func TrackerJob(h tracker.Hook) queue.Job {
	j := queue.Job{
		Pool: poolAt(poolBoardEvents, mux.Name(h.ProjectID)), Kind: KindTracker, Key: boardKey(h.ItemID), Payload: encode(h),
	}
	switch {
	case hookClass(h) != allowance.Word:
		j.Key, j.Priority = noticeKey(h.ItemID), 1
	case !h.At.IsZero():
		j.Priority = -int(h.At.Unix()) // of different cards the newest first: what waits from before, or fails, holds up nobody
	}
	return j
}

// HostJob makes the event job of a webhook of a project's git host.
func HostJob(p task.Project, h githost.Hook) queue.Job {
	return queue.Job{
		Pool: poolAt(poolHostEvents, p.NamedHost()), Kind: KindHost, Key: "repo/" + h.Repo, Lane: h.Repo, Payload: encode(h),
	}
}

// triggerJob makes the event job of something that happened to a task. The dedupe key may be empty.
func (e *Engine) triggerJob(t task.Task, ev stage.Event, run *task.AgentRun, dedupe string) queue.Job {
	p, _ := e.Projects.ByRepo(t.Repo) // the first host's, when it is not registered
	return triggerJob(t, p.NamedHost(), ev, run, dedupe)
}

// EventJob makes the event job of something that a person did to a task. STOP waits for nothing that came before it.
func (e *Engine) EventJob(t task.Task, ev stage.Event, dedupe string) queue.Job {
	j := e.triggerJob(t, ev, nil, dedupe)
	if ev.On == stage.OnStop {
		j.Key = brakeKey(t.TrackerIssueID)
	}
	return j
}

func triggerJob(t task.Task, host string, e stage.Event, run *task.AgentRun, dedupe string) queue.Job {
	return queue.Job{
		Pool: poolOf(t.State, e.On, host), Kind: KindTrigger, Key: itemKey(t.TrackerIssueID), TaskID: t.ID, Lane: t.Repo,
		Payload: encode(triggerPayload{TaskID: t.ID, Event: e, Run: run}), DedupeKey: dedupe,
	}
}

// TriggerJob makes the event job of something that happened to a task, for
// effect runners. Putting it twice while the first is unfinished is a no-op.
func TriggerJob(e Effect, ev stage.Event) queue.Job {
	t := task.Task{ID: e.TaskID, TrackerIssueID: e.ItemID, Repo: e.Repo}
	return triggerJob(t, e.Host, ev, nil, fmt.Sprintf("%s/%s", e.Key, ev.On))
}

func itemKey(itemID string) string { return "item/" + itemID }

// boardKey orders people's words on a work item.
func boardKey(itemID string) string { return itemKey(itemID) + "/board" }

// noticeKey orders what else the tracker reports of a work item, and what is replayed: it may wait for requests, and words do not
// wait for it.
func noticeKey(itemID string) string { return itemKey(itemID) + "/notices" }

// brakeKey orders what brakes a work item: two webhooks of one STOP are one word, which the second finds acted on.
func brakeKey(itemID string) string { return itemKey(itemID) + "/brake" }

// BoardKeys are the orders of all that the tracker reports of a work item.
func BoardKeys(itemID string) []string {
	return []string{boardKey(itemID), noticeKey(itemID), brakeKey(itemID)}
}

// agentJob makes the job of a launch. Whoever works at the first stage is held as the analyst is, by a freeze.
func agentJob(t task.Task, l stage.Launch, first stage.Stage) queue.Job {
	holds := AgentSubjects(t.Repo, t.ID, l.Role)
	if l.Stage == first && l.Role != stage.Analyst {
		holds = append(holds, RoleInRepo(stage.Analyst, t.Repo))
	}
	return queue.Job{
		Pool: queue.PoolAgents, Kind: KindAgent, Key: "task/" + strconv.FormatInt(t.ID, 10),
		TaskID: t.ID, Lane: t.Repo, Role: string(l.Role),
		Holds:   holds,
		Payload: encode(agentPayload{TaskID: t.ID, Launch: l}), MaxAttempts: agentAttempts,
		DedupeKey: fmt.Sprintf("agent/%d/%d", t.ID, l.Run),
	}
}

// AgentSubjects lists what an agent's job can be held by: all agents, the repository, the
// task's card, the role in the repository, and rules of admission.
func AgentSubjects(repo string, taskID int64, role stage.Role) []string {
	return append(admit.Subjects(repo, taskID), AllAgents, RepoPrefix+repo, CardSubject(taskID), RoleInRepo(role, repo))
}

// HoldPause is the name of the holds of pauses; see package admin.
const HoldPause = "pause"

// Subjects of agents' jobs: of all, and with the name behind it of a repository's.
const (
	AllAgents  = "agents"
	RepoPrefix = "repo/"
)

// RoleInRepo is the subject of a role's jobs in a repository.
func RoleInRepo(role stage.Role, repo string) string { return string(role) + "@" + repo }

// EffectJob makes the job of an effect that a feature owes for a task. key is its identity in the world: the same key again while the
// first is unfinished is a no-op.
func EffectJob(t task.Task, p task.Project, f stage.Effect, key string) queue.Job {
	p = p.On(t.TrackerProjectID)
	e := Effect{
		Effect: f, Key: key, TaskID: t.ID, ProjectID: p.Sync(), ItemID: task.OriginalKey(t.TrackerIssueID),
		WorkItem: task.OriginalKey(t.WorkItemID), Title: t.Title, Repo: p.Repo, Board: p.Board, Host: p.NamedHost(),
	}
	j := queue.Job{
		Pool: LaneOf(f.Kind).PoolOf(p), Kind: KindEffect + string(f.Kind), Key: effectOrder(e.ItemID, f.Kind), TaskID: t.ID, Lane: p.Repo,
		Role: string(f.Author), Payload: encode(e), DedupeKey: "effect/" + key,
	}
	switch {
	case f.Kind == stage.EffectNotify && t.ID != 0:
		e.Moment = task.Moment(t)
		j.Payload = encode(e)
	case f.Kind == EffectCatchUp:
		j.Holds = []string{MergeTurn(t.ID), CardSubject(t.ID)}
	case irreversible(f.Kind):
		j.Holds = []string{CardSubject(t.ID)}
	}
	if (f.Kind == EffectCatchUp || f.Kind == stage.EffectMerge) && !t.State.Leased && t.State.Lane != stage.UndoLane {
		j.Holds = append(j.Holds, MergesIn(p.Repo)) // who has the lease goes first, else nobody would ever have it
	}
	return j
}

// CardSubject is the subject of the card of a task.
func CardSubject(taskID int64) string { return cardPrefix + strconv.FormatInt(taskID, 10) }

const cardPrefix = "card/"

// MergeTurn is the subject of a task's turn to have the merge lease.
func MergeTurn(taskID int64) string { return "merge/" + strconv.FormatInt(taskID, 10) }

// MergesIn is the subject of the merges into a repository that have not begun.
func MergesIn(repo string) string { return "merges@" + repo }

// effectOrder is the ordering key of a work item's effects of a kind. A task and the
// one before it of the same work item have it in common.
func effectOrder(itemID string, kind stage.EffectKind) string {
	return itemKey(itemID) + "/" + orderOf(kind)
}

// FollowUpJob makes the job of a further effect of the same task. key is its identity in the world.
func FollowUpJob(e Effect, f stage.Effect, key string) queue.Job {
	t := task.Task{ID: e.TaskID, TrackerIssueID: e.ItemID, WorkItemID: e.WorkItem, Title: e.Title}
	return EffectJob(t, task.Project{TrackerProject: e.ProjectID, Repo: e.Repo, Board: e.Board, Host: e.Host}, f, key)
}

// askCIJob makes the timer that looks at CI again, after what was decided by an event. It has no key: a job that waits for its time keeps
// its place in the order, and would hold up every other event of the item meanwhile. While the host's webhooks come, it looks more seldom.
func (in intake) askCIJob(ctx context.Context, t task.Task, f stage.Effect, by stage.Event, now time.Time) queue.Job {
	if last, err := in.Records.LastDelivery(ctx, in.project.HostName()); err == nil && now.Sub(last) < hearsFor {
		f.Delay = max(f.Delay, min(f.Delay*seldomLooks, seldomMax))
	}
	ev, key := stage.Event{On: stage.OnCI, SHA: f.SHA, Since: waitsSince(by, f, t.UpdatedAt, now)}, fmt.Sprintf("ask_ci/%d/%s", t.ID, f.SHA)
	switch {
	case isHeard(by):
		key += fmt.Sprintf("/%.100s", lastLook(by))
	case f.Delay == 0:
		key += "/now" // one that waits for its time would stand for it
	}
	j := in.triggerJob(t, ev, nil, key)
	j.Key, j.AvailableAt, j.Payload = "", now.Add(f.Delay), encode(triggerPayload{TaskID: t.ID, Event: ev, Last: lastLook(by)})
	return j
}

// encode writes a payload. The types are ours and always encode.
func encode(v any) []byte {
	b, err := json.Marshal(v)
	if err != nil {
		return []byte("null")
	}
	return b
}
