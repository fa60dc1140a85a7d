package dashboard

import (
	"cmp"
	"maps"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
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
	days, err := access.Number(r, "days", 30, " must be between 1 and 366.", 1, 366)
	if err != nil {
		return view{}, err
	}
	p := costPage{Days: int(days), Choices: []int{7, 30, 90}}
	today := s.Engine.Now().UTC().Truncate(24 * time.Hour)
	first := today.AddDate(0, 0, 1-p.Days)
	list, err := s.History.DayCosts(r.Context(), first)
	if err != nil {
		return view{}, err
	}
	list = access.Readable(r.Context(), list, repoOfCost)
	for _, c := range list {
		p.Total.Add(c.Cost)
	}
	p.Budget = readBlocks(r.Context(), s.Engine).Budget
	p.Budget.Repos = access.Readable(r.Context(), p.Budget.Repos, func(b spent) string { return b.Repo })
	p.Plot = draw(list, first, p.Days)
	daily := table("day", list, p.Total, func(c task.DayCost) string { return c.Day.Format(time.DateOnly) })
	slices.SortStableFunc(daily.Rows, func(a, b costRow) int { return cmp.Compare(b.Name, a.Name) }) // the newest first
	p.Tables = []costTable{
		table("repository", list, p.Total, repoOfCost),
		table("stage", list, p.Total, func(c task.DayCost) string { return string(c.Stage) }),
		table("model", list, p.Total, func(c task.DayCost) string { return c.Model }),
		daily,
	}
	return view{Name: "cost", Title: "Cost", Nav: "cost", Data: p}, nil
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

// seriesMax is how many repositories have a colour of their own; the others share the last.
const seriesMax = 6

// draw makes the plot of some days.
func draw(list []task.DayCost, first time.Time, days int) plot {
	classes := map[string]int{}
	names := series(list, classes)
	columns := make([]pile, days)
	for d := range columns {
		columns[d] = pile{Name: first.AddDate(0, 0, d).Format("2 Jan"), Parts: make([]int64, seriesMax)}
	}
	for _, c := range list {
		if d := int(c.Day.Sub(first) / (24 * time.Hour)); d >= 0 && d < days {
			columns[d].Parts[classes[c.Repo]] += c.Cost.Usage.MicroUSD
		}
	}
	return drawBars("by-day", plotWidth, columns, names, 10_000, stage.Dollars)
}

// series gives the dearest repositories a colour each.
func series(list []task.DayCost, classes map[string]int) []legend {
	total := map[string]int64{}
	for _, c := range list {
		total[c.Repo] += c.Cost.Usage.MicroUSD
	}
	names := slices.SortedFunc(maps.Keys(total), func(a, b string) int {
		return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b))
	})
	var out []legend
	for i, name := range names {
		classes[name] = min(i, seriesMax-1)
		switch {
		case i < seriesMax-1 || len(names) == seriesMax && i == seriesMax-1:
			out = append(out, legend{i, cmp.Or(name, "(not known)")})
		case i == seriesMax-1:
			out = append(out, legend{i, "others"})
		}
	}
	return out
}
