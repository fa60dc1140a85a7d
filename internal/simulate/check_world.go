package simulate

import (
	"cmp"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/tracker"
)

// put notes jobs that were put: what is owed, and what cannot be undone.
func (c *checker) put(jobs []queue.Job) {
	for _, j := range jobs {
		kind, ok := orchestrator.EffectKindOf(j)
		if !ok {
			continue
		}
		c.owed[strings.TrimPrefix(j.DedupeKey, "effect/")] = true
		var e orchestrator.Effect
		err := json.Unmarshal(j.Payload, &e)
		switch {
		case kind == stage.EffectMerge, kind == orchestrator.EffectGatedMerge:
			c.intents[e.Repo+" "+e.SHA] = true
		case kind == stage.EffectNotify && e.Copies == 0 && err == nil: // else it was owed before, and a process has died over it
			c.notices[e.Text]++
		}
	}
}

// taken looks at jobs that a replica has claimed.
func (c *checker) taken(n *node, claims []queue.Claim) {
	for _, claim := range claims {
		j := claim.Job
		if c.cancelled[j.ID] {
			c.fail(Absorbing, "%s was given job %d (%s), which is cancelled", n.name, j.ID, j.Kind)
		}
		if running := c.s.store.Running(j.Key); j.Key != "" && len(running) > 1 {
			c.fail(OneAtATime, "jobs %d of %s run at the same time", running, j.Key)
		}
		if j.Pool == queue.PoolAgents {
			c.mayStart(j)
			c.oldest(j)
		}
	}
}

// mayStart looks whether an agent that was claimed is held by anything.
func (c *checker) mayStart(j queue.Job) {
	held, _ := c.s.store.Holds(c.s.ctx)
	for _, h := range held {
		paused := h.Name == orchestrator.HoldPause && (h.Subject == "repo/"+j.Lane || !strings.HasPrefix(h.Subject, "repo/"))
		if paused || slices.Contains(j.Holds, h.Subject) {
			c.fail(FreezeHolds, "job %d (%s) was claimed while %s is held: %s", j.ID, j.Role, h.Subject, h.Reason)
		}
	}
}

// oldest looks whether the first agent of a task that was claimed is of the oldest task of its
// repository. The gate fails open, and is repaired by a loop: only a world in which
// the store never fails is looked at.
func (c *checker) oldest(j queue.Job) {
	w := c.s.world
	first := slices.Contains(j.Holds, orchestrator.RoleInRepo(stage.Analyst, j.Lane))
	if !w.has("serial_gate") || !first || c.disturbed > 0 || len(w.Upsets) > 0 {
		return
	}
	list, _ := c.s.store.Tasks(c.s.ctx, task.Filter{Repo: j.Lane, Live: true, Limit: 1 << 20})
	if len(list) > 0 && list[0].ID < j.TaskID && (!w.has("wip") || list[0].State.SelfHosting) {
		c.fail(Serial, "the %s of task %d was claimed while task %d of %s lives", j.Role, j.TaskID, list[0].ID, j.Lane)
	}
}

// begins looks whether a task may begin now: how many others were in work when its job was
// claimed, and still are. People's answers may bring others back meanwhile.
func (c *checker) begins(cmd work.Command) {
	w := c.s.world
	clocks := slices.ContainsFunc(w.Upsets, func(u Upset) bool { return u.Kind == UpsetClock || u.Flip != "" })
	if _, begun := c.working[cmd.TaskID]; begun || cmd.Run != 1 {
		return
	}
	defer func() { c.working[cmd.TaskID] = c.s.v.Now() }()
	i := c.s.projectOf(cmd.Repo)
	own, err := c.s.store.Task(c.s.ctx, cmd.TaskID)
	if again := err == nil && own.State.Failures > 0; !w.has("wip") || clocks || again || w.has("serial_gate") && c.s.list[i].SelfHosting {
		return
	}
	jobs, _ := c.s.store.Jobs(c.s.ctx, queue.Filter{TaskID: cmd.TaskID, Pool: queue.PoolAgents, Open: true})
	held, _ := c.s.store.Holds(c.s.ctx)
	var in []int64
	for _, t := range c.tasks() {
		since, begun := c.working[t.ID]
		waits := slices.ContainsFunc(held, func(h queue.Hold) bool {
			return slices.Contains(admit.Subjects(t.Repo, t.ID), h.Subject)
		})
		if t.ID == cmd.TaskID || t.Repo != cmd.Repo || t.State.Stage.Terminal() || t.State.Hold != stage.HoldNone || waits || !begun {
			continue
		}
		if len(jobs) > 0 && since.Before(jobs[0].StartedAt) {
			in = append(in, t.ID)
		}
	}
	if places := c.s.list[i].Places(); len(in) >= places {
		c.fail(Bounded, "task %d of %s begins, and tasks %v are in work: there are %d places", cmd.TaskID, cmd.Repo, in, places)
	}
}

