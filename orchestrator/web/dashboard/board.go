package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Limits of the board.
const (
	columnMax = 40    // cards of a column; all of them when the request names its stage
	endedMax  = 15    // finished tasks
	needsMax  = 50    // lines of what waits for a person
	liveMax   = 20000 // tasks that are looked at

	resultsMax = 20 // newest entries of a task that has ended, among which the result of its monitor is
)

// boardPage is everything on the board.
type boardPage struct {
	Strip     strip
	Needs     []need // oldest first
	MoreNeeds int    // that are not shown
	Columns   []column
	Ended     []card
	Filter    boardFilter
	Repos     []string
	Found     int  // live tasks that the filter selects
	Apart     bool // there are tasks in Columns or Ended
}

// boardFilter narrows the board.
type boardFilter struct {
	Repo, Text string
	Stage      stage.Stage
}

func (f boardFilter) On() bool { return f != boardFilter{} }

// selects compares without regard to the case of letters.
func (f boardFilter) selects(t task.Task) bool {
	text := strings.ToLower(f.Text)
	return (f.Repo == "" || t.Repo == f.Repo) && (f.Stage == "" || t.State.Stage == f.Stage) &&
		(text == "" || strings.Contains(strings.ToLower(t.WorkItemID+" "+t.Title+" "+t.Branch), text))
}

// strip is the line of figures above the board.
type strip struct {
	Running, Slots, Live, Waiting, Needs int
	Today                                task.Cost
}

// column is a stage of the board.
type column struct {
	Stage stage.Stage
	Count int
	Cards []card
	More  int // cards that are not shown
}

// Lamps of a card: what its task does now.
const (
	lampMoves    = "moves"
	lampWaits    = "waits"
	lampNeeds    = "needs you"
	lampBlocked  = "blocked"
	lampDone     = "done"
	lampStopped  = "cancelled"
	lampDegraded = "degraded" // done, and its deployment does not work
)

// card is a task on the board.
type card struct {
	ID          int64
	Item, Title string
	Repo        string
	Stage       stage.Stage
	Try         int // 1 + how often it was sent back or an attempt failed
	Lamp        string
	Why         string // the explanation's summary
	Since       time.Time
	Cost        task.Cost
}

// Class is the lamp as a CSS class.
func (c card) Class() string { return strings.ReplaceAll(c.Lamp, " ", "-") }

// need is a line of the list of what waits for a person.
type need struct {
	card
	Do     string
	Asks   bool    // for a verdict
	Freeze *frozen // a frozen repository instead of a task
	Card   *asking // a card that got no task
	Text   string  // something that is wrong with the service itself
}

// lampOf says what a task does, by its explanation.
func lampOf(x explain.Explanation, h stage.Hold) string {
	switch {
	case x.Stage == stage.Cancelled:
		return lampStopped
	case x.Stage.Terminal():
		return lampDone
	case h == stage.HoldBlocked:
		return lampBlocked
	case h != stage.HoldNone:
		return lampNeeds
	case len(x.Blockers) > 0:
		return lampWaits
	}
	return lampMoves
}

func cardOf(t task.Task, x explain.Explanation) card {
	return card{
		ID: t.ID, Item: item(t.WorkItemID), Title: t.Title, Repo: t.Repo, Stage: t.State.Stage, Try: 1 + t.State.Retries + t.State.Failures,
		Lamp: lampOf(x, t.State.Hold), Why: x.Summary, Since: t.StageEnteredAt,
	}
}

// live reads the unfinished tasks, oldest first, and why each stands where it stands.
func (s *server) live(ctx context.Context) (list []task.Task, why []explain.Explanation, err error) {
	if list, err = s.Engine.Store.Tasks(ctx, task.Filter{Live: true, Limit: liveMax}); err != nil {
		return nil, nil, err
	}
	list = slices.DeleteFunc(list, func(t task.Task) bool { return !access.Of(ctx).Reads(t.Repo) }) // in place: a task is a kilobyte
	why, err = explain.All(ctx, s.Engine, list)
	return list, why, err
}

