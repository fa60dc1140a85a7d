package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// Caps are in millionths of a dollar. A cap of 0 is off.
type Caps struct {
	Task    int64 // for one task, from its beginning to its end
	RepoDay int64 // for one repository and day (UTC)
	Run     int64 // what a run is taken to cost until it is known; default 1 USD
}

// Account holds what is known of the money in one place, in millionths of a dollar.
type Account struct {
	Spent    int64    // by runs that have ended
	Silent   int64    // of that: by runs that have not said what they used
	Reserved int64    // for runs whose cost is not known: at work, or interrupted
	Unpriced []string // models that were used and have no known price
}

// Case holds what a verdict is given on.
type Case struct {
	Name    string // of the task, for people
	Repo    string
	At      time.Time
	Task    Account
	RepoDay Account // of the day that At is in
	Next    int64   // what the next run is taken to cost; 0 = Caps.Run
}

// Kinds of caps.
const (
	kindTask    = "task"
	KindRepoDay = "repo_day"
)

// Over is a cap that a further run might pass.
type Over struct {
	Kind     string    // task or repo_day
	Reason   string    // a sentence with the numbers
	Unpriced bool      // the cost of what was used is unknown
	Until    time.Time // when it ends by itself; zero = it does not
}

// Verdict lists the caps that a further run might pass; none lets it start.
type Verdict []Over

// Reason is one text for all of them.
func (v Verdict) Reason() string {
	var out []string
	for _, o := range v {
		out = append(out, o.Reason)
	}
	return strings.Join(out, "; ")
}

// Judge returns the caps that a further run might pass. The run may start when all that was
// spent, all that is reserved and the run itself stay within each cap. An unknown price counts
// as more than any cap.
func (c Caps) Judge(x Case) Verdict {
	var out Verdict
	if c.Task > 0 {
		o := Over{Kind: kindTask}
		if o.Reason, o.Unpriced = c.over(x, x.Task, c.Task, x.Name, "", "the cap of %s for a task"); o.Reason != "" {
			out = append(out, o)
		}
	}
	if c.RepoDay > 0 {
		begin := Day(x.At)
		o := Over{Kind: KindRepoDay, Until: begin.AddDate(0, 0, 1)}
		limit := "the cap of %s for a repository and day, until " + o.Until.Format(time.RFC3339)
		if o.Reason, o.Unpriced = c.over(x, x.RepoDay, c.RepoDay, x.Repo, " on "+begin.Format(time.DateOnly), limit); o.Reason != "" {
			out = append(out, o)
		}
	}
	return out
}

// over returns why a run might pass a cap; empty when it cannot.
func (c Caps) over(x Case, a Account, limit int64, who, when, what string) (reason string, unpriced bool) {
	what = fmt.Sprintf(what, USD(limit))
	if len(a.Unpriced) > 0 {
		return fmt.Sprintf("%s has used %s%s, whose price is not known: that counts as more than %s",
			who, models(a.Unpriced), when, what), true
	}
	next := cmp.Or(x.Next, c.Run)
	if add(add(a.Spent, a.Reserved), next) <= limit {
		return "", false
	}
	reserved := ""
	if a.Reserved > 0 {
		reserved = fmt.Sprintf(", %s is reserved for runs whose cost is not known", USD(a.Reserved))
	}
	silent := ""
	if a.Silent > 0 {
		silent = fmt.Sprintf(" (%s of it for runs that reported no usage)", USD(a.Silent))
	}
	return fmt.Sprintf("%s has cost %s%s%s%s, and the next run is taken to cost %s: together more than %s",
		who, USD(a.Spent), silent, when, reserved, USD(next), what), false
}

// models names models, sorted.
func models(names []string) string {
	var out []string
	for _, n := range names {
		out = append(out, fmt.Sprintf("the model %q", n))
	}
	slices.Sort(out)
	return strings.Join(slices.Compact(out), " and ")
}

// Day is the beginning of a moment's day (UTC).
func Day(at time.Time) time.Time {
	y, m, d := at.UTC().Date()
	return time.Date(y, m, d, 0, 0, 0, 0, time.UTC)
}

// USD is an amount in millionths of a dollar for people: "0.50 USD".
func USD(micro int64) string {
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
