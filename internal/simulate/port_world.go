package simulate

import (
	"context"
	"errors"
	"io/fs"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/orchestrator/work/memwork"
	"github.com/signalbox-dev/signalbox/queue/lease"
	"github.com/signalbox-dev/signalbox/tracker"
)

// trackerPort is the board as a replica reaches it.
type trackerPort struct{ n *node }

func ofBoard(name string) op { return op{name: "tracker." + name, lane: LaneBoard, read: true} }

func (p *trackerPort) Item(ctx context.Context, project, item string) (tracker.Item, error) {
	o, s := ofBoard("Item"), p.n.sim
	o.stale = func(lag time.Duration) any { return s.people.past(item, lag) }
	i, err := request(ctx, p.n, o, item, func() (tracker.Item, error) { return s.board.Item(ctx, project, item) })
	p.n.memories.reads[item] = append(p.n.memories.reads[item], readCard{p.n.domain.Now(), i.Description, err})
	if err != nil {
		return i, err
	}
	known, err := p.remembered(ctx, project)
	i = known.seen(i)
	if err == nil {
		p.n.memories.recent[item] = recentItem{i, p.n.domain.Now()}
	}
	return i, err
}

// Recent implements tracker.Recent.
func (p *trackerPort) Recent(_, item string) (tracker.Item, bool) {
	i, ok := p.n.memories.recent[item]
	return i.Item, ok && p.n.sim.world.Recalls && p.n.domain.Now().Sub(i.at) <= recentFor
}

func (p *trackerPort) List(ctx context.Context, q tracker.Query) (tracker.Page, error) {
	page, err := request(ctx, p.n, ofBoard("List"), q.ProjectID, func() (tracker.Page, error) { return p.n.sim.board.List(ctx, q) })
	if err != nil {
		return page, err
	}
	known, err := p.remembered(ctx, q.ProjectID)
	for i := range page.Items {
		page.Items[i] = known.seen(page.Items[i])
	}
	return page, err
}

func (p *trackerPort) SetStatus(ctx context.Context, project, item string, status stage.Status) error {
	o, s := op{name: "tracker.SetStatus", lane: LaneStatus}, p.n.sim
	delete(p.n.memories.recent, item)
	known, err := p.remembered(ctx, project)
	if err != nil {
		return err
	}
	set, err := request(ctx, p.n, o, item+" "+string(status), func() (tracker.Item, error) {
		s.people.meet(item)
		return s.people.ourMove(project, item, status, known)
	})
	if err == nil {
		p.n.memories.recent[item] = recentItem{known.seen(set), p.n.domain.Now()}
	}
	return err
}

func (p *trackerPort) Comments(ctx context.Context, project, item string) ([]tracker.Comment, error) {
	if !p.n.identified() {
		return nil, tracker.ErrUnidentified
	}
	return request(ctx, p.n, ofBoard("Comments"), item, func() ([]tracker.Comment, error) {
		return p.n.sim.board.Comments(ctx, project, item)
	})
}

func (p *trackerPort) Own(account string) (bool, error) {
	if !p.n.identified() {
		return false, tracker.ErrUnidentified
	}
	return p.n.sim.board.Own(account)
}

// Budgets is as far as the process can say: what others use is not in it. In a world without a limit
// there is more than anybody uses.
func (p *trackerPort) Budgets() []tracker.Budget {
	m := p.n.memories
	if limit := p.n.sim.world.Budget; limit > 0 {
		return []tracker.Budget{{Token: "Token", Limit: limit, Used: len(m.sent), Paused: m.paused}}
	}
	return []tracker.Budget{{Token: "Token", Limit: 1_000_000, Used: 1, Paused: time.Unix(1, 0)}}
}

func (p *trackerPort) AddComment(ctx context.Context, c tracker.NewComment) (string, error) {
	o := op{name: "tracker.AddComment", lane: LaneComments}
	return request(ctx, p.n, o, c.ItemID+" "+c.Key, func() (string, error) {
		got, err := p.n.sim.board.AddComment(ctx, c)
		if err == nil {
			p.n.sim.check.commented(p.n, c)
		}
		return got, err
	})
}

