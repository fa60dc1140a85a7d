package stage

// Condition narrows an edge to some states. It is a name, so that a table of
// edges is data; what the names mean is in conditions.
type Condition string

// Conditions.
const (
	Always      Condition = ""
	WhenIdle    Condition = "no active job"
	WhenActive  Condition = "active job"
	WhenHeld    Condition = "blocked or needs input"
	WhenBlocked Condition = "blocked"
	WhenOutside Condition = "blocked outside of the branch"
	WhenAsked   Condition = "needs input"
	WhenVouch   Condition = "waits for approval"
	WhenAsking  Condition = "questions open"
	WhenCINone  Condition = "ci: none"
	WhenAwait   Condition = "phase A"
	WhenReady   Condition = "phase A, deployer finished"
	WhenMerging Condition = "merging"
	WhenRelease Condition = "phase B"
	WhenRefused Condition = "refused by the remote"

	WhenCatchingUp Condition = "catching up"
	WhenRetesting  Condition = "testing again"
)

func (c Condition) holds(s State, e Event) bool {
	switch c {
	case WhenIdle:
		return s.Active == ""
	case WhenActive:
		return s.Active != ""
	case WhenHeld:
		return s.Hold == HoldBlocked || s.Hold == HoldNeedsInput
	case WhenBlocked:
		return s.Hold == HoldBlocked
	case WhenOutside:
		return s.Hold == HoldBlocked && s.Outside
	case WhenAsked:
		return s.Hold == HoldNeedsInput
	case WhenVouch:
		return s.Hold == HoldApproval
	case WhenAsking:
		return e.Agent != nil && e.Agent.Questions != ""
	case WhenCINone:
		return s.CINone
	case WhenAwait:
		return s.Phase == PhaseAwait
	case WhenReady:
		return s.Phase == PhaseAwait && s.Active == ""
	case WhenMerging:
		return s.Phase == PhaseMerge
	case WhenRefused:
		return e.Final && s.MergeSHA == "" && s.Hold != HoldBlocked
	case WhenRelease:
		return s.Phase == PhaseRelease
	case WhenCatchingUp:
		return s.Phase == PhaseCatchUp && s.Hold == HoldNone
	case WhenRetesting:
		return s.Phase == PhaseRetest && (s.Hold == HoldNone || WhenOutside.holds(s, e))
	default:
		return c == Always
	}
}

// Action names what an edge does when its gates are green (or it has none).
type Action string

// Actions.
const (
	DoEnter         Action = "enter"          // go to the edge's stage and start its role
	DoRelaunch      Action = "relaunch"       // start the stage's role again, retries reset
	DoReject        Action = "reject"         // start the edge's stage again with the reason
	DoAsk           Action = "ask"            // wait for the answers to an agent's questions
	DoAwaitApproval Action = "await approval" // request the human verdict
	DoAwaitCI       Action = "await CI"       // publish the branch and wait
	DoAwaitConfirm  Action = "await confirm"  // request Confirm Deploy
	DoMerge         Action = "merge"          // begin the irreversible part
	DoRelease       Action = "release"        // what is merged is deployed
	DoMergeFailed   Action = "merge failed"   // back to development, or blocked
	DoVouch         Action = "vouch"          // a person stands for the head
	DoRetest        Action = "re-test"        // what is to be merged is tested as it will be
	DoBlock         Action = "block"          // a human is needed
	DoLook          Action = "look again"     // what people had to put right outside of the branch
	DoRecord        Action = "record"         // keep the facts, move nothing
	DoNothing       Action = "nothing"        // deterministic no-op
	DoDecline       Action = "decline"        // no-op, and a comment says so
)

// OnRed names what an edge does when its gates are red.
type OnRed string

