package simulate

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// World is everything that is decided before the first step: who is there, what
// people will do, and what will go wrong. It is a value that can be written down
// as JSON, changed by hand and run again.
type World struct {
	Seed     uint64        `json:"seed"`     // of the order of steps, of agents, CI and fates
	Replicas int           `json:"replicas"` // processes over one store, each on a machine of its own
	Features []string      `json:"features"` // names of the features that are on
	Projects []Project     `json:"projects"`
	Cards    []Card        `json:"cards"`
	Length   time.Duration `json:"length"` // of the unrest; after it faults end and people help
	Spells   []Spell       `json:"spells,omitempty"`
	Upsets   []Upset       `json:"upsets,omitempty"`
	Rates    Rates         `json:"rates"`
	// Fates, when Drawn is false, are all fates that calls have; otherwise they are drawn by Rates.
	Drawn   bool          `json:"drawn"`
	Fates   []Fate        `json:"fates,omitempty"`
	InOrder bool          `json:"in_order,omitempty"` // first come, first served instead of a random order
	Poll    time.Duration `json:"poll"`
	Tempo   int           `json:"tempo"`             // how many times the usual the periods of background loops are
	Curious bool          `json:"curious,omitempty"` // every analyst has questions at first
	Pages   bool          `json:"pages,omitempty"`   // people answer every other request on the service's own pages
	// Recalls: each process keeps what it has seen of its tracker (see memories), and agents are quick.
	Recalls bool `json:"recalls,omitempty"`
	// Nameless is how long a process may have to wait for the tracker's answer which accounts are the
	// service's own; Budget is how many requests a minute the tracker takes of all replicas together.
	Nameless time.Duration `json:"nameless,omitempty"`
	Budget   int           `json:"budget,omitempty"`
	Crowd    string        `json:"crowd,omitempty"` // what else is owed to the tracker while cards are moved: see crowdEdits
}

// Project is a board with its repository.
type Project struct {
	Name        string         `json:"name"`
	SelfHosting bool           `json:"self_hosting,omitempty"`
	CINone      bool           `json:"ci_none,omitempty"`
	Columns     []stage.Status `json:"columns,omitempty"` // none = all
	CIRed       float64        `json:"ci_red,omitempty"`  // share of commits that CI fails
	CITime      time.Duration  `json:"ci_time"`
	WIP         int            `json:"wip,omitempty"`  // tasks in work at a time
	Lane        string         `json:"lane,omitempty"` // of cards without a label
}

// Card is a work item and the people around it.
type Card struct {
	Project   int           `json:"project"`
	Out       bool          `json:"out,omitempty"` // it is not there
	At        time.Duration `json:"at"`            // when To Analyse is set
	Untitled  bool          `json:"untitled,omitempty"`
	Label     string        `json:"label,omitempty"`   // a lane's name; an edit takes it away
	Delay     time.Duration `json:"delay"`             // how long people take to answer a request
	Rejects   int           `json:"rejects,omitempty"` // so many approvals are refused first
	BlockedBy int           `json:"blocked_by"`        // index of another card of the project; -1 = none
	Acts      []Act         `json:"acts,omitempty"`    // what people do besides answering
	Meets     int           `json:"meets,omitempty"`   // STOP is set between the look and the write of the service's n-th status write
	Misses    int           `json:"misses,omitempty"`  // people's n-th answer meets a write, its webhook is lost, and nobody repeats it
}

// Act describes what a person does with a card at a moment.
type Act struct {
	At   time.Duration `json:"at"`
	Do   string        `json:"do"` // see the constants
	To   stage.Status  `json:"to,omitempty"`
	Lost bool          `json:"lost,omitempty"` // the webhook never arrives
	// Force makes a push one that does not go on from the branch.
	Force bool `json:"force,omitempty"`
}

// Kinds of acts.
const (
	DoMove    = "move"
	DoEdit    = "edit" // the description
	DoComment = "comment"
	DoMerge   = "merge" // the pull request, by hand
	DoPush    = "push"  // a commit on the task's branch
	DoStop    = "stop"  // on the dashboard
	DoRetry   = "retry" // on the dashboard
	DoPause   = "pause" // no agent starts: in the card's repository, or anywhere for every other card
	DoUnpause = "unpause"
	DoRename  = "rename"  // the column of the card's board, or its own name again
	DoUndo    = "undo"    // what has landed
	DoRemove  = "remove"  // the card, from its board, or back to it
	DoClose   = "close"   // the pull request, or open it again
	DoDraft   = "draft"   // make one of the pull request, or no more
	DoApprove = "approve" // the pull request, at the host
	DoTarget  = "target"  // another branch with the pull request, or main again
	DoRelate  = "relate"  // the card waits for the one before it; lost: no more
	DoDelete  = "delete"  // the branch, with which its pull request is closed
	DoPort    = "port"    // the branch into another with a pull request more, which may be merged at once
)