func (p *trackerPort) SetComment(ctx context.Context, c tracker.NewComment) error {
	o := op{name: "tracker.SetComment", lane: LaneComments}
	_, err := request(ctx, p.n, o, c.ItemID+" "+c.Key, func() (any, error) { return nil, p.n.sim.board.SetComment(ctx, c) })
	return err
}

func (p *trackerPort) Columns(ctx context.Context, project string) (map[stage.Status]string, error) {
	c, err := p.columnsOf(ctx, project, "Columns")
	if err != nil {
		return nil, err
	}
	return c.board.Columns(ctx, project)
}

func (p *trackerPort) StatusOf(ctx context.Context, project, column string) (stage.Status, error) {
	c, err := p.columnsOf(ctx, project, "StatusOf")
	if err != nil {
		return stage.StatusUnknown, err
	}
	return c.board.StatusOf(ctx, project, column)
}

func (p *trackerPort) LastMove(ctx context.Context, project, item string) (tracker.Move, error) {
	return request(ctx, p.n, ofBoard("LastMove"), item, func() (tracker.Move, error) { return p.n.sim.board.LastMove(ctx, project, item) })
}

func (p *trackerPort) BlockedBy(ctx context.Context, project, item string) ([]tracker.Ref, error) {
	return request(ctx, p.n, ofBoard("BlockedBy"), item, func() ([]tracker.Ref, error) {
		return p.n.sim.board.BlockedBy(ctx, project, item)
	})
}

// hostPort is the git host as a replica reaches it.
type hostPort struct{ n *node }

func ofHost(name string, read bool) op { return op{name: "host." + name, lane: LaneHost, read: read} }

func (p *hostPort) Checks(ctx context.Context, repo, base, sha string) ([]githost.Check, error) {
	return call(ctx, p.n, ofHost("Checks", true), sha, func() ([]githost.Check, error) { return p.n.sim.host.Checks(ctx, repo, base, sha) })
}

func (p *hostPort) Reviews(ctx context.Context, repo, branch string) ([]githost.Review, error) {
	return call(ctx, p.n, ofHost("Reviews", true), branch, func() ([]githost.Review, error) {
		return p.n.sim.host.Reviews(ctx, repo, branch)
	})
}

func (p *hostPort) PullRequest(ctx context.Context, repo, branch string) (githost.PullRequest, error) {
	return call(ctx, p.n, ofHost("PullRequest", true), branch, func() (githost.PullRequest, error) {
		return p.n.sim.host.PullRequest(ctx, repo, branch)
	})
}

func (p *hostPort) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	return call(ctx, p.n, ofHost("OpenPullRequest", false), n.Head, func() (githost.PullRequest, error) {
		pr, err := p.n.sim.host.OpenPullRequest(ctx, n)
		p.n.sim.check.opened(p.n, n, err)
		return pr, err
	})
}

func (p *hostPort) Merge(ctx context.Context, m githost.Merge) (string, error) {
	return call(ctx, p.n, ofHost("Merge", false), m.HeadSHA, func() (string, error) {
		s := p.n.sim
		before := s.check.beforeMerge(m)
		sha, err := s.host.Merge(ctx, m)
		if err == nil {
			s.check.merged(p.n, m, before)
			s.senders.merged(m.Repo, m.Number, sha)
		}
		return sha, err
	})
}

func (p *hostPort) BranchesAt(ctx context.Context, repo, sha string) ([]string, error) {
	return call(ctx, p.n, ofHost("BranchesAt", true), sha, func() ([]string, error) { return p.n.sim.host.BranchesAt(ctx, repo, sha) })
}

func (p *hostPort) DeleteBranch(ctx context.Context, repo, branch string) error {
	return void(ctx, p.n, ofHost("DeleteBranch", false), branch, func() error { return p.n.sim.host.DeleteBranch(ctx, repo, branch) })
}

// chatPort is the messenger as a replica reaches it.
type chatPort struct{ n *node }

