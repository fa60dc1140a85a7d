package service

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/messenger/memmessenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
	"github.com/signalbox-dev/signalbox/tracker/memtracker"
)

const canary = `canary"of<the>test`

// read asks a port, which is to answer.
func read[Q, A any](t testing.TB, port func(context.Context, Q) (A, error), of Q) A {
	t.Helper()
	answer, err := port(t.Context(), of)
	require.NoError(t, err)
	return answer
}

// Whatever is put into the store comes out of it without secrets, and is else what it was.
func TestStoreKeepsNoSecret(t *testing.T) {
	t.Parallel()
	db := opened(t)
	defer func() { require.NoError(t, db.Close()) }()
	store := redactedStore{db, secret.NewRedactor(canary)}
	ctx, now := t.Context(), time.Now().Truncate(time.Second)
	payload, err := json.Marshal(map[string]string{"reason": "401 for " + canary})
	require.NoError(t, err)
	job := queue.Job{Pool: "p", Kind: "k", Payload: payload}
	_, err = store.Receive(ctx, task.Delivery{Source: "plane", ID: "1", BodyHash: "h", ReceivedAt: now}, job)
	require.NoError(t, err)
	_, err = store.Put(ctx, job)
	require.NoError(t, err)
	claims, err := store.Take(ctx, "p", "w", 2, time.Minute)
	require.NoError(t, err)
	require.Len(t, claims, 2)
	require.NoError(t, store.Finish(ctx, claims[0], queue.Outcome{Kind: queue.OutcomeDead, Error: "GET ?key=" + canary, Then: []queue.Job{job}}))
	_, err = store.FinishTake(ctx, claims[1], queue.Outcome{Kind: queue.OutcomeDead, Error: canary, Then: []queue.Job{job}}, "none", "w", 1, time.Minute)
	require.NoError(t, err)
	id, err := store.NewTaskID(ctx)
	require.NoError(t, err)
	commit := task.Commit{
		Task: &task.Task{
			ID: id, WorkItemID: "APP-1", TrackerProjectID: "p", TrackerIssueID: "i", Repo: "acme/app", Branch: "b", Title: "use " + canary, Description: canary,
			State: stage.State{Stage: stage.Analysis, Seq: 1, HoldReason: canary}, CreatedAt: now, UpdatedAt: now, StageEnteredAt: now,
		},
		Journal: []task.JournalEntry{{TaskID: id, Seq: 1, At: now, Kind: task.KindDecision, Payload: payload}},
		Gates: []task.GateResult{{TaskID: id, Stage: stage.Analysis, At: now, Verdict: gates.Verdict{
			Check: "c", Outcome: gates.Red, Reason: canary, Evidence: []gates.Evidence{{Name: "stderr", Note: canary}}, Children: []gates.Verdict{{Check: "d", Reason: canary}},
		}}},
		Runs: []task.AgentRun{{TaskID: id, JobID: 9, Attempt: 1, Run: 1, Stage: stage.Analysis, Role: stage.Analyst, Started: now, Finished: now, Summary: canary}},
		Jobs: []queue.Job{job}, Hold: []queue.Hold{{Subject: "s", Name: "n", Reason: canary}}, Pauses: []task.Pause{{Agent: "a", Reason: canary, Since: now}},
	}
	diff := task.NewContent(payload)
	subject := task.NewContent([]byte(`{"diff":"` + diff.ID + `"}`))
	commit.Contents = []task.Content{diff, subject}
	commit.Journal = append(commit.Journal, task.JournalEntry{
		TaskID: id, Seq: 1, At: now, Kind: "named", Payload: []byte(`{"subject":"` + subject.ID + `"}`),
	})
	require.NoError(t, store.Commit(ctx, commit))
	require.NoError(t, store.Hold(ctx, queue.Hold{Subject: "s2", Name: "n", Reason: canary}))
	require.Equal(t, "use "+canary, commit.Task.Title, "the caller's own stays")

	row := read(t, store.Task, id)
	require.Equal(t, "use "+strings.Repeat("*", 29), row.Title, "as long as it is in JSON")
	require.Equal(t, stage.Analysis, row.State.Stage)
	require.True(t, now.Equal(row.CreatedAt))
	jobs := read(t, store.Jobs, queue.Filter{})
	require.Len(t, jobs, 5)
	journal := read(t, store.Journal, id)
	require.Len(t, journal, 2)
	var named struct{ Subject, Diff string }
	require.NoError(t, json.Unmarshal(journal[1].Payload, &named))
	body := read(t, store.Content, named.Subject)
	require.Equal(t, named.Subject, task.NewContent(body).ID, "its name is the hash of what is kept")
	require.NoError(t, json.Unmarshal(body, &named))
	body = read(t, store.Content, named.Diff)
	require.Contains(t, string(body), "***")
	require.NotContains(t, string(body), "canary")
	verdicts := read(t, store.GateResults, id)
	require.Equal(t, gates.Red, verdicts[0].Verdict.Outcome)
	runs, err := store.AgentRuns(ctx, id)
	require.NoError(t, err)
	require.Len(t, runs, 1)
	holds, err := store.Holds(ctx)
	require.NoError(t, err)
	require.Len(t, holds, 2)
	pauses, err := store.Pauses(ctx)
	require.NoError(t, err)
	require.Len(t, pauses, 1)
	for _, j := range jobs {
		require.True(t, json.Valid(j.Payload))
		require.Contains(t, string(j.Payload)+j.Error, "***")
		require.NotContains(t, string(j.Payload)+j.Error, "canary")
	}
	require.NotContains(t, fmt.Sprintf("%+v %s %+v %+v %+v %+v", row, journal[0].Payload, verdicts, runs, holds, pauses), "canary")
}