// Spell is a time in which a neighbour is sick.
type Spell struct {
	Lane string        `json:"lane"` // see Lanes
	Kind FateKind      `json:"kind"`
	At   time.Duration `json:"at"`
	For  time.Duration `json:"for"`
}

// Upset is something that happens to a machine.
type Upset struct {
	Replica int           `json:"replica"`
	Kind    string        `json:"kind"` // crash, restart, pause, clock
	At      time.Duration `json:"at"`
	For     time.Duration `json:"for"` // until it is up again, or how far the clock jumps
	// Flip is, at a restart, a feature that is switched, or a project that leaves the registry or comes back.
	Flip string `json:"flip,omitempty"`
}

// Kinds of upsets.
const (
	UpsetCrash   = "crash"
	UpsetRestart = "restart" // INT: the process ends by itself
	UpsetPause   = "pause"
	UpsetClock   = "clock"
)

// Rates are the chances of fates, one in so many calls; 0 = never.
type Rates struct {
	Fault     int           `json:"fault"` // of a call of a neighbour
	Store     int           `json:"store"` // of a call of the store
	Crash     int           `json:"crash"` // of any call
	Hook      int           `json:"hook"`  // of a webhook: lost, doubled, late
	Agent     int           `json:"agent"` // of an agent's attempt
	AgentTime time.Duration `json:"agent_time"`
	Price     int64         `json:"price,omitempty"` // of a second of an agent, in millionths of a dollar; 0 = each run costs the same
}

// allFeatures are the names of the features that can be on.
func allFeatures() []string {
	return []string{
		"stop", "reconcile", "live_message", "serial_gate", "task_deps",
		"merge_gate", "monitor", "budget", "wip", "agent_pause",
	}
}

// Limits bound the worlds that NewWorld makes. Zero values leave the choice to the seed.
type Limits struct {
	Tasks    int      // cards
	Features []string // exactly these; nil = chosen by the seed
}

// NewWorld makes the world of a seed.
func NewWorld(seed uint64, l Limits) World {
	r := newDice(seed, 0x5167)
	w := World{
		Seed: seed, Replicas: 1 + r.IntN(5)/2, Drawn: true,
		Length: minutes(r, 8, 30), Poll: time.Duration(10+r.IntN(50)) * time.Second,
	}
	w.Tempo, w.Pages = 1+r.IntN(4), seed/16%4 == 1
	if w.Recalls = seed%16 == 10 || seed%16 == 13; w.Recalls {
		w.Replicas = max(w.Replicas, 2)
	}
	for _, name := range allFeatures() {
		if name == "wip" || name == "agent_pause" {
			continue
		}
		if on := r.IntN(3) > 0; on && l.Features == nil || slices.Contains(l.Features, name) {
			w.Features = append(w.Features, name)
		}
	}
	for i := range 1 + r.IntN(2) {
		w.Projects = append(w.Projects, newProject(r, i))
	}
	cards := 1 + r.IntN(6)
	if l.Tasks > 0 {
		cards = l.Tasks
	}
	for i := range cards {
		w.Cards = append(w.Cards, newCard(r, w, i))
	}
	w.addLimit(seed, l)
	w.addPause(seed)
	w.addLanes(seed)
	w.addMemories(seed)
	w.addPushes(seed)
	w.addMisses(seed)
	w.addReversals(seed)
	w.Rates = Rates{AgentTime: time.Duration(5+r.IntN(90)) * time.Second, Agent: 4 + r.IntN(12)}
	if w.Recalls {
		w.Rates.AgentTime = time.Duration(1+r.IntN(4)) * time.Second
	}
	if w.addCrowd(seed, l); w.Crowd != "" {
		return w
	}
	if calm := r.IntN(8) == 0; calm {
		w.Rates.Agent = 0
		return w
	}
	chance := func(least, most int) int {
		n := least + r.IntN(most-least)
		if r.IntN(4) == 0 {
			return 0
		}
		return n
	}
	w.Rates.Fault, w.Rates.Store = chance(15, 200), chance(200, 2000)
	w.Rates.Crash, w.Rates.Hook = chance(150, 3000), chance(2, 12)
	w.addRegrets(seed)
	w.addSpells(r)
	w.addVendor(seed, l)
	if !w.rush() {
		w.addUpsets(r)
	}
	return w
}

func minutes(r *rand.Rand, least, most int) time.Duration {
	if most <= least {
		return time.Duration(least) * time.Minute
	}
	return time.Duration(least*60+r.IntN((most-least)*60)) * time.Second
}

