package service

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"slices"
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

// Commit implements task.Store.
func (d redactedStore) Commit(ctx context.Context, c task.Commit) error {
	return d.Store.Commit(ctx, d.commit(c))
}

// Receive implements task.Store.
func (d redactedStore) Receive(ctx context.Context, delivery task.Delivery, job queue.Job) (bool, error) {
	return d.Store.Receive(ctx, delivery, d.jobs([]queue.Job{job})[0])
}

// Put implements queue.Queue.
func (d redactedStore) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return d.Store.Put(ctx, d.jobs(jobs)...)
}

// Finish implements queue.Queue.
func (d redactedStore) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.Store.Finish(ctx, c, d.outcome(o))
}

// FinishTake implements queue.Queue.
func (d redactedStore) FinishTake(
	ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration,
) ([]queue.Claim, error) {
	return d.Store.FinishTake(ctx, c, d.outcome(o), pool, worker, n, ttl)
}

// Hold implements queue.Admin.
func (d redactedStore) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.Store.Hold(ctx, d.holds(holds)...)
}

func (d redactedStore) commit(c task.Commit) task.Commit {
	if c.Task != nil {
		t := redacted(d.by, *c.Task)
		c.Task = &t
	}
	c.Journal, c.Gates, c.Runs = slices.Clone(c.Journal), slices.Clone(c.Gates), slices.Clone(c.Runs)
	for i := range c.Journal {
		c.Journal[i].Payload = d.by.Bytes(c.Journal[i].Payload)
	}
	for i := range c.Gates {
		c.Gates[i].Verdict = redacted(d.by, c.Gates[i].Verdict)
	}
	for i := range c.Runs {
		c.Runs[i].Summary = d.by.Text(c.Runs[i].Summary)
	}
	c.Pauses = slices.Clone(c.Pauses)
	for i := range c.Pauses {
		c.Pauses[i].Reason = d.by.Text(c.Pauses[i].Reason)
	}
	c.Jobs, c.Hold = d.jobs(c.Jobs), d.holds(c.Hold)
	return c
}

func (d redactedStore) jobs(jobs []queue.Job) []queue.Job {
	jobs = slices.Clone(jobs)
	for i := range jobs {
		jobs[i].Payload = d.by.Bytes(jobs[i].Payload)
	}
	return jobs
}

func (d redactedStore) outcome(o queue.Outcome) queue.Outcome {
	o.Error, o.Then = d.by.Text(o.Error), d.jobs(o.Then)
	return o
}

func (d redactedStore) holds(holds []queue.Hold) []queue.Hold {
	holds = slices.Clone(holds)
	for i := range holds {
		holds[i].Reason = d.by.Text(holds[i].Reason)
	}
	return holds
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

// Item implements tracker.Tracker: a card's text is kept as the store keeps it, so that the two can be compared.
func (t redactedTracker) Item(ctx context.Context, projectID, itemID string) (tracker.Item, error) {
	i, err := t.Tracker.Item(ctx, projectID, itemID)
	i.Title, i.Description = t.by.Text(i.Title), t.by.Text(i.Description)
	return i, err
}

// LastMove implements tracker.Log.
func (t redactedTracker) LastMove(ctx context.Context, projectID, itemID string) (tracker.Move, error) {
	if l, ok := t.Tracker.(tracker.Log); ok {
		return l.LastMove(ctx, projectID, itemID)
	}
	return tracker.Move{}, tracker.ErrNoLog
}

// Person implements tracker.People.
func (t redactedTracker) Person(ctx context.Context, projectID, accountID string) (tracker.Person, error) {
	if p, ok := t.Tracker.(tracker.People); ok {
		return p.Person(ctx, projectID, accountID)
	}
	return tracker.Person{}, tracker.ErrNotFound
}

// ItemURL implements tracker.Linker.
func (t redactedTracker) ItemURL(projectID, itemID string) string {
	if l, ok := t.Tracker.(tracker.Linker); ok {
		return l.ItemURL(projectID, itemID)
	}
	return ""
}

// BlockedBy implements tracker.Relations.
func (t redactedTracker) BlockedBy(ctx context.Context, projectID, itemID string) ([]tracker.Ref, error) {
	if r, ok := t.Tracker.(tracker.Relations); ok {
		return r.BlockedBy(ctx, projectID, itemID)
	}
	return nil, tracker.ErrNoRelations
}

// Recent implements tracker.Recent.
func (t redactedTracker) Recent(projectID, itemID string) (tracker.Item, bool) {
	if r, ok := t.Tracker.(tracker.Recent); ok {
		return r.Recent(projectID, itemID)
	}
	return tracker.Item{}, false
}

// Budgets implements tracker.Budgeted.
func (t redactedTracker) Budgets() []tracker.Budget {
	if b, ok := t.Tracker.(tracker.Budgeted); ok {
		return b.Budgets()
	}
	return nil
}

// AddComment implements tracker.Tracker.
func (t redactedTracker) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	return t.Tracker.AddComment(ctx, t.comment(c))
}

