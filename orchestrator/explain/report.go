package explain

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Report tells what has ended within a time, and how long people and agents were waited for. Times are in seconds.
type Report struct {
	Since  time.Time   `json:"since"`
	Until  time.Time   `json:"until,omitzero"` // it is no more within; zero = now
	Tasks  []Past      `json:"tasks"`          // the last one first
	Sum    Sum         `json:"sum"`
	Weeks  []week      `json:"weeks"`          // the last one first, from Monday (UTC); those without a task are there
	Stages []stageTime `json:"stages"`         // of the merged, in the order they were entered first
	Backs  []backCount `json:"sent_back"`      // the most frequent first
	More   bool        `json:"more,omitempty"` // further tasks have ended, and are not listed
}

// Sum is over the tasks of a report.
type Sum struct {
	Merged    int     `json:"merged"`
	Others    int     `json:"others"`           // that have ended without a merge
	FirstPass int     `json:"first_pass"`       // of the merged: nobody has sent them back, and no try of the developer was lost
	Lead      int64   `json:"lead_seconds"`     // of the merged, the median from To Analyse to the end
	Lead85    int64   `json:"lead_p85_seconds"` // the 85th percentile of it
	People    int64   `json:"people_seconds"`
	Machine   int64   `json:"machine_seconds"`
	Agents    int64   `json:"agents_seconds"`
	CI        int64   `json:"ci_seconds"`
	CostUSD   float64 `json:"cost_usd"`      // of all, as far as prices are known
	CostEach  float64 `json:"cost_each_usd"` // of the merged, the median
	Unpriced  int64   `json:"unpriced_runs,omitempty"`
}

// week sums up what has ended in the seven days from a Monday.
type week struct {
	From string `json:"from"`
	Sum
}

// stageTime is how long merged tasks were at a stage.
type stageTime struct {
	Stage  stage.Stage `json:"stage"`
	Tasks  int         `json:"tasks"`
	Median int64       `json:"median_seconds"`
	P85    int64       `json:"p85_seconds"`
}

// back names why a task was sent back: the gate, or what has happened where none was red, and the beginning of the reason.
type back struct {
	Gate   string `json:"gate"`
	Reason string `json:"reason"`
}

// backCount is how often tasks were sent back for a reason.
type backCount struct {
	back
	Times int `json:"times"`
}

// Past is the life of a task that has ended.
type Past struct {
	TaskID   int64       `json:"task_id"`
	Item     string      `json:"work_item_id"`
	Repo     string      `json:"repo"`
	Title    string      `json:"title"`
	Lane     string      `json:"lane,omitempty"`
	Stage    stage.Stage `json:"stage"` // done or cancelled
	End      End         `json:"end"`
	BegunBy  string      `json:"begun_by,omitempty"`
	Began    time.Time   `json:"began_at"`
	Ended    time.Time   `json:"ended_at"`
	MergeSHA string      `json:"merge_sha,omitempty"`
	Pull     string      `json:"pull_request,omitempty"`
	Lead     int64       `json:"lead_seconds"`
	People   int64       `json:"people_seconds"`     // a person was waited for
	Machine  int64       `json:"machine_seconds"`    // the rest
	Agents   int64       `json:"agents_seconds"`     // of that: an agent was at work, or waited for its turn
	CI       int64       `json:"ci_seconds"`         // of that: CI was waited for
	Stages   []spending  `json:"stages"`             // in the order they were entered first
	SentBack int         `json:"sent_back"`          // by people, and by gates to the developer
	Backs    []back      `json:"why_sent_back"`      // each time, in order
	Degraded string      `json:"degraded,omitempty"` // what was seen of its deployment
	Approved []string    `json:"approved_by"`        // who has approved or confirmed, by their names
	CostUSD  float64     `json:"cost_usd"`
	Outlier  bool        `json:"outlier,omitempty"` // merged, and dearer than three times the median
	Unpriced int64       `json:"unpriced_runs,omitempty"`

	life life
}

// spending is the time that a life has spent at a stage.
type spending struct {
	Stage   stage.Stage `json:"stage"`
	Seconds int64       `json:"seconds"`
}

// End is how a life has ended.
type End string

// The values of End.
const (
	endMerged   End = "merged"
	endDegraded End = "degraded" // merged, and its deployment does not work
	endStopped  End = "stopped"
	endUnmerged End = "not merged"
)

// Ends lists the values of End.
func Ends() []End { return []End{endMerged, endDegraded, endStopped, endUnmerged} }

const weeksMax = 160 // of a report

