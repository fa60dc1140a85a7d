package simulate

import (
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Standing is an invariant: who merges or deploys has found the card on the board just before, where it can be worked on, without STOP.
const Standing Invariant = "standing"

// stands looks whether a process may do for a task what cannot be undone, as the running job says. One that was paused may have lost it.
func (c *checker) stands(n *node, t task.Task, j queue.Job, what string) {
	found := slices.ContainsFunc(n.memories.reads[t.TrackerIssueID], func(r readCard) bool {
		return !r.at.Before(j.StartedAt) && r.err == nil && !orchestrator.IsAway(r.Item)
	})
	if t.State.Stopping { // which waits for what has begun, and for no card
		found = !j.StartedAt.After(t.CancelRequestedAt)
	}
	if !found && !c.s.world.upsets(UpsetClock, UpsetPause) {
		c.fail(Standing, "%s %s task %d, and has not found its card in this attempt, or began it after STOP", n.name, what, t.ID)
	}
}

// merges looks whether a process may merge for a task.
func (c *checker) merges(n *node, t task.Task) {
	jobs, _ := c.s.store.Jobs(c.s.ctx, queue.Filter{Pool: orchestrator.LaneHost.Pool(), TaskID: t.ID, Open: true})
	for _, j := range jobs {
		kind, _ := orchestrator.EffectKindOf(j)
		if j.Status == queue.Running && (kind == stage.EffectMerge || kind == orchestrator.EffectGatedMerge) {
			c.stands(n, t, j, "merged")
		}
	}
}

// addReversals has people take cards off their boards, or put them where the tracker ends work, in some worlds. Most come back.
// In others they undo what is done, or begin it again, or act at the git host.
func (w *World) addReversals(seed uint64) {
	after := seed%16 == 2 || seed%16 == 8
	pulls := seed%16 == 0 || seed%16 == 9 || after && seed/16%2 == 1
	relates := seed%16 == 5
	if seed%8 != 4 && seed%16 != 13 && !pulls && !after && !relates {
		return
	}
	if after {
		w.Features = append(w.Features, "after_done")
		w.Length += 20 * time.Minute
	}
	most, r := 3, newDice(seed, 0x9e40)
	if pulls {
		most = 9 // many meet no pull request
	}
	for i := range w.Cards {
		c := &w.Cards[i]
		for range r.IntN(most) {
			at := c.At + time.Duration(r.Int64N(int64(w.Length)))
			a, back := Act{At: at, Do: DoRemove, Lost: r.IntN(2) == 0}, Act{At: at + time.Duration(1+r.IntN(600))*time.Second, Do: DoRemove}
			if back.Lost = r.IntN(3) == 0; r.IntN(3) == 0 {
				a.Do, back.Do, back.To = DoMove, DoMove, stage.StatusInProgress
			}
			if after {
				a.Do, back.Do, back.To = DoUndo, DoMove, stage.StatusToAnalyse
			}
			if relates {
				a.Do, back.Do, a.Lost, back.Lost = DoRelate, DoRelate, false, true
			}
			if pulls && (!after || r.IntN(3) > 0) {
				a.Do = []string{DoClose, DoDraft, DoApprove, []string{DoTarget, DoPort, DoDelete}[seed/16%3]}[r.IntN(4)]
				back.Do = a.Do
			}
			if c.Acts = append(c.Acts, a); r.IntN(4) > 0 {
				c.Acts = append(c.Acts, back)
			}
		}
	}
}

// pull is a person at the git host who closes, retargets or approves the pull request of a task, makes it a draft, takes that back,
// opens one into another branch, or deletes its own, unless it is merged: whoever helps has the host send the webhook of that again.
func (p *people) pull(t task.Task, do string, lost bool) {
	s, action := p.s, "edited"
	pr, err := s.host.PullRequest(s.ctx, t.Repo, t.Branch, "main")
	if s.calm && do == DoTarget { // it may be merged by now
		action = "opened"
		pr, err = s.host.OpenPullRequest(s.ctx, githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "main"})
	}
	if pr.Merged && pr.BaseRef == "main" {
		s.senders.merged(t.Repo, pr.Number, pr.MergeSHA)
	}
	if err != nil || pr.Merged {
		return
	}
	h := githost.Hook{
		Kind: githost.HookPullRequest, Action: action, Repo: t.Repo, Branch: t.Branch, SHA: pr.HeadSHA, Number: pr.Number, Sender: person,
	}
	switch do {
	case DoClose:
		pr.Open = (s.calm || !pr.Open) && s.places[0].Remote(t.Repo, t.Branch) != ""
	case DoDraft:
		pr.Draft = !s.calm && !pr.Draft
	case DoTarget:
		if pr.BaseRef == "main" && !s.calm && t.State.Phase != stage.PhaseMerge { // no host compares the base with a merge
			pr.BaseRef = "release"
		} else {
			pr.BaseRef = "main"
		}
	case DoDelete:
		s.check.theirs[t.ID], pr.Open = nil, false
		s.places[0].SetRemote(t.Repo, t.Branch, "")
		_ = s.host.DeleteBranch(s.ctx, t.Repo, t.Branch)
	case DoPort:
		other, _ := s.host.OpenPullRequest(s.ctx, githost.NewPullRequest{Repo: t.Repo, Head: t.Branch, Base: "release"})
		if h.Number = other.Number; s.dice("port "+t.Branch, other.Number).IntN(2) == 0 {
			h.Kind = githost.HookMerged
			h.MergeSHA, _ = s.host.Merge(s.ctx, githost.Merge{Repo: t.Repo, Number: other.Number, HeadSHA: other.HeadSHA})
		}
	case DoApprove:
		h.Kind, h.State = githost.HookReview, string(githost.ReviewApproved)
		s.host.AddReview(t.Repo, t.Branch, githost.Review{
			Author: person, State: githost.ReviewApproved, SHA: pr.HeadSHA, At: s.v.Now(), Permission: githost.PermissionWrite,
		})
		said := p.words[t.TrackerIssueID]
		p.words[t.TrackerIssueID] = append(said, word{s.v.Now(), stage.StatusApproved, said[len(said)-1].seq})
	}
	s.host.ChangePull(t.Repo, t.Branch, func(now *githost.PullRequest) { *now = pr })
	s.trace.line(s.since(), "person", do, t.Branch)
	if !lost {
		s.senders.send(sourceHost, letter{Host: h})
	}
}

