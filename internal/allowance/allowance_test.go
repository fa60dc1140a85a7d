package allowance_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/internal/allowance"
)

// meter is a new one, and the moment at which it begins.
func meter() (*allowance.Meter, time.Time) {
	return &allowance.Meter{Window: time.Minute, Slack: time.Second, Settling: 2 * time.Second}, time.Date(2031, 5, 4, 8, 0, 0, 0, time.UTC)
}

// A process that begins anew sends one request, whose answer says what the one before it has spent: nothing is refused
// that words still have room for. Without an answer another is sent in a while.
func TestRestart(t *testing.T) {
	t.Parallel()
	m, now := meter()
	require.Zero(t, m.Turn(allowance.Event, now))
	first := m.Send(allowance.Event, now)
	for _, c := range allowance.Classes() {
		require.Equal(t, 100*time.Millisecond, m.Turn(c, now.Add(time.Second)), c)
	}
	require.Zero(t, m.Turn(allowance.Word, now.Add(2*time.Second)), "it was not answered")
	m.Answered(first, 60, 12, now.Add(2*time.Second)) // 47 were spent before
	now = now.Add(3 * time.Second)
	sent := map[allowance.Class]int{}
	for _, c := range []allowance.Class{allowance.Retry, allowance.Listing, allowance.Effect, allowance.Event, allowance.Word} {
		for m.Turn(c, now) == 0 {
			m.Send(c, now)
			sent[c]++
		}
	}
	require.LessOrEqual(t, sent[allowance.Retry]+sent[allowance.Listing]+sent[allowance.Effect]+sent[allowance.Event], 3)
	require.GreaterOrEqual(t, sent[allowance.Word], 9)
	require.Equal(t, 12, sent[allowance.Retry]+sent[allowance.Listing]+sent[allowance.Effect]+sent[allowance.Event]+sent[allowance.Word])
}

// A destination that never says what remains is not metered, but for the first request.
func TestNothingIsSaid(t *testing.T) {
	t.Parallel()
	m, now := meter()
	m.Answered(m.Send(allowance.Word, now), 0, -1, now)
	for range 200 {
		require.Zero(t, m.Turn(allowance.Retry, now))
		m.Send(allowance.Retry, now)
	}
}

// An answer that comes late counts what was sent meanwhile: those are no requests of others. What others have is no less for it.
func TestAnswerComesLate(t *testing.T) {
	t.Parallel()
	for _, others := range []int{0, 5} {
		m, now := meter()
		m.Answered(m.Send(allowance.Event, now), 60, 59-others, now)
		late := m.Send(allowance.Event, now)
		for i := range 40 {
			m.Answered(m.Send(allowance.Event, now), 60, 58-others-i, now)
		}
		m.Answered(late, 60, 18-others, now)
		used, limit, _ := m.Used(now)
		require.Equal(t, []int{42 + others, 60}, []int{used, limit})
		m.Answered(m.Send(allowance.Event, now), 60, 0, now)
		used, _, _ = m.Used(now)
		require.Equal(t, 60, used, "others have used the rest")
	}
}

// Each of many that wait is told when there is room for it, and not all of them when there is room for one.
func TestManyWait(t *testing.T) {
	t.Parallel()
	m, now := meter()
	m.Answered(m.Send(allowance.Event, now), 60, 59, now)
	due, looks, sent, began := make([]time.Time, 500), 0, 0, now
	for i := range due {
		due[i] = began.Add(time.Duration(i%60) * time.Second) // and so do those that were sent make room
	}
	for ; sent < len(due); now = now.Add(time.Second) {
		require.Less(t, now.Sub(began), 20*time.Minute)
		for i, at := range due {
			if at.After(now) {
				continue
			}
			looks++
			if wait := m.Turn(allowance.Event, now); wait > 0 {
				due[i] = now.Add(wait)
				continue
			}
			m.Send(allowance.Event, now)
			due[i] = began.Add(time.Hour)
			sent++
		}
	}
	require.Less(t, looks, 7*len(due))
}
