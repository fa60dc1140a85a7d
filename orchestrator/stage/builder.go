package stage

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// builder builds one decision.
type builder struct {
	m    *Machine
	edge Edge
	ev   Event
	d    Decision
}

// act does what the edge says. Only DoNothing leaves the state untouched.
func (w *builder) act() {
	if w.edge.Do == DoNothing {
		w.note(w.edge.Why)
		return
	}
	w.accept()
	switch w.edge.Do {
	case DoEnter:
		w.enter(w.edge.To, w.edge.Why)
	case DoRelaunch:
		w.d.State.Retries = 0
		w.runAgain(w.edge.From, w.edge.Why, w.d.State.Feedback)
	case DoReject:
		w.d.State.Retries = 0
		if s := &w.d.State; s.MergeSHA != "" { // another pull request follows; the host may have removed the branch with the merge
			s.Landed, s.MergeSHA, s.Pushed, s.PR, s.PRURL = s.MergeSHA, "", "", 0, ""
		}
		w.runAgain(w.edge.To, w.edge.Why, w.ev.Reason)
	case DoAsk:
		w.ask(w.ev.Agent.Reason)
	case DoAwaitApproval:
		w.note(w.edge.Why)
		w.awaitApproval(wordsVerdict, StatusInReview)
		w.closing(Analyst, wordsApproval)
		w.notify(wordsApproveNotice)
	case DoAwaitCI:
		w.note(w.edge.Why)
		w.askCI()
	case DoAwaitConfirm:
		w.note(w.edge.Why)
		w.awaitConfirm(wordsConfirm)
	case DoMerge:
		w.merge()
	case DoRelease:
		w.release()
	case DoMergeFailed:
		w.mergeFailed()
	case DoVouch:
		w.vouch()
	case DoBlock:
		w.failed()
	case DoLook:
		w.lookAgain()
	case DoAdopt:
		w.adopt()
	case DoJudge:
		w.judgeAgain()
	case DoAgain:
		w.again()
	case DoDecline:
		w.note(w.edge.Why)
		w.decline()
	default: // DoRecord, or an action of a feature, whose rule does the rest
		w.note(w.edge.Why)
	}
}

// accept takes over the facts that the event brings, whatever is decided then.
func (w *builder) accept() {
	s := &w.d.State
	w.d.Moved = true
	if w.ev.Gone { // else no push would expect what is there; the host has closed its pull request
		s.Pushed, s.PR, s.PRURL = "", 0, ""
	}
	if len(w.ev.Reran) > 0 {
		if s.Reran.SHA != s.Head {
			s.Reran = Reran{SHA: s.Head}
		}
		s.Reran.Checks, s.Reran.At = append(slices.Clone(s.Reran.Checks), w.ev.Reran...), w.ev.At
	}
	if w.ev.CI != nil {
		s.CI = *w.ev.CI
	}
	if _, board := BoardTrigger(Status(w.ev.On)); board {
		s.Acted, s.ActedAt = Status(w.ev.On), w.ev.Seen
		s.HeardAt, s.AskedAfter = time.Time{}, 0
		if w.ev.By.Kind != "" && !w.ev.Seen.IsZero() { // older journals do not have it
			s.HeardAt = w.ev.At
		}
	}
	if s.Stage == None {
		s.SelfHosting, s.CINone, s.NoDeploy = w.ev.SelfHosting, w.ev.CINone, w.ev.NoDeploy
		if s.Lane = w.ev.Lane; s.Lane != "" {
			w.note("its lane is " + s.Lane)
		}
		if s.Follows = w.ev.Follows; s.Follows != "" {
			w.note("it follows " + s.Follows)
		}
		if w.ev.By.Kind != "" { // older journals do not have it
			s.Starter = w.ev.By.ID
		}
	}
	switch w.ev.On {
	case OnPushed:
		w.pushed()
	case OnAgentFinished:
		if WhenApart.holds(*s, w.ev) { // nothing of the run is in the branch
			s.Active = ""
			return
		}
		s.Active, s.Feedback, s.Failures, s.Refused = "", "", 0, ""
		if w.ev.Agent != nil {
			s.Filed = w.ev.Agent.Filed
		}
		if w.ev.SHA != "" {
			s.Head = w.ev.SHA
		}
		w.finished()
	case OnAgentFailed:
		s.Active, s.Failures = "", 0
	case OnPublished:
		older := s.Pushed == s.Adopted && s.Adopted != "" && w.ev.SHA != s.Head // others have pushed since
		if w.ev.SHA != "" && !older {                                           // empty: it reports the pull request only
			s.Pushed = w.ev.SHA
		}
		if w.ev.PR != 0 {
			s.PR, s.PRURL = w.ev.PR, w.ev.URL
		}
	case OnMergeDone:
		s.MergeSHA = w.ev.SHA
	case OnAgentAttempt:
		hindered := false
		if a := w.ev.Agent; a != nil {
			hindered = a.Hindered != nil
			w.note(a.Reason)
		}
		if hindered {
			w.note("it does not count: the agent could not have worked for any task")
		} else {
			s.Failures++
		}
	}
}

