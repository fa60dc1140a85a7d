package documents

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Decision holds what a person decides a task by. A word is bound to Commit: it is refused when the task has moved on.
// Those of a line have what the head of a page shows: Documents, Diff, Since, Evidence, Reports and Next are left out.
// A card that got no task has its own name, and TaskID 0.
type Decision struct {
	TaskID   int64          `json:"task_id"`
	Item     string         `json:"work_item_id"`
	Title    string         `json:"title"`
	Repo     string         `json:"repo"`
	Stage    stage.Stage    `json:"stage,omitempty"`
	Waits    time.Time      `json:"waits_since"`
	Asked    string         `json:"asked"`          // the sentence of the explanation
	Do       string         `json:"do,omitempty"`   // how a person ends it
	Words    []stage.Status `json:"words"`          // that are waited for: approved, rejected, confirm_deploy, in_progress, to_analyse
	Card     string         `json:"card,omitempty"` // id of the card that got no task
	Project  string         `json:"-"`              // of the tracker, of this card
	Link     string         `json:"link,omitempty"` // to its page
	Commit   string         `json:"commit"`
	CI       string         `json:"ci,omitempty"`
	CostUSD  float64        `json:"cost_usd"` // so far, as far as prices are known
	Unpriced int64          `json:"unpriced_runs,omitempty"`

	Documents []Document      `json:"documents,omitempty"`
	Diff      *Diff           `json:"diff,omitempty"`
	Seen      *Seen           `json:"seen,omitempty"`  // the last verdict on another commit
	Since     *Diff           `json:"since,omitempty"` // what has changed from that commit on
	Evidence  []gates.Verdict `json:"evidence,omitempty"`
	Reports   []report        `json:"reports,omitempty"`
	Unread    string          `json:"unread,omitempty"` // why the mirror has nothing to show
	Next      *Decision       `json:"next,omitempty"`   // in the line
}

// Seen is a verdict of a person, and the head of the task that it was of.
type Seen struct {
	By     string       `json:"by"`
	Word   stage.Status `json:"word"`
	Commit string       `json:"commit"`
	At     time.Time    `json:"at"`
}

// report holds the summary of the last run of a role.
type report struct {
	Role   stage.Role `json:"role"`
	Run    int64      `json:"run"`
	Status string     `json:"status"`
	Text   string     `json:"text"`
}

// Words lists the words that a task waits for a person to say.
func Words(st stage.State) []stage.Status {
	_, on := stage.Remedy(st)
	switch {
	case st.Stage.Terminal() || st.Active != "" || st.Stopping || st.Hold == stage.HoldNone:
		return []stage.Status{}
	case st.Hold == stage.HoldApproval || st.Hold == stage.HoldConfirm:
		return []stage.Status{on, stage.StatusRejected}
	default:
		return []stage.Status{on}
	}
}

// linePage is how many tasks are read at a time.
const linePage = 1000

// Line lists the tasks that wait for a person's word, of repositories that are chosen: the one that waits longest first.
func (r Reader) Line(ctx context.Context, reads func(repo string) bool) (out []task.Task, err error) {
	for t, err := range task.Each(ctx, r.Engine.Store, task.Filter{Live: true, Limit: linePage}) {
		if err != nil {
			return nil, err
		}
		if len(Words(t.State)) > 0 && reads(t.Repo) {
			out = append(out, t)
		}
	}
	slices.SortStableFunc(out, func(a, b task.Task) int { return a.UpdatedAt.Compare(b.UpdatedAt) })
	return out, nil
}

// Decisions answers for the whole line.
func (r Reader) Decisions(ctx context.Context, reads func(repo string) bool) ([]Decision, error) {
	line, err := r.Line(ctx, reads)
	if err != nil {
		return nil, err
	}
	why, err := explain.All(ctx, r.Engine, line)
	out := []Decision{}
	for i, x := range why {
		out = append(out, r.head(line[i], x))
	}
	if err != nil {
		return out, err
	}
	refused, err := r.Refused(ctx, reads)
	out = append(out, refused...)
	slices.SortStableFunc(out, func(a, b Decision) int { return a.Waits.Compare(b.Waits) })
	return out, err
}

// Refused answers for the cards that got no task.
func (r Reader) Refused(ctx context.Context, reads func(repo string) bool) (out []Decision, err error) {
	list, err := orchestrator.Refusals(ctx, r.Engine)
	for _, c := range list {
		if reads(c.Repo) {
			out = append(out, r.refused(c))
		}
	}
	return out, err
}

