package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/signalbox-dev/signalbox/internal/app"
	"github.com/signalbox-dev/signalbox/internal/telegramtest"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/queue"
)

type atomicInt = atomic.Int64

// summary is the last line of output.
type summary struct {
	Tasks      int      `json:"tasks"`
	Done       int      `json:"done"`
	Undone     int      `json:"undone"`
	Cancelled  int      `json:"cancelled"`
	Explained  int      `json:"explained"` // it waits, and the service says for what
	Retries    int      `json:"retries"`
	AgentRuns  int      `json:"agent_runs"`
	Duplicates int      `json:"duplicates"`
	Lost       int      `json:"lost"`
	Restarts   int      `json:"restarts"`
	Replayed   int      `json:"replayed"`                // decisions of the journals that were made again, each as it was
	Missing    []string `json:"steps_missing,omitempty"` // of the tour
	CostUSD    float64  `json:"cost_usd"`
	Seconds    float64  `json:"seconds"`
	Wrong      []string `json:"wrong,omitempty"`
}

// broken is the error of a summary whose invariants do not hold.
func (s summary) broken() error {
	met := s.Done == count(done) && s.Undone <= 1 && s.Cancelled == count(stopped) && s.Explained == count(blocked)+count(frozen)
	if !met || s.Duplicates > 0 || s.Lost > 0 || len(s.Wrong) > 0 {
		return fmt.Errorf("an invariant broke: %s", strings.Join(s.Wrong, "; "))
	}
	return nil
}

// finished waits until every card has met its fate, all kills were made and
// nothing is left in the queue but timers and what a frozen repository holds.
func (w *world) finished(ctx context.Context, k *keeper) error {
	for pause(ctx, 50*time.Millisecond) {
		if !w.met(ctx) || !k.done() {
			continue
		}
		var q explain.QueueView
		if w.api(ctx, "/queue", &q) != nil {
			continue
		}
		held, timers := 0, 0 // timers: looks at CI that nobody needs any more
		for _, j := range q.Jobs {
			switch {
			case len(j.Waits) == 0:
			case j.Waits[0].Name == "freeze":
				held++
			case j.Kind == orchestrator.KindTrigger && j.Attempt == 0 && j.Waits[0].Kind == queue.ReasonDelay:
				timers++
			}
		}
		if len(q.Effects) == 0 && held == count(frozen) && len(q.Jobs) == held+timers {
			return nil
		}
	}
	return fmt.Errorf("the cards were not done in time (%d kills, %d pauses)", k.killed.Load(), k.paused.Load())
}

// met reports whether every card that can end has.
func (w *world) met(ctx context.Context) bool {
	columns := map[fate][]string{
		done: {"Done", "Monitoring after Deploy"}, stopped: {"STOP"}, blocked: {"Blocked"}, frozen: {"Analysis", "To Analyse"},
	}
	f := w.look(ctx)
	if !w.o.manual && f.card(undone).Undo.Stage != stage.Done {
		return false
	}
	for _, c := range cards() {
		if !slices.ContainsFunc(f.Cards, func(s seen) bool { return s.Title == c.title && slices.Contains(columns[c.fate], s.Column) }) {
			return false
		}
	}
	return true
}

// sum looks at everything that the outside world has seen.
func (w *world) sum(ctx context.Context) (summary, error) {
	s := summary{Seconds: time.Since(w.began).Round(10 * time.Millisecond).Seconds()}
	var list web.TaskList
	for try := 0; ; try++ { // the server may be starting
		err := w.api(ctx, "/tasks?limit=1000", &list)
		if err == nil {
			break
		}
		if try == 40 {
			return s, err
		}
		pause(ctx, 50*time.Millisecond)
	}
	var errs []error
	decided := map[string][]string{}
	for _, t := range list.Tasks {
		var d web.TaskDetail
		var x explain.Explanation
		errs = append(errs, w.api(ctx, fmt.Sprintf("/tasks/%d", t.ID), &d), w.api(ctx, fmt.Sprintf("/tasks/%d/explain", t.ID), &x))
		s.task(w, d, x.Summary)
		issue, _ := task.ParseTombstone(t.TrackerIssueID)
		decided[issue] = append(decided[issue], statuses(d)...)
		if wrong := helpless(d, x); wrong != "" {
			s.Wrong = append(s.Wrong, wrong)
		}
	}
	s.flaps(w, decided)
	s.Lost = len(cards()) - s.Done - s.Cancelled - s.Explained
	w.duplicates(&s)
	_, s.Missing = missing(tour(w.look(ctx)))
	return s, errors.Join(append(errs, w.replay(ctx, &s))...)
}

// task adds up one task and looks for what must not be.
func (s *summary) task(w *world, d web.TaskDetail, why string) {
	s.Tasks++
	s.Retries += d.Retries
	s.AgentRuns += len(d.Runs)
	s.CostUSD += d.Totals.CostUSD
	switch {
	case d.Stage == "cancelled":
		s.Cancelled++
	case w.ends(d.Title, blocked) && w.alerted(d.WorkItemID), w.ends(d.Title, frozen) && strings.HasSuffix(why, "(freeze)"):
		s.Explained++
	case d.Stage == stage.Done && d.Follows != "" && w.isUndone(d.Title):
		s.Undone++
	case d.Stage == "done" && !w.ends(d.Title, blocked):
		s.Done++
	default:
		s.Wrong = append(s.Wrong, fmt.Sprintf("%s at %s says: %s", d.WorkItemID, d.Stage, why))
	}
	ok := map[int64]int{}
	for _, r := range d.Runs {
		if r.Status == "ok" {
			ok[r.Run]++
		} else {
			s.Retries++
		}
	}
	for run, n := range ok {
		if n > 1 {
			s.wrong("%s: run %d was finished %d times", d.WorkItemID, run, n)
		}
	}
	if d.MergeSHA == "" {
		return
	}
	out, err := os.ReadFile(filepath.Join(production(w.outer(), d.Repo), d.WorkItemID))
	if err != nil || strings.TrimSpace(string(out)) != d.MergeSHA {
		s.Wrong = append(s.Wrong, fmt.Sprintf("%s: production has %.12q, %.12s was merged", d.WorkItemID, out, d.MergeSHA))
	}
}

