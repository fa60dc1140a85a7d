package dashboard

import (
	"cmp"
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
	p.Tables = []costTable{
		table("repository", list, p.Total, func(c task.DayCost) string { return c.Repo }),
		table("stage", list, p.Total, func(c task.DayCost) string { return string(c.Stage) }),
		table("model", list, p.Total, func(c task.DayCost) string { return c.Model }),
		byDay(table("day", list, p.Total, func(c task.DayCost) string { return c.Day.Format(time.DateOnly) })),
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

// byDay puts the newest day first.
func byDay(t costTable) costTable {
	slices.SortStableFunc(t.Rows, func(a, b costRow) int { return cmp.Compare(b.Name, a.Name) })
	return t
}

// Sizes of the plot, in units of its drawing.
const (
	plotWidth  = 1080
	plotHeight = 220
	plotLeft   = 52 // for the amounts
	plotRight  = 16 // for half of the last day
	plotBottom = 24 // for the days
	plotTop    = 10
	seriesMax  = 6 // repositories with a colour of their own; the others share the last
)

// plot is a chart of bars, one a day, made of one piece for each repository.
type plot struct {
	Width, Height int
	Left, Base    int
	Bars          []bar
	Ticks         []tick // amounts, at the left
	Days          []tick
	Legend        []legend
}

type bar struct {
	X, Y, W, H float64
	Class      int
	Title      string
}

type tick struct {
	At   float64
	Text string
}

type legend struct {
	Class int
	Name  string
}

// draw makes the plot of some days.
func draw(list []task.DayCost, first time.Time, days int) plot {
	p := plot{Width: plotWidth, Height: plotHeight, Left: plotLeft, Base: plotHeight - plotBottom}
	classes := map[string]int{}
	p.Legend = series(list, classes)
	sums := make([][]int64, days)
	highest := int64(0)
	for i := range sums {
		sums[i] = make([]int64, seriesMax)
	}
	for _, c := range list {
		d := int(c.Day.Sub(first) / (24 * time.Hour))
		if d >= 0 && d < days {
			sums[d][classes[c.Repo]] += c.Cost.Usage.MicroUSD
		}
	}
	for _, day := range sums {
		sum := int64(0)
		for _, n := range day {
			sum += n
		}
		highest = max(highest, sum)
	}
	top := nice(highest)
	for n := range int64(3) {
		amount := top / 2 * n
		p.Ticks = append(p.Ticks, tick{p.y(amount, top), stage.Dollars(amount)})
	}
	step := float64(plotWidth-plotLeft-plotRight) / float64(days)
	every := max(1, (days+6)/7)
	for d, day := range sums {
		p.bars(day, top, plotLeft+float64(d)*step, step, first.AddDate(0, 0, d))
		if (days-1-d)%every == 0 {
			p.Days = append(p.Days, tick{plotLeft + (float64(d)+0.5)*step, first.AddDate(0, 0, d).Format("2 Jan")})
		}
	}
	return p
}

// y is where an amount is in the drawing.
func (p *plot) y(amount, top int64) float64 {
	return float64(p.Base) - float64(amount)/float64(top)*float64(p.Base-plotTop)
}

// bars adds the pieces of one day, from the base up.
func (p *plot) bars(day []int64, top int64, x, step float64, at time.Time) {
	sum := int64(0)
	for class, n := range day {
		if n == 0 {
			continue
		}
		y, below := p.y(sum+n, top), p.y(sum, top)
		name := ""
		for _, l := range p.Legend {
			if l.Class == class {
				name = l.Name
			}
		}
		title := at.Format("2 Jan") + ", " + name + ": " + stage.Dollars(n)
		p.Bars = append(p.Bars, bar{X: x + step*0.12, Y: y, W: step * 0.76, H: below - y, Class: class, Title: title})
		sum += n
	}
}

// series gives the dearest repositories a colour each.
func series(list []task.DayCost, classes map[string]int) []legend {
	total := map[string]int64{}
	for _, c := range list {
		total[c.Repo] += c.Cost.Usage.MicroUSD
	}
	var names []string
	for name := range total {
		names = append(names, name)
	}
	slices.SortFunc(names, func(a, b string) int { return cmp.Or(cmp.Compare(total[b], total[a]), cmp.Compare(a, b)) })
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

// nice is the smallest even amount of one or two digits that is not below n, in
// millionths of a dollar; at least a cent.
func nice(n int64) int64 {
	for unit := int64(10_000); ; unit *= 10 {
		for _, m := range []int64{1, 2, 4, 6, 8} {
			if m*unit >= n {
				return m * unit
			}
		}
	}
}
