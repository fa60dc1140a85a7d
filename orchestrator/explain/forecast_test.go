package explain

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// crowd is so many cards that came at a moment, a minute after each other, of which one is worked on at a time, for an hour each.
func crowd(repo string, at time.Time, cards int, done bool) (out []life) {
	waits := standing{stage: stage.Analysis, active: stage.Analyst, queued: true}
	works := waits
	works.queued = false
	for i := range cards {
		l := life{repo: repo, done: done, cost: 3e6, steps: []step{{standing: waits, run: 1, at: at.Add(time.Duration(i) * time.Minute)}}}
		if done {
			begun := max(time.Duration(i)*time.Hour, time.Second)
			l.steps, l.end = append(l.steps, step{standing: works, run: 1, at: at.Add(begun)}), at.Add(begun+time.Hour)
		}
		out = append(out, l)
	}
	return out
}

// The place in a line tells when a card will be done: as cards had it that stood at the same place, and behind the longest line
// so far as much longer as the line is.
func TestForecastOfALine(t *testing.T) {
	now := time.Date(2026, 11, 27, 12, 0, 0, 0, time.UTC)
	var past []life
	for day := range 10 {
		past = append(past, crowd("acme/app", now.AddDate(0, 0, -day-1), 4, true)...)
	}
	live := crowd("acme/app", now, 10, false)
	all := append(past, append(live, crowd("acme/other", now, 5, false)...)...)
	for place, hours := range map[int]int{1: 2, 2: 3, 3: 4, 6: 7, 9: 10} {
		f := forecast(live[place], live[place].steps[0].at, all)
		require.Equal(t, place, f.Ahead)
		require.InDelta(t, hours*60, f.Done.Sub(now).Minutes(), 20, place)
		require.Less(t, f.Within, int64(60))
		require.Equal(t, 10, f.Cards)
	}
	live[1].cost = -1
	require.EqualValues(t, -1, forecast(live[1], now, all).MicroUSD, "what it has cost until now is not known")
	live[0].steps = append(live[0].steps, step{standing: standing{stage: stage.Analysis, hold: stage.HoldApproval}, at: now.Add(time.Minute)})
	all[len(past)] = live[0]
	require.Equal(t, 2, forecast(live[3], now.Add(time.Hour), all).Ahead, "who waits for a person is before nobody")
}
