package mergegate

import (
	"slices"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
)

// catchingUp is the condition of a task that stands in the line or is being brought up to date.
const catchingUp stage.Condition = "catching up"

// rows adds the merge gate's rows to the registry.
func (g *Gate) rows(p stage.Pipeline) stage.Pipeline {
	const s = stage.DeployStaging
	if g.pipeline = p; p.Info(s).Stage == "" {
		p = p.Ruled(s)
	}
	gate := []string{checks.BranchMergeable}
	p.When[catchingUp] = inLine
	p.Edges = append(p.Edges, []stage.Edge{
		{
			From: s, On: orchestrator.OnCaughtUp, When: catchingUp, Gates: gate, Do: "re-test", To: s, Red: stage.RedBack,
			Why: "the branch is up to date with main; it is tested again",
		},
		{
			From: s, On: orchestrator.OnCaughtUp, When: stage.WhenBlocked, Do: stage.DoRecord, To: s,
			Why: "the branch was brought up to date, and the task is blocked meanwhile",
		},
		{
			From: s, On: orchestrator.OnCatchUpFailed, When: catchingUp, Do: stage.DoMergeFailed, To: stage.Development,
			Why: "the branch could not be brought up to date",
		},
		{
			From: s, On: stage.OnCI, When: stage.WhenRetesting, Gates: []string{checks.CIGreen}, Do: stage.DoEnter, To: stage.Deploy,
			Red: stage.RedBack, Why: "what will be merged has been tested",
		},
	}...)
	for _, i := range p.Stages {
		if !i.Sink {
			p.Edges = append(p.Edges, stage.Edge{
				From: i.Stage, On: orchestrator.OnCaughtUp, When: stage.Always, Do: stage.DoRecord, To: i.Stage,
				Why: "the branch was brought up to date while the task went elsewhere",
			})
		}
	}
	return p
}

// working reports whether the gate is at work on a task.
func working(s stage.State) bool {
	return s.Stage == stage.DeployStaging && (s.Phase == stage.PhaseCatchUp || s.Phase == stage.PhaseRetest) && s.Hold == stage.HoldNone
}

// Rule puts the gate between deploy-staging and every merge of a task that began where the gate is on, and behind the merge that was found
// to land on a main which the branch lacks.
func Rule(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	if !d.Moved {
		return d
	}
	if s.Stage == stage.None {
		d.State.Gated = e.MergeGate
	}
	if e.On == orchestrator.OnCaughtUp {
		d = caughtUp(e, d)
	}
	return giveBack(s, pin(e, gate(s, e, d)))
}

// caughtUp takes over where the branch was pushed to, if it was. The task that tried has the lease, unless a queue of the host's
// brings up to date and tests what lands: then it stays where it is. The tests of what is to be
// merged are looked at at once, because a branch that was up to date may have its results already.
func caughtUp(e stage.Event, d stage.Decision) stage.Decision {
	n := &d.State
	// A person's word came while it was being pushed: the remote branch is there all the same.
	if n.Stage != stage.DeployStaging || !inLine(*n) && n.Hold != stage.HoldBlocked {
		if e.SHA != "" {
			n.Pushed = e.SHA
		}
		d.Effects = append(slices.Clone(d.Effects), stage.Effect{Kind: orchestrator.EffectRelease})
		return d
	}
	if !n.Leased && !e.Outside {
		n.LeasedAt = e.At
	}
	n.Leased, n.Tested, n.Base = !e.Outside, "", e.Base
	if e.SHA != "" {
		n.Head, n.Pushed = e.SHA, e.SHA
	}
	if inLine(*n) {
		n.Phase = stage.PhaseRetest
		d.Effects = append(slices.Clone(d.Effects), stage.Effect{Kind: stage.EffectAskCI, SHA: n.Head})
	}
	return d
}

// catchUp has the branch brought up to date before what would lead to a merge.
func catchUp(s stage.State, e stage.Event, d stage.Decision, why string) stage.Decision {
	d = stage.Divert(s, e, d, stage.DeployStaging, stage.PhaseCatchUp, why)
	n := &d.State
	if n.Tested = ""; n.LinedUp.IsZero() {
		n.LinedUp = e.At
	}
	d.Effects = append(d.Effects, stage.Effect{Kind: orchestrator.EffectCatchUp, SHA: n.Head})
	return d
}