// sum makes the sums of the tasks that were chosen.
func (r *Report) sum(now time.Time) {
	var leads []int64
	var costs []float64
	spent, backs := map[stage.Stage][]int64{}, map[back]int{}
	last := now
	if !r.Until.IsZero() && r.Until.Before(now) {
		last = r.Until.Add(-1)
	}
	at := map[string]int{}
	for d := last; weekOf(d) >= weekOf(r.Since) && len(r.Weeks) < weeksMax; d = d.AddDate(0, 0, -7) {
		at[weekOf(d)] = len(r.Weeks)
		r.Weeks = append(r.Weeks, week{From: weekOf(d)})
	}
	for _, p := range r.Tasks {
		for _, b := range p.Backs {
			backs[b]++
		}
		if i, ok := at[weekOf(p.Ended)]; ok {
			r.Weeks[i].add(p)
		}
		if !r.Sum.add(p) {
			continue
		}
		leads, costs = append(leads, p.Lead), append(costs, p.CostUSD)
		for _, s := range p.Stages {
			if _, known := spent[s.Stage]; !known {
				r.Stages = append(r.Stages, stageTime{Stage: s.Stage})
			}
			spent[s.Stage] = append(spent[s.Stage], s.Seconds)
		}
	}
	r.Sum.Lead, r.Sum.Lead85, r.Sum.CostEach = quantile(leads, 50), quantile(leads, 85), quantile(costs, 50)
	for i, s := range r.Stages {
		list := spent[s.Stage]
		r.Stages[i] = stageTime{s.Stage, len(list), quantile(list, 50), quantile(list, 85)}
	}
	for i, p := range r.Tasks {
		r.Tasks[i].Outlier = p.MergeSHA != "" && p.CostUSD > 3*r.Sum.CostEach && r.Sum.CostEach > 0
	}
	for b, n := range backs {
		r.Backs = append(r.Backs, backCount{b, n})
	}
	slices.SortFunc(r.Backs, func(a, b backCount) int {
		return cmp.Or(cmp.Compare(b.Times, a.Times), cmp.Compare(a.Gate, b.Gate), cmp.Compare(a.Reason, b.Reason))
	})
}

// quantile is the smallest value that so many percent of a list do not exceed; 0 for an empty list, which it sorts.
func quantile[N cmp.Ordered](list []N, percent int) (n N) {
	if slices.Sort(list); len(list) > 0 {
		n = list[max((len(list)*percent+99)/100-1, 0)]
	}
	return n
}

// weekOf names the week of a moment by its Monday (UTC).
func weekOf(t time.Time) string {
	t = t.UTC()
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format(time.DateOnly)
}

// Price is the cost in words.
func (p Past) Price() string { return stage.Price(int64(p.CostUSD*1e6+0.5), p.Unpriced) }

// add adds a life, and reports whether it was merged.
func (s *Sum) add(p Past) bool {
	s.People += p.People
	s.Machine += p.Machine
	s.Agents += p.Agents
	s.CI += p.CI
	s.CostUSD += p.CostUSD
	s.Unpriced += p.Unpriced
	if p.MergeSHA == "" {
		s.Others++
		return false
	}
	if s.Merged++; p.SentBack == 0 {
		s.FirstPass++
	}
	return true
}

// Rest is the time in which neither people, agents nor CI were waited for: a merge, a deployment, another task.
func (s Sum) Rest() int64 { return max(s.Machine-s.Agents-s.CI, 0) }