// finished reports an agent's work and publishes its commits.
func (w *builder) finished() {
	s := &w.d.State
	if a := w.ev.Agent; a != nil {
		note := wordsUsage(*a)
		if a.Caveat != "" {
			note += "; " + a.Caveat
			w.note(a.Caveat)
		}
		w.owe(Effect{
			Kind: EffectComment, Author: a.Role, Text: wordsFinished(a.Role, s.Stage), Note: note, Files: a.Files, SHA: s.Head,
		})
	}
	switch {
	case s.Head == "":
	case s.Head != s.Pushed:
		w.publish()
	case s.PR == 0 && s.MergeSHA == "" && s.Stage != Analysis && s.Stage != Architecture:
		// Pushed before, but its pull request was given up: nothing else opens it.
		w.owe(Effect{Kind: EffectPull})
	}
}

// QuestionsFile is where an agent of any role puts its questions, RepliesFile where the developer answers reviewers.
const (
	QuestionsFile = "questions.md"
	RepliesFile   = "replies.md"
)

// closing adds to the comment that closes an agent's run what people have to do.
func (w *builder) closing(author Role, text string) {
	for i, f := range w.d.Effects {
		if f.Kind == EffectComment && f.Author == author && f.Note != "" {
			w.d.Effects[i].Text += " " + text
			return
		}
	}
	w.comment(author, text)
}

// notGreen does what the edge says for a verdict that does not pass.
func (w *builder) notGreen() {
	v := w.ev.Verdict
	v.Reason = cmp.Or(v.Reason, "the gate gave no verdict")
	outside := v.Outcome == Red && v.Person && w.edge.Red == RedBack
	switch {
	case w.edge.Red == RedRefuse:
		w.refuse(v.Reason)
	case outside && WhenOutside.holds(w.d.State, w.ev) && w.d.State.HoldReason == w.linked(v.Reason):
		w.note(sentence(v.Reason)) // people have been told
	case outside:
		w.accept()
		w.blockOutside(v.Reason, wordsTaskBlocked(v.Reason))
	case v.Outcome == Red && v.Asks && w.edge.Red == RedBack:
		w.accept()
		w.requireVouch(v)
	case w.ev.On == OnAgentFinished:
		w.accept()
		w.redReport(v)
	case v.Outcome == Red && w.edge.Red == RedBack:
		w.accept()
		w.back(v.Reason)
	case w.ev.On == OnCI && w.ev.Final && !w.ev.Gone && !w.ev.Since.IsZero(): // it may end yet, and no agent can make it
		w.accept()
		w.blockOutside(w.ev.Reason, wordsTaskBlocked(w.ev.Reason))
	case w.ev.On == OnCI && w.ev.Final:
		w.accept()
		w.block(w.ev.Reason, wordsTaskBlocked(w.ev.Reason))
	case w.ev.On == OnCI:
		if len(w.ev.Reran) > 0 {
			w.accept()
		}
		w.note(sentence(v.Reason))
		w.askCI()
	case w.edge.Red == RedStay:
		w.accept()
		w.notApproved(v.Reason)
	default:
		w.note(sentence(v.Reason))
	}
}

// redReport handles an agent that has finished without passing its gate: red
// goes where the edge says; a missing or unreadable report is the agent's own
// fault, so the same role works again.
func (w *builder) redReport(v Verdict) {
	switch {
	case w.edge.Red == RedStay:
		w.notWritten(v.Reason)
	case w.edge.Red == RedFail && v.Outcome == Red:
		w.deployFailed(v.Reason)
	case w.edge.Red == RedBack && v.Outcome == Red && w.edge.From != Development:
		w.back(v.Reason)
	case w.edge.From == Development && v.Outcome == Defer:
		w.note(sentence(v.Reason))
		w.askCI()
	default:
		w.capped(w.d.State.Stage, v.Reason)
	}
}

func (w *builder) back(reason string) { w.capped(Development, reason) }

// capped starts a stage again with the reason, or blocks the task when that has
// been done too often.
func (w *builder) capped(to Stage, reason string) {
	if w.d.State.Retries >= w.m.opt.MaxRetries {
		w.d.State.Feedback = reason
		w.block(fmt.Sprintf("out of retries (%d): %s", w.m.opt.MaxRetries, reason), wordsTaskError(reason))
		return
	}
	w.d.State.Retries++
	w.runAgain(to, fmt.Sprintf("retry %d of %d: %s", w.d.State.Retries, w.m.opt.MaxRetries, reason), reason)
}

