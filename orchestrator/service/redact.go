package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/cards"
)

// What leaves the service, or is kept, goes by one of these, and secrets are replaced there:
// the log, the store, comments, chat, the git host, HTTP. Agents' output is package
// agentcli's, which has the same redactor.

// redactedStore is a Store that is given no secret: events, decisions, verdicts, records of
// runs, errors of jobs.
type redactedStore struct {
	Store
	by *secret.Redactor
}

func (d redactedStore) Commit(ctx context.Context, c task.Commit) error {
	return d.Store.Commit(ctx, d.commit(c))
}

func (d redactedStore) Receive(ctx context.Context, delivery task.Delivery, job queue.Job) (bool, error) {
	return d.Store.Receive(ctx, delivery, d.jobs([]queue.Job{job})[0])
}

func (d redactedStore) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return d.Store.Put(ctx, d.jobs(jobs)...)
}

func (d redactedStore) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.Store.Finish(ctx, c, d.outcome(o))
}

func (d redactedStore) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	return d.Store.FinishTake(ctx, c, d.outcome(o), pool, worker, n, ttl)
}

func (d redactedStore) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.Store.Hold(ctx, d.holds(holds)...)
}

func (d redactedStore) commit(c task.Commit) task.Commit {
	if c.Task != nil {
		t := redacted(d.by, *c.Task)
		c.Task = &t
	}
	c.Journal = each(c.Journal, func(e *task.JournalEntry) { e.Payload = d.by.Bytes(e.Payload) })
	var renamed []string
	c.Contents = each(c.Contents, func(one *task.Content) { // the name of what is kept is its hash, in what comes behind it too
		clean := task.NewContent([]byte(strings.NewReplacer(renamed...).Replace(string(d.by.Bytes(one.Body)))))
		if clean.ID != one.ID {
			renamed = append(renamed, one.ID, clean.ID)
			*one = clean
		}
	})
	if len(renamed) > 0 {
		c.Journal = each(c.Journal, func(e *task.JournalEntry) {
			e.Payload = []byte(strings.NewReplacer(renamed...).Replace(string(e.Payload)))
		})
	}
	c.Gates = each(c.Gates, func(g *task.GateResult) { g.Verdict = redacted(d.by, g.Verdict) })
	c.Runs = each(c.Runs, func(r *task.AgentRun) { hide(d.by, &r.Summary) })
	c.Pauses = each(c.Pauses, func(p *task.Pause) { hide(d.by, &p.Reason) })
	c.Facts = each(c.Facts, func(f *task.Fact) { hide(d.by, &f.Text) })
	c.Jobs, c.Hold = d.jobs(c.Jobs), d.holds(c.Hold)
	return c
}

func (d redactedStore) jobs(jobs []queue.Job) []queue.Job {
	return each(jobs, func(j *queue.Job) { j.Payload = d.by.Bytes(j.Payload) })
}

func (d redactedStore) outcome(o queue.Outcome) queue.Outcome {
	o.Error, o.Then = d.by.Text(o.Error), d.jobs(o.Then)
	return o
}

func (d redactedStore) holds(holds []queue.Hold) []queue.Hold {
	return each(holds, func(h *queue.Hold) { hide(d.by, &h.Reason) })
}

// each returns a copy of a list, in which each was cleaned: the caller's own stays.
func each[T any](list []T, clean func(*T)) []T {
	list = slices.Clone(list)
	for i := range list {
		clean(&list[i])
	}
	return list
}

// hide replaces secrets in texts.
func hide(by *secret.Redactor, texts ...*string) {
	for _, t := range texts {
		*t = by.Text(*t)
	}
}

// redacted is v, or what its JSON says with secrets replaced. T can be read from its JSON.
func redacted[T any](by *secret.Redactor, v T) T {
	body, err := json.Marshal(v)
	if err != nil {
		return v // the store will say so
	}
	clean := by.Bytes(body)
	if len(body) == 0 || &clean[0] == &body[0] { // nothing was replaced
		return v
	}
	var out T
	if json.Unmarshal(clean, &out) != nil {
		return v
	}
	return out
}