// freed notes tasks that go on because a hold of theirs is freed: as people's answers do.
func (c *checker) freed(holds []queue.Hold) {
	for t := range c.working {
		if slices.ContainsFunc(holds, func(h queue.Hold) bool { _, of, ok := admit.Parse(h.Subject); return ok && of == t }) {
			c.working[t] = c.s.v.Now()
		}
	}
}

// finished looks at a claim that was ended.
func (c *checker) finished(claim queue.Claim, o queue.Outcome, held bool, err error) {
	if err != nil {
		return
	}
	if !held {
		c.fail(Fence, "job %d was finished by attempt %d, which has lost it", claim.Job.ID, claim.Job.Attempt)
	}
	c.put(o.Then)
}

// acknowledged looks whether a body that was answered with 2xx is stored.
func (c *checker) acknowledged(body []byte) {
	if !c.received[fmt.Sprintf("%x", sha256.Sum256(body))] {
		c.fail(DurableAck, "a webhook was answered with 2xx and is not stored: %s", body)
	}
}

// stored notes a delivery that the store has taken.
func (c *checker) stored(hash string, duplicate bool) {
	if !duplicate && c.received[hash] {
		c.fail(ApplyOnce, "a delivery was stored twice: %s", hash)
	}
	c.received[hash] = true
}

// agentStarts looks at an agent that begins to work.
func (c *checker) agentStarts(n *node, cmd work.Command, occupied bool) {
	if occupied {
		c.fail(OneAgent, "%s starts the %s of %s in a checkout in which another agent lives", n.name, cmd.Role, cmd.WorkItem)
	}
	t, err := c.s.store.Task(c.s.ctx, cmd.TaskID)
	jobs, _ := c.s.store.Jobs(c.s.ctx, queue.Filter{Pool: queue.PoolAgents, TaskID: cmd.TaskID, Open: true})
	over := err != nil || len(jobs) == 0 || jobs[0].Status != queue.Running || jobs[0].Attempt != cmd.Attempt || t.State.Run != cmd.Run
	if over || c.s.world.upsets(UpsetClock) || n.domain.Dead() {
		return // its claim was lost meanwhile, or clocks do not tell
	}
	if t.State.Phase == stage.PhaseRelease {
		c.stands(n, t, jobs[0], "deploys")
	}
	reads := n.memories.reads[t.TrackerIssueID]
	if !slices.ContainsFunc(reads, func(r readCard) bool {
		fresh := !r.at.Before(jobs[0].StartedAt.Add(-textFor))
		return fresh && (r.err != nil || strings.Contains(cmd.Prompt, "    "+r.Description+"\n"))
	}) {
		c.fail(NewText, "%s starts the %s of %s by a text that its card did not have at the start", n.name, cmd.Role, cmd.WorkItem)
	}
	c.related(n, t, jobs[0])
}

// untouched looks whether a checkout that is changed has an agent in it.
func (c *checker) untouched(n *node, s work.Workspace, how string) {
	for at, p := range c.s.agents.alive {
		if at.machine == n.machine && p.command.Repo == s.Repo && p.command.WorkItem == s.WorkItem {
			c.fail(OneAgent, "the checkout of %s is %s while an agent lives in it", s.WorkItem, how)
		}
	}
}

// unused looks whether what is removed from a machine's disk has an agent in it.
func (c *checker) unused(n *node, r work.Remains) {
	if c.s.agents.alive[place{n.machine, r.Task}] != nil {
		c.fail(OneAgent, "%s is removed while an agent of task %d lives in it", r.Name, r.Task)
	}
}

