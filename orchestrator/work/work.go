// Package work is the port to the places and processes in which agents work:
// the workspaces of task branches (adapters/gitcli) and the agents themselves
// (adapters/agentcli).
//
// Errors follow the contract of package orchestrator/fault. A git remote cannot name a
// moment.
package work

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Sentinels. Adapters wrap them.
var (
	// ErrProtected means that an operation would have touched a protected ref.
	ErrProtected = errors.New("work: the ref is protected")
	// ErrMoved means that a remote branch is not where it was last seen.
	ErrMoved = errors.New("work: the remote branch has moved")
	// ErrRemoved is the ErrMoved of a branch that the remote has no more.
	ErrRemoved = fmt.Errorf("%w: it was removed", ErrMoved)
	// ErrRefused means that the remote does not take a push, by its own rules and words.
	ErrRefused = errors.New("work: the remote refuses the branch")
	// ErrTaken means that the remote has a branch of the name which is not the task's.
	ErrTaken = errors.New("work: the remote has a branch of that name already")
	// ErrRemote means that the remote did not answer, or not as it should.
	ErrRemote = errors.New("work: the remote does not answer")
	// ErrBadName means that a name cannot be used as a ref or directory.
	ErrBadName = errors.New("work: the name is not allowed")
)

// Workspace names the workspace of one task. It is a value: any adapter call can be
// made with it at any time, also after a crash.
type Workspace struct {
	Repo     string // owner/name
	CloneURL string
	Main     string // protected
	Branch   string
	WorkItem string // names the directory
	Task     int64  // whose it is; 0 = not known
	// Identity stands in the branch's first commit: a remote branch without it is not
	// the task's, whatever its name.
	Identity string
	Docs     string // artefact directory, slash-separated
	// Head is the commit that the task stands at; empty before the first. An
	// adapter whose mirror lacks it gets it from where others have put it.
	Head string
	// Role names the role whose attempt Open makes a place for, and Writes what that may change.
	// Both stay with the checkout: other calls need not name them.
	Role   stage.Role
	Writes stage.Paths
	// FromMain are patterns (see stage.Paths) of files that Open checks out as main has
	// them, whatever the branch has; they are not there when main has none. The
	// attempt's commits have what the branch has. A double without main's files may
	// ignore it.
	FromMain []string
	// Keep are ignored directories, slash-separated, that survive from one attempt
	// to the next of the same role: caches. See CheckKeep.
	Keep []string
	// Beside are files that Open puts into the checkout where the branch has none of the name: not executable, in no
	// commit, and no part of what is left. A path with a link on its way is left out.
	Beside []File
}

// Checkout is a place for one attempt of an agent.
type Checkout struct {
	Dir  string
	Jail Jail  // what works there needs it: the directory, and where its history lies
	Left Left  // of the attempt before
	Main fs.FS // the repository's files as main has them, fetched for the attempt; nil = there is none
	// Created reports that Hooks.Created was called for the role, and that something that it
	// keeps is still there.
	Created bool
}

// Left is a commit of the mirror that has what an attempt had not committed, or not
// on its branch. It is for people: no branch has it, and it is not published. The
// zero value means that nothing was left.
type Left struct {
	Ref string `json:"ref"` // refs/signalbox/left/…
	SHA string `json:"sha"`
}

// OutsideError reports that commits change what their attempt may not. Nothing of them was
// taken, and the next attempt begins at the branch.
type OutsideError struct {
	Paths []string // at most OutsideMax, in the order of their names
	More  int      // how many there are besides
	Left  Left     // where people find the commits; zero when they could not be kept
}

// OutsideMax is how many paths an OutsideError names.
const OutsideMax = 20

// Add counts one more path.
func (o *OutsideError) Add(path string) {
	if len(o.Paths) == OutsideMax {
		o.More++
		return
	}
	o.Paths = append(o.Paths, path)
}

// Error names the paths.
func (o *OutsideError) Error() string {
	return "work: the commits change what they may not: " + o.List()
}

// List names the paths.
func (o *OutsideError) List() string { return stage.ListPaths(o.Paths, o.More) }

// File is a file to have in the workspace's first commit.
type File struct {
	Path string // slash-separated, relative
	Body []byte
}

// Tip describes a task branch in the mirror.
type Tip struct {
	SHA string
	// SameCode: see gates.Facts.
	SameCode []string
	// Base is the merge base with the fetched main.
	Base string
	// Changed reports that Take found commits that the mirror did not have.
	Changed bool
}