// helpless returns a sentence about a task that is not over, that no agent works on, and of
// which the explanation does not say what anybody can do; empty for all others.
func helpless(d web.TaskDetail, x explain.Explanation) string {
	isAgents := func(j web.JobView) bool { return j.Pool == queue.PoolAgents && j.Status == queue.Running }
	if d.Stage.Terminal() || slices.ContainsFunc(d.Jobs, isAgents) {
		return ""
	}
	if slices.ContainsFunc(x.Blockers, func(b explain.Blocker) bool { return b.Do != "" }) {
		return ""
	}
	return fmt.Sprintf("%s waits at %s, and nobody is told what to do: %s", d.WorkItemID, d.Stage, x.Summary)
}

// alerted reports whether people were notified that a deployment made things worse.
func (w *world) alerted(key string) bool {
	return slices.ContainsFunc(w.chat.Messages(), func(m telegramtest.Message) bool {
		return strings.Contains(m.Text, key+":") && strings.Contains(m.Text, "DEGRADED")
	})
}

// wrong counts a duplicate and says which.
func (s *summary) wrong(format string, args ...any) {
	s.Duplicates++
	s.Wrong = append(s.Wrong, fmt.Sprintf(format, args...))
}

// duplicates counts what the outside world has seen twice.
func (w *world) duplicates(s *summary) {
	seen := map[string]bool{}
	twice := func(what, key string) {
		if seen[what+key] {
			s.wrong("%s twice: %s", what, key)
		}
		seen[what+key] = true
	}
	retried := map[string]bool{} // cards that are sent back say some things again
	for _, i := range w.board.Items("") {
		retried[i.ID] = strings.Contains(strings.ToLower(i.Name), rivalled) || w.isUndone(i.Name)
	}
	for _, c := range w.board.Comments("") {
		if c.ExternalID != "" {
			twice("comment", c.ExternalID)
			if !retried[c.Item] {
				twice("comment", c.Item+" "+c.HTML)
			}
		}
	}
	log, _ := os.ReadFile(w.log()) // none: no pause has begun
	begun := strings.Count(string(log), "an agent is paused for all tasks")
	paused, resumed := 0, 0
	for _, m := range w.chat.Messages() {
		switch {
		case strings.Contains(m.Text, "second copy"): // which says it
		case strings.Contains(m.Text, " agent is paused"): // two of one minute have the same words
			paused++
		case strings.Contains(m.Text, " agent is used again"):
			resumed++
		default:
			twice("message", m.Text)
		}
	}
	if max(paused, resumed) > begun {
		s.wrong("of %d pauses of an agent, %d were told to begin and %d to end", begun, paused, resumed)
	}
	for _, p := range w.host.Pulls() {
		twice("pull request", p.Repo+" "+p.Head)
	}
	for _, p := range w.projects {
		for branch := range w.host.Heads(p.repo) {
			if name, ok := strings.CutPrefix(branch, "feature/"); ok && !isUndo(branch) {
				twice("branch", p.repo+" "+strings.Join(strings.SplitN(name, "-", 3)[:2], "-"))
			}
		}
	}
	if w.host.Merges() > len(cards()) {
		s.wrong("%d merges of %d cards", w.host.Merges(), len(cards()))
	}
}

// statuses are those that the service has decided to set for a task, in their order.
func statuses(d web.TaskDetail) (decided []string) {
	for _, entry := range d.Journal {
		var r task.Recorded
		if json.Unmarshal(entry.Payload, &r) != nil {
			continue
		}
		for _, f := range r.Decision.Effects {
			if f.Kind == stage.EffectStatus {
				info, _ := stage.StatusNamed(f.Status)
				decided = append(decided, info.Name)
			}
		}
	}
	return decided
}

// flaps compares the statuses that the service has set on cards with those that it decided to set: in that order, and
// no more.
func (s *summary) flaps(w *world, decided map[string][]string) {
	titles := map[string]string{}
	for _, i := range w.board.Items("") {
		titles[i.ID] = i.Name
	}
	for _, c := range w.board.Changes() {
		if c.Actor != bot || c.To == "Blocked" && w.ends(titles[c.Item], blocked) { // the monitor's word, which is no decision of the machine
			continue
		}
		n := slices.Index(decided[c.Item], c.To)
		if n < 0 {
			s.wrong("%s: the status %s was set and not decided, or set twice", titles[c.Item], c.To)
			continue
		}
		decided[c.Item] = decided[c.Item][n+1:]
	}
}

// replay decides every journal again, beside the server.
func (w *world) replay(ctx context.Context, s *summary) error {
	settings, err := app.Load(w.environ(w.replicas[0]))
	if err != nil {
		return err
	}
	service, err := app.Open(ctx, settings, []string{"/proc/self/exe"}, slog.New(slog.DiscardHandler))
	if err != nil {
		return err
	}
	defer service.Close()
	again, err := service.Replay(ctx, "")
	for _, t := range again.Tasks {
		if !t.Equal {
			s.Wrong = append(s.Wrong, t.WorkItem+" is decided otherwise now: "+t.First)
		}
	}
	s.Replayed = again.Decisions
	return err
}