// commented looks at a comment that was posted.
func (c *checker) commented(n *node, x tracker.NewComment) {
	if x.Key == "" || !c.owed[x.Key] {
		c.fail(Outbox, "%s posted a comment on %s that nothing owes (key %q): %.60s", n.name, x.ItemID, x.Key, x.Body)
	}
}

// sent looks at a message that was sent: two for each notice, because a process can die
// in between, and one more for each call of which nobody can say whether it happened.
func (c *checker) sent(m messenger.Message) {
	if m.Silent || len(m.Lines) == 0 {
		return
	}
	text := m.Lines[0]
	if c.notices[text] == 0 {
		c.fail(Outbox, "a notice was sent that nothing owes: %s", text)
	}
	c.sentTexts[text]++
	if most := c.notices[text]*(1+min(1, c.disturbed)) + c.unsure["chat.Send"]; c.sentTexts[text] > most {
		c.fail(Copies, "%d copies of a notice that was owed %d times: %s", c.sentTexts[text], c.notices[text], text)
	}
}

// opened looks at a pull request that was opened.
func (c *checker) opened(n *node, x githost.NewPullRequest, err error) {
	if err == nil && x.Head == x.Base {
		c.fail(SacredMain, "%s opened a pull request of %s into itself", n.name, x.Base)
	}
}

// pushed looks at a push that was made.
func (c *checker) pushed(n *node, s work.Workspace, before, sha string) {
	if s.Branch == s.Main {
		c.fail(SacredMain, "%s pushed %.12s to %s", n.name, sha, s.Main)
	}
	if _, cancelled := task.ParseTombstone(s.Branch); cancelled {
		c.fail(Absorbing, "%s pushed %.12s for a task that is cancelled: %s", n.name, sha, s.Branch)
	}
	c.withoutTrespass(n, sha)
	if theirs := c.foreign[s.Branch]; theirs != "" && before == theirs && sha != theirs {
		c.fail(OwnBranch, "%s overwrote a person's commit on %s", n.name, s.Branch)
	}
	c.keeps(n, s.Task, s.Branch, sha, "pushed")
}

// withoutTrespass looks whether a commit that is published has what no role may commit.
func (c *checker) withoutTrespass(n *node, sha string) {
	tree, err := c.s.places[n.machine].Files(c.s.ctx, work.Workspace{}, sha)
	if errors.Is(err, fs.ErrNotExist) {
		return // a person's
	}
	if err == nil {
		err = fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
			if err != nil || d.IsDir() {
				return err
			}
			body, err := fs.ReadFile(tree, name)
			if string(body) == trespassed {
				c.fail(OwnPaths, "%s published %.12s with %s", n.name, sha, name)
			}
			return err
		})
	}
	if err != nil {
		c.fail(BadStart, "the files of %.12s: %v", sha, err)
	}
}

// beforeMerge is where main is, with the merge lease and the pull request.
type beforeMerge struct {
	main   string
	holder lease.Lease
	held   bool
	pr     githost.PullRequest
	open   bool
}

func (c *checker) beforeMerge(m githost.Merge) (b beforeMerge) {
	b.main = cmp.Or(c.s.places[0].Remote(m.Repo, "main"), "main-0")
	b.holder, b.held, _ = c.s.leases.Holder(c.s.ctx, "merge/"+strings.ToLower(m.Repo))
	for _, t := range c.tasks() {
		branch, _ := task.ParseTombstone(t.Branch)
		if pr, err := c.s.host.PullRequest(c.s.ctx, m.Repo, branch, "main"); err == nil && pr.Number == m.Number && t.Repo == m.Repo {
			b.pr, b.open = pr, pr.Open
		}
	}
	return b
}

