package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Blocker is one thing that a task waits for.
type Blocker struct {
	Kind string    `json:"kind"` // human, board, ci, push, merge, stop, slot, the name of a hold, or a kind of queue reason
	Why  string    `json:"why"`  // a sentence
	Who  admit.Who `json:"who"`  // who ends it
	Do   string    `json:"do"`   // what a person does to end it, or can do when it lasts too long: an imperative
	// Status is the board status that Do names first; empty when it names none.
	Status    stage.Status `json:"status,omitempty"`
	Link      string       `json:"link,omitempty"` // a page where it is seen
	Since     time.Time    `json:"since,omitzero"`
	Until     time.Time    `json:"until,omitzero"` // it ends by itself then
	CheckedAt time.Time    `json:"checked_at"`     // Why was true then
}

// account is the explanation of a task in the making.
type account struct {
	situation
	*Explanation
	task.Task
	project task.Project
	engine  *orchestrator.Engine
}

// add adds a blocker that was looked at now unless it says when.
func (a account) add(b Blocker) {
	b.CheckedAt = cmp.Or(b.CheckedAt, a.now)
	a.Blockers = append(a.Blockers, b)
}

// block fills in what the task waits for, and the summary.
func (a account) block() {
	if a.State.Stage.Terminal() {
		a.Summary = fmt.Sprintf("The task is %s.", a.State.Stage)
		return
	}
	a.blockOfCard()
	if word, waits := a.pendingMove(); waits {
		a.add(word)
	}
	_, heard := a.engine.Projects.ByTracker(a.project.TrackerProject)
	why, registered := "no word on the card is heard: its board is not registered", a.project.Repo != ""
	if !registered {
		why = fmt.Sprintf("nothing is done: the repository %s is not registered", a.Task.Repo)
	}
	if !heard || !registered {
		a.add(Blocker{
			Kind: "registry", Since: a.UpdatedAt, Who: admit.WhoYou, Why: why,
			Do: "Put it back into projects.yaml and reload it (signalbox reload), or stop the task: signalbox stop " + a.WorkItem,
		})
	}
	switch st := a.State; {
	case !registered:
	case st.Stopping:
		a.add(Blocker{
			Kind: "stop", Since: a.CancelRequestedAt, Who: admit.WhoService,
			Why: "STOP waits until the deployment that is under way has finished",
			Do:  "Wait: a deployment that has begun is not cut off",
		})
		if st.Active != "" { // which may be paused
			a.blockOfJob()
		}
		a.Summary = "Stops when the deployment that is under way has finished."
	case st.Active != "":
		a.blockOfJob()
	case st.Hold != stage.HoldNone:
		a.blockOfPerson()
	case st.Stage == stage.Development || st.Phase == stage.PhaseRetest:
		a.blockOfCI()
	case st.Phase == stage.PhaseCatchUp:
		a.blockOfEffect(orchestrator.EffectCatchUp, "the branch is brought up to date with main")
		a.Summary = "The merge gate: " + a.Blockers[len(a.Blockers)-1].Why + "."
	case st.Stage == stage.Deploy && st.Phase == stage.PhaseMerge:
		kind := stage.EffectMerge
		if st.Tested != "" {
			kind = orchestrator.EffectGatedMerge
		}
		a.blockOfEffect(kind, fmt.Sprintf("the branch is being merged at %.12s", st.Head))
		if a.Blockers[len(a.Blockers)-1].Kind == "merge" {
			a.Summary = "The branch is being merged."
		}
	default:
		a.add(Blocker{
			Kind: "event", Why: "no job is active", Since: a.UpdatedAt, Who: admit.WhoService,
			Do: fmt.Sprintf("Start the stage again: POST /tasks/%d/retry, or the button of the dashboard", a.ID),
		})
	}
	for _, f := range a.refused {
		if strings.HasPrefix(f.Of, "*/") || strings.HasPrefix(f.Of, a.Task.Repo+"/") {
			why, do, _ := strings.Cut(f.Text, "\n")
			a.add(Blocker{Kind: string(f.Kind), Why: why, Since: f.Since, Who: admit.WhoYou, Do: do})
		}
	}
	if h, is := a.gone[a.ID]; is {
		a.Summary = "Held: " + h.Reason + "."
	}
	if a.Summary == "" && len(a.Blockers) > 0 {
		a.Summary = "Waits: " + a.Blockers[0].Why
	}
}

