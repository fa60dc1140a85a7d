package sqlite

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/queue"
)

// The jobs that were put last are remembered, and no more than two generations.
func TestRecent(t *testing.T) {
	t.Parallel()
	m := newMemory()
	const many = 3*recentJobs + 10
	for id := range int64(many) {
		m.remember(queue.Job{ID: id})
	}
	require.LessOrEqual(t, len(m.queued.young)+len(m.queued.old), 2*recentJobs)
	require.Nil(t, m.queued.get(0))
	for id := int64(many - recentJobs); id < many; id++ {
		require.NotNil(t, m.queued.get(id))
	}
	m.ended(many - 1)
	require.Nil(t, m.queued.get(many-1))
	big := make([]byte, recentBytes/4)
	for id := range int64(20) {
		m.remember(queue.Job{ID: many + id, Payload: big})
	}
	require.Less(t, len(m.queued.young)+len(m.queued.old), 10, "payloads are bounded too")
}

// A job that was put and one that was claimed are the writer's own: whoever put or
// took them may change theirs.
func TestRemembersCopies(t *testing.T) {
	t.Parallel()
	m := newMemory()
	given := queue.Job{ID: 1, Payload: []byte("a"), Holds: []string{"s"}}
	m.remember(given)
	given.Payload[0], given.Holds[0] = 'b', "t"
	kept := *m.queued.get(1)
	require.Equal(t, queue.Job{ID: 1, Payload: []byte("a"), Holds: []string{"s"}}, kept)
	m.claimed(kept)
	kept.Holds[0] = "u"
	require.Equal(t, []string{"s"}, m.claims[1].Holds)
	require.Nil(t, m.queued.get(1))
}

// The order within keys is known as long as it is complete, and bounded.
func TestChain(t *testing.T) {
	t.Parallel()
	c := newChain()
	for id := int64(1); id <= 3; id++ {
		c.append("k", id)
	}
	for id, want := range []int64{2, 3, 0} {
		next, known := c.end("k", int64(id)+1)
		require.True(t, known)
		require.Equal(t, want, next)
	}
	_, known := c.end("k", 3)
	require.False(t, known)
	c.append("k", 5)
	_, known = c.end("k", 4)
	require.False(t, known, "what is between a job and a later one is not known")
	for id := range int64(chainMax + 10) {
		c.append(fmt.Sprint(id), id)
	}
	require.LessOrEqual(t, len(c.last), chainMax)
	_, known = c.end("k", 5)
	require.False(t, known)
}
