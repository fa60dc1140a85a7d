package simulate

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Invariants of a world at rest: faults have ended, people help, time goes on.
const (
	Ends     Invariant = "ends"     // whatever can end has ended
	Unblocks Invariant = "unblocks" // what an explanation names as the way on, is one
	NoRest   Invariant = "no-rest"  // no job repeats for ever, and a look that finds nothing writes nothing
	Owed     Invariant = "owed"     // nothing that is owed dies by count
	Heard    Invariant = "heard"    // a status that a person has set takes effect, and an agent's questions reach people
	Replays  Invariant = "replays"  // deciding the journal again gives the same decisions
	Leftover Invariant = "leftover" // nothing of a task that has ended is left: agents, leases, holds, branches
	Shown    Invariant = "shown"    // the board shows what the service set last, unless a person moved the card
	OneCard  Invariant = "one-card" // a task has one live message, but for lost answers
)

// Times of the rest.
const (
	round     = 3 * time.Minute
	roundsMax = 160
	stuckMax  = 24               // rounds in which a task does not move
	liftMax   = 4                // how often a person does what an explanation names, in vain
	quiet     = 11 * time.Minute // longer than any grace of the reconciler
)

// lifted records what a person did last because of an explanation.
type lifted struct {
	moves  int
	stage  stage.Stage
	word   stage.Status
	times  int
	rounds int
}

// rest ends all faults. From here on people help.
func (s *sim) rest() {
	s.calm = true
	for i, p := range s.world.Projects { // columns have their own names again
		s.people.setColumns(s.list[i].TrackerProject, p.Columns)
	}
	for i, c := range s.world.Cards { // cards are back, or an operator stops their tasks; without a reconciler they are moved
		gone := s.people.isGone(i)
		if c.Out || gone && s.nodes[0].has("stop") && i%2 == 0 {
			continue
		}
		if gone {
			s.people.remove(i, false)
		}
		if !s.world.has("reconcile") && c.does(DoRemove) {
			s.people.awayAndBack(i)
		}
	}
	s.trace.line(s.since(), "world", "rests", "")
	for _, n := range s.nodes {
		n.domain.Skew(0)
		n.domain.Pause(0)
		if n.without != "" && !n.domain.Dead() { // the registry is mended, and the process started again
			n.domain.Kill()
			n.cancel()
			s.agents.orphan(n)
		}
		n.without = ""
		if n.domain.Dead() {
			n.boot()
		}
	}
	s.root.Go(s.help)
}

// help goes round the cards until all have ended, and puts the questions then.
func (s *sim) help() {
	wait := func(d time.Duration) { _ = run.Sleep(s.ctx, s.root, d) }
	wait(2 * time.Minute)
	for i := range roundsMax {
		all := !s.world.has("after_done") || s.senders.away == 0 && i > 5 // a late word may begin a task
		for card, c := range s.world.Cards {
			all = (c.Out || s.helpCard(card)) && all
		}
		if all || s.check.broken() {
			break
		}
		wait(round)
	}
	if s.check.broken() {
		return
	}
	for range 3 { // what was put off is done
		if depth, _ := s.store.Depth(s.ctx); len(depth) > 0 {
			wait(round)
		}
	}
	for s.senders.away > 0 { // a late word is answered
		wait(round)
	}
	wait(columnsFor) // a card says within a minute that it waits no more, and a process may remember columns of before
	jobs := s.store.LastJob()
	wait(quiet)
	s.check.still(jobs)
	s.check.atRest(s.inside)
	s.check.rested = true
}

// inside runs f on a replica, as a process of it.
func (s *sim) inside(f func(ctx context.Context, e *orchestrator.Engine) error) error {
	n := s.nodes[0]
	done := make(chan struct{}, 1)
	var err error
	n.domain.Go(func() {
		err = f(s.ctx, n.engine)
		run.Hint(done)
	})
	_ = s.root.Wait(s.ctx, time.Time{}, done)
	return err
}

// helpCard does what people do who want a card to end. It reports whether it has.
func (s *sim) helpCard(i int) (ended bool) {
	item := s.people.item(i)
	t, live := s.check.taskOf(item.ID)
	switch gone := s.people.isGone(i); {
	case gone && live && !t.State.Stopping:
		s.people.operate(t, DoStop)
		return false
	case gone:
		return !live
	case !live:
		return s.helpStart(i, item)
	}
	if item.Status == stage.StatusStop && s.nodes[0].has("stop") && !t.State.Stopping {
		s.repeatHook(i, item, id(t.ID)) // of a STOP that nothing came of
		return false
	}
	if s.people.unheard(t) {
		a := s.people.missed[item.ID]
		if a.rounds++; a.rounds > 4 {
			s.check.fail(Heard, "%s: a person has set %s, its webhook was lost, and nobody has found it", t.WorkItemID, a.status)
		}
		s.people.missed[item.ID] = a
		return false
	}
	var x explain.Explanation
	if err := s.inside(func(ctx context.Context, e *orchestrator.Engine) (err error) {
		x, err = explain.One(ctx, e, t.ID)
		return err
	}); err != nil {
		s.check.fail(BadStart, "task %d cannot be explained: %v", t.ID, err)
	}
	s.lift(i, t, item, x)
	return false
}