// Workspaces keeps one isolated checkout for each task, and the mirror that its
// commits are taken into. Every method is idempotent and safe to call from any
// half-made state that a crash left. Calls for the same space wait for each
// other.
type Workspaces interface {
	// Open makes the branch (from the fresh remote main when it is new; ErrTaken when
	// the remote has one that is another's), with the given files committed when it
	// is, and the checkout anew, whatever an earlier
	// attempt has left there: it begins at the branch, with what was committed on it
	// by the same role, within what it may change, and not taken yet. What was not committed is kept as Checkout.Left, also when
	// there is an error; that it cannot be kept is none. No process may be at work there.
	Open(ctx context.Context, s Workspace, first []File) (Checkout, error)
	// Take brings the commits of the checkout's branch into the mirror and
	// returns the tip. Uncommitted changes are not taken. *OutsideError when the trees
	// of the tip and of the branch differ in what the attempt may not change: then
	// nothing is, and the commits are kept as what was left.
	Take(ctx context.Context, s Workspace) (Tip, error)
	// Push publishes the mirror's commit sha as the task branch. The remote
	// branch must be at expected (empty = not exist), at sha already, or at an
	// ancestor of sha; ErrMoved otherwise, and ErrProtected for a branch that is
	// not a task's.
	Push(ctx context.Context, s Workspace, sha, expected string) error
	// Close removes the checkout; the mirror keeps the commits.
	Close(ctx context.Context, s Workspace) error
	// Drop removes the checkout and the task branch, the remote one too when it
	// has nothing but commits that the mirror has. ErrMoved leaves the remote
	// branch alone; ErrProtected for a branch that is not a task's. The mirror
	// keeps the commits under the name that keep says.
	Drop(ctx context.Context, s Workspace, keep string) error
}

// Rebaser brings task branches up to date with main. It changes no remote branch.
type Rebaser interface {
	// CatchUp rebases the mirror's task branch onto the fresh remote main. The
	// checkout stays behind, and nothing is taken from it, until it is opened again.
	// A branch that stands on main already stays as it is; with always, one that has
	// merges in it is made straight even then. *Conflict when it cannot be rebased: then
	// nothing has changed.
	CatchUp(ctx context.Context, s Workspace, always bool) (CaughtUp, error)
	// MainTip queries the remote for the tip of main.
	MainTip(ctx context.Context, s Workspace) (sha string, err error)
	// SameTree reports whether two commits of the fresh main or the mirror have
	// the same files.
	SameTree(ctx context.Context, s Workspace, a, b string) (bool, error)
	// TryMerge merges main, as the mirror has it, of a moment into a commit beside all branches. It reports whether the
	// commit has it already; *Conflict when the two cannot be merged.
	TryMerge(ctx context.Context, s Workspace, sha string, at time.Time) (has bool, err error)
}

// Reverter takes back what has landed.
type Reverter interface {
	// Revert adds a commit to the mirror's branch, which has begun, that takes back what landings have brought to
	// the fresh main, the newest first, under a message. A branch that has taken the newest back already stays.
	// *Conflict when main has gone on so that it cannot be taken back, an error that is final when it cannot be seen
	// what a landing has brought: then nothing has changed. The checkout stays behind, as by Add.
	Revert(ctx context.Context, s Workspace, landed []Landing, message string) (Tip, error)
}

// Landing is the commit by which a branch came to main, and the head that the branch had.
type Landing struct{ Merge, Head string }

// CaughtUp is where a branch stands after CatchUp.
type CaughtUp struct {
	SHA  string // its tip
	Base string // the commit of main that it stands on
}

// Conflict is the error of a branch that cannot be rebased.
type Conflict struct {
	Base  string
	Files []string
}

// Error names the files.
func (c *Conflict) Error() string {
	return fmt.Sprintf("work: the branch conflicts with main at %.12s in %s", c.Base, strings.Join(c.Files, ", "))
}

// ChangedMax is how many paths Mirror.Changed lists.
const ChangedMax = 1000

// DiffMax is how many bytes of text a Diff has at most.
const DiffMax = 400 << 10

// Diff holds what a commit changes since another one: Base.
type Diff struct {
	Base  string
	Files []FileDiff // by name, at most ChangedMax
	Cut   bool       // files, or the end of the text, are left out
}

// FileDiff holds what is changed in a file, as a unified diff. It has no Text where that was left out.
type FileDiff struct {
	Path string `json:"path"`
	Text string `json:"text"`
}

// Commits reads what the mirror has of a task.
type Commits interface {
	// Files gives the repository's files at a commit of the mirror.
	Files(ctx context.Context, s Workspace, sha string) (fs.FS, error)
	// Changed lists the paths that patterns (see stage.Paths) match and that differ
	// between two commits, by name; from "" is where the branch of to has left main, as
	// it was fetched last. At most ChangedMax are listed.
	Changed(ctx context.Context, s Workspace, from, to string, patterns []string) ([]string, error)
	// Diff reads what differs between two commits; from "" is as of Changed.
	// Nothing of the repository, such as its attributes, has a part in what is shown.
	Diff(ctx context.Context, s Workspace, from, to string) (Diff, error)
}

// Mirror keeps what has been taken.
type Mirror interface {
	Commits
	// Begin makes the branch as Open does, and no checkout: an agent may be at work
	// in it.
	Begin(ctx context.Context, s Workspace, first []File) error
	// Tip reads the branch from the mirror; SHA is empty when there is none.
	Tip(ctx context.Context, s Workspace) (Tip, error)
	// Add commits files on top of the mirror's branch, under a message of one line,
	// and returns the tip: the branch as it is when it has them already. The checkout
	// stays behind, and nothing is taken from it, until it is opened again.
	Add(ctx context.Context, s Workspace, files []File, message string) (Tip, error)
}

