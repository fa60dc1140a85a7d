package storetest

import (
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

func receives(k *kit) {
	d := task.Delivery{Source: "plane", ID: "1", BodyHash: "h1", Event: "issue", ReceivedAt: k.clock.Now(), Outcome: "queued"}
	receive := func(d task.Delivery) bool {
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
	nameless := task.Delivery{Source: "plane", BodyHash: "h3", ReceivedAt: k.clock.Now()}
	require.False(k, receive(nameless))
	nameless.BodyHash = "h4"
	require.False(k, receive(nameless), "no id is no identity")
	jobs := k.all()
	require.Len(k, jobs, 4)
	last, err := k.s.LastDelivery(k.Context(), "plane")
	require.NoError(k, err)
	require.True(k, last.Equal(k.clock.Now()))
	last, err = k.s.LastDelivery(k.Context(), "nobody")
	require.NoError(k, err)
	require.True(k, last.IsZero())
}

func forgets(k *kit) {
	const day = 24 * time.Hour
	d := task.Delivery{Source: "plane", ID: "1", BodyHash: "h"}
	for i, step := range []struct {
		wait      time.Duration
		removed   int
		duplicate bool
	}{{0, 0, false}, {89 * day, 0, true}, {2 * day, 1, false}, {day, 0, true}} {
		k.clock.Add(step.wait)
		removed, err := k.s.PruneDeliveries(k.Context(), k.clock.Now().Add(-90*day), 10)
		require.NoError(k, err)
		require.Equal(k, step.removed, removed, "step %d", i)
		d.ReceivedAt = k.clock.Now()
		duplicate, err := k.s.Receive(k.Context(), d, queue.Job{Pool: "events"})
		require.NoError(k, err)
		require.Equal(k, step.duplicate, duplicate, "step %d", i)
	}
}
