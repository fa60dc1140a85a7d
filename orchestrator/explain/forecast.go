package explain

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Forecast holds when a task will be done, if nobody stops it, and what it will have cost: eight of ten end within.
type Forecast struct {
	TaskID    int64     `json:"task_id"`
	Done      time.Time `json:"done_at"`        // the middle of the interval
	Within    int64     `json:"within_seconds"` // to both sides of it
	MicroUSD  int64     `json:"micro_usd"`      // the middle, with what was spent; -1 = not known
	WithinUSD int64     `json:"within_micro_usd"`
	Ahead     int       `json:"ahead"` // cards before it in the line in which it stands
	Cards     int       `json:"cards"` // that it is taken from; of fewer than 9 no interval holds eight of ten
	Text      string    `json:"text"`
}

// life holds where a task stood since when.
type life struct {
	repo  string
	steps []step
	end   time.Time // zero: it goes on
	done  bool
	cost  int64 // in millionths of a dollar; -1 = not known
}

// step is the stay of a life in one standing.
type step struct {
	standing
	run   int64
	at    time.Time // from then on
	spent int64     // until then
}

// standing names what a task waits for.
type standing struct {
	stage  stage.Stage
	phase  stage.Phase
	active stage.Role
	hold   stage.Hold
	queued bool // its agent has not begun, or it stands in the line to merge
}

// stand adds that a life had a state from a moment until another.
func (l *life) stand(s stage.State, since, until time.Time, runs []task.AgentRun) {
	in := step{standing{s.Stage, s.Phase, s.Active, s.Hold, s.Active != "" || s.Phase == stage.PhaseCatchUp}, s.Run, since, 0}
	l.add(in, runs)
	i := slices.IndexFunc(runs, func(r task.AgentRun) bool { return r.Run == s.Run && r.Started.Before(until) })
	if in.queued = false; s.Active != "" && i >= 0 {
		if runs[i].Started.After(since) {
			in.at = runs[i].Started
		}
		l.add(in, runs)
	}
}

// add adds a step, unless the life stands so already.
func (l *life) add(s step, runs []task.AgentRun) {
	for _, r := range runs {
		if !r.Finished.After(s.at) {
			s.spent += r.Usage.MicroUSD
		}
	}
	if n := len(l.steps); n > 0 {
		had := l.steps[n-1]
		begins := had.queued && !s.queued
		if had.queued = s.queued; had.run == s.run && had.standing == s.standing && !begins {
			return
		}
		s.spent = max(s.spent, had.spent)
	}
	l.steps = append(l.steps, s)
}

// ahead counts the lives that had come to a line of the repository, to begin or to merge, before a step did, and that live at a
// moment and wait for nobody.
func (l life) ahead(s step, at time.Time, others []life) (n int) {
	for _, o := range others {
		came, held := false, false
		for _, other := range o.steps {
			came = came || other.standing == s.standing && other.at.Before(s.at)
			if !other.at.After(at) {
				held = other.hold != stage.HoldNone
			}
		}
		line := s.queued && (s.run == 1 || s.phase == stage.PhaseCatchUp)
		if line && came && !held && o.repo == l.repo && (o.end.IsZero() || o.end.After(at)) {
			n++
		}
	}
	return n
}

// rest holds what a life had left where another one stands now.
type rest struct {
	took time.Duration
	cost int64 // -1 = not known
	far  int   // how much else was different
}

const (
	least  = 2       // lives: one has no interval
	enough = 9       // of fewer none holds eight of ten
	astray = 1 << 20 // far from a life that went another way
)

