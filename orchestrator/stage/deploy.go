package stage

// resumeDeploy goes on with a deployment where it stood; what a human has to
// confirm is not done without that.
func (w *builder) resumeDeploy(phase Phase) {
	switch {
	case w.d.State.SelfHosting:
		w.prepareDeploy()
	case phase == PhaseRelease && w.d.State.MergeSHA != "":
		w.d.State.Phase = PhaseRelease
		w.launch("")
	default:
		w.publish()
		w.merge()
	}
}

// prepareDeploy has a deployment prepared that a person confirms. Where nothing is deployed the merge is confirmed.
func (w *builder) prepareDeploy() {
	w.d.State.Phase = PhaseAwait
	if w.d.State.NoDeploy {
		w.awaitConfirm(wordsConfirmMerge)
		return
	}
	w.launch("")
}

func (w *builder) awaitConfirm(text string) {
	w.hold(HoldConfirm, "an operator's Confirm Deploy", StatusAwaitingDeploy)
	w.closing(Deployer, text)
	w.notify(wordsConfirmNotice)
}

// merge begins the irreversible part of a deployment. What is merged already is only deployed.
func (w *builder) merge() {
	s := &w.d.State
	s.Hold, s.HoldReason, s.Outside = HoldNone, "", false
	if s.MergeSHA != "" {
		w.release()
		return
	}
	w.note("the branch is merged at " + short(s.Head))
	s.Phase = PhaseMerge
	w.status(StatusDeploying)
	w.owe(Effect{Kind: EffectMerge, SHA: s.Head})
}

// release starts the deployer on what was merged.
func (w *builder) release() {
	if w.d.State.NoDeploy {
		w.enter(Done, w.edge.Why+", and nothing is deployed")
		return
	}
	w.note(w.edge.Why)
	w.d.Cancel = w.d.State.Active != "" // nobody should be at work; at most one ever is
	w.d.State.Phase = PhaseRelease
	w.launch("")
}

func (w *builder) mergeFailed() {
	if w.ev.Outside {
		w.blockOutside(w.ev.Reason, wordsTaskBlocked(w.ev.Reason))
		return
	}
	if w.ev.Final {
		block := w.block
		if w.edge.From == Deploy && !w.ev.Gone {
			block = w.blockOutside
		}
		block("the merge failed: "+w.ev.Reason, wordsDeployFailure(w.ev.Reason))
		return
	}
	if w.ev.Unready {
		w.note("not merged yet: " + w.ev.Reason)
		w.comment(Stream, sentence("not merged yet: "+w.ev.Reason))
		w.d.State.Phase = PhaseRetest // CI was judged before, and is not green now
		w.owe(Effect{Kind: EffectAskCI, SHA: w.d.State.Head})
		return
	}
	w.back("the merge failed: " + w.ev.Reason)
}

// deployFailed ends a deployment that did not work. A repository that needs a
// human's word for each deployment needs it again.
func (w *builder) deployFailed(reason string) {
	w.block("the deployment failed: "+reason, wordsDeployFailure(reason))
	if w.d.State.SelfHosting {
		w.d.State.Phase = PhaseAwait
	}
}
