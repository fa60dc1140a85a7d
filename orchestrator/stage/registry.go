package stage

import (
	"fmt"
	"slices"
)

// Condition narrows an edge to some states. It is a name, so that a table of
// edges is data. Those of features are in Pipeline.When.
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
	WhenApart   Condition = "conflicts with others"

	WhenRetesting Condition = "testing again"
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
	case WhenApart:
		return e.Push != nil && len(e.Push.Conflicts) > 0
	case WhenRelease:
		return s.Phase == PhaseRelease
	case WhenRetesting:
		return s.Phase == PhaseRetest && (s.Hold == HoldNone || WhenOutside.holds(s, e))
	default:
		return c == Always
	}
}

// Action names what an edge does when its gates are green (or it has none). An edge of a feature may have an action
// that is not listed here: the facts are kept, and the feature's rule does the rest.
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
	DoBlock         Action = "block"          // a human is needed
	DoLook          Action = "look again"     // what people had to put right outside of the branch
	DoAdopt         Action = "adopt"          // what others have pushed is the new tip
	DoJudge         Action = "judge again"    // adopt, and have the branch judged as after the developer's run
	DoAgain         Action = "again"          // start the stage's role again, which counts as no retry
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

// Info describes a stage: who works there, what the board shows meanwhile, what is written there and
// what lets it be left. Analysis, development and deploy have rows of their own; every other stage writes
// documents, before development, or judges, behind it.
type Info struct {
	Stage  Stage
	Role   Role
	Status Status // on entry
	Self   Status // on entry, in the repository that hosts the orchestrator; empty = Status
	Sink   bool
	Ruled  bool // no row leads here: the rule of a feature does

	Gates  []string // judged when the role has finished; of development, when CI has
	Green  string   // why the task goes on when they are green
	Report string   // file of the report that the role owes; empty = it owes none
	Good   []string // verdicts of a report that let the task pass
	Bad    []string // and those that send it back
	// Artefacts are the documents that people may read when the role has finished. Those of Prepared come of the
	// first phase of deploy, which owes no report.
	Artefacts []string
	Prepared  []string
	Prompt    string // template of the assignment, see package prompt; empty = the built-in one of the role
}

// Pipeline is a transition registry: stages and edges as data. The first edge
// that matches applies.
type Pipeline struct {
	Stages []Info
	Edges  []Edge
	Lanes  []Lane                         // ways through it that leave stages out
	When   map[Condition]func(State) bool // conditions of features
}

// Default is the built-in pipeline, STAGE_TRANSITIONS. A caller may change the
// copy that it gets.
func Default() Pipeline { return Of(DefaultStages()...) }

// Of is the pipeline of working stages in their order, with the two sinks behind them. New checks it.
func Of(stages ...Info) Pipeline {
	p := Pipeline{Stages: append(slices.Clone(stages),
		Info{Stage: Done, Status: StatusDone, Self: StatusMonitoring, Sink: true}, Info{Stage: Cancelled, Sink: true})}
	if len(stages) > 0 {
		p.Edges = append(p.Edges, Edge{
			None, OnToAnalyse, Always, []string{"qg0"}, DoEnter, stages[0].Stage, RedRefuse, "To Analyse starts the pipeline",
		})
	}
	for n, i := range stages {
		built := slices.ContainsFunc(stages[:n], func(i Info) bool { return i.Stage == Development })
		p.Edges = append(p.Edges, pushedEdges(i.Stage, built)...)
		p.Edges = append(p.Edges, stageEdges(i, p.Stages[n+1].Stage)...)
		p.Edges = append(p.Edges, sharedEdges(i)...)
	}
	return p
}

// Ruled adds the rows of a built-in stage that the pipeline does not have, before deploy, for the rule of a feature that
// leads there.
func (p Pipeline) Ruled(s Stage) Pipeline {
	i := Default().Info(s)
	i.Ruled = true
	at := slices.IndexFunc(p.Stages, func(o Info) bool { return o.Stage == Deploy || o.Sink })
	p.Stages = slices.Insert(slices.Clone(p.Stages), max(at, 0), i)
	p.Edges = slices.Concat(p.Edges, pushedEdges(s, true), stageEdges(i, Deploy), sharedEdges(i))
	return p
}