// Comments, chat and pull requests have no secret.
func TestWordsHaveNoSecret(t *testing.T) {
	t.Parallel()
	by := secret.NewRedactor(canary)
	ctx := t.Context()
	chat := memmessenger.New()
	say := redactedChat{chat, by}
	id, err := say.Send(ctx, messenger.Message{Title: canary, Lines: []string{canary}, Link: canary})
	require.NoError(t, err)
	require.NotContains(t, fmt.Sprintf("%+v", chat.Messages()), "canary")
	require.NoError(t, say.Edit(ctx, id, messenger.Message{Title: "t", Lines: []string{canary}}))
	require.NotContains(t, fmt.Sprintf("%+v", chat.Messages()), "canary")

	board := memtracker.New(nil)
	board.AddProject("p")
	board.Put(tracker.Item{ID: "i", ProjectID: "p"})
	said := tracker.NewComment{ProjectID: "p", ItemID: "i", Key: "1", Body: canary, Note: canary, Links: []tracker.Link{{Name: canary, URL: canary}}}
	_, err = redactedTracker{board, by}.AddComment(ctx, said)
	require.NoError(t, err)
	said.Key = "2"
	require.NoError(t, redactedTracker{board, by}.SetComment(ctx, said))
	comments, err := board.Comments(ctx, "p", "i")
	require.NoError(t, err)
	require.Len(t, comments, 2)
	require.NotContains(t, fmt.Sprint(comments), "canary")
	require.Equal(t, canary, said.Links[0].Name, "the caller's own stays")

	var seen []any
	h := redactHost(sees{memhost.New(), &seen}, by)
	const hidden = "******************"
	_, err = h.OpenPullRequest(ctx, githost.NewPullRequest{Repo: "a/b", Head: "h", Base: "main", Title: canary, Body: canary})
	require.NoError(t, err)
	_, err = h.Merge(ctx, githost.Merge{Repo: "a/b", Title: canary})
	require.NoError(t, err)
	require.NoError(t, h.(githost.Commenter).Comment(ctx, githost.NewComment{Repo: "a/b", Body: canary}))
	require.Equal(t, []any{
		githost.NewPullRequest{Repo: "a/b", Head: "h", Base: "main", Title: hidden, Body: hidden},
		githost.Merge{Repo: "a/b", Title: hidden}, githost.NewComment{Repo: "a/b", Body: hidden},
	}, seen)
	require.Implements(t, (*githost.Plain)(nil), h, "what a host can do beside is kept")
	require.NotImplements(t, (*githost.Plain)(nil), redactHost(struct{ orchestrator.Hosting }{h}, by), "and nothing is made up")
}

// sees notes what is published.
type sees struct {
	*memhost.Host
	seen *[]any
}

func (s sees) OpenPullRequest(_ context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	*s.seen = append(*s.seen, n)
	return githost.PullRequest{}, nil
}

func (s sees) Merge(_ context.Context, m githost.Merge) (string, error) {
	*s.seen = append(*s.seen, m)
	return "", nil
}

func (s sees) Comment(_ context.Context, c githost.NewComment) error {
	*s.seen = append(*s.seen, c)
	return nil
}

// Answers have no secret, be they written in pieces and flushed between; what was flushed
// arrives, and the length stays right.
func TestAnswersHaveNoSecret(t *testing.T) {
	t.Parallel()
	went := make(chan struct{})
	srv := httptest.NewServer(redactedAnswers(secret.NewRedactor("canary-of-answers"), http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		control := http.NewResponseController(w)
		if err := control.SetWriteDeadline(time.Now().Add(time.Minute)); err != nil {
			return
		}
		if r.URL.Path == "/whole" {
			w.Header().Set("Content-Length", "22")
			_, _ = io.WriteString(w, "it is canary-of-answers"[:22])
			return
		}
		for _, piece := range []string{"data: 1\n\n", "data: canary-of", "-answers\n\n", "can"} {
			_, _ = io.WriteString(w, piece)
			_ = control.Flush()
			if piece == "data: 1\n\n" {
				<-went
			}
		}
	})))
	defer srv.Close()
	get := func(path string) *http.Response {
		req, err := http.NewRequestWithContext(t.Context(), http.MethodGet, srv.URL+path, nil)
		require.NoError(t, err)
		resp, err := http.DefaultClient.Do(req)
		require.NoError(t, err)
		return resp
	}
	resp := get("/stream")
	first := make([]byte, 9)
	_, err := io.ReadFull(resp.Body, first)
	require.NoError(t, err)
	require.Equal(t, "data: 1\n\n", string(first), "it does not wait for the end")
	close(went)
	rest, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "data: *****************\n\ncan", string(rest))
	resp = get("/whole")
	body, err := io.ReadAll(resp.Body)
	require.NoError(t, err)
	require.NoError(t, resp.Body.Close())
	require.Equal(t, "it is canary-of-answer", string(body), "what only begins one is none")
}
