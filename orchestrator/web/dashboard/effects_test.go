package dashboard_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// silent is a neighbour that does not answer.
type silent struct{}

func (silent) Error() string   { return "503 " + evil }
func (silent) Retryable() bool { return true }

// comment owes a task a comment on an item, and returns the job.
func (w *world) comment(t task.Task, item string) int64 {
	w.Helper()
	t.TrackerIssueID = item
	ids, err := w.Store.Put(context.Background(), orchestrator.EffectJob(t, task.Project{TrackerProject: project, Repo: repo}, stage.Effect{Kind: stage.EffectComment, Text: "x"}, item))
	require.NoError(w, err)
	return ids[0]
}

// The queue's page shows the jobs of every lane, and each lane with its state.
func TestLanesArePaged(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		body := plain(w.get("/queue").body)
		require.Contains(w, body, "comments 0 0 answers")
		require.NotContains(w, body, "Try now…")
		require.Contains(w, body, "No effect was given up.")

		w.Board.FailWith(silent{})
		job := w.comment(w.Task("item-1"), "item-1")
		w.hook()
		w.Settle(3 * time.Minute)
		got := w.get("/queue").body
		body = plain(got)
		require.NotContains(w, got, "<script>alert")
		require.Regexp(w, `comments 1 \d sick the tracker \(comments\) has not answered since \d\d:\d\d UTC \(try \d+\): 503`, body)
		require.Contains(w, body, "board events 1 ")
		require.Contains(w, body, fmt.Sprintf("effect/comment #%d · comments APP-1 x", job), "an effect of a lane has a row")
		require.Regexp(w, `tracker #\d+ · board`, body, "an event of a pool of its own has one too")
		require.Contains(w, got, `href="./effects/hasten?lane=comments"`)
		require.Contains(w, got, `href="./effects/hasten?lane=board&#43;events"`)
		require.Regexp(w, `owed the comment waits for the tracker, which has not answered since \d\d:\d\d UTC, try \d+; next try`, plain(w.get("/tasks/1").body))

		w.Board.FailWith(nil)
		w.shows("/effects/hasten?lane=comments", "Try the lane comments now?")
		require.Equal(w, "../queue?said=hasten", w.post("/effects/hasten", right("lane", "comments")).header.Get("Location"))
		require.Equal(w, "../tasks/1?said=hasten", w.post("/effects/hasten", right("task", "1")).header.Get("Location"))
		require.Equal(w, http.StatusSeeOther, w.post("/effects/hasten", right("lane", "board events")).status)
		w.Settle(time.Second)
		body = plain(w.get("/queue?said=hasten").body)
		require.Contains(w, body, "What had failed is tried now.")
		require.Contains(w, body, "comments 0 0 answers")
		require.Contains(w, body, "board events 0 0 answers")
		require.Equal(w, []string{"hasten comments", "hasten", "hasten board events"}, w.whats())
	})
}

// whats are the acts in words.
func (w *world) whats() (out []string) {
	w.Helper()
	for _, a := range w.acts() {
		require.Equal(w, admin.OperatorBy(stage.ViaDashboard), a.By)
		out = append(out, a.What())
	}
	return out
}

// hook is a webhook of the board.
func (w *world) hook() {
	w.Helper()
	_, err := w.Store.Put(context.Background(), orchestrator.TrackerJob(tracker.Hook{Kind: tracker.HookItemUpdated, ProjectID: project, ItemID: "item-1", ActorID: w.kim, Status: true}),
		orchestrator.HostJob(task.Project{}, githost.Hook{Repo: repo, Event: "push"}))
	require.NoError(w, err)
}

// An effect that was given up is on the pages, and can be made again once.
func TestMakeAgain(t *testing.T) {
	inWorld(t, nil, func(w *world) {
		w.card(project, "x")
		job := w.comment(w.Task("item-1"), "gone")
		w.Settle(time.Minute)
		again := fmt.Sprintf("effects/%d/again", job)
		got := w.get("/queue").body
		require.Regexp(w, fmt.Sprintf(`comment #%d comments APP-1 x acme/app the work item does not exist any more \d\d:\d\d:\d\d Make again…`, job), plain(got))
		require.Contains(w, got, `href="./`+again+`"`)
		got = w.get("/tasks/1").body
		require.Contains(w, plain(got), "given up the comment was refused for good: the work item does not exist any more; when the cause is gone, make it again")
		require.Contains(w, got, `href="../`+again+`"`)
		require.Contains(w, plain(w.get("/"+again).body), fmt.Sprintf("Make effect %d again?", job))

		w.Board.Put(tracker.Item{ID: "gone", ProjectID: project, Title: "back"})
		require.Equal(w, "../../queue?said=again", w.post("/"+again, right()).header.Get("Location"))
		require.Equal(w, http.StatusConflict, w.post("/"+again, right()).status, "a second click")
		require.Equal(w, http.StatusConflict, w.get("/"+again).status)
		w.Settle(time.Second)
		w.shows("/queue?said=again", "The effect is made again.")
		w.shows("/queue", "No effect was given up.")
		said, err := w.Board.Comments(context.Background(), project, "gone")
		require.NoError(w, err)
		require.Len(w, said, 1)
		require.Equal(w, []string{fmt.Sprintf("again effect %d", job)}, w.whats())
		require.Contains(w, plain(w.get("/tasks/1").body), fmt.Sprintf("asked for: again effect %d by admin (dashboard, token)", job))

		for path, want := range map[string]int{
			"/effects/999/again": 404, "/effects/1/again": 404, "/effects/x/again": 400, "/effects/hasten": 400, "/effects/hasten?task=x": 400, "/effects/hasten?task=9": 404,
		} {
			require.Equal(w, want, w.get(path).status, path)
			address, err := url.Parse(path)
			require.NoError(w, err)
			require.Equal(w, want, w.post(address.Path, right("task", address.Query().Get("task"))).status, path)
		}
		require.Equal(w, http.StatusNotFound, w.post("/effects/hasten", right("lane", "nowhere")).status)
		jobs, err := w.Store.Jobs(context.Background(), queue.Filter{Failed: true})
		require.NoError(w, err)
		require.Empty(w, jobs)
	})
}
