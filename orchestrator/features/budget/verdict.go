package budget

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/admit"
)

// Caps are in millionths of a dollar. A cap of 0 is off.
type Caps struct {
	Task    int64 // for one task, from its beginning to its end
	RepoDay int64 // for one repository and day (UTC)
	Run     int64 // what a run is taken to cost until it is known; default 1 USD
}

// account holds what is known of the money in one place, in millionths of a dollar.
type account struct {
	spent    int64    // by runs that have ended
	silent   int64    // of that: by runs that have not said what they used
	reserved int64    // for runs whose cost is not known: at work, or interrupted
	unpriced []string // models that were used and have no known price
}

// books hold all that a run is judged by.
type books struct {
	caps    Caps
	name    string // of the task, for people
	repo    string
	at      time.Time
	task    account
	repoDay account // of the day that at is in
	next    int64   // what the next run is taken to cost
}

// Kinds of caps.
const (
	kindTask    = "task"
	kindRepoDay = "repo_day"
)

// overrun is a cap that a further run might pass.
type overrun struct {
	kind     string
	reason   string    // a sentence with the numbers
	unpriced bool      // the cost of what was used is unknown
	until    time.Time // when it ends by itself; zero = it does not
}

// overruns returns the caps that a further run might pass. The run may start when all that was
// spent, all that is reserved and the run itself stay within each cap. An unknown price counts
// as more than any cap.
func (x books) overruns() (out []overrun) {
	if x.caps.Task > 0 {
		o := overrun{kind: kindTask}
		if o.reason, o.unpriced = x.over(x.task, x.caps.Task, x.name, "", "the cap of %s for a task"); o.reason != "" {
			out = append(out, o)
		}
	}
	if x.caps.RepoDay > 0 {
		begin := dayOf(x.at)
		o := overrun{kind: kindRepoDay, until: begin.AddDate(0, 0, 1)}
		limit := "the cap of %s for a repository and day, until " + o.until.Format(time.RFC3339)
		if o.reason, o.unpriced = x.over(x.repoDay, x.caps.RepoDay, x.repo, " on "+begin.Format(time.DateOnly), limit); o.reason != "" {
			out = append(out, o)
		}
	}
	return out
}

// reasonOf is one text for all of them.
func reasonOf(over []overrun) string {
	var out []string
	for _, o := range over {
		out = append(out, o.reason)
	}
	return strings.Join(out, "; ")
}

// Seen returns the sums spent and reserved, and the assumed cost of the run, in millionths of a dollar.
func (x books) Seen() any {
	return map[string]int64{
		"task": x.task.spent, "task_reserved": x.task.reserved, "day": x.repoDay.spent, "day_reserved": x.repoDay.reserved,
		"next": x.next,
	}
}

func (x books) Judge(admit.Start) (r admit.Reason, waits bool) {
	over := x.overruns()
	var caps []string
	day := ""
	for _, o := range over {
		if o.kind == kindRepoDay {
			caps, day, r.Until = append(caps, "ORCH_BUDGET_REPO_DAY_USD"), "; the cap of a day ends with the day (UTC)", o.until
		} else {
			caps = append(caps, "ORCH_BUDGET_TASK_USD")
		}
	}
	r.Text, r.Who, r.Detail = reasonOf(over), admit.WhoYou, over
	r.Do = "Raise " + strings.Join(caps, " and ")
	if len(x.task.unpriced)+len(x.repoDay.unpriced) > 0 { // no cap is high enough
		r.Do = "Give the model's price in ORCH_AGENT_PRICES"
	}
	r.Do += " and restart the service" + day
	return r, len(over) > 0
}

// over returns why a run might pass a cap; empty when it cannot.
func (x books) over(a account, limit int64, who, when, what string) (reason string, unpriced bool) {
	what = fmt.Sprintf(what, usd(limit))
	if len(a.unpriced) > 0 {
		return fmt.Sprintf("%s has used %s%s, whose price is not known: that counts as more than %s",
			who, models(a.unpriced), when, what), true
	}
	if add(add(a.spent, a.reserved), x.next) <= limit {
		return "", false
	}
	reserved := ""
	if a.reserved > 0 {
		reserved = fmt.Sprintf(", %s is reserved for runs whose cost is not known", usd(a.reserved))
	}
	silent := ""
	if a.silent > 0 {
		silent = fmt.Sprintf(" (%s of it for runs that reported no usage)", usd(a.silent))
	}
	return fmt.Sprintf("%s has cost %s%s%s%s, and the next run is taken to cost %s: together more than %s",
		who, usd(a.spent), silent, when, reserved, usd(x.next), what), false
}

// models names models, sorted.
func models(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("the model %q", n))
	}
	slices.Sort(out)
	return strings.Join(out, " and ")
}

// dayOf is the beginning of a moment's day (UTC).
func dayOf(at time.Time) time.Time {
	y, m, d := at.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// usd renders an amount in millionths of a dollar for people: "0.50 USD".
func usd(micro int64) string {
	cents := fmt.Sprintf("%d.%06d", micro/1e6, micro%1e6)
	for strings.HasSuffix(cents, "0") && len(cents)-strings.IndexByte(cents, '.') > 3 {
		cents = cents[:len(cents)-1]
	}
	return cents + " USD"
}

// add adds amounts. Nonsense below 0 counts as 0, and a sum never wraps around.
func add(a, b int64) int64 {
	a, b = max(a, 0), max(b, 0)
	if a > math.MaxInt64-b {
		return math.MaxInt64
	}
	return a + b
}