// pendingMove returns a change of the card that was received and is not taken in: what a person has
// done there counts when it is.
func (a account) pendingMove() (Blocker, bool) {
	for _, j := range a.heard {
		var h struct{ Self, Browser bool }
		if json.Unmarshal(j.Payload, &h) != nil || h.Self && !h.Browser || j.Error == "" {
			continue // one that was not tried yet is taken in a moment
		}
		received := orchestrator.Moment(a.now, j.CreatedAt)
		b := Blocker{
			Kind: "board", Since: j.CreatedAt, Until: j.AvailableAt, Who: admit.WhoOutside, CheckedAt: a.now,
			Why: fmt.Sprintf("a change of the card, received %s, cannot be taken in (try %d): %s", received, j.Attempt, j.Error),
			Do:  "Set nothing again: it is tried again until the tracker answers. Look at the tracker when it does not come back",
		}
		if _, since, waits := orchestrator.WaitsForRequests(j); waits {
			b.Kind, b.Since, b.Who = string(ReasonRequests), since, admit.WhoService
			b.Why = fmt.Sprintf("a change of the card, received %s, %s", received, orchestrator.RequestsText(j))
			_, b.Do, _ = a.endOf(queue.Reason{Kind: ReasonRequests})
		}
		if lane, sick := a.sick[j.Pool]; sick {
			b.Why = fmt.Sprintf("a change of the card, received %s, waits: %s", received, lane.Text(a.now))
			b.Until = lane.Next
		}
		return b, true
	}
	return Blocker{}, false
}

// headings begin questions, which are Markdown and are shown in one line.
var headings = regexp.MustCompile(`^(#+ [^\n]*\n+)+`)

// blockOfPerson explains a task that is held for a person. A person whose
// notification is still owed is not waited for.
func (a account) blockOfPerson() {
	p := a.project
	b := Blocker{Kind: "human", Why: headings.ReplaceAllString(a.State.HoldReason, ""), Since: a.UpdatedAt, Who: admit.WhoYou}
	b.Do, b.Status = stage.Remedy(a.State)
	b.Do += p.People.Restriction(b.Status)
	if at := p.People.AtHost; len(at) > 0 && b.Status == stage.StatusApproved && a.State.PR != 0 {
		b.Do += fmt.Sprintf(", or approve pull request %d at the git host (%s)", a.State.PR, strings.Join(at, ", "))
	}
	if cards, ok := a.engine.Tracker.(tracker.Linker); ok {
		b.Link = cards.ItemURL(p.Sync(), task.OriginalKey(a.TrackerIssueID))
	}
	if columns, seen := a.engine.Columns(p.TrackerProject); seen && columns[b.Status] == "" {
		info, _ := stage.StatusNamed(b.Status)
		b.Do = fmt.Sprintf("Add the column %s to the board of %s, which has none, then: %s", info.Name, p.Prefix, b.Do)
	}
	a.Summary = "Waits for a human: " + b.Why
	if missing := strings.Join(unsent(a.Task, a.Owed), "; "); missing != "" {
		a.Summary = fmt.Sprintf("A human is not told everything yet: %s. What is wanted: %s", missing, b.Why)
		b.Why += " (not told everything yet: " + missing + ")"
	}
	if len(a.Blockers) > 0 { // a change of the card that waits
		a.Summary = "Waits: " + a.Blockers[0].Why
	}
	a.add(b)
}

