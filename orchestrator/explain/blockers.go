package explain

import (
	"cmp"
	"encoding/json"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Who ends a wait.
type Who string

// The values of Who.
const (
	WhoYou     Who = "you"          // a person
	WhoService Who = "service"      // this service, by itself
	WhoTask    Who = "another task" // the progress of another task
	WhoOutside Who = "outside"      // a neighbour: the tracker, the git host, CI
)

// Blocker is one thing that a task waits for.
type Blocker struct {
	Kind string `json:"kind"` // human, board, ci, push, merge, stop, slot, the name of a hold, or a kind of queue reason
	Why  string `json:"why"`  // a sentence
	Who  Who    `json:"who"`  // who ends it
	Do   string `json:"do"`   // what a person does to end it, or can do when it lasts too long: an imperative
	// Status is the board status that Do names first; empty when it names none.
	Status    stage.Status `json:"status,omitempty"`
	Link      string       `json:"link,omitempty"` // a page where it is seen
	Since     time.Time    `json:"since,omitzero"`
	Until     time.Time    `json:"until,omitzero"` // it ends by itself then
	CheckedAt time.Time    `json:"checked_at"`     // Why was true then
}

// add adds a blocker that was looked at now unless it says when.
func (x *Explanation) add(s situation, b Blocker) {
	if b.CheckedAt.IsZero() {
		b.CheckedAt = s.now
	}
	x.Blockers = append(x.Blockers, b)
}

// block fills in what the task waits for, and the summary.
func block(e *orchestrator.Engine, x *Explanation, t task.Task, s situation) {
	if t.State.Stage.Terminal() {
		x.Summary = fmt.Sprintf("The task is %s.", t.State.Stage)
		return
	}
	project, registered := e.Projects.ByRepo(t.Repo)
	project = project.On(t.TrackerProjectID)
	s.blockOfCard(x, t)
	if word, waits := s.pendingMove(); waits {
		x.add(s, word)
	}
	switch st := t.State; {
	case !registered:
		x.add(s, Blocker{
			Kind: "registry", Since: t.UpdatedAt, Who: WhoYou,
			Why: fmt.Sprintf("nothing is done: the repository %s is not registered", t.Repo),
			Do:  fmt.Sprintf("Put %s back into projects.yaml and reload it (signalbox reload), or set STOP on the card", t.Repo),
		})
	case st.Stopping:
		x.add(s, Blocker{
			Kind: "stop", Since: t.CancelRequestedAt, Who: WhoService,
			Why: "STOP waits until the deployment that is under way has finished",
			Do:  "Wait: a deployment that has begun is not cut off",
		})
		x.Summary = "Stops when the deployment that is under way has finished."
	case st.Active != "":
		blockOfJob(e, x, t, s)
	case st.Hold != stage.HoldNone:
		blockOfPerson(e, x, t, project, s)
	case st.Stage == stage.Development || st.Phase == stage.PhaseRetest:
		blockOfCI(x, t, project, s)
	case st.Phase == stage.PhaseCatchUp:
		s.blockOfCatchUp(x, t)
		x.Summary = "The merge gate: " + x.Blockers[len(x.Blockers)-1].Why + "."
	case st.Stage == stage.Deploy && st.Phase == stage.PhaseMerge:
		s.blockOfEffect(x, t, stage.EffectMerge, fmt.Sprintf("the branch is being merged at %.12s", st.Head))
		x.Summary = "The branch is being merged."
	default:
		x.add(s, Blocker{
			Kind: "event", Why: "no job is active", Since: t.UpdatedAt, Who: WhoService,
			Do: fmt.Sprintf("Start the stage again: POST /tasks/%d/retry, or the button of the dashboard", t.ID),
		})
	}
	for _, h := range s.refused {
		if at := strings.TrimPrefix(h.Subject, h.Name+"/"); strings.HasPrefix(at, "*/") || strings.HasPrefix(at, t.Repo+"/") {
			why, do, _ := strings.Cut(h.Reason, "\n")
			x.add(s, Blocker{Kind: h.Name, Why: why, Since: h.Since, Who: WhoYou, Do: do})
		}
	}
	if h, is := s.gone[t.ID]; is {
		x.Summary = "Held: " + h.Reason + "."
	}
	if x.Summary == "" && len(x.Blockers) > 0 {
		x.Summary = "Waits: " + x.Blockers[0].Why
	}
}

// pendingMove returns a change of the card that was received and is not taken in: what a person has
// done there counts when it is.
func (s situation) pendingMove() (Blocker, bool) {
	for _, j := range s.heard {
		var h struct{ Self, Browser bool }
		if json.Unmarshal(j.Payload, &h) != nil || h.Self && !h.Browser || j.Error == "" {
			continue // one that was not tried yet is taken in a moment
		}
		received := orchestrator.Moment(s.now, j.CreatedAt)
		b := Blocker{
			Kind: "board", Since: j.CreatedAt, Until: j.AvailableAt, Who: WhoOutside, CheckedAt: s.now,
			Why: fmt.Sprintf("a change of the card, received %s, cannot be taken in (try %d): %s", received, j.Attempt, j.Error),
			Do:  "Set nothing again: it is tried again until the tracker answers. Look at the tracker when it does not come back",
		}
		if lane, sick := s.sick[j.Pool]; sick {
			b.Why = fmt.Sprintf("a change of the card, received %s, waits: %s", received, lane.Text(s.now))
			b.Until = lane.Next
		}
		return b, true
	}
	return Blocker{}, false
}

// blockOfPerson explains a task that is held for a person. A person whose
// notification is still owed is not waited for.
func blockOfPerson(e *orchestrator.Engine, x *Explanation, t task.Task, p task.Project, s situation) {
	b := Blocker{Kind: "human", Why: t.State.HoldReason, Since: t.UpdatedAt, Who: WhoYou}
	b.Do, b.Status = stage.Remedy(t.State)
	b.Do += p.People.Restriction(b.Status)
	if cards, ok := e.Tracker.(tracker.Linker); ok {
		b.Link = cards.ItemURL(p.Sync(), task.OriginalKey(t.TrackerIssueID))
	}
	if columns, seen := e.Columns(p.TrackerProject); seen && columns[b.Status] == "" {
		info, _ := stage.StatusNamed(b.Status)
		b.Do = fmt.Sprintf("Add the column %s to the board of %s, which has none, then: %s", info.Name, p.Prefix, b.Do)
	}
	x.Summary = "Waits for a human: " + b.Why
	if missing := strings.Join(unsent(t, x.Owed), "; "); missing != "" {
		x.Summary = fmt.Sprintf("A human is not told everything yet: %s. What is wanted: %s", missing, b.Why)
		b.Why += " (not told everything yet: " + missing + ")"
	}
	if len(x.Blockers) > 0 { // a change of the card that waits
		x.Summary = "Waits: " + x.Blockers[0].Why
	}
	x.add(s, b)
}

// blockOfCI explains a task whose head waits for results.
func blockOfCI(x *Explanation, t task.Task, p task.Project, s situation) {
	st := t.State
	if st.Pushed != st.Head || st.PR == 0 {
		for _, kind := range []stage.EffectKind{stage.EffectPrepare, stage.EffectPublish, stage.EffectPull} {
			if o, owed := s.owes(x, kind); owed {
				s.addOwed(x, o, "push")
				x.Summary = "Waits: " + o.brief
				return
			}
		}
	}
	if p.Plain() && !p.WithoutCI() {
		s.blockOfOwnCI(x, t, p)
		return
	}
	b := Blocker{
		Kind: "ci", Since: t.UpdatedAt, Who: WhoOutside, Link: p.CommitURL(st.Head),
		Why: fmt.Sprintf("CI of %.12s has not finished", st.Head),
		Do:  fmt.Sprintf("Look at the checks of %.12s at the git host when none comes: a green or a red result ends it", st.Head),
	}
	if len(p.Contexts) > 0 {
		b.Why += ": it takes " + strings.Join(p.Contexts, ", ")
	}
	x.Summary = "Waits for CI."
	if st.Phase == stage.PhaseRetest {
		b.Why = fmt.Sprintf("what will be merged is tested again at %.12s", st.Head)
		if st.Base != "" {
			b.Why += fmt.Sprintf(", on %.12s", st.Base)
		}
		x.Summary = "Waits for CI before the merge."
	}
	for _, w := range s.waits {
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
		if lane, sick := s.sick[w.Job.Pool]; sick {
			b.Why, b.CheckedAt = b.Why+"; "+lane.Text(s.now), s.now
		} else if w.Job.Error != "" {
			b.Why += "; the last look ended with: " + w.Job.Error
		}
	}
	x.add(s, b)
}

// owes finds the effect of a kind that is owed or was given up.
func (s situation) owes(x *Explanation, kind stage.EffectKind) (Owed, bool) {
	for _, o := range x.Owed {
		if o.Kind == kind {
			return o, true
		}
	}
	return Owed{}, false
}

// addOwed adds an effect that the task cannot go on without.
func (s situation) addOwed(x *Explanation, o Owed, kind string) {
	b := Blocker{Kind: kind, Why: o.brief, Since: o.put, Until: o.Next, Who: WhoService, Do: "Wait: it is about to be made"}
	switch {
	case o.GivenUp:
		b.Who, b.Until = WhoYou, time.Time{}
		b.Do = fmt.Sprintf("Mend the cause, then make it again: the queue page, or POST /effects/%d/again", o.JobID)
	case o.Error != "" || o.sick:
		b.Who = WhoOutside
		b.Do = "Wait: it is tried again until it succeeds. Look at the neighbour that it names when it does not come back"
	}
	x.add(s, b)
}

// blockOfCatchUp explains a task in the merge gate by its place in the line, or by what its
// effect said last.
func (s situation) blockOfCatchUp(x *Explanation, t task.Task) {
	for _, w := range s.waits {
		for _, r := range w.Reasons {
			if r.Kind != queue.ReasonHold || r.Subject != orchestrator.MergeTurn(t.ID) {
				continue
			}
			why := orchestrator.ReasonText(r)
			_, before, _ := strings.Cut(why, ", behind ")
			end := "Wait until " + before + " is merged or sent back, or stop it"
			x.add(s, Blocker{Kind: r.Name, Why: why, Since: r.Since, Who: WhoTask, Do: end})
			return
		}
	}
	s.blockOfEffect(x, t, stage.EffectCatchUp, "the branch is brought up to date with main")
}

// blockOfEffect explains a task that goes on when an effect is made.
func (s situation) blockOfEffect(x *Explanation, t task.Task, kind stage.EffectKind, doing string) {
	if o, owed := s.owes(x, kind); owed && (o.Error != "" || o.GivenUp || o.sick) {
		if o.Error != "" && !o.GivenUp && !o.sick {
			o.brief = o.Error
		}
		s.addOwed(x, o, "merge")
		return
	}
	x.add(s, Blocker{Kind: "merge", Why: doing, Since: t.UpdatedAt, Who: WhoService, Do: "Wait: it is being made", Link: t.State.PRURL})
}

// blockOfJob explains a task that has an agent job.
func blockOfJob(e *orchestrator.Engine, x *Explanation, t task.Task, s situation) {
	role := t.State.Active
	job, found := agentWait(s.waits)
	switch {
	case !found:
		x.Summary = fmt.Sprintf("The %s has ended; its result is being taken in.", role)
		s.blockOfResult(x, role)
		return
	case job.Job.Status == queue.Running && s.now.Sub(job.Job.HeartbeatAt) > job.Job.LeaseUntil.Sub(job.Job.HeartbeatAt)/2:
		heard := orchestrator.Moment(s.now, job.Job.HeartbeatAt)
		x.add(s, Blocker{
			Kind: "worker", Since: job.Job.HeartbeatAt, Until: job.Job.LeaseUntil, Who: WhoService,
			Why: fmt.Sprintf("nothing was heard of the worker %s of the %s since %s", job.Job.Worker, role, heard),
			Do:  "Wait: another worker takes the job up when its claim ends",
		})
	case job.Job.Status == queue.Running:
		began := job.Job.StartedAt.UTC().Format(time.RFC3339)
		x.Summary = fmt.Sprintf("The %s is at work since %s (attempt %d).", role, began, job.Job.Attempt)
		return
	}
	for _, r := range reasons(e, job, s.running) {
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
		if b.Who, b.Do = endOf(t, r); r.Kind == queue.ReasonDelay && job.Job.Error != "" {
			b.Why += "; the last attempt ended with: " + job.Job.Error
		}
		if why, do, is := s.behindGone(r); is {
			b.Why, b.Do, b.Who = b.Why+why, do, WhoYou
		}
		x.add(s, b)
	}
	if len(x.Blockers) == 0 {
		x.Summary = fmt.Sprintf("The %s's job is about to start.", role)
		return
	}
	x.Summary = fmt.Sprintf("The %s's job waits: %s", role, x.Blockers[0].Why)
	if what, ok := strings.CutPrefix(x.Blockers[0].Why, "waits for "); ok {
		x.Summary = fmt.Sprintf("The %s waits for %s", role, what)
	}
}

// blockOfResult explains a task whose agent has ended, and whose gates cannot be judged yet.
func (s situation) blockOfResult(x *Explanation, role stage.Role) {
	for _, w := range s.waits {
		lane, sick := s.sick[w.Job.Pool]
		if w.Job.Kind != orchestrator.KindTrigger || w.Job.Error == "" && !sick {
			continue
		}
		b := Blocker{
			Kind: "event", Since: w.Job.CreatedAt, Until: w.Job.AvailableAt, Who: WhoOutside,
			Why: fmt.Sprintf("the %s has ended, and its result cannot be taken in (try %d): %s", role, w.Job.Attempt, w.Job.Error),
			Do:  "Wait: it is tried again until it can be. Look at the neighbour that it names when it does not come back",
		}
		if sick {
			b.Why, b.Until = fmt.Sprintf("the %s has ended, and its result waits: %s", role, lane.Text(s.now)), lane.Next
		}
		x.Summary = "Waits: " + b.Why
		x.add(s, b)
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