// refused makes what a line has of a card that got no task.
func (r Reader) refused(c orchestrator.Refusal) Decision {
	d := Decision{
		Item: c.Key, Title: c.Title, Repo: c.Repo, Waits: c.Since, Asked: "Was not begun: " + r.clean(c.Why, reportMax),
		Do: "Change the card, then set To Analyse again", Words: []stage.Status{stage.StatusToAnalyse}, Card: c.ItemID, Project: c.Project,
	}
	if cards, ok := r.Engine.Tracker.(tracker.Linker); ok {
		d.Link = cards.ItemURL(c.Project, c.ItemID)
	}
	return d
}

// head makes what a line has of a task.
func (r Reader) head(t task.Task, x explain.Explanation) Decision {
	d := Decision{
		TaskID: t.ID, Item: task.OriginalKey(t.WorkItemID), Title: t.Title, Repo: t.Repo,
		Stage: t.State.Stage, Waits: t.UpdatedAt, Asked: x.Summary, Words: Words(t.State), Commit: t.State.Head, CI: x.CI,
	}
	for _, b := range x.Blockers {
		d.Do = b.Do
	}
	return d
}

// Decision answers for one task, at a commit ("" = its head). Where the mirror has nothing to show, Unread says why.
func (r Reader) Decision(ctx context.Context, t task.Task, commit string, reads func(repo string) bool) (Decision, error) {
	x, err1 := explain.One(ctx, r.Engine, t.ID)
	runs, err2 := r.Engine.Records.AgentRuns(ctx, t.ID)
	story, err3 := r.Engine.Records.Journal(ctx, t.ID)
	line, err4 := r.Line(ctx, reads)
	if err := errors.Join(err1, err2, err3, err4); err != nil {
		return Decision{}, err
	}
	d := r.head(t, x)
	if commit != "" {
		d.Commit = commit
	}
	at := slices.IndexFunc(line, func(o task.Task) bool { return o.ID == t.ID })
	if next := slices.Concat(line[at+1:], line[:max(at, 0)]); len(next) > 0 {
		why, err := explain.All(ctx, r.Engine, next[:1])
		if err != nil {
			return d, err
		}
		then := r.head(next[0], why[0])
		d.Next = &then
	}
	d.Evidence, d.Seen = x.Judged, lastSeen(story, d.Commit)
	d.report(r, runs)
	r.read(ctx, t, &d)
	return d, nil
}

// read fills in what the mirror has.
func (r Reader) read(ctx context.Context, t task.Task, d *Decision) {
	list, err := r.List(ctx, t, d.Commit)
	if err == nil && d.Commit != "" {
		var diff Diff
		diff, err = r.Diff(ctx, t, d.Commit)
		d.Documents, d.Diff = list.Documents, &diff
	}
	if err != nil {
		d.Unread = Unreadable(err)
		return
	}
	if d.Seen != nil { // the commit may be gone: the whole diff is there
		if since, err := r.DiffFrom(ctx, t, d.Seen.Commit, d.Commit); err == nil {
			d.Since = &since
		}
	}
}

// Unreadable says why what a branch has is not shown.
func Unreadable(err error) string {
	var none *NotFoundError
	var gone *orchestrator.UnregisteredError
	switch {
	case errors.As(err, &none):
		return none.Text
	case errors.As(err, &gone):
		return gone.Error()
	default:
		return "The mirror of the repository does not have the commit at the moment."
	}
}

// lastSeen is the last word that a person has said of another commit.
func lastSeen(story []task.JournalEntry, commit string) *Seen {
	for _, e := range slices.Backward(story) {
		rec, err := e.Recorded()
		if err != nil || rec.Event.Denied != "" {
			continue
		}
		on, head := rec.Event.On, cmp.Or(rec.Event.Of, rec.Decision.State.Head)
		said := on == stage.OnApproved || on == stage.OnRejected || on == stage.OnConfirmDeploy
		if said && head != "" && head != commit {
			return &Seen{rec.Event.By.Who(), stage.Status(on), head, e.At}
		}
	}
	return nil
}

// report fills in what the runs have cost, and what the last one of each role says.
func (d *Decision) report(r Reader, runs []task.AgentRun) {
	cost := task.CostOf(runs...)
	d.CostUSD, d.Unpriced = float64(cost.Usage.MicroUSD)/1e6, cost.Unpriced
	for _, run := range slices.Backward(runs) {
		said := slices.ContainsFunc(d.Reports, func(o report) bool { return o.Role == run.Role })
		if !said && run.Summary != "" {
			d.Reports = append(d.Reports, report{run.Role, run.Run, run.Status, r.clean(run.Summary, reportMax)})
		}
	}
}

// reportMax bounds what is shown of a run's summary, in characters.
const reportMax = 4000