// push is a person who pushes to the branch of a task: a commit on top of it, which may change what the developer
// changes too, or by force another, or one that was there before.
func (p *people) push(i int, t task.Task, a Act) {
	s := p.s
	s.trace.line(s.since(), "person", "pushes", t.Branch)
	sha := fmt.Sprintf("%040x", 0xbad0000+i)
	if a.Force || s.check.foreign[t.Branch] != "" {
		same := s.places[0].SameCode(t.State.Pushed, s.list[s.projectOf(t.Repo)].Docs(t.WorkItemID))
		if len(same) > 1 && s.dice("set back "+t.Branch, int64(i)).IntN(2) == 0 {
			sha = same[1] // without the newest commit
		}
		s.check.foreign[t.Branch], s.check.theirs[t.ID] = sha, nil
		s.places[0].SetRemote(t.Repo, t.Branch, sha)
		s.senders.pushed(t.Repo, t.Branch, sha)
		return
	}
	name := fmt.Sprintf("people/%d.md", a.At)
	files := map[string]string{name: person}
	if s.dice(name, int64(i)).IntN(4) == 0 {
		files["src/"+t.WorkItemID+".go"] = name
	}
	sha = s.places[0].PushAs(person, t.Repo, t.Branch, "", files)
	s.check.theirs[t.ID] = append(s.check.theirs[t.ID], [2]string{t.Branch, name})
	s.senders.pushed(t.Repo, t.Branch, sha)
	if !a.Lost {
		s.senders.told(t.Repo, t.Branch, sha, person)
	}
}

// away is the column that ends work at the tracker.
const away = "Cancelled"

func (p *people) isGone(i int) bool {
	_, is := p.gone[cardID(i)]
	return is
}

// remove is a person who takes a card off its board, or brings it back to it.
func (p *people) remove(i int, lost bool) {
	item, s := p.item(i), p.s
	h := tracker.Hook{Kind: tracker.HookItemRemoved, ProjectID: item.ProjectID, ItemID: item.ID, ActorID: person}
	if p.isGone(i) {
		delete(p.gone, item.ID)
		s.board.PutAs(person, item)
		h.Kind = tracker.HookItemUpdated
	} else {
		p.gone[item.ID] = item
		s.board.Remove(item.ProjectID, item.ID)
	}
	s.trace.line(s.since(), "person", h.Kind, item.ID)
	if !lost {
		s.senders.send(sourceBoard, letter{Board: h})
	}
}
