package dashboard

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// costPage shows what agents have cost in the last days.
type costPage struct {
	Days    int
	Choices []int
	Total   task.Cost
	Plot    plot
	Budget  budgetBlock
	Tables  []costTable
}

// costTable is the sums by one property.
type costTable struct {
	By   string
	Rows []costRow
}

type costRow struct {
	Name string
	Cost task.Cost
	Part int // of the total, in percent
}

func (s *server) cost(r *http.Request) (view, error) {
	p := costPage{Days: 30, Choices: []int{7, 30, 90}}
	if text := r.URL.Query().Get("days"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 || n > 366 {
			return view{}, badRequest("days must be between 1 and 366.")
		}
		p.Days = n
	}
	today := s.Engine.Now().UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-p.Days)
	list, err := s.History.DayCosts(r.Context(), first)
	if err != nil {
		return view{}, err
	}
	list = costsOf(r.Context(), list)
	for _, c := range list {
		p.Total.Add(c.Cost)
	}
	p.Budget = readBlocks(r.Context(), s.Engine).Budget
	p.Budget.Repos = slices.DeleteFunc(p.Budget.Repos, func(b spent) bool { return !access.Of(r.Context()).Reads(b.Repo) })
	p.Plot = draw(list, first, p.Days)
	p.Tables = []costTable{
		table("repository", list, p.Total, func(c task.DayCost) string { return c.Repo }),
		table("stage", list, p.Total, func(c task.DayCost) string { return string(c.Stage) }),
		table("model", list, p.Total, func(c task.DayCost) string { return c.Model }),
		byDay(table("day", list, p.Total, func(c task.DayCost) string { return c.Day.Format(time.DateOnly) })),
	}
	return view{Name: "cost", Title: "Cost", Nav: "cost", Data: p}, nil
}

// costsOf are the costs of the repositories that the reader may read.
func costsOf(ctx context.Context, list []task.DayCost) []task.DayCost {
	reader := access.Of(ctx)
	return slices.DeleteFunc(list, func(c task.DayCost) bool { return !reader.Reads(c.Repo) })
}

// table adds up by a property, the dearest first.
func table(by string, list []task.DayCost, total task.Cost, of func(task.DayCost) string) costTable {
	t := costTable{By: by}
	at := map[string]int{}
	for _, c := range list {
		name := cmp.Or(of(c), "(not known)")
		i, ok := at[name]
		if !ok {
			i = len(t.Rows)
			at[name], t.Rows = i, append(t.Rows, costRow{Name: name})
		}
		t.Rows[i].Cost.Add(c.Cost)
	}
	for i := range t.Rows {
		if total.Usage.MicroUSD > 0 {
			t.Rows[i].Part = int((t.Rows[i].Cost.Usage.MicroUSD*100 + total.Usage.MicroUSD/2) / total.Usage.MicroUSD)
		}
	}
	slices.SortStableFunc(t.Rows, func(a, b costRow) int { return cmp.Compare(b.Cost.Usage.MicroUSD, a.Cost.Usage.MicroUSD) })
	return t
}

// byDay puts the newest day first.
func byDay(t costTable) costTable {
	slices.SortStableFunc(t.Rows, func(a, b costRow) int { return cmp.Compare(b.Name, a.Name) })
	return t
}
