package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/queue"
)

func receives(k *kit) {
	d := orchestrator.Delivery{Source: "plane", ID: "1", BodyHash: "h1", Event: "issue", ReceivedAt: k.clock.Now(), Outcome: "queued"}
	receive := func(d orchestrator.Delivery) bool {
		duplicate, err := k.s.Receive(k.Context(), d, queue.Job{Pool: "events"})
		require.NoError(k, err)
		return duplicate
	}
	require.False(k, receive(d))
	require.True(k, receive(d), "same id and body")
	same := d
	same.ID = "2"
	require.True(k, receive(same), "same body under a new id")
	same.ID, same.BodyHash = "1", "h2"
	require.True(k, receive(same), "same id")
	other := d
	other.Source = "github"
	require.False(k, receive(other), "of another sender")
	nameless := orchestrator.Delivery{Source: "plane", BodyHash: "h3", ReceivedAt: k.clock.Now()}
	require.False(k, receive(nameless))
	nameless.BodyHash = "h4"
	require.False(k, receive(nameless), "no id is no identity")
	jobs, err := k.s.Jobs(k.Context(), queue.Filter{})
	require.NoError(k, err)
	require.Len(k, jobs, 4)
	last, err := k.s.LastDelivery(k.Context(), "plane")
	require.NoError(k, err)
	require.True(k, last.Equal(k.clock.Now()))
	last, err = k.s.LastDelivery(k.Context(), "nobody")
	require.NoError(k, err)
	require.True(k, last.IsZero())
}

func forgets(k *kit) {
	d := orchestrator.Delivery{Source: "plane", ID: "1", BodyHash: "h", ReceivedAt: k.clock.Now()}
	for _, step := range []struct {
		wait      time.Duration
		duplicate bool
	}{{0, false}, {89 * 24 * time.Hour, true}, {2 * 24 * time.Hour, false}} {
		k.clock.Add(step.wait)
		d.ReceivedAt = k.clock.Now()
		duplicate, err := k.s.Receive(k.Context(), d, queue.Job{Pool: "events"})
		require.NoError(k, err)
		require.Equal(k, step.duplicate, duplicate)
	}
}