func (p *chatPort) Send(ctx context.Context, m messenger.Message) (string, error) {
	o := op{name: "chat.Send", lane: LaneChat}
	return call(ctx, p.n, o, m.Title, func() (string, error) {
		p.n.sim.check.sent(m)
		return p.n.sim.chat.Send(ctx, m)
	})
}

func (p *chatPort) Edit(ctx context.Context, message string, m messenger.Message) error {
	o := op{name: "chat.Edit", lane: LaneChat}
	return void(ctx, p.n, o, message, func() error { return p.n.sim.chat.Edit(ctx, message, m) })
}

// workPort is the workspaces of one machine.
type workPort struct {
	n     *node
	place *memwork.Place
}

func ofGit(name string, read bool) op { return op{name: "git." + name, lane: LaneGit, read: read} }

func (p *workPort) Open(ctx context.Context, s work.Workspace, first []work.File) (work.Checkout, error) {
	return call(ctx, p.n, ofGit("Open", false), s.Branch, func() (work.Checkout, error) {
		p.n.sim.check.untouched(p.n, s, "opened")
		return p.place.Open(ctx, s, first)
	})
}

func (p *workPort) Begin(ctx context.Context, s work.Workspace, first []work.File) error {
	return void(ctx, p.n, ofGit("Begin", false), s.Branch, func() error { return p.place.Begin(ctx, s, first) })
}

func (p *workPort) Add(ctx context.Context, s work.Workspace, files []work.File, message string) (work.Tip, error) {
	return call(ctx, p.n, ofGit("Add", false), s.Branch, func() (work.Tip, error) { return p.place.Add(ctx, s, files, message) })
}

func (p *workPort) Take(ctx context.Context, s work.Workspace) (work.Tip, error) {
	return call(ctx, p.n, ofGit("Take", false), s.Branch, func() (work.Tip, error) { return p.place.Take(ctx, s) })
}

func (p *workPort) Push(ctx context.Context, s work.Workspace, sha, expected string) error {
	return void(ctx, p.n, ofGit("Push", false), s.Branch+" "+sha, func() error {
		before := p.place.Remote(s.Repo, s.Branch)
		err := p.place.Push(ctx, s, sha, expected)
		if err == nil {
			p.n.sim.check.pushed(p.n, s, before, sha)
		}
		return err
	})
}

func (p *workPort) Close(ctx context.Context, s work.Workspace) error {
	return void(ctx, p.n, ofGit("Close", false), s.Branch, func() error {
		p.n.sim.check.untouched(p.n, s, "closed")
		return p.place.Close(ctx, s)
	})
}

func (p *workPort) Drop(ctx context.Context, s work.Workspace, keep string) error {
	return void(ctx, p.n, ofGit("Drop", false), s.Branch, func() error {
		p.n.sim.check.untouched(p.n, s, "dropped")
		err := p.place.Drop(ctx, s, keep)
		if err == nil {
			_ = p.n.sim.host.DeleteBranch(ctx, s.Repo, s.Branch)
		}
		return err
	})
}

func (p *workPort) Tip(ctx context.Context, s work.Workspace) (work.Tip, error) {
	return call(ctx, p.n, ofGit("Tip", true), s.Branch, func() (work.Tip, error) { return p.place.Tip(ctx, s) })
}

func (p *workPort) Changed(ctx context.Context, s work.Workspace, from, to string, patterns []string) ([]string, error) {
	return call(ctx, p.n, ofGit("Changed", true), to, func() ([]string, error) { return p.place.Changed(ctx, s, from, to, patterns) })
}

func (p *workPort) Diff(ctx context.Context, s work.Workspace, sha string) (work.Diff, error) {
	return call(ctx, p.n, ofGit("Diff", true), sha, func() (work.Diff, error) { return p.place.Diff(ctx, s, sha) })
}

func (p *workPort) Files(ctx context.Context, s work.Workspace, sha string) (fs.FS, error) {
	return call(ctx, p.n, ofGit("Files", true), sha, func() (fs.FS, error) { return p.place.Files(ctx, s, sha) })
}

