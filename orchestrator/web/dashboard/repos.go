package dashboard

import (
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
	Project orchestrator.Project
	Freeze  *frozen
	Gated   bool        // the serial gate covers it
	Line    []lineEntry // unfinished tasks, in the order in which they began or may begin
	Lease   *lease
	Merging []gateTask // in the merge gate
	Spent   *spent     // today
}

// lineEntry is a task in the line of a repository.
type lineEntry struct {
	card
	Held string // what the serial gate says; empty: it has begun
}

func (s *server) repos(r *http.Request) (view, error) {
	ctx := r.Context()
	live, err := s.live(ctx)
	if err != nil {
		return view{}, err
	}
	why, err := s.Engine.ExplainAll(ctx, live)
	if err != nil {
		return view{}, err
	}
	b := readBlocks(ctx, s.Engine)
	p := reposPage{Serial: b.Serial, Reconcile: b.Reconcile, Merge: b.Merge, Budget: b.Budget, Others: b.Others}
	held := map[int64]waitingTask{}
	for _, w := range b.Serial.Waiting {
		held[w.TaskID] = w
	}
	for _, project := range s.Engine.Projects.All() {
		if slices.ContainsFunc(p.Repos, func(c repoCard) bool { return strings.EqualFold(c.Project.Repo, project.Repo) }) {
			continue
		}
		c := repoCard{Project: project, Gated: b.Serial.covers(project.Repo), Freeze: b.Serial.frozen(project.Repo)}
		for i, t := range live {
			if !strings.EqualFold(t.Repo, project.Repo) {
				continue
			}
			e := lineEntry{card: cardOf(t, why[i], orchestrator.Cost{})}
			if w, waits := held[t.ID]; waits && t.State.Stage == stage.Analysis {
				e.Held, e.Since = w.Reason, w.Since
			}
			c.Line = append(c.Line, e)
		}
		for _, l := range b.Merge.Leases {
			if strings.EqualFold(l.Repo, project.Repo) {
				c.Lease = &l
			}
		}
		for _, t := range b.Merge.Tasks {
			if strings.EqualFold(t.Repo, project.Repo) {
				c.Merging = append(c.Merging, t)
			}
		}
		for _, a := range b.Budget.Repos {
			if strings.EqualFold(a.Repo, project.Repo) {
				c.Spent = &a
			}
		}
		p.Repos = append(p.Repos, c)
	}
	return view{Name: "repos", Title: "Repositories", Nav: "repos", Data: p}, nil
}

func (b serialBlock) covers(repo string) bool {
	return b.Enabled && slices.ContainsFunc(b.Repos, func(r string) bool { return r == "*" || strings.EqualFold(r, repo) })
}

func (b serialBlock) frozen(repo string) *frozen {
	for _, f := range b.Frozen {
		if strings.EqualFold(f.Repo, repo) {
			return &f
		}
	}
	return nil
}
