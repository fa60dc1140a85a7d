package command

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

type costsCmd struct {
	Days int    `default:"30" help:"Of so many days (UTC), today with it."`
	Repo string `help:"Of this repository only."`
	By   string `default:"repo" enum:"day,repo,stage,role,agent,model" help:"Add up by day, repo, stage, role, agent or model."`
	printer
}

// Run prints sums, the dearest first; days in their order.
func (c costsCmd) Run(s *streams) error {
	query := url.Values{"days": {strconv.Itoa(c.Days)}, "repo": {c.Repo}}
	return fetch(c.printer, s, "/costs?"+query.Encode(), func(w io.Writer, costs web.Costs) {
		sums := map[string]web.CostSum{}
		for _, row := range costs.Costs {
			parts := map[string]string{
				"day": row.Day, "repo": row.Repo, "stage": string(row.Stage),
				"role": string(row.Role), "agent": row.Agent, "model": row.Model,
			}
			name := cmp.Or(parts[c.By], "-")
			sums[name] = plus(sums[name], row.CostSum)
		}
		names := slices.SortedFunc(maps.Keys(sums), func(a, b string) int {
			if c.By == "day" {
				return cmp.Compare(a, b)
			}
			return cmp.Or(cmp.Compare(sums[b].CostUSD, sums[a].CostUSD), cmp.Compare(a, b))
		})
		head := strings.ToUpper(strings.Replace(c.By, "repo", "repository", 1))
		sums["all"] = costs.Total
		_ = table(w, head+"\tUSD\tRUNS\tWORKED\tTOKENS IN\tOUT", func(row func(...any)) { // as in tasksCmd
			for _, name := range append(names, "all") {
				sum := sums[name]
				worked := time.Duration(sum.Worked) * time.Second
				row(oneLine(name, 60), price(sum.Totals), sum.Runs, worked, sum.Input, sum.Output)
			}
		})
	})
}

// plus adds up what is printed.
func plus(a, b web.CostSum) web.CostSum {
	a.Runs += b.Runs
	a.Worked += b.Worked
	a.CostUSD += b.CostUSD
	a.Input += b.Input
	a.Output += b.Output
	a.Unpriced += b.Unpriced
	return a
}

// price is a cost in dollars; ? stands for what is not known.
func price(t web.Totals) string {
	switch {
	case t.Unpriced == 0:
		return fmt.Sprintf("%.2f", t.CostUSD)
	case t.CostUSD == 0:
		return "?"
	}
	return fmt.Sprintf("%.2f + ?", t.CostUSD)
}

// days are counted, with a unit or without.
type days int

// UnmarshalText implements encoding.TextUnmarshaler.
func (d *days) UnmarshalText(text []byte) error {
	digits, each := strings.TrimSuffix(string(text), "d"), 1
	if weeks, ok := strings.CutSuffix(digits, "w"); ok {
		digits, each = weeks, 7
	}
	n, err := strconv.Atoi(digits)
	if err != nil || n < 1 {
		return fmt.Errorf("%q is no number of days, want one such as 7, 7d or 2w", text)
	}
	*d = days(n * each)
	return nil
}

type reportCmd struct {
	Days   days   `default:"7" aliases:"since" help:"What has ended in so many days, as in 7, 7d or 2w."`
	From   string `help:"Since this day (UTC), as in 2026-11-27, and not of so many days."`
	To     string `help:"Up to this day, with it."`
	Repo   string `help:"In this repository only."`
	Person string `help:"What this person has begun or approved."`
	End    string `help:"What has ended so: merged, degraded, stopped, or not merged."`
	CSV    bool   `name:"csv" help:"A line for each task, with commas."`
	printer
}

// Run prints a report as a text for a message.
func (c reportCmd) Run(s *streams) error {
	query := url.Values{
		"days": {strconv.Itoa(int(c.Days))}, "from": {c.From}, "to": {c.To}, "repo": {c.Repo}, "person": {c.Person}, "end": {c.End},
	}
	return fetch(c.printer, s, "/report?"+query.Encode(), func(w io.Writer, r explain.Report) {
		if c.CSV {
			var b strings.Builder
			_ = r.CSV(&b) // a builder takes all
			fmt.Fprint(w, b.String())
			return
		}
		fmt.Fprint(w, r.Text())
	})
}
