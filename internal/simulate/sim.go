package simulate

import (
	"context"
	"crypto/sha256"
	"fmt"
	"hash/fnv"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/internal/run/virtual"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator/memstore"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease/memlease"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

// epoch is when every world begins: a Monday morning.
func epoch() time.Time { return time.Date(2031, 1, 6, 8, 0, 0, 0, time.UTC) }

// Steps that a world may take: a world that needs more goes round in circles. Events
// that wait for a sick board are looked at twice a second.
const (
	stepsMax     = 400_000
	stepsPerHour = 400_000 // of unrest beyond the first
)

func (w World) stepsMax() int64 {
	return stepsMax + int64(stepsPerHour*max(0, w.Length-time.Hour).Hours())
}

// sim is a world under way. The doubles keep the truth of the outside; the replicas work over them through ports that have fates.
type sim struct {
	world World
	v     *virtual.Scheduler
	root  *virtual.Domain // of people, CI and senders of webhooks
	ctx   context.Context

	store  *memstore.Store
	board  *memtracker.Board
	host   *memhost.Host
	chat   *memmessenger.Chat
	leases *memlease.Locker
	places []*memwork.Place // one for each machine
	nodes  []*node          // one for each replica
	list   []task.Project

	requests []time.Time // of the tracker, of all replicas, in the last minute

	caller  *node      // whose call is being made
	chance  *rand.Rand // of fates
	calls   map[string]int
	planned map[fateKey]Fate
	drawn   []Fate // fates that were drawn and not ok
	calm    bool   // faults have ended

	agents  *agents
	people  *people
	senders *senders
	check   *checker
	meter   meter
	trace   *trace
}

// newSim makes a world ready to run.
func newSim(w World, keep bool) *sim {
	var order *rand.Rand
	if !w.InOrder {
		order = newDice(w.Seed, 0x0dde)
	}
	s := &sim{
		world: w, v: virtual.New(epoch(), order), ctx: context.Background(), chance: newDice(w.Seed, 0xfa7e),
		calls: map[string]int{}, planned: map[fateKey]Fate{}, trace: &trace{hash: sha256.New(), keep: keep}, meter: meter{},
	}
	s.root = s.v.Domain()
	s.store = memstore.New(s.clock)
	s.board = memtracker.New(s.v.Now)
	s.host = memhost.New()
	s.chat = memmessenger.New()
	s.leases = memlease.New(s.clock)
	for _, f := range w.Fates {
		s.planned[fateKey{f.Call, f.N}] = f
	}
	s.agents, s.people, s.check = &agents{s: s, alive: map[place]*process{}}, newPeople(s), newChecker(s)
	s.senders = &senders{s: s, results: map[string]githost.CheckState{}}
	first := memwork.New(s.agents.script)
	first.Now = s.v.Now
	first.OnPush = func(repo, branch, sha string) {
		if s.senders.pushed(repo, branch, sha); w.does(DoPush) { // then the service hears of its own as well
			s.senders.told(repo, branch, sha, ours)
		}
	}
	for i, p := range w.Projects {
		s.addProject(i, p)
	}
	s.places = append(s.places, first)
	for i := range w.Replicas {
		s.nodes = append(s.nodes, &node{sim: s, machine: i, features: w.Features})
		if i > 0 {
			s.places = append(s.places, first.Machine(s.agents.script))
		}
	}
	return s
}

func (s *sim) addProject(i int, p Project) {
	id := "p-" + p.Name
	s.people.setColumns(id, p.Columns)
	repo := "acme/" + p.Name
	s.host.Push(repo, "main", "main-0")
	lanes := task.Lanes{Default: p.Lane}
	for _, name := range []string{stage.WholeLane, "fix", "plan"} {
		lanes.Labels = append(lanes.Labels, task.LabelLane{Label: strings.ToUpper(name), Lane: name})
	}
	s.list = append(s.list, task.Project{
		TrackerProject: id, Repo: repo, CloneURL: "https://git.example.org/" + repo, Prefix: []string{"APP", "SIT", "LIB"}[i],
		Main: "main", SelfHosting: p.SelfHosting, CINone: p.CINone, WIP: p.WIP,
		Monitor: []string{"https://" + p.Name + ".example.org/health"},
		Lanes:   lanes,
	})
	if s.world.does(DoApprove) {
		s.list[i].People.AtHost = []string{person}
	}
}

// clock is the clock of the replica whose call is being made: a store takes the time
// from the program that calls it. It is the true time outside of calls.
func (s *sim) clock() time.Time {
	if s.caller != nil {
		return s.caller.domain.Now()
	}
	return s.v.Now()
}

// since is the time since the beginning.
func (s *sim) since() time.Duration { return s.v.Now().Sub(epoch()) }

// play runs the world: unrest, then a time in which faults have ended and people
// help, then the questions that are put to a world at rest.
func (s *sim) play() {
	for _, n := range s.nodes {
		n.boot()
	}
	for i, c := range s.world.Cards {
		if !c.Out {
			s.people.enter(i)
		}
	}
	s.people.gather()
	for _, u := range s.world.Upsets {
		s.v.After(u.At, func() { s.upset(u) })
	}
	s.v.After(sampled, s.check.sample)
	s.v.After(s.world.Length, s.rest)
	s.v.Run(func() bool { return s.check.broken() || s.check.rested || s.v.Steps() > s.world.stepsMax() })
	if s.v.Steps() > s.world.stepsMax() {
		s.check.fail(NoRest, "after %d steps the world is still busy", s.v.Steps())
	}
	for _, n := range s.nodes {
		n.cancel()
	}
	s.v.Close()
}

// upset lets something happen to a machine.
func (s *sim) upset(u Upset) {
	n := s.nodes[u.Replica]
	if s.calm || n.domain.Dead() {
		return
	}
	s.trace.line(s.since(), n.name, u.Kind, u.For.String())
	switch u.Kind {
	case UpsetCrash:
		s.crash(n, u.For)
	case UpsetRestart:
		n.restart(u.For, u.Flip)
	case UpsetPause:
		s.check.disturb()
		n.domain.Pause(u.For)
	case UpsetClock:
		s.check.disturb() // by a clock that is ahead, claims of others have ended
		n.domain.Skew(u.For)
	}
}

// dice are drawn for one question alone: the answer depends on the seed and on what
// the question is about, and on nothing that was drawn before. So a world that runs
// again with fewer faults differs in nothing else.
func (s *sim) dice(about string, n int64) *rand.Rand {
	h := fnv.New64a()
	fmt.Fprintf(h, "%d %s %d", s.world.Seed, about, n)
	return newDice(h.Sum64(), 0xd1ce)
}

// newDice are for one thing of a world: what is drawn for it moves nothing else.
func newDice(seed, of uint64) *rand.Rand { return rand.New(rand.NewPCG(seed, of)) }

// crash kills a replica, and has it started again after a while.
func (s *sim) crash(n *node, down time.Duration) {
	if n.domain.Dead() {
		return
	}
	s.trace.line(s.since(), n.name, "killed", down.String())
	s.check.disturb()
	n.domain.Kill()
	n.cancel()
	s.agents.orphan(n)
	life := n.life
	s.v.After(down, func() {
		if n.life == life {
			n.boot()
		}
	})
}