// Red actions.
const (
	RedNone   OnRed = ""       // the edge has no gate
	RedRefuse OnRed = "refuse" // no task; board Blocked
	RedStay   OnRed = "stay"   // a comment says what is missing, and what to do
	RedAgain  OnRed = "again"  // the same role again, capped
	RedBack   OnRed = "back"   // to development with the findings, capped
	RedFail   OnRed = "fail"   // deploy failure
	RedSilent OnRed = "silent" // nothing happens
)

// Edge is one row of the transition registry: at From, when On happens and When
// holds, judge Gates; green does Do (towards To), red does Red.
type Edge struct {
	From  Stage
	On    Trigger
	When  Condition
	Gates []string
	Do    Action
	To    Stage // equal to From for an edge that does not leave
	Red   OnRed
	Why   string // a sentence for the journal and for people
}

// Info describes a stage: who works there and what the board shows meanwhile.
type Info struct {
	Stage  Stage
	Role   Role
	Status Status // on entry
	Self   Status // on entry, in the repository that hosts the orchestrator; empty = Status
	Sink   bool
}

// Pipeline is a transition registry: stages and edges as data. The first edge
// that matches applies.
type Pipeline struct {
	Stages []Info
	Edges  []Edge
}

// Default is the built-in pipeline, STAGE_TRANSITIONS. A caller may change the
// copy that it gets.
func Default() Pipeline {
	p := Pipeline{Stages: defaultStages()}
	p.Edges = append(p.Edges, startEdges()...)
	for _, i := range p.Stages {
		if !i.Sink {
			p.Edges = append(p.Edges, stageEdges(i.Stage)...)
			p.Edges = append(p.Edges, sharedEdges(i.Stage)...)
		}
	}
	return p
}

func defaultStages() []Info {
	return []Info{
		{Stage: Analysis, Role: Analyst, Status: StatusAnalysis},
		{Stage: Architecture, Role: Architect, Status: StatusInProgress},
		{Stage: Development, Role: Developer, Status: StatusInProgress},
		{Stage: Review, Role: Reviewer, Status: StatusCodeReview},
		{Stage: Testing, Role: Tester, Status: StatusInProgress},
		{Stage: DeployStaging, Role: Deployer, Status: StatusInProgress, Self: StatusAwaitingDeploy},
		{Stage: Deploy, Role: Deployer, Status: StatusDeploying, Self: StatusAwaitingDeploy},
		{Stage: Done, Status: StatusDone, Self: StatusMonitoring, Sink: true},
		{Stage: Cancelled, Sink: true},
	}
}

func startEdges() []Edge {
	return []Edge{
		{None, OnToAnalyse, Always, []string{"qg0"}, DoEnter, Analysis, RedRefuse, "To Analyse starts the pipeline"},
	}
}