// helpStart helps a card without a task that lives.
func (s *sim) helpStart(i int, item tracker.Item) (ended bool) {
	switch {
	case s.check.done(item.ID): // a card that was done is not started again
		return true
	case item.Status == stage.StatusToAnalyse && item.Title != "":
		return !s.repeatHook(i, item, "")
	case item.Title == "" && !s.check.ever(item.ID, 0):
		item.Title = "Named at last"
		s.board.Put(item)
		return false
	case s.check.ever(item.ID, 0), item.Status == stage.StatusStop:
		return true
	default:
		s.people.move(i, stage.StatusToAnalyse, false)
		return false
	}
}

// repeatHook sets a card's status once more, so that its webhook comes again. After some
// rounds it gives up, and reports false.
func (s *sim) repeatHook(i int, item tracker.Item, why string) bool {
	key := fmt.Sprintf("again/%s/%s/%s", item.ID, item.Status, why)
	a := s.check.answers[key]
	a.times++
	s.check.answers[key] = a
	if a.times > liftMax {
		s.check.fail(Heard, "%s stands at %s, its webhook came %d times, and nothing happens", item.ID, item.Status, liftMax)
		return false
	}
	s.people.awayAndBack(i)
	return true
}

// lift does what the explanation of a task names as the way on.
func (s *sim) lift(i int, t task.Task, item tracker.Item, x explain.Explanation) {
	a := s.check.answers[t.WorkItemID]
	if a.rounds++; a.moves != s.check.moves { // while others move, it may wait for them
		a.rounds = 0
	}
	a.moves = s.check.moves
	why := x.Summary
	for _, b := range x.Blockers {
		why += " | " + b.Why + " -> " + b.Do
	}
	s.trace.line(s.since(), "helper", t.WorkItemID, why)
	if a.rounds > stuckMax {
		minutes := stuckMax * int(round/time.Minute)
		s.check.fail(Ends, "%s stands at %s for more than %d minutes: %s", t.WorkItemID, t.State.Stage, minutes, why)
	}
	for _, b := range x.Blockers {
		if strings.HasPrefix(b.Do, "Run signalbox unpause") {
			for card := range s.world.Cards {
				s.people.pause(card, DoUnpause)
			}
			continue
		}
		if strings.HasPrefix(b.Do, "Run signalbox unfreeze ") {
			s.unfreeze(t.Repo)
			continue
		}
		for way, do := range map[string]string{"reopen it": DoClose, "mark it ready": DoDraft, "set its base": DoTarget} {
			if strings.Contains(strings.ToLower(b.Why+b.Do), way) {
				s.people.pull(t, do, false)
			}
		}
		if strings.HasPrefix(b.Why, "a dependency cycle") { // a person takes the relations of the card away
			s.board.Block(item.ID)
			continue
		}
		if sha, told := setBack(b.Why, t.Branch); told && s.places[0].Remote(t.Repo, t.Branch) == s.check.foreign[t.Branch] {
			s.trace.line(s.since(), "helper", "sets back", t.Branch)
			delete(s.check.foreign, t.Branch)
			s.places[0].SetRemote(t.Repo, t.Branch, sha)
			s.senders.pushed(t.Repo, t.Branch, sha)
		}
		to := b.Status
		if to == stage.StatusUnknown || t.State.Stopping && item.Status == stage.StatusStop {
			continue
		}
		if a.stage == t.State.Stage && a.word == to {
			a.times++
		} else {
			a.stage, a.word, a.times = t.State.Stage, to, 1
		}
		if a.times > liftMax {
			s.check.fail(Unblocks, "%s: a person has set %s %d times, as the explanation says, and it still says: %s",
				t.WorkItemID, to, liftMax, why)
		}
		if s.board.Say(item.ID, "kim", "this one"); item.Status == to {
			s.people.awayAndBack(i)
		} else {
			s.people.move(i, to, false)
		}
		break
	}
	s.check.answers[t.WorkItemID] = a
}

// setBack is the commit at which a person is to put the branch again, empty when it is to be deleted; told is false when
// the reason names neither.
func setBack(why, branch string) (sha string, told bool) {
	if strings.Contains(why, "git push origin --delete "+branch+")") {
		return "", true
	}
	_, rest, told := strings.Cut(why, "git push --force-with-lease origin ")
	sha, _, _ = strings.Cut(rest, ":refs/heads/"+branch)
	return sha, told
}

// unfreeze is an operator who lets a repository go on.
func (s *sim) unfreeze(repo string) {
	if gate := s.nodes[0].serial; gate != nil {
		_ = s.inside(func(ctx context.Context, _ *orchestrator.Engine) error {
			_, _, err := gate.Unfreeze(ctx, repo)
			return err
		})
	}
}
