package dashboard

import (
	"bytes"
	"encoding/json"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/explain"
)

// historyPage shows what has ended within a time.
type historyPage struct {
	explain.Report
	Query    map[string]string // what has chosen it
	Export   string            // the query, for the same rows as a file
	Days     int
	Choices  []int
	Repos    []string
	Ends     []explain.End
	Text     string // of the report
	Outliers []explain.Past
	Ended    plot // by week
	Waited   plot // by week: for whom
}

func (s *server) history(r *http.Request) (view, error) {
	c, err := explain.ReadChoice(r, s.Engine.Now(), 30)
	if err != nil {
		return view{}, err
	}
	p := historyPage{
		Query: map[string]string{}, Choices: []int{7, 30, 90, 366}, Repos: s.repoNames(r.Context()), Ends: explain.Ends(),
		Export: r.URL.Query().Encode(), Days: 30,
	}
	for name := range r.URL.Query() {
		p.Query[name] = r.URL.Query().Get(name)
	}
	if n, err := strconv.Atoi(p.Query["days"]); err == nil {
		p.Days = n
	}
	if p.Report, err = s.lives.Report(r.Context(), s.Engine, c); err != nil {
		return view{}, err
	}
	p.Text, p.Outliers = p.Report.Text(), slices.DeleteFunc(slices.Clone(p.Tasks), func(t explain.Past) bool { return !t.Outlier })
	var ended, waited []pile
	for _, w := range slices.Backward(p.Weeks) {
		from, _ := time.Parse(time.DateOnly, w.From) // the report has made it
		name := from.Format("2 Jan")
		ended = append(ended, pile{name, []int64{int64(w.Merged), int64(w.Others)}})
		waited = append(waited, pile{name, []int64{w.People, w.Agents, w.CI, w.Rest()}})
	}
	count := func(n int64) string { return strconv.FormatInt(n, 10) }
	hours := func(n int64) string { return count((n+1800)/3600) + " h" }
	whom := []legend{{0, "people"}, {1, "agents"}, {2, "CI"}, {3, "the rest"}}
	p.Ended = drawBars("by-week", plotSmall, ended, []legend{{0, "merged"}, {1, "not merged"}}, 2, count)
	p.Waited = drawBars("waited", plotSmall, waited, whom, 7200, hours)
	return view{Name: "history", Title: "History", Nav: "history", Data: p}, nil
}

// historyRows answers with the rows of the page as a file: CSV, or JSON as GET /report answers.
func (s *server) historyRows(w http.ResponseWriter, r *http.Request) {
	var body bytes.Buffer
	c, err := explain.ReadChoice(r, s.Engine.Now(), 30)
	if err == nil {
		var report explain.Report
		if report, err = s.lives.Report(r.Context(), s.Engine, c); err == nil {
			if err = report.CSV(&body); r.PathValue("kind") == "json" {
				body.Reset()
				err = json.NewEncoder(&body).Encode(report)
			}
		}
	}
	kind := map[string]string{"csv": "text/csv; charset=utf-8", "json": "application/json"}[r.PathValue("kind")]
	switch {
	case err != nil:
		s.plain(w, err)
	case kind == "":
		s.plain(w, notFound("There is csv, and json."))
	default:
		w.Header().Set("Content-Type", kind)
		w.Header().Set("Content-Disposition", `attachment; filename="history.`+r.PathValue("kind")+`"`)
		_, _ = w.Write(body.Bytes()) // a reader that has gone away needs no file
	}
}
