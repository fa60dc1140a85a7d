package simulate

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/features/monitor"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
)

// cost estimates a run before it has ended, in millionths of a dollar; what it does cost is a hundredth of that.
const cost = 1_000_000

// agents are the processes of agents on all machines.
type agents struct {
	s     *sim
	alive map[place]*process
	plan  behaviour // of the run that writes its files now
}

// place is the checkout of a task on a machine.
type place struct {
	machine int
	task    int64
}

// process is an agent that lives.
type process struct {
	command  work.Command
	orphaned bool // its replica died
}

// behaviour names what an agent does.
type behaviour string

// Behaviours. What a role has no use for is as good as well done.
const (
	wellDone   behaviour = "well done"
	exits      behaviour = "exits with an error"
	hangs      behaviour = "hangs until its time is over"
	speechless behaviour = "leaves no result"
	asks       behaviour = "has questions"
	forgets    behaviour = "forgets its files"
	refuses    behaviour = "gives a bad verdict"
	misnames   behaviour = "reports on another commit"
	trespasses behaviour = "commits what its role may not"
	meddles    behaviour = "changes a protected path"
	refused    behaviour = "is refused by its vendor"
)

// workflow is a protected path, which main has.
const workflow = ".github/workflows/ci.yml"

// trespassed is in the files that a run commits outside of what it may change.
const trespassed = "nobody may have committed this"

// draw decides how an attempt goes.
func (a *agents) draw(c work.Command) (behaviour, time.Duration) {
	w := a.s.world
	r := a.s.dice(fmt.Sprint(c.WorkItem, " run ", c.Run), int64(c.Attempt))
	took := w.Rates.AgentTime/2 + time.Duration(r.Int64N(int64(w.Rates.AgentTime)+1))
	if w.Curious && !a.s.calm && c.Role == stage.Analyst && c.Run == 1 {
		return asks, took
	}
	if a.s.calm || w.Rates.Agent == 0 {
		return wellDone, took
	}
	if r.IntN(w.Rates.Agent) != 0 {
		switch more := a.s.dice(fmt.Sprint(c.WorkItem, " trespass ", c.Run), int64(c.Attempt)).IntN(3 * w.Rates.Agent); {
		case more == 0:
			return trespasses, took
		case more == 1 && c.Role == stage.Developer:
			return meddles, took
		default:
			return wellDone, took
		}
	}
	kinds := []behaviour{exits, hangs, speechless, asks, forgets, refuses, refuses, misnames}
	return kinds[r.IntN(len(kinds))], took
}

// work runs an agent to its end: nothing of it lives when it returns, unless its
// machine's replica is dead.
func (a *agents) work(ctx context.Context, n *node, p *memwork.Place, c work.Command) work.Result {
	s, at := a.s, place{n.machine, c.TaskID}
	s.check.agentStarts(n, c, a.alive[at] != nil)
	self := &process{command: c}
	a.alive[at] = self
	how, took := a.draw(c)
	spell, sick := s.spell(LaneVendor)
	switch {
	case sick && !s.calm:
		how, took = refused, time.Second
	case how == hangs:
		took = c.Agent.Timeout
	}
	s.trace.line(s.since(), n.name, "agent", string(c.Role)+" of "+c.WorkItem+" "+string(how))
	if err := run.Sleep(ctx, n.domain, took); err != nil {
		if n.domain.Dead() {
			return work.Result{Kind: work.ResultCancelled}
		}
		_ = run.Sleep(context.WithoutCancel(ctx), n.domain, time.Second) // TERM, and it ends
		a.leave(at, self)
		return work.Result{Kind: work.ResultCancelled}
	}
	if !a.leave(at, self) {
		return work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: "it was killed"}
	}
	usage := work.Usage{Model: "m", Input: 10, Output: 20, MicroUSD: cost / 100}
	if price := s.world.Rates.Price; price > 0 {
		usage.MicroUSD = price * took.Milliseconds() / 1000
	}
	switch how {
	case exits:
		return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: "exit code 1", Usage: usage}
	case hangs:
		return work.Result{Kind: work.ResultTimeout, ExitCode: -1, Reason: "it took too long", Usage: usage}
	case refused:
		trouble := work.Trouble{Kind: work.TroubleLogin}
		if spell.Kind == fateLater {
			trouble = work.Trouble{Kind: work.TroubleLimit, Until: epoch().Add(spell.At + spell.For)}
		}
		return work.Result{Kind: work.ResultFailed, ExitCode: 1, Reason: "the vendor has refused it", Trouble: trouble}
	case speechless:
		return work.Result{Kind: work.ResultUnusable, Reason: "no result", Usage: usage}
	}
	a.plan = how
	s.check.behaved[attempt{c.TaskID, c.Run, c.Attempt}] = how
	res := p.Run(ctx, c)
	res.Usage = usage
	return res
}