// stageEdges are the rows that are a stage's own.
func stageEdges(s Stage) []Edge {
	switch s {
	case Analysis:
		return []Edge{
			{s, OnAgentFinished, WhenAsking, nil, DoAsk, s, RedNone, "the analyst has open questions"},
			{
				s, OnAgentFinished, Always, []string{"check_analysis_ready"}, DoAwaitApproval, s, RedStay,
				"the analyst has finished; a human decides",
			},
			{
				s, OnApproved, WhenActive, nil, DoDecline, s, RedNone,
				"the analyst is at work; look at what it writes when it has finished, and set Approved then",
			},
			{
				s, OnApproved, WhenAsked, nil, DoDecline, s, RedNone,
				"questions are open; answer them in a comment and set In Progress, the requirements can be approved after that",
			},
			{s, OnApproved, WhenBlocked, nil, DoRelaunch, s, RedNone, "a human resumes the blocked task"},
			{s, OnApproved, Always, []string{"check_analysis_approved"}, DoEnter, Architecture, RedStay, "the requirements are approved"},
			{s, OnRejected, Always, nil, DoReject, s, RedNone, "the requirements are rejected"},
			{s, OnInProgress, WhenIdle, nil, DoRelaunch, s, RedNone, "In Progress with no active job runs the analyst again"},
			{s, OnInProgress, WhenActive, nil, DoNothing, s, RedNone, "the analyst is at work already"},
			{s, OnToAnalyse, WhenIdle, nil, DoRelaunch, s, RedNone, "To Analyse resumes the analysis"},
			{s, OnToAnalyse, WhenActive, nil, DoNothing, s, RedNone, "the analyst is at work already"},
			{s, OnBranchTaken, Always, nil, DoRecord, s, RedNone, "the remote has a branch of that name already; the task gets another"},
		}
	case Architecture:
		return []Edge{
			{s, OnAgentFinished, WhenAsking, nil, DoAsk, s, RedNone, "the architect has open questions"},
			{s, OnAgentFinished, Always, []string{"check_architecture_ready"}, DoEnter, Development, RedAgain, "the design is ready"},
			{s, OnRejected, Always, nil, DoReject, s, RedNone, "the design is rejected"},
		}
	case Development:
		work := []string{"check_ci_green", "check_work_done", "check_protected_paths"}
		return []Edge{
			{s, OnAgentFinished, WhenAsking, nil, DoAsk, s, RedNone, "the developer has open questions"},
			{s, OnAgentFinished, WhenCINone, work, DoEnter, Review, RedBack, "the repository declares no CI"},
			{s, OnAgentFinished, Always, nil, DoAwaitCI, s, RedNone, "the developer has finished; CI decides"},
			{s, OnCI, WhenActive, nil, DoNothing, s, RedNone, "the developer is still at work"},
			{s, OnCI, WhenOutside, work, DoEnter, Review, RedBack, "CI is green"},
			{s, OnCI, WhenHeld, nil, DoNothing, s, RedNone, "the task waits for a human"},
			{s, OnCI, WhenVouch, nil, DoNothing, s, RedNone, "the task waits for a human"},
			{s, OnCI, Always, work, DoEnter, Review, RedBack, "CI is green"},
			{s, OnApproved, WhenVouch, nil, DoVouch, s, RedNone, "a person stands for the commit"},
			{s, OnInProgress, WhenVouch, nil, DoRelaunch, s, RedNone, "a human runs the developer again"},
			{s, OnRejected, Always, nil, DoReject, s, RedNone, "the work is rejected"},
		}
	case Review:
		return append(judged(s, Testing, "check_review_approved", "the review approves"),
			Edge{s, OnReview, WhenHeld, nil, DoNothing, s, RedNone, "the task waits for a human"},
			Edge{s, OnReview, Always, []string{"check_review_approved"}, DoEnter, Testing, RedBack, "the review approves"})
	case Testing:
		return judged(s, DeployStaging, "check_tests_passed", "the tests pass")
	case DeployStaging:
		return judged(s, Deploy, "check_staging_status", "staging works")
	case Deploy:
		return deployEdges()
	default:
		return nil
	}
}

// judged are the rows of a stage that an agent's report takes the task out of.
func judged(s, next Stage, gate, why string) []Edge {
	return []Edge{
		{s, OnAgentFinished, WhenAsking, nil, DoAsk, s, RedNone, "the agent has open questions"},
		{s, OnAgentFinished, Always, []string{gate}, DoEnter, next, RedBack, why},
		{s, OnRejected, Always, nil, DoReject, Development, RedNone, "rejected; back to development"},
	}
}

