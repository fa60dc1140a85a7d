package simulate

import (
	"context"
	"encoding/json"
	"io/fs"
	"maps"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// ever reports whether a card has had a task, later than another.
func (c *checker) ever(card string, than int64) bool {
	return slices.ContainsFunc(c.tasks(), func(t task.Task) bool {
		was, _ := task.ParseTombstone(t.TrackerIssueID)
		return was == card && t.ID > than
	})
}

// done reports whether a card's work was done.
func (c *checker) done(card string) bool {
	list, _ := c.s.store.Tasks(c.s.ctx, task.Filter{TrackerIssueID: card, Stage: stage.Done})
	return len(list) > 0
}

// jobs returns all jobs of a filter.
func (c *checker) jobs(f queue.Filter) []queue.Job {
	f.Limit = 1 << 20
	jobs, _ := c.s.store.Jobs(c.s.ctx, f)
	return jobs
}

// still looks whether anything was put while nothing happened.
func (c *checker) still(since int64) {
	for _, j := range c.jobs(queue.Filter{}) {
		if j.ID > since && !c.posted(j) {
			c.fail(NoRest, "nothing happens any more, and job %d (%s, task %d) was put", j.ID, j.Kind, j.TaskID)
			return
		}
	}
}

// posted reports whether a job came by a webhook from outside, which may be late, or answers such a one on a card that has no task any
// more. One of a card that is gone is replayed until its board is listed as a whole.
func (c *checker) posted(j queue.Job) bool {
	for item := range c.s.people.gone {
		if strings.Contains(string(j.Payload), `"`+item+`"`) {
			return true
		}
	}
	return j.TaskID == 0 && strings.HasSuffix(j.Kind, string(stage.EffectComment)) || j.Kind == orchestrator.KindHost ||
		j.Kind == orchestrator.KindTracker && !strings.Contains(string(j.Payload), `"reconcile"`)
}

// atRest puts the questions to a world at rest.
func (c *checker) atRest(inside func(func(context.Context, *orchestrator.Engine) error) error) {
	for _, t := range c.tasks() {
		if !t.State.Stage.Terminal() {
			c.fail(Ends, "%s has not ended: %s", t.WorkItemID, t.State.Stage)
		}
		var again admin.Replayed
		err := inside(func(ctx context.Context, e *orchestrator.Engine) (err error) {
			again, err = admin.Replay(ctx, e, t.ID)
			return err
		})
		if first := again.First(); err != nil || first != "" {
			c.fail(Replays, "the journal of task %d is decided otherwise now: %s (%v)", t.ID, first, err)
		}
		c.leftOf(t)
		c.shown(t)
	}
	c.owing()
	c.leases()
	c.messages()
}

// owing looks whether everything that was owed has been made.
func (c *checker) owing() {
	jobs := c.jobs(queue.Filter{})
	for _, j := range jobs {
		switch {
		case !j.Status.Terminal():
			c.fail(Ends, "job %d (%s, task %d) has not ended: attempt %d, %s", j.ID, j.Kind, j.TaskID, j.Attempt, j.Error)
		case j.Status == queue.Failed && j.MaxAttempts > 0 && j.Attempt >= j.MaxAttempts && j.Error != queue.LostHeartbeat: // a failed run
			c.fail(Owed, "job %d (%s, task %d) was given up after %d attempts: %s", j.ID, j.Kind, j.TaskID, j.Attempt, j.Error)
		case j.Status == queue.Failed && orchestrator.IsEffect(j) && mayGoAway(j.Error):
			c.fail(Owed, "job %d (%s, task %d) was given up because of what may go away: %s", j.ID, j.Kind, j.TaskID, j.Error)
		}
	}
	c.checkComments(jobs)
	c.fates(jobs)
}

// OneFate is an invariant: each word of a person has one fate, and moves a task once.
const OneFate Invariant = "one-fate"

// fates looks whether each word of a person that was heard has one fate, and no move of a card was acted on twice.
func (c *checker) fates(jobs []queue.Job) {
	entries, _ := c.s.store.JournalSince(c.s.ctx, 0, 1<<20)
	of, acted, begun := map[int64]int{}, map[[2]string]int{}, map[string]time.Time{}
	for _, e := range entries {
		w, is := e.Word()
		of[w.Number]++
		if !is || w.Fate != task.FateActed || w.By.Via != stage.ViaWebhook && w.By.Via != stage.ViaReconciler {
			continue
		}
		acted[[2]string{w.Card, w.Said}]++
		if begins := string(stage.StatusToAnalyse); w.Said == begins {
			begun[w.Card] = w.SaidAt
		} else if w.Said == string(stage.StatusStop) && w.SaidAt.Before(begun[w.Card]) {
			acted[[2]string{w.Card, begins}]-- // what a newer word has begun is ended by an older STOP; it begins the next task then
		}
	}
	for _, j := range jobs {
		w, is := orchestrator.WordOf(j)
		if n := of[j.ID]; is && w.Why != orchestrator.ReadFirst && j.Status == queue.Done && n != 1 && w.By.ID != ours {
			c.fail(OneFate, "word %s has %d fates", w, n)
		}
	}
	for card, words := range c.s.people.words {
		for _, w := range words {
			acted[[2]string{card, string(w.status)}]--
		}
	}
	for at, n := range acted {
		if n > 0 {
			c.fail(OneFate, "%s of %s was acted on %d times more than it was set", at[1], at[0], n)
		}
	}
}

// mayGoAway reports whether an error is of an outage, not of a refusal.
func mayGoAway(text string) bool {
	return strings.Contains(text, "503") || strings.Contains(text, "429") ||
		strings.Contains(text, "no answer") || strings.Contains(text, "reset")
}

// checkComments checks that the comments of effects that are done stand on the cards.
func (c *checker) checkComments(jobs []queue.Job) {
	want, keys := map[[2]string]int{}, map[string]bool{} // a comment is known by its key
	for _, j := range jobs {
		var e orchestrator.Effect
		kind, _ := orchestrator.EffectKindOf(j)
		if kind == stage.EffectComment && j.Status == queue.Done && j.Error == "" && json.Unmarshal(j.Payload, &e) == nil &&
			!keys[e.Key] && c.s.people.gone[e.ItemID].ID == "" && !strings.HasPrefix(e.ItemID, crowd) {
			keys[e.Key] = true
			// The repositories of the worlds have no pages to link to.
			want[[2]string{e.ItemID, strings.TrimSpace(tracker.NewComment{Body: e.Text, Note: e.Note}.Plain())}]++
		}
	}
	for i, card := range c.s.world.Cards {
		if card.Out {
			continue
		}
		comments, _ := c.s.board.Comments(c.s.ctx, c.s.list[card.Project].TrackerProject, cardID(i))
		for _, x := range comments {
			want[[2]string{cardID(i), strings.TrimSpace(x.Body)}]--
		}
	}
	for k, n := range want {
		if n > 0 {
			c.fail(Owed, "%d comments on %s were counted as posted and are not there: %s", n, k[0], k[1])
		}
	}
}

// leftOf looks for what a task that has ended has left behind.
func (c *checker) leftOf(t task.Task) {
	s := c.s
	for _, at := range byTask(s.agents.alive) {
		if at.task == t.ID {
			c.fail(Leftover, "an agent of task %d lives on machine %d", t.ID, at.machine)
		}
	}
	branch, cancelled := task.ParseTombstone(t.Branch)
	stays := c.foreign[branch] != "" || slices.ContainsFunc(c.tasks(), func(o task.Task) bool { // a later task may have the name
		was, _ := task.ParseTombstone(o.Branch)
		return o.Repo == t.Repo && was == branch && (len(c.theirs[o.ID]) > 0 || c.refused(o, orchestrator.EffectCancel))
	})
	inUse := func(o task.Task) bool { return o.Repo == t.Repo && o.Branch == branch }
	if cancelled && !stays && s.places[0].Remote(t.Repo, branch) != "" && !slices.ContainsFunc(c.tasks(), inUse) {
		c.fail(Leftover, "the branch of the cancelled task %d is on the remote: %s", t.ID, branch)
	}
	item, _ := task.ParseTombstone(t.WorkItemID)
	for machine, p := range s.places {
		for _, dir := range p.Checkouts() {
			if strings.HasSuffix(dir, "/"+t.Repo+"/"+item) {
				c.fail(Leftover, "the checkout of task %d, which is %s, is still on machine %d: %s", t.ID, t.State.Stage, machine, dir)
			}
		}
	}
}

// refused reports whether the last effect of a kind that a task owed was refused for good.
func (c *checker) refused(t task.Task, kind stage.EffectKind) (last bool) {
	for _, j := range c.jobs(queue.Filter{TaskID: t.ID, Pool: orchestrator.LaneOf(kind).Pool()}) {
		if is, _ := orchestrator.EffectKindOf(j); is == kind {
			last = j.Status == queue.Failed && !mayGoAway(j.Error)
		}
	}
	return last
}

// shown looks whether the board shows what was set last.
func (c *checker) shown(t task.Task) {
	card, cancelled := task.ParseTombstone(t.TrackerIssueID)
	words := c.s.people.words[card]
	if cancelled || len(words) == 0 || c.ever(card, t.ID) {
		return
	}
	last := words[len(words)-1]
	p := c.s.list[c.s.projectOf(t.Repo)]
	item, err := c.s.board.Item(c.s.ctx, p.TrackerProject, card)
	if err != nil || last.at.After(t.StageEnteredAt) || last.seq == c.s.people.changes[card] {
		return
	}
	for _, want := range []stage.Status{t.State.Set, stage.StatusDone, stage.StatusBlocked} { // Done and Blocked are the monitor's
		for want != "" && want != item.Status {
			info, _ := stage.StatusNamed(want)
			want = info.Fallback
		}
		if want == item.Status {
			return
		}
	}
	if c.refused(t, stage.EffectStatus) {
		return
	}
	c.fail(Shown, "task %d is %s and set %s last, and its card shows %s", t.ID, t.State.Stage, t.State.Set, item.Status)
}

// leases looks for leases and holds of tasks that have ended.
func (c *checker) leases() {
	for _, p := range c.s.list {
		if l, held, _ := c.s.leases.Holder(c.s.ctx, "merge/"+p.Repo); held {
			c.fail(Leftover, "%s has the merge lease of %s, and all tasks have ended", l.Holder, p.Repo)
		}
	}
	held, _ := c.s.store.Holds(c.s.ctx)
	for _, h := range held {
		_, task, _ := strings.Cut(h.Subject, "/")
		_, err := strconv.ParseInt(task, 10, 64)
		if _, _, row := admit.Parse(h.Subject); row || err == nil {
			c.fail(Leftover, "%s holds %s, and all tasks have ended: %s", h.Name, h.Subject, h.Reason)
		}
	}
}

// messages looks whether each task has one live message.
func (c *checker) messages() {
	live := map[string]int{}
	for _, m := range c.s.chat.Messages() {
		if item, _, _ := strings.Cut(m.Shown.Title, ":"); m.Shown.Silent {
			live[item]++
		}
	}
	tasks := map[string]int{} // a card that was cancelled and started again has several
	for _, t := range c.tasks() {
		item, _ := task.ParseTombstone(t.WorkItemID)
		tasks[item]++
	}
	for _, item := range slices.Sorted(maps.Keys(live)) {
		more := live[item] - tasks[item]
		if more > min(tasks[item], c.disturbed)+c.unsure["chat.Send"] { // a crash may hide one of each
			c.fail(OneCard, "%s has %d live messages too many", item, more)
		}
	}
}

// worked looks whether a task that its deployment takes to done has changed something, or a person stands for a head of it that has not.
func (c *checker) worked(t task.Task, was stage.State) {
	if was.Stage != stage.Deploy || t.State.Stage != stage.Done || t.State.Vouched.SHA != "" {
		return
	}
	docs := c.s.list[c.s.projectOf(t.Repo)].Docs(t.WorkItemID) + "/"
	changed, err := c.s.places[0].Changed(c.s.ctx, work.Workspace{}, "", t.State.Head, []string{"**"})
	if err == nil && !slices.ContainsFunc(changed, func(name string) bool { return !strings.HasPrefix(name, docs) }) {
		c.fail(WorkDone, "task %d is done at %.12s, which changes nothing but its own documents, "+
			"and nobody has said that nothing was to be done", t.ID, t.State.Head)
	}
}

// workflowAt returns what a commit has at the protected path.
func (c *checker) workflowAt(sha string) string {
	tree, err := c.s.places[0].Files(c.s.ctx, work.Workspace{}, sha)
	if err != nil {
		return ""
	}
	body, _ := fs.ReadFile(tree, workflow)
	return string(body)
}

// Invariants of agents whose vendor refuses them.
const (
	Unharmed  Invariant = "unharmed"   // a run that was refused is no failure of its task
	OneNotice Invariant = "one-notice" // a pause begins with one notice, and goes on without
)

// paused looks at a commit that may pause an agent.
func (c *checker) paused(n *node, x task.Commit, b snapshot) {
	for _, r := range x.Runs {
		if r.Trouble == "" || !n.has("agent_pause") || x.Task == nil {
			continue
		}
		now, was := x.Task.State, b.task.State
		if now.Hold == stage.HoldBlocked && was.Hold != stage.HoldBlocked || now.Failures > was.Failures {
			c.fail(Unharmed, "the agent of task %d was refused (%s), and the task has failed by it", r.TaskID, r.Trouble)
		}
	}
	for _, p := range x.Pauses {
		missing := 1
		if slices.ContainsFunc(b.pauses, func(o task.Pause) bool { return o.Agent == p.Agent && o.Model == p.Model && o.Kind == p.Kind }) {
			missing = 0
		}
		for _, j := range x.Jobs {
			if strings.HasPrefix(j.DedupeKey, "effect/agent_pause/") {
				missing--
			}
		}
		if missing != 0 {
			c.fail(OneNotice, "%s pauses %s, and %d notices are missing", n.name, p.Agent, missing)
		}
	}
}