func repoOf(t task.Task) string { return t.Repo }

func repoOfProject(p task.Project) string { return p.Repo }

func repoOfCost(c task.DayCost) string { return c.Repo }

// board is the page of the beginning: what waits for a person, and all work. With a board of our own that is its cards.
func (s *server) board(r *http.Request) (view, error) {
	if len(s.places(r.Context())) > 0 {
		return s.ownBoard(r)
	}
	p, _, err := s.tasks(r)
	return view{Name: "board", Title: "Board", Nav: "board", Data: p}, err
}

// tasks reads what the board has of tasks; its columns have those whose cards are not on a board of our own. of has the
// unfinished ones by their cards.
func (s *server) tasks(r *http.Request) (p boardPage, of map[string]*card, err error) {
	ctx, q := r.Context(), r.URL.Query()
	f := boardFilter{Repo: q.Get("repo"), Text: strings.TrimSpace(q.Get("q")), Stage: stage.Stage(q.Get("stage"))}
	live, why, err := s.live(ctx)
	if err != nil {
		return p, nil, err
	}
	ended, err := s.History.Ended(ctx, time.Time{}, endedMax)
	if err != nil {
		return p, nil, err
	}
	p, of = boardPage{Filter: f, Repos: s.repoNames(ctx)}, map[string]*card{}
	for i, t := range live {
		c := cardOf(t, why[i])
		of[t.TrackerIssueID] = &c
		p.Apart = p.Apart || !s.isOwn(t.TrackerProjectID)
		if f.selects(t) {
			p.Found++
		}
		if t.State.Hold != stage.HoldNone || wantsPerson(why[i]) {
			p.Needs = append(p.Needs, needOf(t, why[i]))
		}
	}
	p.Columns = s.columns(s.Engine.Machine().Pipeline(), live, why, f)
	refused, err := s.reading().Refused(ctx, access.Of(ctx).Reads)
	if err != nil {
		return p, nil, err
	}
	for _, a := range s.asking(r, refused) {
		p.Needs = append(p.Needs, need{Card: &a, card: card{Since: a.Waits}})
	}
	blocks := readBlocks(ctx, s.Engine)
	for _, t := range access.Readable(ctx, ended, repoOf) {
		if f.selects(t) && !s.isOwn(t.TrackerProjectID) {
			c := cardOf(t, explain.Explanation{Stage: t.State.Stage})
			last, err := s.History.JournalBefore(ctx, t.ID, 0, resultsMax)
			if err != nil {
				return p, nil, err
			}
			degrade(&c, last)
			blocks.Serial.blame(&c)
			p.Ended = append(p.Ended, c)
		}
	}
	slices.SortStableFunc(p.Needs, func(a, b need) int { return a.Since.Compare(b.Since) })
	p.Needs = append(s.trouble(ctx, blocks), p.Needs...)
	needs := len(p.Needs)
	p.Needs = p.Needs[:min(needs, needsMax)]
	p.MoreNeeds = needs - len(p.Needs)
	p.Apart = p.Apart || len(p.Ended) > 0
	if err := s.addCosts(ctx, &p); err != nil {
		return p, nil, err
	}
	p.Strip, err = s.strip(ctx, why, needs)
	return p, of, err
}

// columns are the working stages with the cards that are not on a board of our own.
func (s *server) columns(p stage.Pipeline, live []task.Task, why []explain.Explanation, f boardFilter) []column {
	var out []column
	at := map[stage.Stage]int{}
	for _, i := range p.Stages {
		here := func(t task.Task) bool { return t.State.Stage == i.Stage && !s.isOwn(t.TrackerProjectID) }
		if i.Ruled && !slices.ContainsFunc(live, here) { // of a feature, which leads few tasks there
			continue
		}
		if !i.Sink && (f.Stage == "" || f.Stage == i.Stage) {
			at[i.Stage] = len(out)
			out = append(out, column{Stage: i.Stage})
		}
	}
	for i, t := range live {
		n, ok := at[t.State.Stage]
		if !ok || !f.selects(t) || s.isOwn(t.TrackerProjectID) {
			continue
		}
		c := &out[n]
		if c.Count++; len(c.Cards) < columnMax || f.Stage != "" {
			c.Cards = append(c.Cards, cardOf(t, why[i]))
		} else {
			c.More++
		}
	}
	return out
}

