package web_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
	"github.com/signalbox-dev/signalbox/queue"
)

// owe puts a task with two comments: one that was given up, and one that failed and
// waits for its time. It returns their ids.
func (k *kit) owe() (refused, late int64) {
	k.Helper()
	row := k.begin()
	p := task.Project{TrackerProject: "p1", Repo: "acme/app"}
	for i, o := range []queue.Outcome{{Kind: queue.OutcomeDead, Error: "403"}, {Kind: queue.OutcomeRetry, At: time.Now().Add(time.Hour), Error: "500"}} {
		_, err := k.store.Put(k.Context(), orchestrator.EffectJob(row, p, stage.Effect{Kind: stage.EffectComment}, fmt.Sprint(i)))
		require.NoError(k, err)
		claims, err := k.store.Take(k.Context(), orchestrator.LaneComments.Pool(), "w", 1, time.Minute)
		require.NoError(k, err)
		require.NoError(k, k.store.Finish(k.Context(), claims[0], o))
		refused, late = late, claims[0].Job.ID
	}
	return refused, late
}

func (k *kit) queueBlocks() (out struct {
	Lanes  []explain.LaneView     `json:"lanes"`
	Failed []explain.FailedEffect `json:"effects_failed"`
}) {
	k.Helper()
	require.NoError(k, json.Unmarshal([]byte(k.get("/queue").body), &out))
	return out
}

func TestEffects(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	refused, late := k.owe()
	q := k.queueBlocks()
	require.Len(k, q.Lanes, len(orchestrator.NamedLanes()))
	require.Contains(k, q.Lanes, explain.LaneView{Lane: "comments", Owed: 1})
	require.Len(k, q.Failed, 1)
	require.Equal(k, []any{refused, stage.EffectComment, int64(1), "acme/app", "403"}, []any{q.Failed[0].JobID, q.Failed[0].Kind, q.Failed[0].TaskID, q.Failed[0].Repo, q.Failed[0].Error})

	again := fmt.Sprintf("/effects/%d/again", refused)
	for body, want := range map[string]int{
		"": 400, "{}": 400, `{"task":1,"lane":"chat"}`: 400, `{"task":-1}`: 400, `{"task":"x"}`: 400, `{"task":2}`: 404, `{"lane":"nowhere"}`: 404, `{"lane":"chat"}`: 200,
	} {
		k.is(want, k.order("/effects/hasten", body))
	}
	for _, body := range []string{`{"task":1}`, `{"lane":"comments"}`} {
		a := k.order("/effects/hasten", body)
		k.is(http.StatusOK, a)
		var h web.Hastened
		require.NoError(k, json.Unmarshal([]byte(a.body), &h))
		require.Equal(k, map[string]int{`{"task":1}`: 1, `{"lane":"comments"}`: 0}[body], h.Due, "the second finds nothing that waits")
	}
	jobs, err := k.store.Jobs(t.Context(), queue.Filter{ID: late})
	require.NoError(k, err)
	require.False(k, jobs[0].AvailableAt.After(time.Now()))

	for path, want := range map[string]int{
		"/effects/x/again": 400, "/effects/0/again": 400, "/effects/999/again": 404, fmt.Sprintf("/effects/%d/again", late): 409,
	} {
		k.is(want, k.order(path, ""))
	}
	a := k.order(again, "")
	require.Equal(k, http.StatusAccepted, a.status)
	var m web.MadeAgain
	require.NoError(k, json.Unmarshal([]byte(a.body), &m))
	require.Greater(k, m.JobID, late)
	k.is(http.StatusConflict, k.order(again, "")) // once
	require.Empty(k, k.queueBlocks().Failed)
	require.Contains(k, k.queueBlocks().Lanes, explain.LaneView{Lane: "comments", Owed: 2})

	var acts []task.Act
	story, err := k.store.JournalSince(t.Context(), 0, 100)
	require.NoError(k, err)
	for _, e := range story {
		act, err := e.Acted()
		require.NoError(k, err)
		require.NotEmpty(k, act.By.Request)
		act.By.From, act.By.Request = "", ""
		require.Equal(k, admin.OperatorBy(stage.ViaAPI), act.By)
		if act.Lane != "chat" {
			acts = append(acts, act)
			require.Equal(k, act.Lane == "", e.TaskID == 1)
		}
	}
	require.Len(k, acts, 3)
	require.Equal(k, []string{"hasten", "hasten comments", fmt.Sprintf("again effect %d", refused)}, []string{acts[0].What(), acts[1].What(), acts[2].What()})
}
