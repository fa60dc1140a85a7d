package simulate

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/internal/run"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// word is a status that a person has set.
type word struct {
	at     time.Time
	status stage.Status
	seq    int // its place among all changes of the card's status
}

// reply is a status that answers a task, as it stood.
type reply struct {
	word

	task, moves int64 // its Seq
	rounds      int   // of the rest since
}

// people are the persons around the board.
type people struct {
	s        *sim
	words    map[string][]word // by card
	history  map[string][]tracker.Item
	changes  map[string]int // of the status, ours too
	answered map[string]int64
	rejected map[string]int
	answers  map[string]int            // by card
	missed   map[string]reply          // whose webhook was lost
	stops    map[int64]time.Time       // tasks that an operator stopped
	met      map[string]int            // status writes of ours, by card
	columns  map[string][]stage.Status // of each board by the names that the service has for them
	gone     map[string]tracker.Item   // cards that are off their boards, as they were
}

func newPeople(s *sim) *people {
	return &people{
		s: s, words: map[string][]word{}, history: map[string][]tracker.Item{}, changes: map[string]int{},
		answered: map[string]int64{}, rejected: map[string]int{}, answers: map[string]int{}, missed: map[string]reply{},
		stops: map[int64]time.Time{}, met: map[string]int{}, columns: map[string][]stage.Status{},
		gone: map[string]tracker.Item{},
	}
}

// person is the account that moves cards.
const person = "kim"

// wanted is the text of a card, before it is edited.
const wanted = "what is wanted"

func cardID(i int) string { return fmt.Sprintf("card-%d", i) }

// enter puts a card on the board, and people around it.
func (p *people) enter(i int) {
	s, c := p.s, p.s.world.Cards[i]
	project := s.list[c.Project].TrackerProject
	s.board.Put(tracker.Item{
		ID: cardID(i), ProjectID: project, Sequence: int64(i + 1), Title: c.title(i), Description: wanted, Labels: []string{c.Label},
	})
	if c.BlockedBy >= 0 && s.world.Cards[c.BlockedBy].Project == c.Project {
		s.board.Block(cardID(i), cardID(c.BlockedBy))
	}
	// Nobody moves a card twice at once: answers come at whole seconds.
	s.v.After(c.At+time.Microsecond, func() { p.move(i, stage.StatusToAnalyse, false) })
	for _, a := range c.Acts {
		s.v.After(a.At+2*time.Microsecond, func() { p.act(i, a) })
	}
	s.root.Go(func() {
		for !s.check.rested && run.Sleep(s.ctx, s.root, c.Delay) == nil {
			if !s.calm {
				p.answer(i)
			}
		}
	})
}

func (p *people) item(i int) tracker.Item {
	if item, gone := p.gone[cardID(i)]; gone {
		return item
	}
	item, err := p.s.board.Item(p.s.ctx, p.s.list[p.s.world.Cards[i].Project].TrackerProject, cardID(i))
	if err != nil {
		p.s.check.fail(BadStart, "card %d: %v", i, err)
	}
	return item
}

// move is a person moving a card; StatusUnknown stands for the column that ends work.
func (p *people) move(i int, to stage.Status, lost bool) {
	s := p.s
	columns := p.columns[s.list[s.world.Cards[i].Project].TrackerProject]
	if to != stage.StatusUnknown && !slices.Contains(columns, to) || p.isGone(i) {
		return
	}
	item := p.item(i)
	if item.Status == to {
		return
	}
	s.trace.line(s.since(), "person", "moves", item.ID+" to "+cmp.Or(string(to), away))
	item.Status = to
	if to == stage.StatusUnknown {
		item.StatusName, item.Finished = away, true
	}
	s.board.PutAs(person, item)
	p.changed(item.ID)
	p.say(item.ID, to)
	if t, live := s.check.taskOf(item.ID); live && to == stage.StatusStop && !lost {
		s.check.stopSet(t)
	}
	if !lost {
		s.senders.moved(p.item(i), person)
		s.check.promised(i, to)
	}
	if s.v.Now().UnixNano()%4 == 0 { // the board saves a move a second time, which changes nothing but when
		s.v.After(time.Second, func() {
			if again := p.item(i); again.Status == to && !s.check.rested && !p.isGone(i) {
				s.board.PutAs(person, again)
				s.senders.moved(p.item(i), person)
			}
		})
	}
}