// wantsPerson reports whether a task waits for a person. Frozen repositories are shown once
// each, not with every task.
func wantsPerson(x explain.Explanation) bool {
	return slices.ContainsFunc(x.Blockers, func(b explain.Blocker) bool { return b.Who == admit.WhoYou && b.Kind != "freeze" })
}

func needOf(t task.Task, x explain.Explanation) need {
	n := need{card: cardOf(t, x)}
	n.Since, n.Asks = t.UpdatedAt, len(asked(t.State)) > 0
	for _, b := range x.Blockers {
		n.Why, n.Do, n.Since = b.Why, b.Do, b.Since
	}
	return n
}

// trouble lists what waits for a person beside tasks: frozen repositories, and what is
// wrong with the service itself.
func (s *server) trouble(ctx context.Context, b blocks) (out []need) {
	for _, f := range access.Readable(ctx, b.Serial.Frozen, func(f frozen) string { return f.Repo }) {
		out = append(out, need{Freeze: &f, card: card{Lamp: lampBlocked, Since: f.Since}})
	}
	if !access.Of(ctx).Reads("") { // these may name any repository
		return out
	}
	texts := append(s.warnings(ctx), b.Reconcile.Braked, b.Reconcile.Error, b.Serial.Error, b.Deps.Error, b.Merge.Error, b.Budget.Error)
	for _, text := range texts {
		if text != "" {
			out = append(out, need{Text: text, card: card{Lamp: lampBlocked}})
		}
	}
	return out
}

// addCosts fills in what the shown tasks have cost.
func (s *server) addCosts(ctx context.Context, p *boardPage) error {
	var ids []int64
	each := func(f func(*card)) {
		for i := range p.Columns {
			for k := range p.Columns[i].Cards {
				f(&p.Columns[i].Cards[k])
			}
		}
		for i := range p.Ended {
			f(&p.Ended[i])
		}
	}
	each(func(c *card) { ids = append(ids, c.ID) })
	if len(ids) == 0 {
		return nil
	}
	runs, err := s.Engine.Records.AgentRuns(ctx, ids...)
	of := map[int64][]task.AgentRun{}
	for _, r := range runs {
		of[r.TaskID] = append(of[r.TaskID], r)
	}
	each(func(c *card) { c.Cost = task.CostOf(of[c.ID]...) })
	return err
}

func (s *server) strip(ctx context.Context, why []explain.Explanation, needs int) (strip, error) {
	out := strip{Slots: s.Engine.Concurrency(), Live: len(why), Needs: needs}
	for _, x := range why {
		if slices.ContainsFunc(x.Blockers, func(b explain.Blocker) bool { return b.Who != admit.WhoYou }) {
			out.Waiting++
		}
	}
	depth, err := s.Engine.Jobs.Depth(ctx)
	if err != nil {
		return out, err
	}
	out.Running = int(explain.Busy(depth))
	days, err := s.History.DayCosts(ctx, s.Engine.Now().UTC().Truncate(24*time.Hour))
	for _, d := range access.Readable(ctx, days, repoOfCost) {
		out.Today.Add(d.Cost)
	}
	return out, err
}

// repoNames lists the registered repositories that the reader may read, each once.
func (s *server) repoNames(ctx context.Context) []string {
	var out []string
	for _, p := range access.Readable(ctx, s.Engine.Projects.All(), repoOfProject) {
		out = append(out, p.Repo)
	}
	slices.Sort(out)
	return slices.Compact(out)
}
