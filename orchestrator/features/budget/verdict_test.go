package budget

import (
	"cmp"
	"math"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
)

// dollar is one, in millionths.
const dollar = 1_000_000

func TestJudge(t *testing.T) {
	noon := time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)
	both := Caps{Task: 5 * dollar, RepoDay: 20 * dollar, Run: dollar}
	for name, c := range map[string]struct {
		caps      Caps
		task, day account
		next      int64
		want      []string
		unpriced  bool
	}{
		"nothing was spent":          {caps: both},
		"the cap is met to the cent": {caps: both, task: account{spent: 3 * dollar, reserved: dollar}, day: account{spent: 19 * dollar}},
		"a millionth too much for the task": {caps: both, task: account{spent: 4*dollar + 1}, want: []string{
			"GPX-4 (task 7) has cost 4.000001 USD, and the next run is taken to cost 1.00 USD: together more than the cap of 5.00 USD for a task",
		}},
		"what is reserved counts": {caps: both, day: account{spent: 17_500_000, reserved: 2 * dollar}, want: []string{
			"acme/app has cost 17.50 USD on 2026-11-21, 2.00 USD is reserved for runs whose cost is not known, and the next run is taken to cost 1.00 USD: " +
				"together more than the cap of 20.00 USD for a repository and day, until 2026-11-22T00:00:00Z",
		}},
		"both": {caps: both, task: account{spent: 5 * dollar}, day: account{spent: 20 * dollar}, want: []string{
			"GPX-4 (task 7) has cost 5.00 USD, and the next run is taken to cost 1.00 USD: together more than the cap of 5.00 USD for a task",
			"acme/app has cost 20.00 USD on 2026-11-21, and the next run is taken to cost 1.00 USD: together more than the cap of 20.00 USD for a repository and day, until 2026-11-22T00:00:00Z",
		}},
		"a cap that is off is not asked": {caps: Caps{RepoDay: 20 * dollar, Run: dollar}, task: account{spent: 500 * dollar, unpriced: []string{"m"}}},
		"an unknown price is over": {caps: both, task: account{spent: 1, unpriced: []string{"z", "a"}}, unpriced: true, want: []string{
			`GPX-4 (task 7) has used the model "a" and the model "z", whose price is not known: that counts as more than the cap of 5.00 USD for a task`,
		}},
		"a run that may cost less": {caps: both, next: dollar / 2, task: account{spent: 4*dollar + 1}},
		"sums do not wrap around": {caps: both, task: account{spent: math.MaxInt64, reserved: math.MaxInt64}, want: []string{
			"GPX-4 (task 7) has cost 9223372036854.775807 USD, 9223372036854.775807 USD is reserved for runs whose cost is not known, and the next run is taken to cost 1.00 USD: " +
				"together more than the cap of 5.00 USD for a task",
		}},
	} {
		t.Run(name, func(t *testing.T) {
			v := books{c.caps, "GPX-4 (task 7)", "acme/app", noon, c.task, c.day, cmp.Or(c.next, dollar)}.overruns()
			require.Len(t, v, len(c.want))
			for i, o := range v {
				require.Equal(t, c.want[i], o.reason)
				require.Equal(t, c.unpriced, o.unpriced)
				require.Equal(t, o.kind == kindRepoDay, !o.until.IsZero())
			}
		})
	}
}

// Runs that are let start one after the other, each for what was reserved, never
// pass a cap; one that is refused would have.
func TestCapsAreKept(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		amount := rapid.Int64Range(0, 40*dollar)
		caps := Caps{Task: amount.Draw(t, "task cap"), RepoDay: amount.Draw(t, "day cap"), Run: rapid.Int64Range(1, 3*dollar).Draw(t, "run")}
		var tasks [3]account
		var day account
		at := time.Unix(rapid.Int64Range(0, 1<<33).Draw(t, "at"), 0)
		for range rapid.IntRange(1, 60).Draw(t, "runs") {
			n := rapid.IntRange(0, 2).Draw(t, "task")
			why, waits := books{caps, "x", "r", at, tasks[n], day, caps.Run}.Judge(admit.Start{})
			passes := caps.Task > 0 && tasks[n].spent+tasks[n].reserved+caps.Run > caps.Task ||
				caps.RepoDay > 0 && day.spent+day.reserved+caps.Run > caps.RepoDay
			require.Equal(t, passes, waits, "%+v", why)
			require.Equal(t, passes, why.Text != "")
			if passes {
				continue
			}
			cost := rapid.Int64Range(0, caps.Run).Draw(t, "cost") // no more than was reserved
			if rapid.Bool().Draw(t, "settled") {
				tasks[n].spent, day.spent = tasks[n].spent+cost, day.spent+cost
			} else {
				tasks[n].reserved, day.reserved = tasks[n].reserved+caps.Run, day.reserved+caps.Run
			}
			require.True(t, caps.Task == 0 || tasks[n].spent+tasks[n].reserved <= caps.Task)
			require.True(t, caps.RepoDay == 0 || day.spent+day.reserved <= caps.RepoDay)
		}
	})
}

// A day is UTC's wherever the clock is, and every moment is in exactly one.
func TestDay(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		zone := time.FixedZone("z", rapid.IntRange(-14*3600, 14*3600).Draw(t, "zone"))
		at := time.Unix(rapid.Int64Range(-1<<33, 1<<33).Draw(t, "at"), 0).In(zone)
		begin := dayOf(at)
		require.False(t, at.Before(begin))
		require.True(t, at.Before(begin.AddDate(0, 0, 1)))
		require.Equal(t, at.UTC().Format(time.DateOnly), begin.Format(time.DateOnly))
	})
}

func TestUSD(t *testing.T) {
	for micro, want := range map[int64]string{0: "0.00 USD", 1: "0.000001 USD", 10: "0.00001 USD", 500_000: "0.50 USD", 12_340_000: "12.34 USD", 1_234_500: "1.2345 USD"} {
		require.Equal(t, want, usd(micro))
	}
}

// The caps that are to be raised are those which hold.
func TestJudgeNamesTheCaps(t *testing.T) {
	const day = " and restart the service; the cap of a day ends with the day (UTC)"
	for _, c := range []struct {
		task, day int64
		do        string
	}{
		{4, 4, ""},
		{5, 4, "Raise ORCH_BUDGET_TASK_USD and restart the service"},
		{4, 9, "Raise ORCH_BUDGET_REPO_DAY_USD" + day},
		{5, 9, "Raise ORCH_BUDGET_TASK_USD and ORCH_BUDGET_REPO_DAY_USD" + day},
	} {
		f := books{caps: Caps{Task: 5, RepoDay: 9, Run: 1}, task: account{spent: c.task}, repoDay: account{spent: c.day}, next: 1}
		r, waits := f.Judge(admit.Start{})
		require.Equal(t, c.do != "", waits)
		if waits {
			require.Equal(t, []any{c.do, admit.WhoYou}, []any{r.Do, r.Who})
		}
	}
	r, _ := books{caps: Caps{Task: 1}, task: account{unpriced: []string{"m"}}}.Judge(admit.Start{})
	require.Equal(t, "Give the model's price in ORCH_AGENT_PRICES and restart the service", r.Do)
}