// blockOfCI explains a task whose head waits for results.
func (a account) blockOfCI() {
	st, p := a.State, a.project
	if st.Pushed != st.Head || st.PR == 0 {
		for _, kind := range []stage.EffectKind{stage.EffectPrepare, orchestrator.EffectRevert, stage.EffectPublish, stage.EffectPull} {
			if o, owed := a.owes(kind); owed {
				a.addOwed(o, "push")
				a.Summary = "Waits: " + o.brief
				return
			}
		}
	}
	if p.Plain() && !p.WithoutCI() {
		a.blockOfOwnCI()
		return
	}
	b := Blocker{
		Kind: "ci", Since: a.UpdatedAt, Who: admit.WhoOutside, Link: p.CommitURL(st.Head),
		Why: fmt.Sprintf("CI of %.12s has not finished", st.Head),
		Do:  fmt.Sprintf("Look at the checks of %.12s at the git host when none comes: a green or a red result ends it", st.Head),
	}
	if len(p.Contexts) > 0 {
		b.Why += ": it takes " + strings.Join(p.Contexts, ", ")
	}
	a.Summary = "Waits for CI."
	if st.Phase == stage.PhaseRetest {
		b.Why = fmt.Sprintf("what will be merged is tested again at %.12s", st.Head)
		if st.Base != "" {
			b.Why += fmt.Sprintf(", on %.12s", st.Base)
		}
		a.Summary = "Waits for CI before the merge."
	}
	for _, w := range a.waits {
		timer, last, ok := orchestrator.CITimer(w.Job)
		if !ok {
			continue
		}
		if last != "" && w.Job.CreatedAt.After(b.CheckedAt) {
			b.Why, b.CheckedAt = last, w.Job.CreatedAt
		}
		if timer.Since.After(b.Since) {
			b.Since = timer.Since
		}
		if lane, sick := a.sick[w.Job.Pool]; sick {
			b.Why, b.CheckedAt = b.Why+"; "+lane.Text(a.now), a.now
		} else if w.Job.Error != "" {
			b.Why += "; the last look ended with: " + w.Job.Error
		}
	}
	a.add(b)
}

// owes finds the effect of a kind that is owed or was given up.
func (a account) owes(kind stage.EffectKind) (Owed, bool) {
	for _, o := range a.Owed {
		if o.Kind == kind {
			return o, true
		}
	}
	return Owed{}, false
}

// addOwed adds an effect that the task cannot go on without.
func (a account) addOwed(o Owed, kind string) {
	if h, held := a.gone[a.ID]; held && strings.Contains(o.Error, h.Reason) {
		return // blockOfCard says it
	}
	b := Blocker{Kind: kind, Why: o.brief, Since: o.put, Until: o.Next, Who: admit.WhoService, Do: "Wait: it is about to be made"}
	switch {
	case o.GivenUp:
		b.Who, b.Until = admit.WhoYou, time.Time{}
		b.Do = fmt.Sprintf("Mend the cause, then make it again: the queue page, or POST /effects/%d/again", o.JobID)
	case o.Error != "" || o.sick:
		b.Who = admit.WhoOutside
		b.Do = "Wait: it is tried again until it succeeds. Look at the neighbour that it names when it does not come back"
	}
	a.add(b)
}

// blockOfEffect explains a task that goes on when an effect is made, by what holds that (a line, an undo), or by what it said last.
func (a account) blockOfEffect(kind stage.EffectKind, doing string) {
	for _, w := range a.waits {
		for _, r := range w.Reasons {
			if w.Job.Kind == orchestrator.KindEffect+string(kind) && r.Kind == queue.ReasonHold &&
				r.Subject != orchestrator.CardSubject(a.ID) { // blockOfCard says it
				b := Blocker{Kind: r.Name, Why: orchestrator.ReasonText(r), Since: r.Since}
				b.Who, b.Do, _ = a.endOf(r)
				a.add(b)
				return
			}
		}
	}
	if o, owed := a.owes(kind); owed && (o.Error != "" || o.GivenUp || o.sick) {
		if o.Error != "" && !o.GivenUp && !o.sick {
			o.brief = o.Error
		}
		a.addOwed(o, "merge")
		return
	}
	a.add(Blocker{Kind: "merge", Why: doing, Since: a.UpdatedAt, Who: admit.WhoService, Do: "Wait: it is being made", Link: a.State.PRURL})
}

