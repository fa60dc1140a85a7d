package wiring

import (
	"context"
	"encoding/json"
	"io"
	"net/http"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// What leaves the service, or is kept, goes by one of these, and secrets are replaced there:
// the log, the store, comments, chat, the git host, HTTP. Agents' output is package
// agentcli's, which has the same redactor.

// redactedLog is where the log goes. A line is written at once.
type redactedLog struct {
	to io.Writer
	by *secret.Redactor
}

// Write implements io.Writer.
func (l redactedLog) Write(p []byte) (int, error) {
	if _, err := l.to.Write(l.by.Bytes(p)); err != nil {
		return 0, err
	}
	return len(p), nil
}

// redactedStore is a Database that is given no secret: events, decisions, verdicts, records of
// runs, errors of jobs.
type redactedStore struct {
	Database
	by *secret.Redactor
}

// Commit implements task.Store.
func (d redactedStore) Commit(ctx context.Context, c task.Commit) error {
	return d.Database.Commit(ctx, d.commit(c))
}

// Receive implements task.Store.
func (d redactedStore) Receive(ctx context.Context, delivery task.Delivery, job queue.Job) (bool, error) {
	return d.Database.Receive(ctx, delivery, d.jobs([]queue.Job{job})[0])
}

// Put implements queue.Queue.
func (d redactedStore) Put(ctx context.Context, jobs ...queue.Job) ([]int64, error) {
	return d.Database.Put(ctx, d.jobs(jobs)...)
}

// Finish implements queue.Queue.
func (d redactedStore) Finish(ctx context.Context, c queue.Claim, o queue.Outcome) error {
	return d.Database.Finish(ctx, c, d.outcome(o))
}

// FinishTake implements queue.Relay.
func (d redactedStore) FinishTake(ctx context.Context, c queue.Claim, o queue.Outcome, pool, worker string, n int, ttl time.Duration) ([]queue.Claim, error) {
	return queue.FinishTake(ctx, d.Database, c, d.outcome(o), pool, worker, n, ttl)
}

// Hold implements queue.Admin.
func (d redactedStore) Hold(ctx context.Context, holds ...queue.Hold) error {
	return d.Database.Hold(ctx, d.holds(holds)...)
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

// redactedTracker posts no secret. It has all that the adapter can do beside the port: what
// is behind an interface of its own would be hidden by a decorator of the port.
type redactedTracker struct {
	Tracker
	by *secret.Redactor
}

var _ interface {
	tracker.Board
	tracker.Log
	tracker.People
	tracker.Linker
	tracker.Editor
} = redactedTracker{}

var _ interface {
	tracker.Budgeted
	tracker.Recent
} = redactedTracker{}

// Recent implements tracker.Recent, which our own board does not.
func (t redactedTracker) Recent(projectID, itemID string) (tracker.Item, bool) {
	if r, ok := t.Tracker.(tracker.Recent); ok {
		return r.Recent(projectID, itemID)
	}
	return tracker.Item{}, false
}

// Budgets implements tracker.Budgeted, which our own board does not.
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
	return t.Tracker.SetComment(ctx, t.comment(c))
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
	everyHost
	by *secret.Redactor
}

// OpenPullRequest implements githost.Host.
func (h redactedHost) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	n.Title, n.Body = h.by.Text(n.Title), h.by.Text(n.Body)
	return h.everyHost.OpenPullRequest(ctx, n)
}

// Merge implements githost.Host.
func (h redactedHost) Merge(ctx context.Context, m githost.Merge) (string, error) {
	m.Title = h.by.Text(m.Title)
	return h.everyHost.Merge(ctx, m)
}

// Comment implements githost.Commenter.
func (h redactedHost) Comment(ctx context.Context, c githost.NewComment) error {
	c.Body = h.by.Text(c.Body)
	return h.everyHost.Comment(ctx, c)
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