func (p *workPort) CatchUp(ctx context.Context, s work.Workspace, always bool) (work.CaughtUp, error) {
	return call(ctx, p.n, ofGit("CatchUp", false), s.Branch, func() (work.CaughtUp, error) { return p.place.CatchUp(ctx, s, always) })
}

func (p *workPort) MainTip(ctx context.Context, s work.Workspace) (string, error) {
	return call(ctx, p.n, ofGit("MainTip", true), s.Repo, func() (string, error) { return p.place.MainTip(ctx, s) })
}

func (p *workPort) SameTree(ctx context.Context, s work.Workspace, a, b string) (bool, error) {
	return call(ctx, p.n, ofGit("SameTree", true), s.Repo, func() (bool, error) { return p.place.SameTree(ctx, s, a, b) })
}

func (p *workPort) Remains(ctx context.Context) ([]work.Remains, error) {
	return call(ctx, p.n, ofGit("Remains", true), "", func() ([]work.Remains, error) { return p.place.Remains(ctx) })
}

func (p *workPort) Remove(ctx context.Context, r work.Remains) error {
	return void(ctx, p.n, ofGit("Remove", false), r.Name, func() error {
		p.n.sim.check.unused(p.n, r)
		return p.place.Remove(ctx, r)
	})
}

// leasePort is the leases as a replica reaches them.
type leasePort struct{ n *node }

func ofLease(name string) op { return op{name: "lease." + name, lane: LaneStore} }

func (p *leasePort) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease.Lease, error) {
	return call(ctx, p.n, ofLease("Acquire"), holder, func() (lease.Lease, error) {
		s := p.n.sim
		before, held, err := s.leases.Holder(ctx, name)
		if err != nil {
			return lease.Lease{}, err
		}
		l, err := s.leases.Acquire(ctx, name, holder, ttl)
		s.check.acquired(before, held, l, err)
		return l, err
	})
}

func (p *leasePort) Release(ctx context.Context, l lease.Lease) error {
	return void(ctx, p.n, ofLease("Release"), l.Holder, func() error {
		s := p.n.sim
		before, held, _ := s.leases.Holder(ctx, l.Name)
		err := s.leases.Release(ctx, l)
		s.check.released(before, held, l, err)
		return err
	})
}

func (p *leasePort) Holder(ctx context.Context, name string) (lease.Lease, bool, error) {
	type answer struct {
		l  lease.Lease
		ok bool
	}
	o := ofLease("Holder")
	o.read = true
	a, err := call(ctx, p.n, o, name, func() (answer, error) {
		l, ok, err := p.n.sim.leases.Holder(ctx, name)
		return answer{l, ok}, err
	})
	return a.l, a.ok, err
}

// agentsPort runs the agents of one machine.
type agentsPort struct {
	n     *node
	place *memwork.Place
}

func (p *agentsPort) Quiesce(ctx context.Context, task int64) error {
	return void(ctx, p.n, op{name: "agents.Quiesce", lane: LaneAgents}, id(task), func() error {
		p.n.sim.agents.end(p.n.machine, task)
		return p.place.Quiesce(ctx, task)
	})
}

// errNoStart is an agent that could not be started.
var errNoStart = errors.New("the agent cannot be started")

func (p *agentsPort) Report(ctx context.Context, c work.Command) (string, error) {
	return p.place.Report(ctx, c)
}

func (p *agentsPort) Run(ctx context.Context, c work.Command) (res work.Result) {
	now := p.n.domain.Now
	begun := now()
	o := op{name: "agents.Run", lane: LaneAgents}
	switch err := void(ctx, p.n, o, string(c.Role)+" of "+id(c.TaskID), func() error { return nil }); {
	case err == nil:
		p.n.sim.check.begins(c)
		res = p.n.sim.agents.work(ctx, p.n, p.place, c)
	case ctx.Err() != nil:
		res.Kind = work.ResultCancelled
	default:
		res = work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: errors.Join(errNoStart, err).Error()}
	}
	res.StartedAt, res.FinishedAt = begun, now()
	return res
}