// blockOfJob explains a task that has an agent job.
func (a account) blockOfJob() {
	role := a.State.Active
	job, found := agentWait(a.waits)
	switch {
	case !found:
		a.Summary = fmt.Sprintf("The %s has ended; its result is being taken in.", role)
		a.blockOfResult(role)
		return
	case job.Job.Status == queue.Running && a.now.Sub(job.Job.HeartbeatAt) > job.Job.LeaseUntil.Sub(job.Job.HeartbeatAt)/2:
		heard := orchestrator.Moment(a.now, job.Job.HeartbeatAt)
		a.add(Blocker{
			Kind: "worker", Since: job.Job.HeartbeatAt, Until: job.Job.LeaseUntil, Who: admit.WhoService,
			Why: fmt.Sprintf("nothing was heard of the worker %s of the %s since %s", job.Job.Worker, role, heard),
			Do:  "Wait: another worker takes the job up when its claim ends",
		})
	case job.Job.Status == queue.Running:
		began := orchestrator.Moment(a.now, job.Job.StartedAt)
		a.Summary = fmt.Sprintf("The %s is at work since %s (attempt %d).", role, began, job.Job.Attempt)
		return
	}
	for _, r := range reasons(a.engine, job, a.running) {
		if r.Kind == queue.ReasonRunning {
			continue
		}
		b := Blocker{Kind: cmp.Or(r.Name, string(r.Kind)), Why: r.Text, Since: r.Since, Until: r.Until}
		if b.Since.IsZero() { // of a delay: the last attempt was seen last then
			b.Since = job.Job.CreatedAt
			if job.Job.HeartbeatAt.After(b.Since) {
				b.Since = job.Job.HeartbeatAt
			}
		}
		var more string
		b.Who, b.Do, more = a.endOf(r)
		if b.Why += more; r.Kind == queue.ReasonDelay && job.Job.Error != "" {
			b.Why += "; the last attempt ended with: " + job.Job.Error
		}
		a.add(b)
	}
	if len(a.Blockers) == 0 {
		a.Summary = fmt.Sprintf("The %s's job is about to start.", role)
		return
	}
	a.Summary = fmt.Sprintf("The %s's job waits: %s", role, a.Blockers[0].Why)
	if what, ok := strings.CutPrefix(a.Blockers[0].Why, "waits for "); ok {
		a.Summary = fmt.Sprintf("The %s waits for %s", role, what)
	}
}

// blockOfResult explains a task whose agent has ended, and whose gates cannot be judged yet.
func (a account) blockOfResult(role stage.Role) {
	for _, w := range a.waits {
		lane, sick := a.sick[w.Job.Pool]
		if w.Job.Kind != orchestrator.KindTrigger || w.Job.Error == "" && !sick {
			continue
		}
		b := Blocker{
			Kind: "event", Since: w.Job.CreatedAt, Until: w.Job.AvailableAt, Who: admit.WhoOutside,
			Why: fmt.Sprintf("the %s has ended, and its result cannot be taken in (try %d): %s", role, w.Job.Attempt, w.Job.Error),
			Do:  "Wait: it is tried again until it can be. Look at the neighbour that it names when it does not come back",
		}
		if sick {
			b.Why, b.Until = fmt.Sprintf("the %s has ended, and its result waits: %s", role, lane.Text(a.now)), lane.Next
		}
		a.Summary = "Waits: " + b.Why
		a.add(b)
		return
	}
}

func agentWait(waits []queue.Wait) (queue.Wait, bool) {
	for _, w := range waits {
		if w.Job.Kind == orchestrator.KindAgent {
			return w, true
		}
	}
	return queue.Wait{}, false
}