// forecast compares a life that goes on with those that are done, the nearest of which count. Those of its repository that go
// on stand in line with it. There is none where fewer than two have stood so, and for so long.
func forecast(now life, at time.Time, others []life) (f Forecast) {
	if len(now.steps) == 0 {
		return f
	}
	s := now.steps[len(now.steps)-1]
	f.Ahead = now.ahead(s, at, others)
	var list []rest
	of := now.repo
	for _, o := range others {
		if r, is := o.rest(now, at, f.Ahead, others); is && o.done {
			if list = append(list, r); o.repo != now.repo {
				of = "all repositories"
			}
		}
	}
	slices.SortStableFunc(list, func(a, b rest) int { return cmp.Compare(a.far, b.far) })
	var times, costs []int64
	for _, r := range list {
		if len(times) >= enough && r.far > list[enough-1].far {
			break
		}
		if times = append(times, int64(r.took)); r.cost >= 0 {
			costs = append(costs, r.cost)
		}
	}
	if f.Cards = len(times); f.Cards < least {
		return f
	}
	mid, within := interval(times)
	f.Done, f.Within = at.Add(time.Duration(mid)).UTC(), (within+int64(time.Second)-1)/int64(time.Second)
	if f.MicroUSD = -1; len(costs) > 0 && now.cost >= 0 {
		mid, f.WithinUSD = interval(costs)
		f.MicroUSD = s.spent + mid
	}
	f.Text = f.words(at, of)
	return f
}

// rest compares a life with one that goes on, from where it stood as often before, and for as long: one that has moved on by then
// tells nothing.
func (l life) rest(now life, at time.Time, ahead int, others []life) (r rest, is bool) {
	s, i, visits := now.steps[len(now.steps)-1], -1, 0
	for _, other := range now.steps {
		if other.standing == s.standing {
			visits++
		}
	}
	for k, other := range l.steps {
		if other.standing == s.standing && visits > 0 {
			i, visits = k, visits-1
		}
	}
	if i < 0 {
		return r, false
	}
	from, next := l.steps[i].at, l.end
	if i+1 < len(l.steps) {
		next = l.steps[i+1].at
	}
	wait, stay, had := next.Sub(from), at.Sub(s.at), l.ahead(l.steps[i], from, others)
	if ahead > 0 { // the line has moved meanwhile
		stay = 0
	}
	if r.far = max(had-ahead, ahead-had); had > 0 && ahead > had {
		r.took = wait * time.Duration(ahead-had) / time.Duration(had)
	}
	if visits > 0 {
		r.far += astray
	}
	if r.took, r.cost = r.took+l.end.Sub(from)-stay, -1; l.cost >= 0 {
		r.cost = l.cost - l.steps[i].spent
	}
	return r, stay <= wait
}

// interval is the middle of the values that eight of ten next ones lie between, and how far these are from it, at an
// equal chance of each place among a list.
func interval(list []int64) (mid, within int64) {
	slices.Sort(list)
	at := func(part float64) int64 {
		rank := part * float64(len(list)+1)
		i := min(max(int(rank), 1), len(list))
		next := list[min(i, len(list)-1)]
		return list[i-1] + int64(max(rank-float64(i), 0)*float64(next-list[i-1]))
	}
	low, high := at(0.1), at(0.9)
	return low + (high-low)/2, (high - low + 1) / 2
}

// words is a forecast in a line: "done by 14:20 UTC ± 25 min, about $3.10 ± $0.40 (as 42 cards of acme/app)".
func (f Forecast) words(at time.Time, of string) string {
	layout, within := "15:04", time.Duration(f.Within)*time.Second
	if at.UTC().Format(time.DateOnly) != f.Done.Format(time.DateOnly) {
		layout = "2 Jan 15:04"
	}
	if within > 5*time.Minute {
		within = within.Round(time.Minute)
	}
	text, few := fmt.Sprintf("done by %s UTC ± %s", f.Done.Format(layout), stage.Span(within)), ""
	if f.MicroUSD >= 0 {
		text += fmt.Sprintf(", about %s ± %s", stage.Dollars(f.MicroUSD), stage.Dollars(f.WithinUSD))
	}
	if f.Ahead > 0 {
		text += fmt.Sprintf(", %d before it", f.Ahead)
	}
	if f.Cards < enough {
		few = "only "
	}
	return fmt.Sprintf("%s (as %s%d cards of %s)", text, few, f.Cards, of)
}