// Command is one execution of an agent.
type Command struct {
	TaskID   int64
	WorkItem string
	Repo     string
	Role     stage.Role
	Stage    stage.Stage
	Run      int64             // the task's agent run number
	Attempt  int               // of the job
	Dir      string            // working directory
	Jail     Jail              // what the execution may touch, where executions are confined
	Prompt   string            // ReportPath in it stands for where the report is to be written
	Template string            // hash of the team's text in it (package prompt); empty = the built-in one
	Report   string            // name of the file that the run is to put into its outbox; empty = none
	Env      map[string]string // added to the allow-listed environment; names start with SIGNALBOX_
	Agent    Agent             // Timeout 0 = the adapter's default
}

// ReportPath stands in a prompt for the path of the run's report. The same path is in
// the agent's environment as SIGNALBOX_REPORT.
const ReportPath = "{report}"

// ReportMax is how much a report may hold, in bytes.
const ReportMax = 64 << 10

// How an execution ended.
const (
	ResultOK        = "ok"
	ResultFailed    = "failed"    // exit code, or the agent itself says so
	ResultTimeout   = "timeout"   // stopped by us at the time limit
	ResultStalled   = "stalled"   // stopped by us because it printed nothing for Agent.Stall
	ResultBudget    = "budget"    // stopped by us at Agent.MicroUSD
	ResultStuck     = "stuck"     // stopped by us because it did the same again and again, to no effect
	ResultCancelled = "cancelled" // stopped by us because the context ended
	ResultUnusable  = "unusable"  // exit 0 but no result that can be read
)

// Result holds what came of a Command.
type Result struct {
	Kind       string    `json:"kind"`
	ExitCode   int       `json:"exit_code"` // -1 when there was none
	Reason     string    `json:"reason,omitempty"`
	Summary    string    `json:"summary,omitempty"` // the agent's closing words, capped
	Usage      Usage     `json:"usage"`
	Measured   *Measured `json:"measured,omitempty"` // nil: Usage is what the tool says
	Refused    []Refusal `json:"refused,omitempty"`  // hosts that it was not let to
	SessionID  string    `json:"session_id,omitempty"`
	Agent      string    `json:"agent,omitempty"`  // preset or command that it was
	Vendor     string    `json:"vendor,omitempty"` // of its models; empty = not known
	Trouble    Trouble   `json:"trouble,omitzero"`
	Template   string    `json:"template,omitempty"` // the Command's
	LogPath    string    `json:"log_path,omitempty"`
	StartedAt  time.Time `json:"started_at"`
	FinishedAt time.Time `json:"finished_at"`
}

// Step is one thing that an agent did, in the form that all tools' streams are brought to.
type Step struct {
	At    time.Time `json:"at"`
	Kind  StepKind  `json:"kind"`
	Text  string    `json:"text,omitempty"`  // its words, or what a tool was called with, in one line
	Tool  string    `json:"tool,omitempty"`  // name of the tool, as the agent has it
	Path  string    `json:"path,omitempty"`  // file that it changed, in the checkout
	Usage *Usage    `json:"usage,omitempty"` // of the run up to here
}

// StepKind is the kind of a Step.
type StepKind string

// Kinds of steps.
const (
	StepText  StepKind = "text"  // the agent says something
	StepTool  StepKind = "tool"  // it calls a tool
	StepFile  StepKind = "file"  // it changes a file
	StepUsage StepKind = "usage" // what the run has cost so far
	StepNote  StepKind = "note"  // the service's own words: the stream cannot be read, the run was ended
)

// Agents runs agents. Run has no error result: a failure is a Result. When it
// returns, no process of the execution is left.
type Agents interface {
	Run(ctx context.Context, c Command) Result
	// Quiesce ends whatever an earlier process of this service left running for
	// the task and returns when nothing of it lives.
	Quiesce(ctx context.Context, taskID int64) error
	// Report reads what the run of a command has put into its outbox, a place that is
	// empty when an execution begins and that no other run is given. fs.ErrNotExist
	// when it has put nothing there; an error that is final when it is no file or
	// longer than ReportMax.
	Report(ctx context.Context, c Command) (string, error)
}

// LogName names what one execution has printed.
type LogName struct {
	TaskID  int64
	Role    stage.Role
	Run     int64
	Attempt int
	Stream  Stream
}

// Stream is one of what an execution leaves to read.
type Stream string

// Streams.
const (
	StreamOutput Stream = ""       // standard output
	StreamErrors Stream = "errors" // standard error
	StreamSteps  Stream = "steps"  // a Step as JSON in each line
)

// LogWriter opens a log to write, anew: of what is no execution of an agent. Logs reads it.
type LogWriter interface {
	KeepLog(ctx context.Context, n LogName) (io.WriteCloser, error)
}

// Logs opens what executions have printed, also while they run: the end then
// grows, and runs of zero bytes are what was cut out. The error is fs.ErrNotExist
// when there is nothing (any more).
type Logs interface {
	OpenLog(ctx context.Context, n LogName) (io.ReadSeekCloser, error)
}