// refuse answers a work item that is not fit to start: there is no task.
func (w *builder) refuse(reason string) {
	w.note(reason)
	w.notStarted(wordsRefused(reason))
}

// notStarted comments the reason on a work item that gets no task.
func (w *builder) notStarted(text string) {
	w.comment(Analyst, text)
	w.owe(Effect{Kind: EffectStatus, Status: StatusBlocked, Replaces: []Status{StatusToAnalyse}, Answers: StatusToAnalyse})
}

// enter moves the task to a stage and starts what is done there.
func (w *builder) enter(to Stage, why string) {
	s := &w.d.State
	from := s.Stage
	w.note(why)
	w.leave(to)
	if to == Development && from != Development { // what comes before it has retries of its own
		s.Retries = 0
	}
	if from == None {
		if !w.ev.BranchLater {
			w.owe(Effect{Kind: EffectPrepare})
		}
		w.comment(w.m.info[to].Role, wordsStart(w.m.info[to].Role, s.Follows))
	} else {
		w.comment(Stream, wordsTransition(from, to, why))
	}
	switch {
	case to.Terminal():
		end := w.statusOf(to)
		if to == Done && (from != Deploy || w.d.State.NoDeploy) { // only what was deployed is monitored
			end = w.m.info[to].Status
		}
		w.status(end)
		w.owe(Effect{Kind: EffectTidy})
	case to == Deploy && !s.SelfHosting:
		w.merge()
	case to == Deploy:
		w.prepareDeploy()
	default:
		w.launch("")
	}
}

// leave changes the stage and ends what belonged to the old one.
func (w *builder) leave(to Stage) {
	s := &w.d.State
	if s.Active != "" {
		w.d.Cancel, s.Active = true, ""
	}
	if s.Stage != to {
		s.EnteredAt = w.ev.At
	}
	s.Stage, s.Phase, s.Filed = to, PhaseNone, Filed{}
	s.Hold, s.HoldReason, s.Outside, s.Feedback, s.Refused = HoldNone, "", false, "", ""
}

// runAgain runs a stage's role (anew) with a reason to give to it.
func (w *builder) runAgain(to Stage, why, feedback string) {
	from, phase := w.d.State.Stage, w.d.State.Phase
	w.note(why)
	w.leave(to)
	if from != to {
		w.comment(Stream, wordsTransition(from, to, why))
	} else {
		w.comment(Stream, wordsAgain(to, why))
	}
	if to == Deploy && from == Deploy {
		w.resumeDeploy(phase)
		return
	}
	w.launch(feedback)
}

// launch enqueues the job of the stage's role and shows it on the board.
func (w *builder) launch(feedback string) {
	s := &w.d.State
	s.Run++
	s.Failures, s.Filed, s.Adopted = 0, Filed{}, ""
	s.Active = w.m.info[s.Stage].Role
	s.Feedback = feedback
	w.d.Launch = &Launch{Role: s.Active, Stage: s.Stage, Phase: s.Phase, Run: s.Run, Head: s.Head, Feedback: feedback}
	w.status(w.statusOf(s.Stage))
}

func (w *builder) failed() {
	w.d.State.Refused = w.d.State.Feedback // what was rejected, and nobody has worked on, goes on by no gate
	if w.ev.On == OnEffectFailed {
		w.d.Cancel, w.d.State.Active = w.d.State.Active != "", ""
		w.block(w.ev.Reason, wordsTaskBlocked(w.ev.Reason))
		return
	}
	reason := "no reason given"
	if w.ev.Agent != nil && w.ev.Agent.Reason != "" {
		reason = w.ev.Agent.Reason
	}
	role := w.m.info[w.d.State.Stage].Role
	w.block(fmt.Sprintf("the %s failed: %s", role, reason), wordsAgentFailure(role, reason))
}

// block makes the task wait for a human, with one audible message.
func (w *builder) block(why, notice string) {
	w.note(why)
	w.hold(HoldBlocked, why, StatusBlocked)
	w.comment(Stream, wordsBlocked(why, w.d.State.Stage))
	w.notify(notice)
}

// ask puts the questions of an agent to people; why is what the next run is told with their answers.
func (w *builder) ask(why string) {
	a := w.ev.Agent
	w.note(w.edge.Why)
	w.hold(HoldNeedsInput, a.Questions, StatusNeedsInput)
	w.closing(a.Role, wordsQuestions(a.Questions))
	w.notify(wordsQuestionsNotice(a.Role, a.Questions))
	w.d.State.Feedback = strings.TrimSpace(w.d.State.Feedback + "\n" + why)
}

func (w *builder) hold(h Hold, reason string, status Status) {
	w.d.State.Hold, w.d.State.HoldReason, w.d.State.Outside = h, reason, false
	w.status(status)
}

func (w *builder) askCI() {
	w.owe(Effect{Kind: EffectAskCI, SHA: w.d.State.Head, Delay: w.m.opt.CIPoll})
}