func deployEdges() []Edge {
	const s = Deploy
	return []Edge{
		{s, OnAgentFinished, WhenAsking, nil, DoAsk, s, RedNone, "the deployer has open questions"},
		{s, OnAgentFinished, WhenAwait, nil, DoAwaitConfirm, s, RedNone, "phase A is done; an operator confirms the deployment"},
		{s, OnAgentFinished, WhenRelease, []string{"check_deploy_status"}, DoEnter, Done, RedFail, "the deployment works"},
		{s, OnConfirmDeploy, WhenReady, nil, DoMerge, s, RedNone, "Confirm Deploy starts phase B"},
		{s, OnConfirmDeploy, Always, nil, DoNothing, s, RedNone, "there is nothing to confirm now"},
		{s, OnMergeDone, WhenMerging, nil, DoRelease, s, RedNone, "the branch is merged"},
		{s, OnMergeFailed, WhenMerging, nil, DoMergeFailed, Development, RedNone, "the branch could not be merged"},
		{s, OnCI, WhenRetesting, []string{"check_ci_green"}, DoMerge, s, RedBack, "CI is green again"},
		{
			s, OnReview, WhenOutside, []string{"check_ci_green"}, DoMerge, s, RedSilent,
			"the pull request was reviewed; the merge is tried again",
		},
		{s, OnApproved, Always, nil, DoNothing, s, RedNone, "Approved is never a deploy trigger"},
		{s, OnRejected, WhenAwait, nil, DoReject, Development, RedNone, "rejected before the deployment; back to development"},
		{s, OnRejected, WhenRetesting, nil, DoReject, Development, RedNone, "rejected before the merge; back to development"},
		{s, OnRejected, WhenBlocked, nil, DoReject, Development, RedNone, "the deployment has failed and is rejected; back to development"},
		{s, OnRejected, Always, nil, DoDecline, s, RedNone, "the deployment is under way and cannot be rejected any more"},
		{s, OnPRMerged, Always, nil, DoNothing, s, RedNone, "a merge does not finish a deployment; the deployer's verdict does"},
	}
}

// sharedEdges are the rows that every working stage has.
func sharedEdges(s Stage) []Edge {
	edges := []Edge{
		{s, OnAgentAttempt, WhenActive, nil, DoRecord, s, RedNone, "an attempt failed; the queue tries again"},
		{s, OnAgentFailed, WhenActive, nil, DoBlock, s, RedNone, "the agent failed for good"},
		{s, OnPublished, Always, nil, DoRecord, s, RedNone, "the branch is published"},
		{s, OnEffectFailed, WhenRefused, nil, DoBlock, s, RedNone, "the remote refuses the branch"},
		{s, OnEffectFailed, WhenActive, nil, DoNothing, s, RedNone, "an agent is at work; what failed is owed again when it has finished"},
		{s, OnEffectFailed, WhenBlocked, nil, DoNothing, s, RedNone, "the task is blocked already"},
		{s, OnEffectFailed, Always, nil, DoBlock, s, RedNone, "what the stage needs was refused for good"},
		{s, OnPRClosed, WhenAsked, nil, DoNothing, s, RedNone, "the task waits for a human"},
		{s, OnPRClosed, Always, nil, DoBlock, s, RedNone, "the pull request was closed"},
		{s, OnRetry, WhenActive, nil, DoNothing, s, RedNone, "a job is active already"},
		{s, OnStop, Always, nil, DoNothing, s, RedNone, "STOP is switched off"},
	}
	if s != Deploy {
		edges = append(edges, Edge{s, OnPRMerged, Always, nil, DoEnter, Done, RedNone, "the pull request was merged"})
	}
	if s == Development || s == DeployStaging { // what is blocked at Deploy is merged again
		edges = append(edges,
			Edge{s, OnInProgress, WhenOutside, nil, DoLook, s, RedNone, "a human has it looked at again"},
			Edge{s, OnApproved, WhenOutside, nil, DoLook, s, RedNone, "a human has it looked at again"})
	}
	if s != Deploy && s != Analysis {
		edges = append(edges, Edge{s, OnApproved, WhenBlocked, nil, DoRelaunch, s, RedNone, "a human resumes the blocked task"})
	}
	if s != Analysis {
		edges = append(edges,
			Edge{s, OnInProgress, WhenHeld, nil, DoRelaunch, s, RedNone, "a human resumes the task"},
			Edge{s, OnInProgress, Always, nil, DoNothing, s, RedNone, "In Progress relaunches the analyst only"})
	}
	return append(edges, Edge{s, OnRetry, Always, nil, DoRelaunch, s, RedNone, "an operator runs the stage again"})
}
