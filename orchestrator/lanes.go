package orchestrator

import (
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// Lane is a destination of work in the outside world. Its jobs are a pool of their
// own with workers of their own, so that a destination that hangs delays nothing
// that goes elsewhere.
type Lane string

// The lanes. Other is for effects of features that name no destination.
const (
	LaneComments  Lane = "comments"   // on work items
	LaneBoard     Lane = "board"      // statuses of work items
	LaneChat      Lane = "chat"       // notices and live messages
	LaneGit       Lane = "git"        // branches of the remote
	LaneHost      Lane = "host"       // pull requests
	laneWorkspace Lane = "workspace"  // checkouts on this machine
	laneEvents    Lane = "subscriber" // events for other programs
	laneTraces    Lane = "traces"     // of tasks that have ended, for a collector
	laneOther     Lane = "other"
)

// Pools of events that read a neighbour before they are decided, or take long. All other
// events are in queue.PoolEvents.
const (
	poolBoardEvents = queue.PoolEvents + "/board" // the tracker's webhooks: the work item is read
	poolHostEvents  = queue.PoolEvents + "/host"  // the host's webhooks, and what a gate reads its checks and reviews for
	poolSlowEvents  = queue.PoolEvents + "/slow"  // what a gate runs a command for
)

// lanes are the destinations of the kinds of effects.
var lanes = map[stage.EffectKind]Lane{
	stage.EffectComment:  LaneComments,
	EffectWaits:          LaneComments,
	stage.EffectStatus:   LaneBoard,
	stage.EffectNotify:   LaneChat,
	EffectLive:           LaneChat,
	stage.EffectPrepare:  LaneGit,
	stage.EffectPublish:  LaneGit,
	EffectCatchUp:        LaneGit,
	EffectLanded:         LaneGit,
	EffectRevert:         LaneGit,
	EffectCancel:         LaneGit,
	stage.EffectUnbranch: LaneGit,
	stage.EffectPull:     LaneHost,
	stage.EffectReply:    LaneHost,
	stage.EffectMerge:    LaneHost,
	EffectGatedMerge:     LaneHost,
	EffectLeave:          LaneHost,
	stage.EffectTidy:     laneWorkspace,
	EffectEvent:          laneEvents,
	EffectTrace:          laneTraces,
}

// Effects of features that go to a destination of the engine's own.
const (
	EffectCancel stage.EffectKind = "cancel" // removes what a cancelled task leaves behind
	EffectWaits  stage.EffectKind = "waits"  // brings the comment on what a task waits for up to date
	EffectLive   stage.EffectKind = "live"   // brings the live message of a task up to date
	EffectEvent  stage.EffectKind = "event"  // sends a change of the task, which is in Text, to another program
	EffectTrace  stage.EffectKind = "trace"  // sends the life of a task that has ended to a collector of traces

	EffectLeave  stage.EffectKind = "leave"  // takes the pull request of a task whose card is gone out of a merge queue of its host
	EffectRevert stage.EffectKind = "revert" // makes the branch of an undo, with the commit that takes back what has landed

	// Of the merge gate.
	EffectCatchUp    stage.EffectKind = "catch_up"     // rebases the branch onto main and pushes it, under the merge lease
	EffectGatedMerge stage.EffectKind = "gated_merge"  // merges when the lease is ours, main is at Base and the code is Tested's
	EffectLanded     stage.EffectKind = "landed"       // looks whether SHA has the tree that was tested
	EffectRelease    stage.EffectKind = "lease_return" // gives the merge lease back
)

// OnCaughtUp and OnCatchUpFailed are what came of bringing a branch up to date with main. Only the rows of the merge
// gate have them.
const (
	OnCaughtUp      stage.Trigger = "caught_up"
	OnCatchUpFailed stage.Trigger = "catch_up_failed"
)

// LaneOf is the destination of a kind of effect.
func LaneOf(kind stage.EffectKind) Lane {
	if l, ok := lanes[kind]; ok {
		return l
	}
	return laneOther
}

// Pool is the queue's pool of a lane's effects.
func (l Lane) Pool() string {
	if l == laneOther {
		return queue.PoolEffects
	}
	return queue.PoolEffects + "/" + string(l)
}

// PoolOf is the pool of a lane's effects for a project: a git host or a tracker that the
// registry has beside the first ones is a destination of its own, and so are its lanes.
func (l Lane) PoolOf(p task.Project) string { return poolAt(l.Pool(), l.place(p)) }

// place is the name of a project's destination; empty for the first ones.
func (l Lane) place(p task.Project) string {
	switch l {
	case LaneComments, LaneBoard:
		return p.Board
	case LaneGit, LaneHost:
		return p.NamedHost()
	default:
		return ""
	}
}

// placeSign stands in the name of a pool before that of the destination.
const placeSign = "@"

func poolAt(pool, place string) string {
	if place == "" {
		return pool
	}
	return pool + placeSign + place
}

// effectLanes are all lanes, in the order in which they are shown.
func effectLanes() []Lane {
	return []Lane{LaneBoard, LaneComments, LaneChat, LaneHost, LaneGit, laneWorkspace, laneEvents, laneTraces, laneOther}
}

// NamedLane is a pool whose jobs need a neighbour, or take long: what both are called for
// people. A pool without a neighbour has no breaker.
type NamedLane struct{ Name, Pool, Neighbour string }

// Places are the names of the git hosts and trackers that a registry has beside the first ones.
type Places struct{ Hosts, Boards []string }

// NamedLanes are the lanes of this engine, with those of its Options.Places.
func (e *Engine) NamedLanes() []NamedLane { return e.opt.Places.lanes() }

// lanes are NamedLanes, and the same of each place that they have.
func (p Places) lanes() []NamedLane {
	list := NamedLanes()
	for _, l := range NamedLanes() {
		for _, name := range p.of(l.Pool) {
			list = append(list, NamedLane{poolAt(l.Name, name), poolAt(l.Pool, name), l.Neighbour + " " + name})
		}
	}
	return list
}

// of are the places that a pool has.
func (p Places) of(pool string) []string {
	switch pool {
	case poolBoardEvents, LaneBoard.Pool(), LaneComments.Pool():
		return p.Boards
	case poolHostEvents, LaneHost.Pool(), LaneGit.Pool():
		return p.Hosts
	default:
		return nil
	}
}

// pools are some pools, and the same of each place that they have.
func (p Places) pools(first []string) (out []string) {
	for _, pool := range first {
		out = append(out, pool)
		for _, name := range p.of(pool) {
			out = append(out, poolAt(pool, name))
		}
	}
	return out
}

// NamedLanes are the lanes of effects and the pools of events but queue.PoolEvents, of the first git
// host and the first tracker.
func NamedLanes() []NamedLane {
	neighbours := map[Lane]string{
		LaneComments: "the tracker", LaneBoard: "the tracker", LaneChat: "the chat", LaneGit: "the git remote", LaneHost: "the git host",
		laneWorkspace: "the disk of the workspaces", laneEvents: "the subscriber", laneTraces: "the collector of traces",
	}
	var list []NamedLane
	for _, l := range effectLanes() {
		list = append(list, NamedLane{string(l), l.Pool(), neighbours[l]})
	}
	return append(list,
		NamedLane{"board events", poolBoardEvents, "the tracker"},
		NamedLane{"host events", poolHostEvents, "the git host"}, NamedLane{"command gates", poolSlowEvents, ""})
}

// eventPools are the pools of events.
func eventPools() []string {
	return []string{queue.PoolEvents, poolBoardEvents, poolHostEvents, poolSlowEvents}
}

// effectPools are the pools of effects.
func effectPools() (list []string) {
	for _, l := range effectLanes() {
		list = append(list, l.Pool())
	}
	return list
}

// queuedPools are the pools of events and effects.
func queuedPools() []string { return append(eventPools(), effectPools()...) }

// EffectKindOf returns the kind of an effect's job; ok is false for another job.
func EffectKindOf(j queue.Job) (kind stage.EffectKind, ok bool) {
	name, ok := strings.CutPrefix(j.Kind, KindEffect)
	return stage.EffectKind(name), ok
}

// IsEffect reports whether a job is an effect.
func IsEffect(j queue.Job) bool { return strings.HasPrefix(j.Kind, KindEffect) }

// poolOf is the pool of an event of our own making: apart when the gates of its edge
// read the host, whose place it is.
func poolOf(s stage.State, on stage.Trigger, place string) string {
	atHost := on == stage.OnAgentFinished && (s.Stage == stage.Development || s.Stage == stage.Review)
	if on == stage.OnCI || atHost {
		return poolAt(poolHostEvents, place)
	}
	return queue.PoolEvents
}

// orderOf returns the order that effects of one work item are made within: what is done to
// the repository, and each other kind by itself. Orders do not wait for each other.
func orderOf(kind stage.EffectKind) string {
	if kind == stage.EffectPull || kind == EffectLeave { // pushes do not wait for the git host, nor this for the merge
		return string(kind)
	}
	switch LaneOf(kind) {
	case LaneGit, LaneHost, laneWorkspace:
		return "repository"
	default:
		if kind == EffectRelease {
			return "repository"
		}
		return string(kind)
	}
}
