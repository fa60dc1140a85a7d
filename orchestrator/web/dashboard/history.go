package dashboard

import (
	"cmp"
	"net/http"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// historyPage shows what has ended in the last days.
type historyPage struct {
	explain.Report
	Filter  boardFilter
	Days    int
	Choices []int
	Repos   []string
	Of      int // how many have ended, before the filter's text chose
	Weeks   []week
	Text    string // of the report
}

// week sums up what was merged in seven days.
type week struct {
	From string
	explain.Sum
}

func (s *server) history(r *http.Request) (view, error) {
	days, err := access.Number(r, "days", 30, " must be between 1 and 366.", 1, 366)
	if err != nil {
		return view{}, err
	}
	q, who := r.URL.Query(), access.Of(r.Context())
	p := historyPage{
		Days: int(days), Choices: []int{7, 30, 90, 366}, Repos: s.repoNames(r.Context()),
		Filter: boardFilter{Repo: q.Get("repo"), Text: strings.TrimSpace(q.Get("q"))},
	}
	since := s.Engine.Now().AddDate(0, 0, -p.Days)
	p.Report, err = explain.ReadReport(r.Context(), s.Engine, s.History, since, func(repo string) bool {
		return who.Reads(repo) && (p.Filter.Repo == "" || p.Filter.Repo == repo)
	})
	if err != nil {
		return view{}, err
	}
	p.Of, p.Text = len(p.Tasks), p.Report.Text()
	for _, t := range p.Tasks {
		if from := explain.WeekOf(t.Ended); len(p.Weeks) == 0 || p.Weeks[len(p.Weeks)-1].From != from {
			p.Weeks = append(p.Weeks, week{From: from})
		}
		p.Weeks[len(p.Weeks)-1].Add(t)
	}
	text := strings.ToLower(p.Filter.Text)
	p.Tasks = slices.DeleteFunc(p.Tasks, func(t explain.Past) bool {
		return !strings.Contains(strings.ToLower(strings.Join(append(t.Approved, t.Item, t.Title), "\x00")), text)
	})
	return view{Name: "history", Title: "History", Nav: "history", Data: p}, nil
}

// outcome is how a life has ended, in a word.
func outcome(p explain.Past) string {
	switch {
	case p.Degraded != "":
		return lampDegraded
	case p.MergeSHA != "":
		return "merged"
	}
	return cmp.Or(map[stage.Stage]string{stage.Cancelled: "stopped"}[p.Stage], "not merged")
}
