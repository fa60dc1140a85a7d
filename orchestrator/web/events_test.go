package web_test

import (
	"context"
	"encoding/json"
	"net/http"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// record writes one decision into the journal.
func (k *kit) record(r task.Recorded) {
	k.Helper()
	payload, err := json.Marshal(r)
	require.NoError(k, err)
	require.NoError(k, k.store.Commit(k.Context(), task.Commit{Journal: []task.JournalEntry{{TaskID: 7, Seq: 3, At: time.Now(), Kind: "decision", Payload: payload}}}))
}

// listen reads events until n of them have come.
func (k *kit) listen(n int, header, value string, connected func()) (kinds []string, last web.Change, id string) {
	k.Helper()
	ctx, cancel := context.WithTimeout(k.Context(), 20*time.Second)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, k.url+"/events", nil)
	require.NoError(k, err)
	req.Header.Set(header, value)
	resp, err := http.DefaultClient.Do(req)
	require.NoError(k, err)
	defer resp.Body.Close()
	require.Equal(k, "text/event-stream", resp.Header.Get("Content-Type"))
	if connected != nil {
		connected()
	}
	for e := range eventsOf(resp.Body) {
		require.NoError(k, json.Unmarshal([]byte(e.data), &last))
		if kinds = append(kinds, e.name); len(kinds) >= n && e.id != "" {
			return kinds, last, e.id
		}
	}
	require.Fail(k, "the stream ended")
	return nil, last, ""
}

func TestEvents(t *testing.T) {
	t.Parallel()
	k := setup(t, nil)
	k.record(task.Recorded{Event: stage.Event{On: stage.OnRetry}})
	full := task.Recorded{
		Event:    stage.Event{On: stage.OnCI, Derived: stage.Derived{Verdict: stage.Verdict{Outcome: stage.Green, Reason: "all 2 checks passed"}}},
		Decision: stage.Decision{State: stage.State{Stage: stage.Review}, Moved: true, Launch: &stage.Launch{Role: stage.Reviewer}, Notes: []string{"CI is green"}},
	}
	kinds, last, id := k.listen(3, "X", "", func() { k.record(full) })
	require.Equal(t, []string{"gate", "job", "task"}, kinds, "it begins with what happens now")
	require.Equal(t, stage.Review, last.Stage)
	require.Equal(t, []string{"green", "all 2 checks passed", string(stage.Reviewer)}, []string{last.Verdict, last.Reason, string(last.Job)})

	k.record(task.Recorded{Event: stage.Event{On: stage.OnApproved}})
	kinds, last, _ = k.listen(1, "Last-Event-ID", id, nil)
	require.Equal(t, []string{"task"}, kinds, "a client that comes back misses nothing and gets nothing twice")
	require.Equal(t, stage.OnApproved, last.On)
	kinds, _, _ = k.listen(5, "Last-Event-ID", "0", nil)
	require.Equal(t, []string{"task", "gate", "job", "task", "task"}, kinds)
	k.is(http.StatusBadRequest, k.get("/events?after=x"))
}