// redactedTracker posts no secret. A decorator of the port alone would hide what a tracker can do
// beside it; what one lacks is answered as the port says of trackers that lack it.
type redactedTracker struct {
	Tracker
	by *secret.Redactor
}

// Item keeps a card's text as the store keeps it, so that the two can be compared.
func (t redactedTracker) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	i, err := t.Tracker.Item(ctx, projectID, itemID)
	hide(t.by, &i.Title, &i.Description)
	return i, err
}

func (t redactedTracker) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	if l, ok := t.Tracker.(tracker.Log); ok {
		return l.LastMove(ctx, projectID, itemID)
	}
	return tracker.Move{}, tracker.ErrNoLog
}

func (t redactedTracker) Person(ctx context.Context, projectID, accountID string) (tracker.Person, error) {
	if p, ok := t.Tracker.(tracker.People); ok {
		return p.Person(ctx, projectID, accountID)
	}
	return tracker.Person{}, tracker.ErrNotFound
}

func (t redactedTracker) ItemURL(projectID, itemID string) string {
	if l, ok := t.Tracker.(tracker.Linker); ok {
		return l.ItemURL(projectID, itemID)
	}
	return ""
}

func (t redactedTracker) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	if r, ok := t.Tracker.(tracker.Relations); ok {
		return r.BlockedBy(ctx, projectID, itemID)
	}
	return nil, tracker.ErrNoRelations
}

func (t redactedTracker) Files(ctx context.Context, projectID, itemID string) ([]tracker.File, error) {
	if f, ok := t.Tracker.(tracker.Files); ok {
		return f.Files(ctx, projectID, itemID)
	}
	return nil, nil
}

func (t redactedTracker) OpenFile(ctx context.Context, projectID, itemID, fileID string) (io.ReadCloser, error) {
	if f, ok := t.Tracker.(tracker.Files); ok {
		return f.OpenFile(ctx, projectID, itemID, fileID)
	}
	return nil, tracker.ErrNotFound
}

func (t redactedTracker) Recent(projectID, itemID string) (tracker.Item, bool) {
	if r, ok := t.Tracker.(tracker.Recent); ok {
		return r.Recent(projectID, itemID)
	}
	return tracker.Item{}, false
}

func (t redactedTracker) Budgets() []tracker.Budget {
	if b, ok := t.Tracker.(tracker.Budgeted); ok {
		return b.Budgets()
	}
	return nil
}

func (t redactedTracker) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	return t.Tracker.AddComment(ctx, t.comment(c))
}

func (t redactedTracker) SetComment(ctx context.Context, c tracker.NewComment) error {
	if e, ok := t.Tracker.(tracker.Editor); ok {
		return e.SetComment(ctx, t.comment(c))
	}
	return fmt.Errorf("service: the tracker cannot edit comments: %w", tracker.ErrNotFound)
}

func (t redactedTracker) comment(c tracker.NewComment) tracker.NewComment {
	hide(t.by, &c.Body, &c.Note)
	c.Links = each(c.Links, func(l *tracker.Link) { hide(t.by, &l.Name, &l.URL) })
	return c
}

// redactedHost publishes no secret in the words of pull requests, merges and comments.
type redactedHost struct {
	orchestrator.Hosting
	by *secret.Redactor
}

// plainHost is a redactedHost that serves repositories without a git host too: nothing of theirs has words.
type plainHost struct {
	redactedHost
	plain
}

type plain = githost.Plain // whose own name is that of a method

// redactHost keeps what a host can do beside the port.
func redactHost(h orchestrator.Hosting, by *secret.Redactor) orchestrator.Hosting {
	if p, ok := h.(plain); ok {
		return plainHost{redactedHost{h, by}, p}
	}
	return redactedHost{h, by}
}

