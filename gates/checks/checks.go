// Package checks holds the built-in gates: deterministic checks of a task's
// files, reports, CI results and reviews. They read and never write.
//
//	qg0                       title and description are fit to start with
//	check_analysis_ready      the required files exist
//	check_analysis_approved   they exist and a human has approved
//	check_architecture_ready  the design exists
//	check_ci_green            CI of the branch head has finished and passed
//	check_work_done           more than the task's own documents is changed, or a person confirms that nothing is to be done
//	check_protected_paths     no protected path is changed and no test taken away, or a person stands for it
//	check_review_approved     the review approves the branch head
//	check_tests_passed        the test report passes the branch head
//	check_staging_status      the staging report says success for the branch head
//	check_branch_mergeable    the branch stands on the newest main
//	check_deploy_status       the deploy report says success for what was merged
//
// Command makes a gate of an executable.
package checks

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// Names of the built-in gates.
const (
	QG0               = "qg0"
	AnalysisReady     = "check_analysis_ready"
	AnalysisApproved  = "check_analysis_approved"
	ArchitectureReady = "check_architecture_ready"
	CIGreen           = "check_ci_green"
	WorkDone          = "check_work_done"
	ProtectedPaths    = "check_protected_paths"
	ReviewApproved    = "check_review_approved"
	TestsPassed       = "check_tests_passed"
	StagingStatus     = "check_staging_status"
	BranchMergeable   = "check_branch_mergeable"
	DeployStatus      = "check_deploy_status"

	// Of stages that a pipeline has beside the built-in ones.
	DocumentsReady = "check_documents" // their artefacts are committed
	Reported       = "check_report"    // their role has reported one of their good verdicts
)

// All makes the built-in gates. getenv returns ORCH_QG0_TITLE_MAX at each
// call of qg0; nil means that nothing is set.
func All(getenv func(string) string) []gates.Gate {
	if getenv == nil {
		getenv = func(string) string { return "" }
	}
	return []gates.Gate{
		gates.Func(QG0, func(_ context.Context, s gates.Facts) gates.Verdict { return qg0(s, titleMax(s, getenv)) }),
		gates.Func(AnalysisReady, analysisReady),
		gates.Func(AnalysisApproved, analysisApproved),
		gates.Func(ArchitectureReady, architectureReady),
		gates.Func(CIGreen, ciGreen),
		gates.Func(WorkDone, workDone),
		gates.Func(ProtectedPaths, protectedPaths),
		gates.Func(ReviewApproved, reviewApproved),
		gates.Func(TestsPassed, testsPassed),
		gates.Func(StagingStatus, stagingStatus),
		gates.Func(BranchMergeable, branchMergeable),
		gates.Func(DeployStatus, deployStatus),
		gates.Func(DocumentsReady, documentsReady),
		gates.Func(Reported, reported),
	}
}

// Required lists the files that must exist to leave a stage, relative to the
// task's directory, when the configuration does not say otherwise.
func Required(s stage.Stage) []string { return stage.Default().Info(s).Artefacts }

// required are the files that must exist to leave a stage: at, or the stage of the facts, which may be any.
func required(s gates.Facts, at stage.Stage) []string {
	if files, set := s.Policy.Required[at]; set {
		return files
	}
	if s.Stage == at {
		return works(s).Artefacts
	}
	return Required(at)
}

// works returns the row of the facts' stage in the pipeline.
func works(s gates.Facts) stage.Info {
	if s.Works.Stage != "" {
		return s.Works
	}
	return stage.Default().Info(s.Stage)
}

func analysisReady(_ context.Context, s gates.Facts) gates.Verdict {
	missing, evidence, err := files(s, required(s, stage.Analysis))
	if err != nil {
		return gates.Errorf("the files cannot be read: %v", err)
	}
	if len(missing) > 0 {
		return gates.Redf("missing: %s", strings.Join(missing, ", ")).With(evidence...)
	}
	return gates.Greenf("the requirements are committed").With(evidence...)
}

