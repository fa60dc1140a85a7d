package explain

import (
	"context"
	"encoding/csv"
	"io"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web/access"
)

// Lives remembers the lives of tasks that have ended, so that a journal is read once and not for each report: what is
// remembered is about a kilobyte for each task. The zero value is ready, and safe for concurrent use.
type Lives struct{ kept sync.Map } // of Past, by the id of the task

const (
	livesMax = 10_000 // tasks of a report, the last ones
	readMax  = 500    // journals that a report reads; the others are read by the next
	// openFor is for how long after its end a life may still change: its deployment is watched, and its last runs are
	// paid for.
	openFor = 24 * time.Hour
)

// Choice selects tasks of a report. An empty field selects all.
type Choice struct {
	Since, Until time.Time // of their end; Until is not within
	Reads        func(repo string) bool
	Person       string // a part of the name of who has begun or approved it
	End          End
	Text         string // a part of item, title or such a name
}

// ReadChoice reads a choice from a query: days (or from), to, repo, person, end, q. Days are of UTC, and to is within.
func ReadChoice(r *http.Request, now time.Time, days int64) (Choice, error) {
	q, who := r.URL.Query(), access.Of(r.Context())
	days, err := access.Number(r, "days", days, " must be between 1 and 366.", 1, 366)
	c := Choice{
		Since: now.UTC().AddDate(0, 0, -int(days)), Person: strings.TrimSpace(q.Get("person")), End: End(q.Get("end")),
		Text:  strings.TrimSpace(q.Get("q")),
		Reads: func(repo string) bool { return who.Reads(repo) && (q.Get("repo") == "" || q.Get("repo") == repo) },
	}
	wrong := func(text string) error {
		return &access.Refusal{Status: http.StatusBadRequest, Kind: "bad-parameter", Text: text}
	}
	for name, at := range map[string]*time.Time{"from": &c.Since, "to": &c.Until} {
		if text := q.Get(name); text != "" && err == nil {
			if *at, err = time.Parse(time.DateOnly, text); err != nil {
				err = wrong(name + " must be a day, as in 2026-11-27.")
			}
		}
	}
	if !c.Until.IsZero() {
		c.Until = c.Until.AddDate(0, 0, 1)
	}
	switch {
	case err != nil:
		return c, err
	case c.End != "" && !slices.Contains(Ends(), c.End):
		return c, wrong("end must be merged, degraded, stopped or not merged.")
	case !c.Until.IsZero() && !c.Since.Before(c.Until):
		return c, wrong("from must not be after to.")
	}
	return c, nil
}

func (c Choice) selects(p Past) bool {
	people := strings.ToLower(strings.Join(append([]string{p.BegunBy}, p.Approved...), "\x00"))
	all := people + "\x00" + strings.ToLower(p.Item+"\x00"+p.Title)
	return (c.End == "" || c.End == p.End) &&
		strings.Contains(people, strings.ToLower(c.Person)) && strings.Contains(all, strings.ToLower(c.Text))
}

// Report tells of the tasks that are chosen. It reads the rows of those that have ended since, and the journals of
// the last readMax of them that it does not remember: another report goes on from there.
func (l *Lives) Report(ctx context.Context, e *orchestrator.Engine, h task.History, c Choice) (Report, error) {
	out := Report{Since: c.Since.UTC(), Until: c.Until, Tasks: []Past{}, Weeks: []week{}, Stages: []StageTime{}, Backs: []BackCount{}}
	ended, err := h.Ended(ctx, c.Since, livesMax)
	if err != nil {
		return out, err
	}
	out.More = len(ended) == livesMax
	ended = slices.DeleteFunc(ended, func(t task.Task) bool {
		return t.StageEnteredAt.Before(c.Since) || !c.Until.IsZero() && !t.StageEnteredAt.Before(c.Until) || !c.Reads(t.Repo)
	})
	var fresh []int64
	for i, t := range ended {
		if _, known := l.kept.Load(t.ID); known {
			continue
		}
		if len(fresh) == readMax {
			ended, out.More = ended[:i], true // what is shown has no gaps
			break
		}
		fresh = append(fresh, t.ID)
	}
	costs, err := h.TaskCosts(ctx, fresh)
	if err != nil {
		return out, err
	}
	for _, t := range ended {
		known, _ := l.kept.Load(t.ID)
		p, is := known.(Past)
		if !is {
			if p, err = l.read(ctx, e, t, costs[t.ID]); err != nil {
				return out, err
			}
		}
		if c.selects(p) {
			out.Tasks = append(out.Tasks, p)
		}
	}
	out.sum(e.Now())
	return out, nil
}

// read follows a life, and remembers one that does not change any more.
func (l *Lives) read(ctx context.Context, e *orchestrator.Engine, t task.Task, cost task.Cost) (Past, error) {
	now := e.Now()
	story, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		return Past{}, err
	}
	gates, err := e.Records.GateResults(ctx, t.ID)
	if err != nil {
		return Past{}, err
	}
	p := pastOf(t, story, gates)
	p.CostUSD, p.Unpriced = float64(cost.Usage.MicroUSD)/1e6, cost.Unpriced
	if now.Sub(p.Ended) > openFor {
		l.kept.Store(t.ID, p)
	}
	return p, nil
}

// CSV writes the tasks of a report, a line for each. No text begins as a formula of a spreadsheet does.
func (r Report) CSV(w io.Writer) error {
	out := csv.NewWriter(w)
	_ = out.Write([]string{ // as all others: Error tells
		"task", "item", "repository", "title", "end", "begun", "begun_by", "ended", "merged", "lead_s", "people_s", "agents_s", "ci_s",
		"sent_back", "approved_by", "usd", "unpriced_runs", "outlier",
	})
	for _, p := range r.Tasks {
		row := []string{
			strconv.FormatInt(p.TaskID, 10), p.Item, p.Repo, strings.Join(strings.Fields(p.Title), " "), string(p.End),
			p.Began.Format(time.RFC3339), p.BegunBy, p.Ended.Format(time.RFC3339), p.MergeSHA,
			strconv.FormatInt(p.Lead, 10), strconv.FormatInt(p.People, 10), strconv.FormatInt(p.Agents, 10), strconv.FormatInt(p.CI, 10),
			strconv.Itoa(p.SentBack), strings.Join(p.Approved, ", "), strconv.FormatFloat(p.CostUSD, 'f', 4, 64),
			strconv.FormatInt(p.Unpriced, 10), strconv.FormatBool(p.Outlier),
		}
		for i, text := range row {
			if text != "" && strings.ContainsRune("=+-@", rune(text[0])) {
				row[i] = "'" + text
			}
		}
		_ = out.Write(row)
	}
	out.Flush()
	return out.Error()
}