// awayAndBack moves a card to another column and back at once: the board reports it by
// one webhook, with a time of its own.
func (p *people) awayAndBack(i int) {
	item := p.item(i)
	elsewhere := item
	elsewhere.Status, elsewhere.StatusName = stage.StatusUnknown, "Elsewhere"
	p.s.board.PutAs(person, elsewhere)
	p.s.board.PutAs(person, item)
	p.say(item.ID, item.Status)
	p.s.senders.moved(p.item(i), person)
}

// say notes a person's word on a card, which shows what it shows.
func (p *people) say(item string, status stage.Status) {
	p.words[item] = append(p.words[item], word{p.s.v.Now(), status, p.changes[item]})
}

// changed notes that a card's status has changed.
func (p *people) changed(item string) {
	p.changes[item]++
	for i, c := range p.s.world.Cards {
		if cardID(i) == item && !c.Out {
			p.history[item] = append(p.history[item], p.item(i))
		}
	}
}

// meet has a person act in the moment before a status write of ours reaches the board.
func (p *people) meet(item string) {
	for i, c := range p.s.world.Cards {
		if cardID(i) != item || p.s.calm {
			continue
		}
		if p.met[item]++; p.met[item] == c.Meets {
			p.move(i, stage.StatusStop, false)
		}
		if c.Misses == p.answers[item]+1 {
			p.answer(i)
		}
	}
}

// ours is the account by which the service moves cards.
const ours = "service/"

// ourMove sets a status as the service does, by the columns that the process takes to be the board's: a
// column that has another name by now is still there.
func (p *people) ourMove(project, item string, status stage.Status, known columns) (tracker.Item, error) {
	s := p.s
	before, err := s.board.Item(s.ctx, project, item)
	column, ok := tracker.Resolve(status, func(c stage.Status) bool { return slices.Contains(known.list, c) })
	switch {
	case err != nil:
	case !ok:
		err = s.board.SetStatus(s.ctx, project, item, status)
	case before.Status != column:
		i := before
		i.Status = column
		s.board.PutAs(ours, i)
	}
	if err != nil {
		return before, err
	}
	p.changed(item)
	set, err := s.board.Item(s.ctx, project, item)
	if s.world.Recalls && set.Status != before.Status {
		s.senders.moved(set, ours)
	}
	return set, err
}

// act does what a person does besides answering.
func (p *people) act(i int, a Act) {
	s := p.s
	if s.calm {
		return
	}
	t, live := s.check.taskOf(cardID(i))
	switch a.Do {
	case DoMove:
		p.move(i, a.To, a.Lost)
	case DoRemove:
		p.remove(i, a.Lost)
	case DoEdit:
		item := p.item(i)
		if p.isGone(i) {
			return
		}
		item.Description, item.Labels = fmt.Sprint(wanted, ", and more since ", s.since()), nil
		s.trace.line(s.since(), "person", "edits", item.ID)
		s.board.PutAs(person, item)
	case DoComment:
		s.trace.line(s.since(), "person", "comments", cardID(i))
		s.board.Say(cardID(i), "kim", "a word on it")
	case DoStop, DoRetry:
		if live {
			p.operate(t, a.Do)
		}
	case DoUndo:
		for _, t := range s.check.tasks() {
			if t.TrackerIssueID == cardID(i) && t.State.Stage == stage.Done {
				p.operate(t, DoUndo)
			}
		}
	case DoPause, DoUnpause:
		p.pause(i, a.Do)
	case DoRename:
		p.rename(s.world.Cards[i].Project, a.To)
	case DoRelate: // no tracker sends a webhook of that
		if i > 0 && s.world.Cards[i].Project == s.world.Cards[i-1].Project {
			on := []string{cardID(i - 1)}
			if a.Lost {
				on = nil
			}
			s.trace.line(s.since(), "person", cardID(i), fmt.Sprint("waits for ", on))
			s.board.Block(cardID(i), on...)
		}
	case DoMerge:
		p.merge(t)
	case DoPush:
		if live && s.places[0].Remote(t.Repo, t.Branch) != "" {
			p.push(i, t, a)
		}
	default:
		p.pull(t, a.Do, a.Lost)
	}
}

// operate is an operator's request on the dashboard.
func (p *people) operate(t task.Task, what string) {
	s := p.s
	if what == DoStop {
		p.stops[t.ID] = s.v.Now()
	}
	s.trace.line(s.since(), "operator", what, t.WorkItemID)
	p.request(http.MethodPost, fmt.Sprintf("/tasks/%d/%s", t.ID, what), []byte(`{"why":"not like that"}`))
}

