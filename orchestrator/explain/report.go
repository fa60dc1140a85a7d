package explain

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Report tells what has ended since a moment, and how long people and agents were waited for. Times are in seconds.
type Report struct {
	Since time.Time `json:"since"`
	Tasks []Past    `json:"tasks"` // the last one first
	Sum   Sum       `json:"sum"`
	More  bool      `json:"more,omitempty"` // further tasks have ended since, and are not listed
}

// Sum is over the tasks of a report.
type Sum struct {
	Merged    int     `json:"merged"`
	Others    int     `json:"others"`       // that have ended without a merge
	FirstPass int     `json:"first_pass"`   // of the merged: nobody has sent them back, and no try of the developer was lost
	Lead      int64   `json:"lead_seconds"` // of the merged, the median from To Analyse to the end
	People    int64   `json:"people_seconds"`
	Machine   int64   `json:"machine_seconds"`
	CostUSD   float64 `json:"cost_usd"` // of all, as far as prices are known
	Unpriced  int64   `json:"unpriced_runs,omitempty"`
}

// Past is the life of a task that has ended.
type Past struct {
	TaskID   int64       `json:"task_id"`
	Item     string      `json:"work_item_id"`
	Repo     string      `json:"repo"`
	Title    string      `json:"title"`
	Lane     string      `json:"lane,omitempty"`
	Stage    stage.Stage `json:"stage"` // done or cancelled
	Began    time.Time   `json:"began_at"`
	Ended    time.Time   `json:"ended_at"`
	MergeSHA string      `json:"merge_sha,omitempty"`
	Pull     string      `json:"pull_request,omitempty"`
	Lead     int64       `json:"lead_seconds"`
	People   int64       `json:"people_seconds"`     // a person was waited for
	Machine  int64       `json:"machine_seconds"`    // the rest
	Stages   []Spent     `json:"stages"`             // in the order they were entered first
	SentBack int         `json:"sent_back"`          // by people, and by gates to the developer
	Degraded string      `json:"degraded,omitempty"` // what was seen of its deployment
	Approved []string    `json:"approved_by"`        // who has approved or confirmed, by their names
	CostUSD  float64     `json:"cost_usd"`
	Unpriced int64       `json:"unpriced_runs,omitempty"`
}

// Spent is the time that a life has spent at a stage.
type Spent struct {
	Stage   stage.Stage `json:"stage"`
	Seconds int64       `json:"seconds"`
}

// reportMax bounds the tasks of a report, whose journals are read.
const reportMax = 500

// ReadReport tells of the tasks that have ended since a moment, of repositories that are chosen.
func ReadReport(
	ctx context.Context, e *orchestrator.Engine, h task.History, since time.Time, reads func(repo string) bool,
) (Report, error) {
	out := Report{Since: since.UTC(), Tasks: []Past{}}
	ended, err := h.Ended(ctx, reportMax)
	if err != nil {
		return out, err
	}
	out.More = len(ended) == reportMax && !ended[reportMax-1].StageEnteredAt.Before(since)
	ended = slices.DeleteFunc(ended, func(t task.Task) bool { return t.StageEnteredAt.Before(since) || !reads(t.Repo) })
	ids := make([]int64, len(ended))
	for i, t := range ended {
		ids[i] = t.ID
	}
	costs, err := h.TaskCosts(ctx, ids)
	if err != nil {
		return out, err
	}
	var leads []int64
	for _, t := range ended {
		story, err := e.Records.Journal(ctx, t.ID)
		if err != nil {
			return out, err
		}
		p := pastOf(t, story)
		p.Degraded = Degraded(story)
		cost := costs[t.ID]
		p.CostUSD, p.Unpriced = float64(cost.Usage.MicroUSD)/1e6, cost.Unpriced
		if out.Tasks = append(out.Tasks, p); out.Sum.Add(p) {
			leads = append(leads, p.Lead)
		}
	}
	if slices.Sort(leads); len(leads) > 0 {
		out.Sum.Lead = leads[len(leads)/2]
	}
	return out, nil
}

// WeekOf names the week of a moment by its Monday (UTC).
func WeekOf(t time.Time) string {
	t = t.UTC()
	return t.AddDate(0, 0, -(int(t.Weekday())+6)%7).Format(time.DateOnly)
}

// Price is the cost in words.
func (p Past) Price() string { return stage.Price(int64(p.CostUSD*1e6+0.5), p.Unpriced) }

// Add adds a life, and reports whether it was merged.
func (s *Sum) Add(p Past) bool {
	s.People += p.People
	s.Machine += p.Machine
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

// pastOf follows a life by its decisions: the state that one has left holds until the next.
func pastOf(t task.Task, story []task.JournalEntry) Past {
	p := Past{
		TaskID: t.ID, Item: task.OriginalKey(t.WorkItemID), Repo: t.Repo, Title: t.Title, Lane: t.State.Lane, Stage: t.State.Stage,
		Began: t.CreatedAt.UTC(), Ended: t.StageEnteredAt.UTC(), MergeSHA: t.State.MergeSHA, Pull: t.State.PRURL,
		Approved: []string{}, Stages: []Spent{},
	}
	p.Lead = int64(p.Ended.Sub(p.Began) / time.Second)
	at, state := p.Began, stage.State{Stage: stage.Analysis}
	var people time.Duration
	spent := map[stage.Stage]time.Duration{}
	var order []stage.Stage
	for _, j := range story {
		r, err := j.Recorded()
		if err != nil || !r.Decision.Moved || j.At.After(p.Ended) {
			continue
		}
		since := max(j.At.Sub(at), 0)
		if spent[state.Stage] += since; !slices.Contains(order, state.Stage) {
			order = append(order, state.Stage)
		}
		if state.Hold != stage.HoldNone {
			people += since
		}
		next := r.Decision.State
		if r.Event.On == stage.OnRejected || next.Retries > state.Retries {
			p.SentBack++
		}
		if who := r.Event.By.Who(); approves(r.Event) && who != "" && !slices.Contains(p.Approved, who) {
			p.Approved = append(p.Approved, who)
		}
		at, state = j.At, next
	}
	p.People = int64(people / time.Second)
	p.Machine = max(p.Lead-p.People, 0)
	for _, s := range order {
		if !s.Terminal() {
			p.Stages = append(p.Stages, Spent{s, int64(spent[s] / time.Second)})
		}
	}
	return p
}

func approves(ev stage.Event) bool {
	return ev.On == stage.OnApproved || ev.On == stage.OnConfirmDeploy
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
		b.WriteString("\n\nFurther tasks have ended since; a shorter time shows them all.")
	}
	return b.String() + "\n"
}