func analysisApproved(_ context.Context, s gates.Facts) gates.Verdict {
	missing, evidence, err := files(s, required(s, stage.Analysis))
	if err != nil {
		return gates.Errorf("the files cannot be read: %v", err)
	}
	approval := gates.Evidence{Kind: "approval", Name: "human verdict", Provenance: stage.Provenance(s.Approval)}
	switch approval.OK = s.Approval != (stage.Vouch{}) && (s.Approval.SHA == "" || s.Approval.SHA == s.SHA); {
	case approval.OK:
	case s.Approval.SHA != "":
		missing = append(missing, fmt.Sprintf("a human's approval of %.12s: there is one of %.12s", s.SHA, s.Approval.SHA))
	default:
		missing = append(missing, "a human's approval")
	}
	evidence = append(evidence, approval)
	if len(missing) > 0 {
		return gates.Redf("missing: %s", strings.Join(missing, ", ")).With(evidence...)
	}
	return gates.Greenf("the required files exist and the requirements are approved").With(evidence...)
}

func architectureReady(_ context.Context, s gates.Facts) gates.Verdict {
	return written(s, stage.Architecture, "the design is committed")
}

// documentsReady is green when the documents of the stage are there.
func documentsReady(_ context.Context, s gates.Facts) gates.Verdict {
	return written(s, s.Stage, "the documents are committed")
}

func written(s gates.Facts, at stage.Stage, green string) gates.Verdict {
	missing, evidence, err := files(s, required(s, at))
	if err != nil {
		return gates.Errorf("the files cannot be read: %v", err)
	}
	if len(missing) > 0 {
		return gates.Redf("missing in the commit: %s", strings.Join(missing, ", ")).With(evidence...)
	}
	return gates.Greenf("%s", green).With(evidence...)
}

// branchMergeable judges what the merge gate has found out when it brought the
// branch up to date under the merge lease.
func branchMergeable(_ context.Context, s gates.Facts) gates.Verdict {
	m := s.Mergeable
	switch {
	case m == nil:
		return gates.Errorf("nobody has brought the branch up to date: the merge gate does that")
	case len(m.Conflicts) > 0:
		v := gates.Redf("the branch conflicts with %s at %.12s in %s: rebase it onto origin/%s and resolve that",
			s.Task.Main, m.Base, strings.Join(m.Conflicts, ", "), s.Task.Main)
		for _, name := range m.Conflicts {
			v = v.With(gates.Evidence{Kind: "file", Name: name, Note: "conflicts"})
		}
		return v
	default:
		base := gates.Evidence{Kind: "commit", Name: m.Base, Note: s.Task.Main, OK: true}
		return gates.Greenf("the branch stands on %s at %.12s", s.Task.Main, m.Base).With(base)
	}
}

var errNoTree = errors.New("there is no commit on the branch yet")

// files looks for files of the task that must exist and not be empty.
func files(s gates.Facts, names []string) (missing []string, evidence []gates.Evidence, err error) {
	if s.Tree == nil {
		return nil, nil, errNoTree
	}
	for _, name := range names {
		e := gates.Evidence{Kind: "file", Name: s.Task.Docs + "/" + name, OK: true}
		blank, err := gates.IsBlank(s.Tree, e.Name)
		switch {
		case errors.Is(err, fs.ErrNotExist):
			e.OK, e.Note = false, "does not exist"
		case err != nil:
			return nil, nil, err
		case blank:
			e.OK, e.Note = false, "is empty"
		}
		if !e.OK {
			missing = append(missing, name+" "+e.Note)
		}
		evidence = append(evidence, e)
	}
	return missing, evidence, nil
}

// unreachable is the verdict of a check whose source does not answer.
func unreachable(what string, err error) gates.Verdict {
	v := gates.Errorf("%s cannot be read: %v", what, err)
	v.Retryable, v.RetryAfter = fault.Retryable(err), fault.After(err)
	return v
}