func newProject(r *rand.Rand, i int) Project {
	p := Project{Name: []string{"app", "site", "lib"}[i], CITime: time.Duration(1+r.IntN(120)) * time.Second}
	p.SelfHosting = r.IntN(3) == 0
	p.CINone = r.IntN(6) == 0
	if r.IntN(3) == 0 {
		p.CIRed = 0.3
	}
	if r.IntN(6) == 0 {
		p.Columns = []stage.Status{
			stage.StatusToAnalyse, stage.StatusInProgress, stage.StatusApproved, stage.StatusRejected, stage.StatusBlocked,
			stage.StatusDone, stage.StatusConfirmDeploy, stage.StatusStop,
		}
	}
	return p
}

func newCard(r *rand.Rand, w World, i int) Card {
	c := Card{Project: r.IntN(len(w.Projects)), At: minutes(r, 0, 5), Delay: time.Duration(5+r.IntN(240)) * time.Second, BlockedBy: -1}
	if r.IntN(4) == 0 {
		c.Rejects = 1 + r.IntN(2)
	}
	c.Untitled = r.IntN(20) == 0
	if i > 0 && r.IntN(4) == 0 {
		c.BlockedBy = r.IntN(i)
	}
	length := int(w.Length / time.Minute)
	for range r.IntN(4) {
		if a := newAct(r, length); a.Do != DoPush || w.Seed%16 == 9 { // in some worlds people set branches of tasks elsewhere
			a.Force = a.Do == DoPush
			c.Acts = append(c.Acts, a)
		}
	}
	slices.SortStableFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
	return c
}

func newAct(r *rand.Rand, length int) Act {
	a := Act{At: minutes(r, 0, length), Do: DoMove, Lost: r.IntN(6) == 0}
	switch r.IntN(12) {
	case 0:
		a.Do = DoComment
	case 1:
		a.Do = DoMerge
	case 2:
		a.Do = DoPush
	case 3:
		a.Do = DoStop
	case 4:
		a.Do = DoRetry
	case 5, 6:
		a.To = stage.StatusStop
	case 7:
		a.To = stage.StatusToAnalyse
	default:
		words := []stage.Status{
			stage.StatusApproved, stage.StatusRejected, stage.StatusInProgress, stage.StatusConfirmDeploy, stage.StatusToAnalyse,
			stage.StatusDone, stage.StatusBlocked,
		}
		a.To = words[r.IntN(len(words))]
	}
	return a
}

// Lanes are the destinations of calls: what can be sick by itself.
func Lanes() []string {
	return []string{LaneBoard, LaneComments, LaneStatus, LaneHost, LaneGit, LaneChat}
}

// Lanes of calls.
const (
	LaneBoard    = "board"    // reads of the tracker
	LaneComments = "comments" // comments to the tracker
	LaneStatus   = "status"   // statuses to the tracker
	LaneHost     = "host"     // the git host's API
	LaneGit      = "git"      // git, with and without the remote
	LaneChat     = "chat"     // the messenger
	LaneStore    = "store"
	LaneAgents   = "agents"
	LaneVendor   = "vendor" // of the agents' models: spells of fateLater are limits that name their end, others a login that is missing
)

// title is the title of a card.
func (c Card) title(i int) string {
	if c.Untitled {
		return ""
	}
	return fmt.Sprintf("Card %d", i)
}

// blocks reports whether a card waits for another.
func (w World) blocks() bool {
	return slices.ContainsFunc(w.Cards, func(c Card) bool { return c.BlockedBy >= 0 })
}

// addPushes has people push to the branches of tasks, in some worlds.
func (w *World) addPushes(seed uint64) {
	if seed%4 != 1 {
		return
	}
	r := newDice(seed, 0x9054)
	for i := range w.Cards {
		c := &w.Cards[i]
		for range r.IntN(4) {
			c.Acts = append(c.Acts, Act{At: c.At + time.Duration(10+r.IntN(900))*time.Second, Do: DoPush, Lost: r.IntN(3) == 0})
		}
		slices.SortStableFunc(c.Acts, func(a, b Act) int { return int(a.At - b.At) })
	}
}

// addMisses has the webhook of an answer lost, in some worlds in which that is found.
func (w *World) addMisses(seed uint64) {
	if !w.has("reconcile") || !w.Recalls && seed%8 != 3 {
		return
	}
	r := newDice(seed, 0x3155e5)
	for i := range w.Cards {
		w.Cards[i].Misses = r.IntN(4)
	}
}

// does reports whether people do something.
func (w World) does(what string) bool {
	return slices.ContainsFunc(w.Cards, func(c Card) bool { return c.does(what) })
}

func (c Card) does(what string) bool {
	return slices.ContainsFunc(c.Acts, func(a Act) bool { return a.Do == what })
}

// upsets reports whether something of these kinds happens to a machine.
func (w World) upsets(kinds ...string) bool {
	return slices.ContainsFunc(w.Upsets, func(u Upset) bool { return slices.Contains(kinds, u.Kind) })
}

func (w World) has(feature string) bool { return slices.Contains(w.Features, feature) }
