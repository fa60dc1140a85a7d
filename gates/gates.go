package gates

import (
	"context"
	"io"
	"io/fs"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Outcome names what a verdict says.
type Outcome int

// Outcomes. Error is the zero value: a verdict that nobody filled in means that
// the check itself is broken.
const (
	Error Outcome = iota // the check could not be made; never passes
	Green
	Red   // the work is not good enough; the reason says why
	Defer // not decided yet: evaluate again when something has changed
)

// Evidence is one thing that a check looked at.
type Evidence struct {
	Kind string `json:"kind"` // file, commit, check, review, approval, report, command, probe, limit
	Name string `json:"name"`
	Note string `json:"note,omitempty"` // what was seen
	OK   bool   `json:"ok"`
	stage.Provenance
}

// Verdict is a gate's answer.
type Verdict struct {
	Check      string          `json:"check"`
	Outcome    Outcome         `json:"outcome"`
	Reason     string          `json:"reason"`              // one sentence, also when green
	SHA        string          `json:"sha,omitempty"`       // the commit that was judged
	Asks       bool            `json:"asks,omitempty"`      // red, and a person's word for that commit would do
	Empty      bool            `json:"empty,omitempty"`     // asks, because the commit changes nothing
	Person     bool            `json:"person,omitempty"`    // red, and people have to put it right outside of the branch
	Again      []githost.Check `json:"-"`                   // deferred: until these checks were run again, once for a commit
	Retryable  bool            `json:"retryable,omitempty"` // an error may go away; see package fault
	RetryAfter time.Duration   `json:"-"`                   // the moment that it names
	Evidence   []Evidence      `json:"evidence,omitempty"`
	Children   []Verdict       `json:"children,omitempty"`
}

// Passed reports whether the verdict lets a task leave its stage.
func (v Verdict) Passed() bool { return v.Outcome == Green }

// Facts holds what a check may look at. It is frozen: every field describes the
// moment At. Readers are nil when there is nothing to read; a check that needs
// one then says so in an Error verdict.
type Facts struct {
	At    time.Time
	Task  Task
	Stage stage.Stage
	Works stage.Info // what the pipeline says of the stage; zero = the built-in one
	SHA   string     // the task branch's head; empty when there is no branch yet

	// Unpublished means that SHA has not been pushed yet: nobody else has seen it.
	Unpublished bool
	// Settled means that SHA was pushed so long ago that a CI which has reported nothing
	// of it does not run for it.
	Settled bool

	// SameCode lists the commits whose tree differs from SHA's in nothing but
	// the task's artefacts, SHA among them: a report on one of them is a report
	// on the head.
	SameCode []string
	// Base is the commit of main at which the branch has left it, as far as it is known. A command finds the files that
	// FromMain matches (see stage.Paths) as they are there.
	Base     string
	FromMain []string
	// Deployed is the commit that the deployment was to bring out.
	Deployed string

	Tree     fs.FS       // the files of the repository at SHA
	CI       CI          // continuous integration results
	Reviews  Reviews     // reviews of the git host
	Changes  Changes     // what SHA has changed
	Commands Commands    // executables of the registry entry
	Log      io.Writer   // is given what commands print, as they print it; nil = only its end is kept
	Approval stage.Vouch // the human verdict, when one was given
	Filed    stage.Filed // what the newest run of the stage's role has reported
	Vouched  stage.Vouch // for the newest commit that a person stands for: it changes protected paths, or nothing at all
	Reran    stage.Reran // checks of SHA that were run again
	Retries  int         // how often the task was sent back since the design was ready or a person last acted
	Policy   Policy

	// Mergeable holds the result of bringing the branch up to date with main.
	Mergeable *Mergeable
}

// Mergeable records how a branch stands to main. The merge gate fills it in under
// the merge lease.
type Mergeable struct {
	Base      string   // the commit of main that the branch stands on
	Conflicts []string // files that kept it from being rebased
}

// Task is the facts of a task that gates may use.
type Task struct {
	ID          int64
	WorkItem    string // e.g. GPX-42
	Title       string
	Description string // markup stripped
	Repo        string // owner/name
	Branch      string
	Main        string
	Docs        string // the directory of the task's artefacts, slash-separated, no trailing slash
}

// Policy is the part of the configuration that gates read.
type Policy struct {
	TitleMax int                      // characters; 0 = 200
	CINone   bool                     // the repository declares that it has no CI
	Plain    bool                     // the repository has no git host: CI is what the service runs itself
	Required map[stage.Stage][]string // files that must exist to leave a stage, relative to Task.Docs
	Contexts []string                 // CI checks that must be present and passed
	AllCI    bool                     // checks that the host's rules do not demand count too
	Issuers  map[string]string        // who has to report them, by name; else see githost.Check.Foreign
	// Verify are the commands, their words separated by spaces, that the service has to
	// have run on the commit that leaves testing (Filed.Verified).
	Verify []string
	// Probe are the addresses, by stage, whose answer has to be the deployed commit
	// (Filed.Probed).
	Probe map[stage.Stage]string
	// Protected are patterns (see stage.Paths) of files whose changes a person has to see.
	Protected []string
	// Reviewers are accounts of the git host whose reviews count although they are bots
	// or may not write to the repository.
	Reviewers []string
}

// Changes lists the paths that patterns match and that differ between a commit and
// Subject.SHA; from "" is where its branch has left main.
type Changes interface {
	Changed(ctx context.Context, from string, patterns []string) ([]string, error)
	// Diff reads what has changed since the branch has left main, as unified diffs by name. cut: files, or the end of
	// the text, are left out.
	Diff(ctx context.Context) (files []FileDiff, cut bool, err error)
}

// FileDiff holds what is changed in a file, as a unified diff; no Text where that was left out.
type FileDiff struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// CI reads the CI results of a commit that is to go into a base branch, with those that
// are expected of it. githost.Host is one.
type CI interface {
	Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error)
}

// Reviews reads the reviews of a branch's pull request. githost.Host is one.
type Reviews interface {
	Reviews(ctx context.Context, repo, branch, base string) ([]githost.Review, error)
}

// Commands runs the command of a command check in a checkout of Subject.SHA. Its program
// is not the judged branch's.
type Commands interface {
	RunCheck(ctx context.Context, argv []string, s Facts) (exit int, stderr string, err error)
}

// Slow marks gates that may take minutes, such as commands: the engine judges them when
// all others let a task pass, and holds up no other event with them.
type Slow interface {
	Gate
	Slow()
}

// Gate is one registered deterministic check. Judge reads and never writes; it
// has no error result: a failure is a verdict with Outcome Error.
type Gate interface {
	Name() string
	Judge(ctx context.Context, s Facts) Verdict
}