// merged looks at a merge that was made.
func (c *checker) merged(n *node, m githost.Merge, b beforeMerge) {
	if !b.open {
		return // it was merged before
	}
	if !c.intents[m.Repo+" "+m.HeadSHA] {
		c.fail(IntentFirst, "%s merged %.12s, which no decision has asked for", n.name, m.HeadSHA)
	}
	t, ok := c.taskOfBranch(m.Repo, b.pr.HeadRef)
	if !ok {
		c.fail(IntentFirst, "%s merged %s, the branch of no task", n.name, b.pr.HeadRef)
		return
	}
	if t.State.Stage == stage.Cancelled {
		c.fail(Absorbing, "%s merged task %d, which is cancelled", n.name, t.ID)
	}
	c.merges(n, t)
	t.State.Head = m.HeadSHA
	c.keeps(n, t.ID, b.pr.HeadRef, m.HeadSHA, "merged")
	if !c.passed(n, t) {
		c.fail(MergedTested, "task %d was merged at %.12s, which CI has not passed", t.ID, m.HeadSHA)
	}
	// While a slow host merges, a person may merge; that is told afterwards.
	late := c.s.v.Now().Sub(c.handMerged[m.Repo+" "+b.main]) < 26*time.Second
	if on := c.s.places[n.machine].Base(m.HeadSHA); on != b.main && !late {
		c.fail(MergedTested, "task %d was merged onto main at %.12s, and was tested on %.12s", t.ID, b.main, on)
	}
	if want := t.WorkItemID + " (task " + id(t.ID) + ")"; !b.held || b.holder.Holder != want {
		c.fail(OneHolder, "task %d was merged while the merge lease is %q's", t.ID, b.holder.Holder)
	}
}

func (c *checker) taskOfBranch(repo, branch string) (task.Task, bool) {
	list := c.tasks()
	for _, t := range slices.Backward(list) {
		was, _ := task.ParseTombstone(t.Branch)
		if t.Repo == repo && was == branch {
			t.WorkItemID, _ = task.ParseTombstone(t.WorkItemID)
			return t, true
		}
	}
	return task.Task{}, false
}

// acquired looks at a lease that was granted.
func (c *checker) acquired(before lease.Lease, held bool, l lease.Lease, err error) {
	switch {
	case err != nil:
	case held && before.Holder != l.Holder:
		c.fail(OneHolder, "%s got the lease %s while %s has it", l.Holder, l.Name, before.Holder)
	case before.Epoch > l.Epoch:
		c.fail(OneHolder, "the epoch of %s went back from %d to %d", l.Name, before.Epoch, l.Epoch)
	case !held || before.Holder != l.Holder:
		c.inTurn(l)
	}
}

// inTurn looks whether a task that got the merge lease was the first in the line among those that stood there when it came.
func (c *checker) inTurn(l lease.Lease) {
	all := c.tasks()
	i := slices.IndexFunc(all, func(t task.Task) bool { return strings.HasSuffix(l.Holder, " (task "+id(t.ID)+")") })
	if i < 0 {
		c.fail(OneHolder, "%s got the lease %s, and is no task", l.Holder, l.Name)
		return
	}
	t := all[i]
	held, _ := c.s.store.Holds(c.s.ctx)
	for _, o := range all {
		s := o.State
		waits := slices.ContainsFunc(held, func(h queue.Hold) bool { return h.Subject == orchestrator.CardSubject(o.ID) })
		if t.State.Lane == stage.UndoLane || t.State.Stage == stage.Development {
			break // it goes before all others, or gives the lease back at once
		}
		if o.ID == t.ID || o.Repo != t.Repo || s.Stage != stage.DeployStaging || s.Phase != stage.PhaseCatchUp ||
			s.Hold != stage.HoldNone || waits {
			continue
		}
		first := c.lined[o.ID] < c.lined[t.ID] && cmp.Or(s.LinedUp.Compare(t.State.LinedUp), cmp.Compare(o.ID, t.ID)) < 0
		if t.State.LinedUp.IsZero() { // it did not stand in the line
			first = c.lined[o.ID] < c.lastMove[t.ID]
		}
		if first {
			c.fail(InTurn, "task %d got the lease %s before task %d, which came to the line first", t.ID, l.Name, o.ID)
		}
	}
}

// released looks at a lease that was given back.
func (c *checker) released(before lease.Lease, held bool, l lease.Lease, err error) {
	if err == nil && held && before.Holder != l.Holder {
		c.fail(OneHolder, "%s gave back the lease of %s", l.Holder, before.Holder)
	}
}

// byTask goes through agents in an order that does not change.
func byTask(alive map[place]*process) []place {
	return slices.SortedFunc(maps.Keys(alive), func(a, b place) int {
		return cmp.Or(cmp.Compare(a.machine, b.machine), cmp.Compare(a.task, b.task))
	})
}