// gate decides which decisions go through the gate.
func gate(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	n := d.State
	moved := e.On == stage.OnMergeFailed && e.Moved && !e.Final
	switch {
	case s.Phase == stage.PhaseRetest && s.Hold == stage.HoldNone && e.On == stage.OnCI && n.Stage == stage.Deploy:
		d.State.Tested = n.Head
		return d
	case n.Stage == stage.Deploy && working(s):
		return stage.Decision{State: s, Edge: d.Edge, Notes: []string{"the merge gate is at work"}}
	case n.Gated && n.Stage == stage.Deploy && s.Stage != stage.Deploy:
		why := "the branch is brought up to date with main before it is merged"
		if s.Stage == stage.DeployStaging {
			why = "staging works; " + why
		}
		return catchUp(s, e, d, why)
	case s.Stage == stage.Deploy && moved && (n.Stage == stage.Development || n.Hold == stage.HoldBlocked):
		d.State.Retests++
		d.State.Retries = s.Retries // no developer is needed
		return catchUp(s, e, d, e.Reason+"; it is brought up to date and tested again")
	case s.Phase == stage.PhaseCatchUp && s.Outside && n.Stage == s.Stage && goesOn(e.On):
		return catchUp(s, e, d, "a person has it stand in line again")
	case n.Gated && merges(d) && n.Tested == "":
		return catchUp(s, e, d, "the deployment goes on; the branch is brought up to date with main before it is merged")
	default:
		return d
	}
}

// skip starts no deployer at deploy-staging where the task's lane does not have that stage, or nothing is deployed: the
// gate alone is at work there.
func (g *Gate) skip(s stage.State, e stage.Event, d stage.Decision) stage.Decision {
	if d.Moved && d.Launch != nil && d.State.Stage == stage.DeployStaging && g.pipeline.Lacks(s, stage.DeployStaging) {
		return catchUp(s, e, d, "the branch is brought up to date with main before it is merged")
	}
	return d
}

// goesOn reports whether a person's word has a task go on.
func goesOn(on stage.Trigger) bool {
	return on == stage.OnInProgress || on == stage.OnApproved || on == stage.OnRetry
}

func merges(d stage.Decision) bool {
	return slices.ContainsFunc(d.Effects, func(f stage.Effect) bool { return f.Kind == stage.EffectMerge })
}

// pin ties a merge to what was tested, and has what landed looked at.
func pin(e stage.Event, d stage.Decision) stage.Decision {
	n := d.State
	d.Effects = slices.Clone(d.Effects)
	for i, f := range d.Effects {
		if f.Kind == stage.EffectMerge && n.Tested != "" {
			d.Effects[i] = stage.Effect{Kind: orchestrator.EffectGatedMerge, SHA: f.SHA, Base: n.Base, Tested: n.Tested}
		}
	}
	if e.On == stage.OnMergeDone && n.Stage == stage.Deploy && n.Phase == stage.PhaseRelease && n.Tested != "" && n.Base != "" {
		d.Effects = append(d.Effects, stage.Effect{Kind: orchestrator.EffectLanded, SHA: n.MergeSHA, Expected: n.Head})
	}
	return d
}

// giveBack returns the lease when the task has no use for it any more: it is done, sent back, cancelled, or waits for somebody to help it.
// It adds to the effects that pin has copied.
func giveBack(s stage.State, d stage.Decision) stage.Decision {
	n := &d.State
	keeps := working(*n) || n.Stage == stage.Deploy && n.Hold != stage.HoldBlocked
	owes := n.Stage == stage.Cancelled && n.Gated // a return that waits is dropped with all that a cancelled task owes
	if keeps || !d.Moved || !s.Leased && !n.Leased && !working(s) && !owes {
		return d
	}
	n.MergeGate = stage.MergeGate{Gated: n.Gated}
	d.Effects = append(d.Effects, stage.Effect{Kind: orchestrator.EffectRelease})
	return d
}
