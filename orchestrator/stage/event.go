package stage

import "time"

// Trigger names what can move a task.
type Trigger string

// Triggers. The first six are board statuses that a human sets.
const (
	OnToAnalyse     Trigger = "to_analyse"
	OnInProgress    Trigger = "in_progress"
	OnApproved      Trigger = "approved"
	OnRejected      Trigger = "rejected"
	OnConfirmDeploy Trigger = "confirm_deploy"
	OnStop          Trigger = "stop"

	OnAgentFinished Trigger = "agent_finished" // an agent's job ended well
	OnAgentAttempt  Trigger = "agent_attempt"  // one attempt failed; the queue tries again
	OnAgentFailed   Trigger = "agent_failed"   // the last attempt failed
	OnCI            Trigger = "ci"             // something was said about CI, or it is time to look
	OnReview        Trigger = "review"
	OnPRMerged      Trigger = "pr_merged"
	OnPublished     Trigger = "published" // our own push (and pull request) arrived
	OnMergeDone     Trigger = "merge_done"
	OnMergeFailed   Trigger = "merge_failed"
	OnEffectFailed  Trigger = "effect_failed" // what the stage needs was refused for good
	OnRetry         Trigger = "operator_retry"
	OnBranchTaken   Trigger = "branch_taken" // the remote has a branch of the task's name that is not its own
	OnPushed        Trigger = "pushed"       // others have pushed to the task's branch

	// OnReconcile is the reconciler's finding that a stage's gate is green
	// although no event came. Only the edges of its feature have it.
	OnReconcile Trigger = "reconcile"
)

// Triggers lists every trigger of the built-in pipeline.
func Triggers() []Trigger {
	return []Trigger{
		OnToAnalyse, OnInProgress, OnApproved, OnRejected, OnConfirmDeploy, OnStop,
		OnAgentFinished, OnAgentAttempt, OnAgentFailed, OnCI, OnReview, OnPRMerged,
		OnPublished, OnMergeDone, OnMergeFailed, OnEffectFailed, OnRetry, OnBranchTaken, OnPushed,
	}
}

// BoardTrigger returns the trigger of a board status; ok is false for one that
// only indicates.
func BoardTrigger(s Status) (Trigger, bool) {
	info, known := StatusNamed(s)
	return Trigger(s), known && info.Trigger
}

// Outcome names the result of a Verdict, in the words of package gates.
type Outcome string

// The values of Outcome.
const (
	Green Outcome = "green"
	Red   Outcome = "red"
	Defer Outcome = "defer"
	Error Outcome = "error"
)

// Verdict holds the answer of the edge's gates, reduced to what the machine needs. The
// zero Verdict has not been given and passes nothing.
type Verdict struct {
	Outcome Outcome `json:"outcome,omitempty"`
	Reason  string  `json:"reason,omitempty"`
	SHA     string  `json:"sha,omitempty"`
	Asks    bool    `json:"asks,omitempty"`   // red, and a person's word for the commit would do
	Empty   bool    `json:"empty,omitempty"`  // asks, because the commit changes nothing
	Person  bool    `json:"person,omitempty"` // red, and people have to put it right outside of the branch
}

// Report holds what an agent's run says of itself.
type Report struct {
	Role        Role   `json:"role"`
	Model       string `json:"model,omitempty"`
	Input       int64  `json:"input_tokens"`
	Output      int64  `json:"output_tokens"`
	CacheRead   int64  `json:"cache_read_input_tokens"`
	CacheCreate int64  `json:"cache_creation_input_tokens"`
	MicroUSD    int64  `json:"cost_micro_usd"` // millionths of a dollar
	Questions   string `json:"questions,omitempty"`
	Reason      string `json:"reason,omitempty"` // of a failure
	Filed       Filed  `json:"filed,omitzero"`
	// Hindered is set where the agent could not have worked for any task: then the attempt
	// is no failure of this one.
	Hindered *Hindrance `json:"hindered,omitempty"`
	Caveat   string     `json:"caveat,omitempty"` // what people are to keep in mind when they read what the run has left
	// Files are the artefacts for people that are there in the commit that the run has left.
	Files []string `json:"files,omitempty"`
}

// Hindrance describes what keeps every run of an agent from working.
type Hindrance struct {
	Agent string    `json:"agent"`           // preset or command
	Model string    `json:"model,omitempty"` // with which it cannot; empty = with any
	Kind  string    `json:"kind"`            // a work.TroubleKind
	Until time.Time `json:"until,omitzero"`  // when it ends by itself, where the agent says so
}