func (h redactedHost) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	hide(h.by, &n.Title, &n.Body)
	return h.Hosting.OpenPullRequest(ctx, n)
}

func (h redactedHost) Merge(ctx context.Context, m githost.Merge) (string, error) {
	hide(h.by, &m.Title)
	return h.Hosting.Merge(ctx, m)
}

func (h redactedHost) Comment(ctx context.Context, c githost.NewComment) error {
	hide(h.by, &c.Body)
	if to, ok := h.Hosting.(githost.Commenter); ok {
		return to.Comment(ctx, c)
	}
	return githost.ErrLacking
}

func (h redactedHost) FailureLog(ctx context.Context, repo string, c githost.Check) (string, error) {
	if d, ok := h.Hosting.(githost.Details); ok {
		return d.FailureLog(ctx, repo, c)
	}
	return "", nil
}

func (h redactedHost) Rerun(ctx context.Context, repo string, c githost.Check) error {
	if r, ok := h.Hosting.(githost.Rerunner); ok {
		return r.Rerun(ctx, repo, c)
	}
	return githost.ErrLacking
}

func (h redactedHost) LineComments(ctx context.Context, repo, branch, base string) ([]githost.LineComment, error) {
	if d, ok := h.Hosting.(githost.Details); ok {
		return d.LineComments(ctx, repo, branch, base)
	}
	return nil, nil
}

// redactedChat says no secret.
type redactedChat struct {
	messenger.Messenger
	by *secret.Redactor
}

func (c redactedChat) Send(ctx context.Context, m messenger.Message) (string, error) {
	return c.Messenger.Send(ctx, c.message(m))
}

func (c redactedChat) Edit(ctx context.Context, id string, m messenger.Message) error {
	return c.Messenger.Edit(ctx, id, c.message(m))
}

func (c redactedChat) message(m messenger.Message) messenger.Message {
	hide(c.by, &m.Title, &m.Link)
	m.Lines = each(m.Lines, func(line *string) { hide(c.by, line) })
	return m
}

// redactedListener answers people without a secret.
type redactedListener struct {
	messenger.Listener
	by *secret.Redactor
}

func (l redactedListener) Answer(ctx context.Context, a messenger.Act, with messenger.Answer) error {
	hide(l.by, &with.Text)
	return l.Listener.Answer(ctx, a, with)
}

// redactedAnswers serves what a handler does, without secrets in the bodies. Headers are the
// handler's own: sessions are there.
func redactedAnswers(by *secret.Redactor, h http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body := by.Writer(w)
		h.ServeHTTP(answer{w, body}, r)
		_ = body.Close() // a client that has gone away needs no more
	})
}

// answer is a response whose body goes through a redactor.
type answer struct {
	http.ResponseWriter
	body *secret.Writer
}

func (a answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Unwrap is for http.ResponseController: time limits, and Flush. What is held because it may
// begin a secret stays held.
func (a answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// redactedCards keeps no secret that somebody has typed into a card.
type redactedCards struct {
	cards.Board
	by *secret.Redactor
}

func (c redactedCards) Make(ctx context.Context, n cards.New) (cards.Card, cards.Entry, error) {
	hide(c.by, &n.Title, &n.Description, &n.Labels)
	return c.Board.Make(ctx, n)
}

func (c redactedCards) Edit(ctx context.Context, e cards.Edit) error {
	hide(c.by, &e.Title, &e.Description, &e.Labels)
	return c.Board.Edit(ctx, e)
}

func (c redactedCards) Say(ctx context.Context, s cards.Saying) error {
	hide(c.by, &s.Body)
	return c.Board.Say(ctx, s)
}

func (c redactedCards) Amend(ctx context.Context, a cards.Amendment) error {
	hide(c.by, &a.Body)
	return c.Board.Amend(ctx, a)
}
