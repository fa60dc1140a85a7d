package explain

import (
	"context"
	"encoding/csv"
	"errors"
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
	"github.com/signalbox-dev/signalbox/queue"
)

// Lives is a history that remembers the lives of tasks, so that a journal is read once and not for each report or forecast:
// that is about two kilobytes for each task. It is safe for concurrent use.
type Lives struct {
	task.History
	kept sync.Map // of kept, by the id of the task

	mu     sync.Mutex
	ended  []task.Task // for forecasts, the last one first
	listed time.Time
}

// kept is a life as it was read.
type kept struct {
	Past
	version int64
	final   bool // it does not change any more
}

// Remember has a history remember lives, if it does not yet; nil stays nil.
func Remember(h task.History) *Lives {
	if l, does := h.(*Lives); does || h == nil {
		return l
	}
	return &Lives{History: h}
}

const (
	livesMax = 10_000 // tasks of a report, the last ones
	readMax  = 500    // journals that a report reads; the others are read by the next
	// openFor is for how long after its end a life may still change: its deployment is watched, and its last runs are
	// paid for.
	openFor = 24 * time.Hour

	// Forecasts are taken from the last lives of each repository, of those that have ended last.
	recentFor  = 90 * 24 * time.Hour
	recentRows = 1000
	recentMax  = 60

	linesMax = 200 // tasks that live of a repository, and of a queue, that are followed for forecasts: the oldest
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
func (l *Lives) Report(ctx context.Context, e *orchestrator.Engine, c Choice) (Report, error) {
	out := Report{Since: c.Since.UTC(), Until: c.Until, Tasks: []Past{}, Weeks: []week{}, Stages: []stageTime{}, Backs: []backCount{}}
	ended, err := l.Ended(ctx, c.Since, livesMax)
	if err != nil {
		return out, err
	}
	out.More = len(ended) == livesMax
	ended = slices.DeleteFunc(ended, func(t task.Task) bool {
		return t.StageEnteredAt.Before(c.Since) || !c.Until.IsZero() && !t.StageEnteredAt.Before(c.Until) || !c.Reads(t.Repo)
	})
	fresh := 0
	for _, t := range ended {
		if had, known := l.kept.Load(t.ID); !known || !had.(kept).final {
			if fresh++; fresh > readMax {
				out.More = true // what is shown has no gaps
				break
			}
		}
		p, err := l.follow(ctx, e, t, false)
		if err != nil {
			return out, err
		}
		if c.selects(p) {
			out.Tasks = append(out.Tasks, p)
		}
	}
	out.sum(e.Now())
	return out, nil
}

// follow returns a life. One that may change is read again; lazy: only where its task has changed.
func (l *Lives) follow(ctx context.Context, e *orchestrator.Engine, t task.Task, lazy bool) (Past, error) {
	if had, known := l.kept.Load(t.ID); known && (had.(kept).final || lazy && had.(kept).version == t.Version) {
		return had.(kept).Past, nil
	}
	now := e.Now()
	story, err1 := e.Records.Journal(ctx, t.ID)
	gates, err2 := e.Records.GateResults(ctx, t.ID)
	runs, err3 := e.Records.AgentRuns(ctx, t.ID)
	if err := errors.Join(err1, err2, err3); err != nil {
		return Past{}, err
	}
	over := t.State.Stage.Terminal()
	if !over {
		t.StageEnteredAt = now // it has lasted until then
	}
	p := pastOf(t, story, gates, runs)
	l.kept.Store(t.ID, kept{p, t.Version, over && now.Sub(p.Ended) > openFor})
	return p, nil
}

// Forecasts forecasts tasks that live, or all of them for none, by the last lives of their repositories. A task that nothing can
// be told of is left out.
func (l *Lives) Forecasts(ctx context.Context, e *orchestrator.Engine, tasks ...task.Task) (out []Forecast, err error) {
	work, known := queue.Filter{Pool: queue.PoolAgents, Open: true, Limit: explainMax}, map[string][]life{}
	switch out = []Forecast{}; {
	case l == nil:
		return out, nil
	case len(tasks) == 1:
		work.TaskID = tasks[0].ID
	default:
		tasks, err = e.Store.Tasks(ctx, task.Filter{Live: true, Limit: linesMax})
	}
	jobs, failed := e.Jobs.Jobs(ctx, work)
	err = errors.Join(err, failed)
	for i := 0; i < len(tasks) && err == nil; i++ {
		t, p := tasks[i], Past{}
		if t.State.Stage.Terminal() {
			continue
		}
		if known[t.Repo] == nil {
			known[t.Repo], err = l.recent(ctx, e, t.Repo)
		}
		if err == nil && len(known[t.Repo]) > 0 {
			p, err = l.follow(ctx, e, t, true)
		}
		for _, j := range jobs {
			if j.TaskID == t.ID && j.Status == queue.Running {
				p.life.stand(t.State, j.StartedAt, e.Now(), []task.AgentRun{{Run: t.State.Run, Started: j.StartedAt}})
			}
		}
		if f := forecast(p.life, e.Now(), known[t.Repo]); f.Cards >= least {
			f.TaskID = t.ID
			out = append(out, f)
		}
	}
	return out, err
}

// recent follows the last tasks that have ended of a repository, or of all where these are too few, and those that go on there.
func (l *Lives) recent(ctx context.Context, e *orchestrator.Engine, repo string) (out []life, err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if now := e.Now(); now.Sub(l.listed) >= time.Minute {
		if l.ended, err = l.Ended(ctx, now.Add(-recentFor), recentRows); err != nil {
			return nil, err
		}
		l.listed = now
	}
	of := slices.DeleteFunc(slices.Clone(l.ended), func(t task.Task) bool { return t.Repo != repo })
	if len(of) < enough {
		of = slices.Clone(l.ended)
	}
	if len(of) < least {
		return []life{}, nil
	}
	live, err := e.Store.Tasks(ctx, task.Filter{Live: true, Repo: repo, Limit: linesMax})
	of = append(of[:min(len(of), recentMax)], live...)
	for i := 0; i < len(of) && err == nil; i++ {
		var p Past
		p, err = l.follow(ctx, e, of[i], true)
		out = append(out, p.life)
	}
	return out, err
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
