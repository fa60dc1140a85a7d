package subscriber_test

import (
	"bytes"
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/explain"
	"github.com/signalbox-dev/signalbox/orchestrator/features/subscriber"
	. "github.com/signalbox-dev/signalbox/orchestrator/orchestratortest"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// inbox is the program that gets events, without a network.
type inbox struct {
	mu     sync.Mutex
	status int // answers
	got    []subscriber.Event
	ids    map[string]int
}

func (i *inbox) RoundTrip(r *http.Request) (*http.Response, error) {
	i.mu.Lock()
	defer i.mu.Unlock()
	var e subscriber.Event
	err := json.NewDecoder(r.Body).Decode(&e)
	if err == nil && i.status/100 == 2 {
		i.got = append(i.got, e)
	}
	i.ids[e.ID]++
	return &http.Response{StatusCode: i.status, Status: http.StatusText(i.status), Header: http.Header{}, Body: io.NopCloser(bytes.NewReader(nil))}, err
}

func (i *inbox) set(status int) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.status = status
}

func subscribed(t *testing.T, f func(*Rig, *inbox)) {
	t.Helper()
	in := &inbox{status: http.StatusAccepted, ids: map[string]int{}}
	Run(t, func(r *Rig) {
		r.Features = func() []orchestrator.Feature {
			f, err := subscriber.Feature(subscriber.Options{URL: secret.New("https://example.org/events"), Source: "https://box.example.org", Client: &http.Client{Transport: in}})
			require.NoError(r, err)
			return []orchestrator.Feature{f}
		}
	}, func(r *Rig) { f(r, in) })
}

// A card's life arrives whole and in order, each change once, also when the subscriber was away
// in the middle of it.
func TestLife(t *testing.T) {
	subscribed(t, func(r *Rig, in *inbox) {
		item := r.Begin("Cache the tiles")
		r.Settle(time.Minute)
		for _, status := range []int{http.StatusNotFound, http.StatusServiceUnavailable} {
			in.set(status)
			r.Settle(time.Minute)
		}
		r.Set(item, stage.StatusApproved)
		r.Settle(30 * time.Minute)
		require.Equal(r, stage.Done, r.Task(item).State.Stage, "nothing else waits for a subscriber")
		in.set(http.StatusNoContent)
		r.Settle(30 * time.Minute)
		var stages []stage.Stage
		seen := map[string]bool{}
		var at time.Time
		for _, e := range in.got {
			require.Equal(r, []string{"1.0", subscriber.Type, "https://box.example.org", "application/json"}, []string{e.SpecVersion, e.Type, e.Source, e.ContentType})
			require.Equal(r, []any{"task/1", "APP-1", AppRepo, "Cache the tiles"}, []any{e.Subject, e.Data.WorkItemID, e.Data.Repo, e.Data.Title})
			require.False(r, seen[e.ID], "once")
			require.False(r, e.Time.Before(at), "in order")
			seen[e.ID], at = true, e.Time
			if e.Data.From != e.Data.Stage {
				stages = append(stages, e.Data.Stage)
			}
		}
		require.Equal(r, []stage.Stage{stage.Analysis, stage.Architecture, stage.Development, stage.Review, stage.Testing, stage.DeployStaging, stage.Deploy, stage.Done}, stages)
		require.True(r, slices.ContainsFunc(in.got, func(e subscriber.Event) bool { return e.Data.Hold == stage.HoldApproval }))
		require.True(r, slices.ContainsFunc(in.got, func(e subscriber.Event) bool { return e.Data.On == stage.OnApproved && e.Data.By != "" }))
		require.Equal(r, r.Task(item).State.MergeSHA, in.got[len(in.got)-1].Data.Merge)
	})
}

// An event that is refused for what is in it is given up, and those behind it come.
func TestRefused(t *testing.T) {
	subscribed(t, func(r *Rig, in *inbox) {
		in.set(http.StatusUnprocessableEntity)
		item := r.Begin("x")
		r.Settle(10 * time.Minute)
		in.set(http.StatusOK)
		r.Set(item, stage.StatusApproved)
		r.Settle(30 * time.Minute)
		require.NotEmpty(r, in.got)
		v, err := explain.ReadQueue(r.Context(), r.Engine)
		require.NoError(r, err)
		require.NotEmpty(r, v.Failed)
		require.Contains(r, v.Failed[0].Error, "the subscriber answered")
		for id, n := range in.ids {
			require.LessOrEqual(r, n, 3, id)
		}
	})
}

// On the wire: the content type, a signature that a receiver can check, no redirect, and a
// Retry-After that is kept.
func TestWire(t *testing.T) {
	key := []byte("0123456789abcdef0123456789abcdef")
	var problem string
	status := http.StatusTooManyRequests
	srv := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		want := subscriber.Sign(key, r.Header.Get("Webhook-Id"), r.Header.Get("Webhook-Timestamp"), body)
		switch {
		case err != nil:
			problem = err.Error()
		case r.URL.Path != "/events":
			problem = "a redirect was followed"
		case r.Method+" "+r.Header.Get("Content-Type") != "POST application/cloudevents+json":
			problem = r.Header.Get("Content-Type")
		case r.Header.Get("Webhook-Signature") != want || r.Header.Get("Webhook-Id") != "k":
			problem = "the signature"
		}
		w.Header().Set("Location", "/elsewhere")
		w.Header().Set("Retry-After", "77")
		w.WriteHeader(status)
	}))
	defer srv.Close()
	f, err := subscriber.Feature(subscriber.Options{URL: secret.New(srv.URL + "/events?token=hidden"), Source: "s", Secret: secret.New(string(key))})
	require.NoError(t, err)
	send := func() queue.Outcome {
		return f.Runners[orchestrator.EffectEvent].Run(t.Context(), orchestrator.Effect{Key: "k", Effect: stage.Effect{Text: `{"stage":"review"}`}})
	}
	o := send()
	require.Equal(t, queue.OutcomeRetry, o.Kind)
	var wait interface{ RetryAfter() time.Duration }
	require.ErrorAs(t, o.Cause, &wait)
	require.Equal(t, 77*time.Second, wait.RetryAfter())
	status = http.StatusPermanentRedirect
	require.Equal(t, queue.OutcomeRetry, send().Kind)
	status = http.StatusOK
	require.Equal(t, queue.OutcomeDone, send().Kind)
	require.Empty(t, problem)
	srv.Close()
	o = send()
	require.Equal(t, queue.OutcomeRetry, o.Kind)
	require.NotContains(t, o.Error, "hidden")
	require.True(t, strings.HasPrefix(o.Error, "the subscriber does not answer: "), o.Error)
}

func TestOptions(t *testing.T) {
	for _, o := range []subscriber.Options{{}, {URL: secret.New("example.org"), Source: "s"}, {URL: secret.New("ftp://example.org"), Source: "s"}, {URL: secret.New("https://example.org")}} {
		_, err := subscriber.Feature(o)
		require.Error(t, err)
	}
}