// pastOf follows a life by its decisions: the state that one has left holds until the next.
func pastOf(t task.Task, story []task.JournalEntry, gates []task.GateResult, runs []task.AgentRun) Past {
	p := Past{
		TaskID: t.ID, Item: task.OriginalKey(t.WorkItemID), Repo: t.Repo, Title: t.Title, Lane: t.State.Lane, Stage: t.State.Stage,
		Began: t.CreatedAt.UTC(), Ended: t.StageEnteredAt.UTC(), MergeSHA: t.State.MergeSHA, Pull: t.State.PRURL,
		Approved: []string{}, Stages: []spending{}, Backs: []back{}, Degraded: Degraded(story),
	}
	p.Lead = int64(p.Ended.Sub(p.Began) / time.Second)
	cost := task.CostOf(runs...)
	p.CostUSD, p.Unpriced = float64(cost.Usage.MicroUSD)/1e6, cost.Unpriced
	p.life = life{repo: p.Repo, done: p.Stage == stage.Done, cost: cost.Usage.MicroUSD}
	if cost.Unpriced > 0 {
		p.life.cost = -1
	}
	if p.Stage.Terminal() {
		p.life.end = p.Ended
	}
	at, state := p.Began, stage.State{}
	var people, agents, ci, none time.Duration
	spent := map[stage.Stage]time.Duration{}
	var order []stage.Stage
	for _, j := range story {
		r, err := j.Recorded()
		if err != nil || !r.Decision.Moved || j.At.After(p.Ended) {
			continue
		}
		p.life.stand(state, at, j.At, runs)
		since := max(j.At.Sub(at), 0)
		if spent[state.Stage] += since; !slices.Contains(order, state.Stage) {
			order = append(order, state.Stage)
		}
		of := &none
		switch {
		case state.Hold != stage.HoldNone:
			of = &people
		case state.Active != "":
			of = &agents
		case state.Stage == stage.Development || state.Phase == stage.PhaseRetest:
			of = &ci
		}
		*of += since
		next, who := r.Decision.State, r.Event.By.Who()
		if r.Event.On == stage.OnRejected || next.Retries > state.Retries {
			p.Backs = append(p.Backs, backOf(r.Event, gates))
		}
		approves := r.Event.On == stage.OnApproved || r.Event.On == stage.OnConfirmDeploy
		if approves && who != "" && !slices.Contains(p.Approved, who) {
			p.Approved = append(p.Approved, who)
		}
		if r.Event.On == stage.OnToAnalyse && p.BegunBy == "" {
			p.BegunBy = who
		}
		if r.Event.On == stage.OnPRMerged { // by a person, whose commit on main the host may not tell
			p.MergeSHA = cmp.Or(p.MergeSHA, r.Event.SHA)
		}
		at, state = j.At, next
	}
	if !state.Stage.Terminal() {
		p.life.stand(state, at, p.Ended, runs)
	}
	switch p.End = endUnmerged; {
	case p.Degraded != "":
		p.End = endDegraded
	case p.MergeSHA != "":
		p.End = endMerged
	case p.Stage == stage.Cancelled:
		p.End = endStopped
	}
	p.life.steps = slices.Clip(p.life.steps)
	p.SentBack = len(p.Backs)
	p.People, p.Agents, p.CI = int64(people/time.Second), int64(agents/time.Second), int64(ci/time.Second)
	p.Machine = max(p.Lead-p.People, 0)
	for _, s := range order {
		if s != stage.None && !s.Terminal() {
			p.Stages = append(p.Stages, spending{s, int64(spent[s] / time.Second)})
		}
	}
	return p
}

// backOf names what has sent a task back. A reason is cut where its details begin, so that the same ones add up.
func backOf(ev stage.Event, results []task.GateResult) back {
	b := back{Gate: string(ev.On), Reason: cmp.Or(ev.Verdict.Reason, ev.Reason)}
	if ev.On == stage.OnRejected {
		return back{Gate: "a person", Reason: "rejected"}
	}
	for _, g := range results {
		if ev.Verdict.Reason != "" && g.Verdict.Reason == ev.Verdict.Reason {
			b.Gate = redOf(g.Verdict).Check
		}
	}
	b.Reason, _, _ = strings.Cut(b.Reason, ":")
	if words := strings.Fields(b.Reason); len(words) > 12 {
		b.Reason = strings.Join(words[:12], " ") + " …"
	}
	return b
}

// redOf is the first gate of a verdict that is red by itself.
func redOf(v gates.Verdict) gates.Verdict {
	for _, c := range v.Children {
		if c.Outcome == gates.Red {
			return redOf(c)
		}
	}
	return v
}

// Text is a report for a message to people: what was merged, by repository, and the sums.
func (r Report) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "Shipped since %s: %d", r.Since.Format(time.DateOnly), r.Sum.Merged)
	if r.Sum.Merged > 0 {
		lead := stage.Span(time.Duration(r.Sum.Lead) * time.Second)
		fmt.Fprintf(&b, ", %d of them at the first pass, in %s each (median)", r.Sum.FirstPass, lead)
	}
	if all := r.Sum.People + r.Sum.Machine; all > 0 {
		fmt.Fprintf(&b, "; %d %% of the time waited for people", (r.Sum.People*100+all/2)/all)
	}
	fmt.Fprintf(&b, "; %s.", stage.Price(int64(r.Sum.CostUSD*1e6+0.5), r.Sum.Unpriced))
	if r.Sum.Others > 0 {
		fmt.Fprintf(&b, " %d more ended without a merge.", r.Sum.Others)
	}
	list := slices.SortedStableFunc(slices.Values(r.Tasks), func(a, b Past) int { return cmp.Compare(a.Repo, b.Repo) })
	repo := ""
	for _, p := range list {
		if p.MergeSHA == "" {
			continue
		}
		if p.Repo != repo {
			repo = p.Repo
			fmt.Fprintf(&b, "\n\n%s", repo)
		}
		title, lead := strings.Join(strings.Fields(p.Title), " "), stage.Span(time.Duration(p.Lead)*time.Second)
		fmt.Fprintf(&b, "\n- %s %s (%.12s, %s", p.Item, title, p.MergeSHA, lead)
		if len(p.Approved) > 0 {
			fmt.Fprintf(&b, ", approved by %s", strings.Join(p.Approved, ", "))
		}
		b.WriteString(")")
	}
	if r.More {
		b.WriteString("\n\nFurther tasks have ended: ask again in a moment, or for a shorter time.")
	}
	return b.String() + "\n"
}