// end ends whatever agent lives in a checkout.
func (a *agents) end(machine int, task int64) { delete(a.alive, place{machine, task}) }

// leave is the end of an agent by itself; false when it was ended before.
func (a *agents) leave(at place, self *process) bool {
	if a.alive[at] != self {
		return false
	}
	delete(a.alive, at)
	return true
}

// orphan makes orphans of the agents of a dead replica. They live on for a while, and may commit something at their end.
func (a *agents) orphan(n *node) {
	s := a.s
	for _, at := range byTask(a.alive) {
		p := a.alive[at]
		if at.machine != n.machine || p.orphaned {
			continue
		}
		p.orphaned = true
		dice := s.dice("orphan "+p.command.WorkItem, p.command.Run*100+int64(p.command.Attempt))
		s.v.After(time.Duration(dice.IntN(150))*time.Second, func() {
			here := s.places[at.machine]
			if a.leave(at, p) && dice.IntN(2) == 0 && slices.Contains(here.Checkouts(), p.command.Dir) {
				a.plan = wellDone
				here.Run(s.ctx, p.command)
			}
		})
	}
}

// script writes what an agent writes.
func (a *agents) script(ctx context.Context, c work.Command, files map[string]string) work.Result {
	docs := c.Env["SIGNALBOX_DOCS"] + "/"
	good := work.Result{Kind: work.ResultOK, Summary: "fine"}
	delete(files, docs+"questions.md")
	if a.plan == asks {
		files[docs+"questions.md"] = "Which one, in run " + id(c.Run) + "?"
		return good
	}
	if a.plan == trespasses {
		path := "src/fix-" + string(c.Role) + ".go"
		if c.Role == stage.Developer {
			path = docs + "test-report.md"
		}
		files[path] = trespassed
	}
	if a.plan == forgets && c.Env["SIGNALBOX_PHASE"] != string(stage.PhaseAwait) {
		return good
	}
	memwork.Good(ctx, c, files)
	word, bad, judges := strings.Cut(c.Env["SIGNALBOX_VERDICTS"], " ")
	switch sha := c.Env["SIGNALBOX_SHA"]; {
	case a.plan == refuses && judges:
		files[work.ReportPath] = gates.FormatReport(bad, sha, "run "+id(c.Run))
	case a.plan == misnames && judges:
		files[work.ReportPath] = gates.FormatReport(word, "0123456789abcdef", "run "+id(c.Run))
	case a.plan == meddles && c.Role == stage.Developer:
		files[workflow] = "run " + id(c.Run)
	}
	return good
}

// deployed returns what a look at a deployment sees.
func (a *agents) deployed(address string) monitor.Look {
	spell := int64(a.s.since() / (5 * time.Minute)) // longer than the looks that freeze a repository
	if a.s.calm || a.s.world.Rates.Agent == 0 || a.s.dice(address, spell).IntN(6) > 0 {
		return monitor.Good
	}
	return monitor.Bad
}
