package githost

import "fmt"

// Standing is how an open pull request stands to its base.
type Standing string

// Standings. None means that the host does not say, or that nothing of it was read.
const (
	StandingClean    Standing = "clean"
	StandingBehind   Standing = "behind"   // it lacks commits of the base, which are demanded
	StandingConflict Standing = "conflict" // with the base
	StandingBlocked  Standing = "blocked"  // by rules of the base
	StandingUnknown  Standing = "unknown"  // the branches have yet to be compared
	StandingRed      Standing = "red"      // checks have failed of what a merge queue would make of it
)

// Readiness holds what a host shows of an open pull request beside its ends: whether it may be merged.
type Readiness struct {
	Draft    bool
	Standing Standing
	Required int    // approvals that the base demands, as far as the token may see
	Approved int    // those of them that it has
	Owners   bool   // an owner of the code has to be among them
	Queue    string // what demands that it is merged by a merge queue of the host's; empty = nothing does
}

// Moment is when a pull request is looked at.
type Moment int

// Moments.
const (
	BeforeRun   Moment = iota // of an agent
	BeforeMerge               // before the right to merge is taken
	Refused                   // a merge was
)

// Next names what follows from how a pull request stands.
type Next string

// What may follow.
const (
	GoOn         Next = "go on"
	CatchUp      Next = "bring it up to date"
	ForDeveloper Next = "for the developer"
	ForPerson    Next = "for a person"
	Later        Next = "later"
)

// Ready is one row of the table of what follows from how a pull request stands.
type Ready struct {
	State string // name of the row
	Next  [3]Next
	Do    string // what a person does about it, where it is a person's: an imperative

	is  func(p PullRequest, main string) bool
	why func(p PullRequest, main string) string // follows "pull request 5 (address) "; nil: the host's words are all
}

// States that hold a task until a person has acted at the host.
const (
	PullClosed     = "closed"
	PullDraft      = "draft"
	PullRetargeted = "retargeted"
	PullUnapproved = "unapproved"
)

func says(text string) func(PullRequest, string) string {
	return func(PullRequest, string) string { return text }
}

func stands(at Standing) func(PullRequest, string) bool {
	return func(p PullRequest, _ string) bool { return p.Standing == at }
}

// Readinesses is the table. The first row that holds counts, and the last always does. Git itself shows before a merge
// whether a branch is behind or conflicts; what the host says of that counts once it has refused.
var Readinesses = []Ready{
	{
		"merged", [3]Next{GoOn, GoOn, GoOn}, "",
		func(p PullRequest, main string) bool { return p.Merged && (main == "" || p.BaseRef == main) }, nil,
	},
	{
		PullRetargeted, [3]Next{ForPerson, ForPerson, ForPerson}, "set its base back, or open another",
		func(p PullRequest, main string) bool { return main != "" && p.BaseRef != main },
		func(p PullRequest, main string) string {
			return fmt.Sprintf("goes into %s, and not into %s", p.BaseRef, main)
		},
	},
	{
		PullClosed, [3]Next{ForPerson, ForPerson, ForPerson}, "reopen it",
		func(p PullRequest, _ string) bool { return !p.Open }, says("is closed"),
	},
	{
		PullDraft, [3]Next{ForPerson, ForPerson, ForPerson}, "mark it ready for review",
		func(p PullRequest, _ string) bool { return p.Draft }, says("is a draft"),
	},
	{
		PullUnapproved, [3]Next{GoOn, ForPerson, ForPerson}, "approve it",
		func(p PullRequest, _ string) bool { return p.Standing == StandingBlocked && p.Approved < p.Required }, missing,
	},
	{"conflict", [3]Next{GoOn, GoOn, ForDeveloper}, "", stands(StandingConflict), nil},
	{"red in a merge queue", [3]Next{GoOn, GoOn, ForDeveloper}, "", stands(StandingRed), nil},
	{"behind", [3]Next{GoOn, GoOn, CatchUp}, "", stands(StandingBehind), nil},
	{"not compared", [3]Next{GoOn, GoOn, Later}, "", stands(StandingUnknown), says("has yet to be compared with its base")},
	{"clean", [3]Next{GoOn, GoOn, Later}, "", stands(StandingClean), says("shows no reason for that")},
	{"anything else", [3]Next{GoOn, GoOn, ForPerson}, "put it right at the git host", func(PullRequest, string) bool { return true }, nil},
}

// missing says what approvals a pull request waits for.
func missing(p PullRequest, _ string) string {
	text := "waits for 1 approval by somebody with write access"
	if n := p.Required - p.Approved; n > 1 {
		text = fmt.Sprintf("waits for %d approvals by people with write access", n)
	}
	if p.Owners {
		text += "; an owner of the code has to be among them"
	}
	return text
}

// Row returns the row of the table that holds for a pull request which is to go into main; empty = into whichever base.
func (p PullRequest) Row(main string) Ready {
	for _, r := range Readinesses {
		if r.is(p, main) {
			return r
		}
	}
	return Ready{}
}

// Why words the row for people, with the address of the pull request.
func (r Ready) Why(p PullRequest, main string) string {
	if r.why == nil {
		return ""
	}
	return fmt.Sprintf("pull request %d (%s) %s", p.Number, p.URL, r.why(p, main))
}

// Refusal returns why a merge was refused, as far as the table words it, and the sentinel by which that is reported; nil: it
// is tried again.
func (p PullRequest) Refusal() (why string, is error) {
	row := p.Row("")
	if p.Standing == StandingRed && row.Next[Refused] == ForDeveloper {
		return "", ErrRed
	}
	return row.Why(p, ""), map[Next]error{ForDeveloper: ErrNotMergeable, CatchUp: ErrBehind, ForPerson: ErrDenied}[row.Next[Refused]]
}

// Approvals counts the people who may write, other than who has opened the pull request, whose newest judgement of it approves.
func Approvals(list []Review) (n int) {
	newest := map[string]bool{}
	for _, r := range list {
		if r.State != ReviewCommented {
			newest[r.Author] = r.State == ReviewApproved && r.Permission.MayWrite() && !r.Opener
		}
	}
	for _, approves := range newest {
		if approves {
			n++
		}
	}
	return n
}