// Filed is the verdict that a run of a role has put into its outbox. The zero value
// says that there is none.
type Filed struct {
	Role    Role   `json:"role,omitempty"`
	Run     int64  `json:"run,omitempty"`
	Verdict string `json:"verdict,omitempty"` // in the role's words
	SHA     string `json:"sha,omitempty"`     // the commit that it is about, or its beginning
	Summary string `json:"summary,omitempty"`
	Problem string `json:"problem,omitempty"` // why it cannot be read; then the three before are empty
	// Verified lists the commands that the service has run itself after the report.
	Verified []Verified `json:"verified,omitempty"`
	// Probed holds the deployment's own answer after the report.
	Probed *Probed `json:"probed,omitempty"`
}

// Probed holds what a deployment has said of itself.
type Probed struct {
	Address    string `json:"address"`
	Provenance        // SHA is the commit that it runs, or its beginning, in lower case
	Problem    string `json:"problem,omitempty"` // why it is not known
}

// Verified is a command that the service has run on a commit.
type Verified struct {
	Command string `json:"command"` // its words, separated by spaces
	Provenance
	Exit    int    `json:"exit"`              // -1 when it was ended
	Note    string `json:"note,omitempty"`    // whose files have judged, where they are not main's
	Tail    string `json:"tail,omitempty"`    // the end of what it has written
	Expired string `json:"expired,omitempty"` // the time limit that it was ended at
}

// CI holds the results of the commands that the service runs itself as the continuous
// integration of a commit, where nobody else does. Job and Attempt name its log.
type CI struct {
	SHA     string     `json:"sha,omitempty"`
	Job     int64      `json:"job,omitempty"`
	Attempt int        `json:"attempt,omitempty"`
	Results []Verified `json:"results,omitempty"` // up to the first that failed
}

// Reran holds which checks of a commit the service has had the host run again, and when it did that last.
type Reran struct {
	SHA    string    `json:"sha,omitempty"`
	Checks []string  `json:"checks,omitempty"`
	At     time.Time `json:"at,omitzero"`
}

// Event is one thing that happened. At is the only clock that the machine has.
type Event struct {
	On      Trigger   `json:"on"`
	At      time.Time `json:"at"`
	Run     int64     `json:"run,omitempty"`     // agent results: whose
	Agent   *Report   `json:"agent,omitempty"`   // agent results
	Reason  string    `json:"reason,omitempty"`  // of a rejection or a failed merge
	By      Principal `json:"by,omitzero"`       // who, when it was not the service's own doing
	Unbegun bool      `json:"unbegun,omitempty"` // of a STOP: what cannot be undone has not begun, and does not
	Seen    time.Time `json:"seen,omitzero"`     // of a board status: when the work item was changed last, by the tracker's clock
	Of      string    `json:"of,omitempty"`      // of a person's word: the commit that was read, where it is known
	Waits   string    `json:"waits,omitempty"`   // of a board status: that the agent of the stage has not begun, and what it waits for
	SHA     string    `json:"sha,omitempty"`     // agent results, pushed: the new head; merge_done: the merge; effect_failed: the refused
	Branch  string    `json:"branch,omitempty"`  // branch_taken
	PR      int64     `json:"pr,omitempty"`
	URL     string    `json:"url,omitempty"`
	Final   bool      `json:"final,omitempty"`   // merge_failed, effect_failed: a retry cannot help; ci: waiting cannot
	Gone    bool      `json:"gone,omitempty"`    // ci, effect_failed, merge_failed, catch_up_failed: the remote has the branch no more
	CI      *CI       `json:"ci,omitempty"`      // ci: what the service has run itself
	Reran   []string  `json:"reran,omitempty"`   // ci: checks that the service has had the host run again
	Since   time.Time `json:"since,omitzero"`    // ci: since when results of the commit are waited for
	Moved   bool      `json:"moved,omitempty"`   // merge_failed: what was tested is not what would land
	Others  bool      `json:"others,omitempty"`  // effect_failed, merge_failed, catch_up_failed: others seem to have pushed to the branch
	Push    *Push     `json:"push,omitempty"`    // pushed; agent results: what kept their commits from being put on top
	Unready bool      `json:"unready,omitempty"` // merge_failed: CI of what would land is not green
	Outside bool      `json:"outside,omitempty"` // catch_up_failed: people have to see to it elsewhere; caught_up: the host does
	Labels  []string  `json:"labels,omitempty"`  // of the card, on the event that starts a task
	Follows string    `json:"follows,omitempty"` // the work item id of the task that it comes after, of the same card
	Derived

	// Base is the commit of main that the branch now stands on (caught_up), and
	// Conflicts the files that kept it from doing so.
	Base      string   `json:"base,omitempty"`
	Conflicts []string `json:"conflicts,omitempty"`
}