// SetComment implements tracker.Editor.
func (t redactedTracker) SetComment(ctx context.Context, c tracker.NewComment) error {
	if e, ok := t.Tracker.(tracker.Editor); ok {
		return e.SetComment(ctx, t.comment(c))
	}
	return fmt.Errorf("service: the tracker cannot edit comments: %w", tracker.ErrNotFound)
}

func (t redactedTracker) comment(c tracker.NewComment) tracker.NewComment {
	c.Body, c.Note, c.Links = t.by.Text(c.Body), t.by.Text(c.Note), slices.Clone(c.Links)
	for i, l := range c.Links {
		c.Links[i] = tracker.Link{Name: t.by.Text(l.Name), URL: t.by.Text(l.URL)}
	}
	return c
}

// redactedHost publishes no secret in the words of pull requests, merges and comments.
type redactedHost struct {
	orchestrator.Hosting
	by *secret.Redactor
}

// plainHost is a redactedHost that serves repositories without a git host too.
type plainHost struct {
	redactedHost
	plain githost.Plain
}

// redactHost keeps what a host can do beside the port.
func redactHost(h orchestrator.Hosting, by *secret.Redactor) orchestrator.Hosting {
	if plain, ok := h.(githost.Plain); ok {
		return plainHost{redactedHost{h, by}, plain}
	}
	return redactedHost{h, by}
}

// Plain implements githost.Plain.
func (h plainHost) Plain(repo string) bool { return h.plain.Plain(repo) }

// Heads implements githost.Plain.
func (h plainHost) Heads(ctx context.Context, repo string) (map[string]string, error) {
	return h.plain.Heads(ctx, repo)
}

// Contains implements githost.Plain.
func (h plainHost) Contains(ctx context.Context, repo, tip, sha string) (bool, error) {
	return h.plain.Contains(ctx, repo, tip, sha)
}

// OpenPullRequest implements githost.Host.
func (h redactedHost) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	n.Title, n.Body = h.by.Text(n.Title), h.by.Text(n.Body)
	return h.Hosting.OpenPullRequest(ctx, n)
}

// Merge implements githost.Host.
func (h redactedHost) Merge(ctx context.Context, m githost.Merge) (string, error) {
	m.Title = h.by.Text(m.Title)
	return h.Hosting.Merge(ctx, m)
}

// Comment implements githost.Commenter.
func (h redactedHost) Comment(ctx context.Context, c githost.NewComment) error {
	c.Body = h.by.Text(c.Body)
	if to, ok := h.Hosting.(githost.Commenter); ok {
		return to.Comment(ctx, c)
	}
	return githost.ErrLacking
}

// FailureLog implements githost.Details.
func (h redactedHost) FailureLog(ctx context.Context, repo string, c githost.Check) (string, error) {
	if d, ok := h.Hosting.(githost.Details); ok {
		return d.FailureLog(ctx, repo, c)
	}
	return "", nil
}

// LineComments implements githost.Details.
func (h redactedHost) LineComments(ctx context.Context, repo, branch string) ([]githost.LineComment, error) {
	if d, ok := h.Hosting.(githost.Details); ok {
		return d.LineComments(ctx, repo, branch)
	}
	return nil, nil
}

// redactedChat says no secret.
type redactedChat struct {
	messenger.Messenger
	by *secret.Redactor
}

// Send implements messenger.Messenger.
func (c redactedChat) Send(ctx context.Context, m messenger.Message) (string, error) {
	return c.Messenger.Send(ctx, c.message(m))
}

// Edit implements messenger.Messenger.
func (c redactedChat) Edit(ctx context.Context, id string, m messenger.Message) error {
	return c.Messenger.Edit(ctx, id, c.message(m))
}

func (c redactedChat) message(m messenger.Message) messenger.Message {
	m.Title, m.Link, m.Lines = c.by.Text(m.Title), c.by.Text(m.Link), slices.Clone(m.Lines)
	for i := range m.Lines {
		m.Lines[i] = c.by.Text(m.Lines[i])
	}
	return m
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

// Write implements io.Writer.
func (a answer) Write(p []byte) (int, error) { return a.body.Write(p) }

// Unwrap is for http.ResponseController: time limits, and Flush. What is held because it may
// begin a secret stays held.
func (a answer) Unwrap() http.ResponseWriter { return a.ResponseWriter }

// redactedCards keeps no secret that somebody has typed into a card.
type redactedCards struct {
	cards.Board
	by *secret.Redactor
}

// Make implements cards.Writer.
func (c redactedCards) Make(ctx context.Context, n cards.New) (cards.Card, cards.Entry, error) {
	n.Title, n.Description = c.by.Text(n.Title), c.by.Text(n.Description)
	return c.Board.Make(ctx, n)
}

// Edit implements cards.Writer.
func (c redactedCards) Edit(ctx context.Context, e cards.Edit) error {
	e.Title, e.Description = c.by.Text(e.Title), c.by.Text(e.Description)
	return c.Board.Edit(ctx, e)
}

// Say implements cards.Writer.
func (c redactedCards) Say(ctx context.Context, s cards.Saying) error {
	s.Body = c.by.Text(s.Body)
	return c.Board.Say(ctx, s)
}