// DefaultStages are the working stages of the built-in pipeline, in their order.
func DefaultStages() []Info {
	success, failure := []string{"success"}, []string{"failure", "failed"}
	return []Info{
		{
			Stage: Analysis, Role: Analyst, Status: StatusAnalysis, Gates: []string{"check_analysis_ready"},
			Artefacts: []string{"requirements.md", "acceptance.md"},
		},
		{
			Stage: Architecture, Role: Architect, Status: StatusInProgress,
			Gates: []string{"check_architecture_ready"}, Green: "the design is ready", Artefacts: []string{"design.md"},
		},
		{
			Stage: Development, Role: Developer, Status: StatusInProgress,
			Gates: []string{"check_ci_green", "check_work_done", "check_protected_paths"}, Green: "CI is green",
		},
		{
			Stage: Review, Role: Reviewer, Status: StatusCodeReview, Gates: []string{reviewApproved}, Green: "the review approves",
			Report: "review.md", Good: []string{"approved"}, Bad: []string{"changes_requested", "rejected"},
		},
		{
			Stage: Testing, Role: Tester, Status: StatusInProgress, Gates: []string{"check_tests_passed"}, Green: "the tests pass",
			Report: "test-report.md", Good: []string{"passed"}, Bad: []string{"failed"},
		},
		{
			Stage: DeployStaging, Role: Deployer, Status: StatusInProgress, Self: StatusAwaitingDeploy,
			Gates: []string{"check_staging_status"}, Green: "staging works", Report: "staging-report.md", Good: success, Bad: failure,
		},
		{
			Stage: Deploy, Role: Deployer, Status: StatusDeploying, Self: StatusAwaitingDeploy, Gates: []string{"check_deploy_status"},
			Green: "the deployment works", Report: DeployReport, Good: success, Bad: failure, Prepared: []string{"deploy-plan.md"},
		},
	}
}

// DeployReport is the file of the report on a deployment to production.
const DeployReport = "deploy-report.md"

// reviewApproved is the gate that reads the host's reviews beside the reviewer's report.
const reviewApproved = "check_review_approved"

// Info returns what the pipeline says of a stage; the zero Info if nothing.
func (p Pipeline) Info(s Stage) Info {
	i := slices.IndexFunc(p.Stages, func(i Info) bool { return i.Stage == s })
	if i < 0 {
		return Info{}
	}
	return p.Stages[i]
}

// ReportFile is the name of the report that a job at a phase of the stage owes; empty when it owes none.
func (i Info) ReportFile(at Phase) string {
	if at == PhaseAwait {
		return ""
	}
	return i.Report
}

// Verdicts are a good word and a bad one of the report that a job at a phase of the stage owes; nil when it owes none.
func (i Info) Verdicts(at Phase) []string {
	if i.ReportFile(at) == "" {
		return nil
	}
	return []string{i.Good[0], i.Bad[0]}
}

// Written are the files that people may read when a job at a phase of the stage is done, if it has written them.
func (i Info) Written(at Phase) []string {
	if at == PhaseAwait {
		return i.Prepared
	}
	if i.Report == "" {
		return i.Artefacts
	}
	return append(slices.Clone(i.Artefacts), i.Report)
}

// stageEdges are the rows that a stage does not share with all others. next is where it leads.
func stageEdges(i Info, next Stage) []Edge {
	s, stay := i.Stage, stays(i.Stage)
	switch s {
	case Analysis:
		return []Edge{
			stay(OnAgentFinished, WhenAsking, DoAsk, "the analyst has open questions"),
			{
				s, OnAgentFinished, Always, i.Gates, DoAwaitApproval, s, RedStay,
				"the analyst has finished; a human decides",
			},
			stay(OnApproved, WhenActive, DoDecline,
				"the analyst is at work; look at what it writes when it has finished, and set Approved then"),
			stay(OnApproved, WhenAsked, DoDecline,
				"questions are open; answer them in a comment and set In Progress, the requirements can be approved after that"),
			stay(OnApproved, WhenBlocked, DoRelaunch, "a human resumes the blocked task"),
			{s, OnApproved, Always, []string{"check_analysis_approved"}, DoEnter, next, RedStay, "the requirements are approved"},
			stay(OnRejected, Always, DoReject, "the requirements are rejected"),
			stay(OnInProgress, WhenIdle, DoRelaunch, "In Progress with no active job runs the analyst again"),
			stay(OnInProgress, WhenActive, DoNothing, "the analyst is at work already"),
			stay(OnToAnalyse, WhenIdle, DoRelaunch, "To Analyse resumes the analysis"),
			stay(OnToAnalyse, WhenActive, DoNothing, "the analyst is at work already"),
		}
	case Development:
		return []Edge{
			stay(OnAgentFinished, WhenAsking, DoAsk, "the developer has open questions"),
			{s, OnAgentFinished, WhenCINone, i.Gates, DoEnter, next, RedBack, "the repository declares no CI"},
			stay(OnAgentFinished, Always, DoAwaitCI, "the developer has finished; CI decides"),
			stay(OnCI, WhenActive, DoNothing, "the developer is still at work"),
			{s, OnCI, WhenOutside, i.Gates, DoEnter, next, RedBack, i.Green},
			stay(OnCI, WhenHeld, DoNothing, "the task waits for a human"),
			stay(OnCI, WhenVouch, DoNothing, "the task waits for a human"),
			{s, OnCI, Always, i.Gates, DoEnter, next, RedBack, i.Green},
			stay(OnApproved, WhenVouch, DoVouch, "a person stands for the commit"),
			stay(OnInProgress, WhenVouch, DoRelaunch, "a human runs the developer again"),
			stay(OnRejected, Always, DoReject, "the work is rejected"),
		}
	case Deploy:
		return deployEdges(i, next)
	}
	if i.Report == "" { // documents
		return []Edge{
			stay(OnAgentFinished, WhenAsking, DoAsk, fmt.Sprintf("the %s has open questions", i.Role)),
			{s, OnAgentFinished, Always, i.Gates, DoEnter, next, RedAgain, i.Green},
			stay(OnRejected, Always, DoReject, "the design is rejected"),
		}
	}
	edges := []Edge{
		stay(OnAgentFinished, WhenAsking, DoAsk, "the agent has open questions"),
		{s, OnAgentFinished, Always, i.Gates, DoEnter, next, RedBack, i.Green},
		{s, OnRejected, Always, nil, DoReject, Development, RedNone, "rejected; back to development"},
	}
	if slices.Contains(i.Gates, reviewApproved) { // the host's reviews count too
		edges = append(edges,
			stay(OnReview, WhenHeld, DoNothing, "the task waits for a human"),
			Edge{s, OnReview, Always, i.Gates, DoEnter, next, RedBack, i.Green})
	}
	return edges
}