// Derived holds what was concluded from the facts of an event by the settings, the registry and the pipeline in force.
type Derived struct {
	Verdict Verdict `json:"verdict,omitzero"`
	Denied  string  `json:"denied,omitempty"` // of a person's word: why who said it may not, in one sentence

	// Of the repository, on the event that starts a task.
	SelfHosting bool   `json:"self_hosting,omitempty"`
	CINone      bool   `json:"ci_none,omitempty"`
	NoDeploy    bool   `json:"no_deploy,omitempty"`
	Lane        string `json:"lane,omitempty"`         // that the task takes
	BranchLater bool   `json:"branch_later,omitempty"` // the branch is made when the first agent starts
	MergeGate   bool   `json:"merge_gate,omitempty"`   // the merge gate is on for the repository
}

// EffectKind is a kind of outbound call. Features have kinds of their own.
type EffectKind string

// The kinds of the built-in pipeline.
const (
	EffectComment  EffectKind = "comment"      // post Text as Author
	EffectStatus   EffectKind = "status"       // set the board status
	EffectNotify   EffectKind = "notify"       // send a separate, audible message
	EffectPrepare  EffectKind = "prepare"      // make the branch and its first commit
	EffectPublish  EffectKind = "publish"      // push SHA
	EffectPull     EffectKind = "pull_request" // see to the pull request of what was pushed
	EffectMerge    EffectKind = "merge"        // merge the pull request, pinned to SHA
	EffectTidy     EffectKind = "tidy"         // remove the workspace
	EffectUnbranch EffectKind = "unbranch"     // delete the remote branch of what is done, where no host does
	EffectReply    EffectKind = "reply"        // answer comments on lines of the pull request, by what SHA says and Expected does not
	EffectAskCI    EffectKind = "ask_ci"       // put OnCI again after Delay
)

// Effect is one outbound call that the service owes the outside world. The
// shell makes it at least once and, by its key, in effect once.
type Effect struct {
	Kind     EffectKind    `json:"kind"`
	Author   Role          `json:"author,omitempty"`
	Text     string        `json:"text,omitempty"`
	Status   Status        `json:"status,omitempty"`
	Replaces []Status      `json:"replaces,omitempty"` // trigger statuses that the write may overwrite
	Answers  Status        `json:"answers,omitempty"`  // status: the person's word that the write answers
	Previous Status        `json:"previous,omitempty"` // status: what the service set before; a fallback column may show it as a trigger
	Files    []string      `json:"files,omitempty"`    // comment: artefacts to link to, at SHA
	Note     string        `json:"note,omitempty"`     // comment: small print
	SHA      string        `json:"sha,omitempty"`
	Expected string        `json:"expected,omitempty"` // publish, reply: where the remote branch was left; landed: the head that was merged
	Base     string        `json:"base,omitempty"`     // gated_merge
	Tested   string        `json:"tested,omitempty"`   // gated_merge
	Delay    time.Duration `json:"delay,omitempty"`
	Copies   int           `json:"copies,omitempty"` // notify: how many processes have died while they may have sent it
}

// Launch is an agent job to enqueue.
type Launch struct {
	Role     Role   `json:"role"`
	Stage    Stage  `json:"stage"`
	Phase    Phase  `json:"phase,omitempty"`
	Run      int64  `json:"run"`
	Head     string `json:"head,omitempty"`
	Feedback string `json:"feedback,omitempty"`
}

// Decision says what to do about an event. It is data: the shell commits State,
// the effects and the launch in one transaction and performs them afterwards.
type Decision struct {
	State   State    `json:"state"`
	Moved   bool     `json:"moved"`            // State differs from what was given
	Cancel  bool     `json:"cancel,omitempty"` // cancel the task's unfinished agent jobs
	Launch  *Launch  `json:"launch,omitempty"`
	Effects []Effect `json:"effects,omitempty"`
	Notes   []string `json:"notes,omitempty"` // why, in sentences for people
	Edge    string   `json:"edge,omitempty"`  // which row of the registry applied
}