// pause is an operator who begins or ends a pause of agents.
func (p *people) pause(i int, what string) {
	body, method := "{}", http.MethodPost
	if i%2 == 0 {
		body = fmt.Sprintf(`{"repo":%q}`, p.s.list[p.s.world.Cards[i].Project].Repo)
	}
	if what == DoUnpause {
		method = http.MethodDelete
	}
	p.s.trace.line(p.s.since(), "operator", what, body)
	p.request(method, "/pauses", []byte(body))
}

// request is sent to the first server that is up.
func (p *people) request(method, path string, body []byte) {
	s := p.s
	header := http.Header{"Authorization": {"Bearer " + adminToken}, "Content-Type": {"application/json"}}
	s.root.Go(func() {
		for _, n := range s.nodes {
			if n.up() {
				n.serve(method, path, header, body, 30*time.Second)
				return
			}
		}
	})
}

// merge is a person merging a pull request by hand.
func (p *people) merge(t task.Task) {
	s := p.s
	pr, _ := s.host.PullRequest(s.ctx, t.Repo, t.Branch, "main") // the zero one cannot be merged
	sha, err := s.host.Merge(s.ctx, githost.Merge{Repo: t.Repo, Number: pr.Number, HeadSHA: pr.HeadSHA})
	if err == nil && pr.Open && pr.BaseRef == "main" {
		s.trace.line(s.since(), "person", "merges", t.Branch)
		s.check.handMerged[t.Repo+" "+sha] = s.v.Now()
		s.senders.merged(t.Repo, pr.Number, sha)
	}
}

// answer answers what a task waits for, once for each state that it waits in and
// again when nothing came of it for a while.
func (p *people) answer(i int) {
	s, c, item := p.s, p.s.world.Cards[i], cardID(i)
	t, live := s.check.taskOf(item)
	if !live || p.unheard(t) || p.answered[t.WorkItemID] == t.State.Seq && s.v.Now().Sub(t.UpdatedAt) < 10*time.Minute {
		return
	}
	if words := p.words[item]; words[len(words)-1].status == stage.StatusStop {
		return // nobody helps a task that is to stop
	}
	p.answered[t.WorkItemID] = t.State.Seq
	to, act := stage.StatusInProgress, ""
	switch t.State.Hold {
	case stage.HoldNone:
		return
	case stage.HoldApproval:
		to, act = stage.StatusApproved, "approve"
		if p.rejected[item] < c.Rejects {
			p.rejected[item]++
			s.board.Say(item, "kim", "not like that")
			to, act = stage.StatusRejected, "reject"
		}
	case stage.HoldConfirm:
		to, act = stage.StatusConfirmDeploy, "confirm"
	case stage.HoldNeedsInput:
		s.board.Say(item, "kim", "this one")
	}
	if act != "" && s.world.Pages && t.State.Seq%2 == 0 {
		p.say(item, to)
		p.operate(t, act)
		return
	}
	said := len(p.words[item])
	p.answers[item]++
	lost := p.answers[item] == c.Misses
	if p.move(i, to, lost); lost && len(p.words[item]) > said {
		p.missed[item] = reply{word: p.words[item][said], task: t.ID, moves: t.State.Seq}
	}
}

// unheard reports whether an answer to a task is the last that people have said, no webhook has told of it, and nothing came of it yet.
func (p *people) unheard(t task.Task) bool {
	a, words := p.missed[t.TrackerIssueID], p.words[t.TrackerIssueID]
	if a.task != t.ID || a.moves != t.State.Seq || words[len(words)-1] != a.word || !p.s.world.has("reconcile") {
		return false
	}
	entries, err := p.s.store.Journal(p.s.ctx, t.ID)
	return err == nil && !slices.ContainsFunc(entries, func(e task.JournalEntry) bool {
		w, ok := e.Word()
		return ok && !w.SaidAt.Before(a.at)
	})
}

// last is when a person has set a status on a card last, up to a moment; zero = never.
func (p *people) last(item string, status stage.Status, until time.Time) (at time.Time) {
	for _, w := range p.words[item] {
		if w.status == status && !w.at.After(until) && w.at.After(at) {
			at = w.at
		}
	}
	return at
}

// hasSet reports whether a person has set a status on a card since a moment.
func (p *people) hasSet(item string, status stage.Status, since time.Time) bool {
	return slices.ContainsFunc(p.words[item], func(w word) bool { return w.status == status && !w.at.Before(since) })
}
