package stage

// Stage is where a task stands in the pipeline.
type Stage string

// The stages of the built-in pipeline, in order, and the sink "cancelled".
// None is the stage of a work item that has no task yet.
const (
	None          Stage = ""
	Analysis      Stage = "analysis"
	Architecture  Stage = "architecture"
	Development   Stage = "development"
	Review        Stage = "review"
	Testing       Stage = "testing"
	DeployStaging Stage = "deploy-staging"
	Deploy        Stage = "deploy"
	Done          Stage = "done"
	Cancelled     Stage = "cancelled"
)

// Terminal reports whether a task at this stage is finished for good. It is the
// one predicate that the queue, the reaper and every feature share.
func (s Stage) Terminal() bool { return s == Done || s == Cancelled }

// Stages lists the built-in stages in pipeline order, the sink last.
func Stages() []Stage {
	return []Stage{Analysis, Architecture, Development, Review, Testing, DeployStaging, Deploy, Done, Cancelled}
}

// Role names a worker on a task, or a speaker for it.
type Role string

// The six agent roles, and Stream: the author of comments about stage changes.
const (
	Analyst   Role = "analyst"
	Architect Role = "architect"
	Developer Role = "developer"
	Reviewer  Role = "reviewer"
	Tester    Role = "tester"
	Deployer  Role = "deployer"
	Stream    Role = "stream"
)

// Roles lists the agent roles in the order in which a task meets them.
func Roles() []Role {
	return []Role{Analyst, Architect, Developer, Reviewer, Tester, Deployer}
}

// Status is the logical key of a board status: a column of the tracker's board.
// The tracker adapter maps keys to the ids of a project's own columns.
type Status string

// The logical keys of SERVICE's board status table.
const (
	StatusUnknown       Status = ""
	StatusToAnalyse     Status = "to_analyse"
	StatusInProgress    Status = "in_progress"
	StatusApproved      Status = "approved"
	StatusRejected      Status = "rejected"
	StatusNeedsInput    Status = "needs_input"
	StatusInReview      Status = "in_review"
	StatusBlocked       Status = "blocked"
	StatusDone          Status = "done"
	StatusConfirmDeploy Status = "confirm_deploy"
	StatusStop          Status = "stop"

	StatusAnalysis       Status = "analysis"
	StatusCodeReview     Status = "code_review"
	StatusAwaitingDeploy Status = "awaiting_deploy"
	StatusDeploying      Status = "deploying"
	StatusMonitoring     Status = "monitoring"
)

// StatusInfo describes one board status: the name that is looked for on the
// board (case-insensitively) and the status that stands in when a project has
// no column of that name. An empty Fallback means that there is none.
type StatusInfo struct {
	Key      Status
	Name     string
	Fallback Status
	Trigger  bool // a human setting it requests something of the pipeline
}

// Statuses is the board status table. It is data: adapters resolve ids from it,
// the machine takes its triggers from it and the documents print it.
func Statuses() []StatusInfo {
	return []StatusInfo{
		{StatusToAnalyse, "To Analyse", "", true},
		{StatusInProgress, "In Progress", "", true},
		{StatusApproved, "Approved", "", true},
		{StatusRejected, "Rejected", "", true},
		{StatusNeedsInput, "Needs Input", StatusInProgress, false},
		{StatusInReview, "In Review", StatusInProgress, false},
		{StatusBlocked, "Blocked", "", false},
		{StatusDone, "Done", "", false},
		{StatusConfirmDeploy, "Confirm Deploy", "", true},
		{StatusStop, "STOP", "", true},
		{StatusAnalysis, "Analysis", StatusInProgress, false},
		{StatusCodeReview, "Code Review", StatusInReview, false},
		{StatusAwaitingDeploy, "Awaiting Deploy", StatusInReview, false},
		{StatusDeploying, "Deploying", StatusInProgress, false},
		{StatusMonitoring, "Monitoring after Deploy", StatusDone, false},
	}
}

// StatusNamed returns the table's row for a logical key.
func StatusNamed(key Status) (StatusInfo, bool) {
	for _, s := range Statuses() {
		if s.Key == key {
			return s, true
		}
	}
	return StatusInfo{}, false
}

// Phase divides the stage deploy, and deploy-staging where the merge gate is at
// work.
type Phase string

// Phases of the stage deploy. A repository that hosts the orchestrator itself
// starts at PhaseAwait and needs a human's Confirm Deploy; every other starts
// at PhaseMerge.
const (
	PhaseNone    Phase = ""
	PhaseAwait   Phase = "a"      // the deployer prepares, then a human confirms
	PhaseMerge   Phase = "merge"  // the branch is being merged
	PhaseRelease Phase = "deploy" // the deployer deploys what was merged
)

// Phases of the stage deploy-staging in a repository of the merge gate. PhaseRetest is one of the
// stage deploy too, in any repository: CI of what is to be merged is not green any more.
const (
	PhaseCatchUp Phase = "catch-up" // the branch is brought up to date with main
	PhaseRetest  Phase = "re-test"  // what is to be merged is tested again
)

// Hold names what a task waits for of a human.
type Hold string

// Holds of a task.
const (
	HoldNone       Hold = ""
	HoldApproval   Hold = "approval"    // the requirements wait for a verdict
	HoldConfirm    Hold = "confirm"     // the deployment waits for Confirm Deploy
	HoldNeedsInput Hold = "needs_input" // an agent asked questions
	HoldBlocked    Hold = "blocked"     // out of retries, or an agent or deployment failed
)