func deployEdges(i Info, next Stage) []Edge {
	const s = Deploy
	stay := stays(s)
	return []Edge{
		stay(OnAgentFinished, WhenAsking, DoAsk, "the deployer has open questions"),
		stay(OnAgentFinished, WhenAwait, DoAwaitConfirm, "phase A is done; an operator confirms the deployment"),
		{s, OnAgentFinished, WhenRelease, i.Gates, DoEnter, next, RedFail, i.Green},
		stay(OnConfirmDeploy, WhenReady, DoMerge, "Confirm Deploy starts phase B"),
		stay(OnConfirmDeploy, Always, DoNothing, "there is nothing to confirm now"),
		stay(OnMergeDone, WhenMerging, DoRelease, "the branch is merged"),
		{s, OnMergeFailed, WhenMerging, nil, DoMergeFailed, Development, RedNone, "the branch could not be merged"},
		{s, OnCI, WhenRetesting, []string{"check_ci_green"}, DoMerge, s, RedBack, "CI is green again"},
		{
			s, OnReview, WhenOutside, []string{"check_ci_green"}, DoMerge, s, RedSilent,
			"the pull request was reviewed; the merge is tried again",
		},
		stay(OnApproved, Always, DoNothing, "Approved is never a deploy trigger"),
		{s, OnRejected, WhenAwait, nil, DoReject, Development, RedNone, "rejected before the deployment; back to development"},
		{s, OnRejected, WhenRetesting, nil, DoReject, Development, RedNone, "rejected before the merge; back to development"},
		{s, OnRejected, WhenBlocked, nil, DoReject, Development, RedNone, "the deployment has failed and is rejected; back to development"},
		stay(OnRejected, Always, DoDecline, "the deployment is under way and cannot be rejected any more"),
		stay(OnPRMerged, Always, DoNothing, "a merge does not finish a deployment; the deployer's verdict does"),
	}
}

// sharedEdges are the rows that every working stage has.
func sharedEdges(i Info) (edges []Edge) {
	s, stay := i.Stage, stays(i.Stage)
	if i.Report == "" { // a task may begin here
		why := "the remote has a branch of that name already; the task gets another"
		edges = append(edges, stay(OnBranchTaken, Always, DoRecord, why))
	}
	edges = append(edges, []Edge{
		stay(OnAgentAttempt, WhenActive, DoRecord, "an attempt failed; the queue tries again"),
		stay(OnAgentFailed, WhenAsking, DoAsk, "the agent makes no progress; a human says how to go on"),
		stay(OnAgentFailed, WhenActive, DoBlock, "the agent failed for good"),
		stay(OnPublished, Always, DoRecord, "the branch is published"),
		stay(OnEffectFailed, WhenRefused, DoBlock, "the remote refuses the branch"),
		stay(OnEffectFailed, WhenActive, DoNothing, "an agent is at work; what failed is owed again when it has finished"),
		stay(OnEffectFailed, WhenBlocked, DoNothing, "the task is blocked already"),
		stay(OnEffectFailed, Always, DoBlock, "what the stage needs was refused for good"),
		stay(OnRetry, WhenActive, DoNothing, "a job is active already"),
		stay(OnStop, Always, DoNothing, "STOP is switched off"),
	}...)
	if s != Deploy {
		edges = append(edges, Edge{s, OnPRMerged, Always, nil, DoEnter, Done, RedNone, "the pull request was merged"})
	}
	if s == Development || s == DeployStaging { // what is blocked at Deploy is merged again
		edges = append(edges,
			stay(OnInProgress, WhenOutside, DoLook, "a human has it looked at again"),
			stay(OnApproved, WhenOutside, DoLook, "a human has it looked at again"))
	}
	if s != Deploy && s != Analysis {
		edges = append(edges, stay(OnApproved, WhenBlocked, DoRelaunch, "a human resumes the blocked task"))
	}
	if s != Analysis {
		edges = append(edges,
			stay(OnInProgress, WhenHeld, DoRelaunch, "a human resumes the task"),
			stay(OnInProgress, Always, DoNothing, "In Progress relaunches the analyst only"))
	}
	return append(edges, stay(OnRetry, Always, DoRelaunch, "an operator runs the stage again"))
}
