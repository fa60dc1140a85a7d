package dashboard

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// reposPage is every repository with who may begin there.
type reposPage struct {
	Repos     []repoCard
	Serial    serialBlock
	Reconcile reconcileBlock
	Merge     mergeBlock
	Budget    budgetBlock
	Others    []otherBlock
}

// repoCard is one repository.
type repoCard struct {
	Project task.Project
	Freeze  *frozen
	Gated   bool        // the serial gate covers it
	Line    []lineEntry // the first unfinished tasks, in the order in which they began or may begin
	More    bool        // the line is longer than is shown
	Lease   *lease
	Merging []gateTask // in the merge gate
	Spent   *spent     // today
}

// lineEntry is a task in the line of a repository.
type lineEntry struct {
	card
	Held string // what the serial gate says; empty: it has begun
}

// lineMax is how many tasks of a line are shown, and read.
const lineMax = 40

// inLine reads the first unfinished tasks of each repository, and which have more.
func (s *server) inLine(ctx context.Context) (first []task.Task, more map[string]bool, err error) {
	more = map[string]bool{}
	for _, repo := range s.repoNames(ctx) {
		page, err := s.Engine.Store.Tasks(ctx, task.Filter{Repo: repo, Live: true, Limit: lineMax + 1})
		if err != nil {
			return nil, nil, err
		}
		more[repo] = len(page) > lineMax
		first = append(first, page[:min(len(page), lineMax)]...)
	}
	return first, more, nil
}

func (s *server) repos(r *http.Request) (view, error) {
	ctx := r.Context()
	live, more, err := s.inLine(ctx)
	if err != nil {
		return view{}, err
	}
	why, err := explain.All(ctx, s.Engine, live)
	if err != nil {
		return view{}, err
	}
	b := readBlocks(ctx, s.Engine)
	p := reposPage{Serial: b.Serial, Reconcile: b.Reconcile, Merge: b.Merge, Budget: b.Budget, Others: b.Others}
	held := map[int64]waitingTask{}
	for _, w := range b.Serial.Waiting {
		held[w.TaskID] = w
	}
	if !access.Of(ctx).Reads("") { // these may name any repository
		p.Reconcile, p.Others = reconcileBlock{}, nil
	}
	for _, project := range access.Readable(ctx, s.Engine.Projects.All(), repoOfProject) {
		if slices.ContainsFunc(p.Repos, func(c repoCard) bool { return strings.EqualFold(c.Project.Repo, project.Repo) }) {
			continue
		}
		c := repoCard{
			Project: project, More: more[project.Repo], Gated: b.Serial.covers(project.Repo),
			Freeze: first(b.Serial.Frozen, project.Repo), Lease: first(b.Merge.Leases, project.Repo),
			Spent:   first(b.Budget.Repos, project.Repo),
			Merging: slices.DeleteFunc(slices.Clone(b.Merge.Tasks), func(t gateTask) bool { return !t.is(project.Repo) }),
		}
		for i, t := range live {
			if !strings.EqualFold(t.Repo, project.Repo) {
				continue
			}
			e := lineEntry{card: cardOf(t, why[i])}
			if w, waits := held[t.ID]; waits && t.State.Stage == stage.Analysis {
				e.Held, e.Since = w.Reason, w.Since
			}
			c.Line = append(c.Line, e)
		}
		p.Repos = append(p.Repos, c)
	}
	return view{Name: "repos", Title: "Repositories", Nav: "repos", Data: p}, nil
}

func (b serialBlock) covers(repo string) bool {
	return b.Enabled && slices.ContainsFunc(b.Repos, func(r string) bool { return r == "*" || strings.EqualFold(r, repo) })
}

// degrade has the lamp of a task burn whose deployment does not work, by its entries, newest first.
func degrade(c *card, entries []task.JournalEntry) {
	entries = slices.Clone(entries)
	slices.Reverse(entries)
	if said := explain.Degraded(entries); c.Lamp == lampDone && said != "" {
		c.Lamp, c.Why = lampDegraded, said
	}
}

// blame has the lamp of a task burn because of whose deployment its repository is frozen.
func (b serialBlock) blame(c *card) {
	if f := first(b.Frozen, c.Repo); (c.Lamp == lampDone || c.Lamp == lampDegraded) && f != nil && f.TaskID == c.ID {
		c.Lamp, c.Why = lampBlocked, f.Reason
	}
}
