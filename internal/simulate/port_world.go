package simulate

import (
	"context"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/githost/memhost"
	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
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
	i, err := request(ctx, p.n, o, item, func() (tracker.Item, error) {
		if s.world.Crowd == crowdFailing && !s.calm && strings.HasPrefix(item, crowd) {
			return tracker.Item{}, &fault.Error{Text: o.lane + ": 502 of this card", Again: true}
		}
		return s.board.Item(ctx, project, item)
	})
	p.n.memories.reads[item] = append(p.n.memories.reads[item], readCard{p.n.domain.Now(), i, err})
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

func (p *trackerPort) Recent(_, item string) (tracker.Item, bool) {
	i, ok := p.n.memories.recent[item]
	return i.Item, ok && p.n.sim.world.Recalls && p.n.domain.Now().Sub(i.at) <= recentFor
}

func (p *trackerPort) List(ctx context.Context, q tracker.Query) (page tracker.Page, err error) {
	// A listing of a crowd is of many pages, each of which costs a request.
	for i := 0; i == 0 || i < 100 && err == nil && p.n.sim.world.Crowd == crowdListing && !p.n.sim.calm; i++ {
		page, err = request(ctx, p.n, ofBoard("List"), q.ProjectID, func() (tracker.Page, error) { return p.n.sim.board.List(ctx, q) })
	}
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
		used, _, paused := m.meter.Used(p.n.domain.Now())
		return []tracker.Budget{{Token: "Token", Limit: limit, Used: used, Paused: paused}}
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
	refs, err := request(ctx, p.n, ofBoard("BlockedBy"), item, func() ([]tracker.Ref, error) {
		return p.n.sim.board.BlockedBy(ctx, project, item)
	})
	p.n.memories.reads[relations+item] = append(p.n.memories.reads[relations+item], readCard{at: p.n.domain.Now(), err: err})
	return refs, err
}

// watchedHost is the git host with a look at what a replica does to it.
type watchedHost struct {
	*memhost.Host

	n *node
}

func (w watchedHost) OpenPullRequest(ctx context.Context, n githost.NewPullRequest) (githost.PullRequest, error) {
	pr, err := w.Host.OpenPullRequest(ctx, n)
	w.n.sim.check.opened(w.n, n, err)
	return pr, err
}

func (w watchedHost) Merge(ctx context.Context, m githost.Merge) (string, error) {
	s := w.n.sim
	before := s.check.beforeMerge(m)
	sha, err := w.Host.Merge(ctx, m)
	if err == nil {
		s.check.merged(w.n, m, before)
		s.senders.merged(m.Repo, m.Number, sha)
	}
	return sha, err
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

// watchedPlace is the workspaces of one machine with a look at what a process does to them.
type watchedPlace struct {
	*memwork.Place

	n     *node
	check *checker
}

func (w watchedPlace) Open(ctx context.Context, s work.Workspace, first []work.File) (work.Checkout, error) {
	w.check.untouched(w.n, s, "opened")
	return w.Place.Open(ctx, s, first)
}

func (w watchedPlace) Push(ctx context.Context, s work.Workspace, sha, expected string) error {
	before := w.Remote(s.Repo, s.Branch)
	err := w.Place.Push(ctx, s, sha, expected)
	if err == nil {
		w.check.pushed(w.n, s, before, sha)
	}
	return err
}

func (w watchedPlace) Close(ctx context.Context, s work.Workspace) error {
	w.check.untouched(w.n, s, "closed")
	return w.Place.Close(ctx, s)
}

func (w watchedPlace) Drop(ctx context.Context, s work.Workspace, keep string) error {
	w.check.untouched(w.n, s, "dropped")
	err := w.Place.Drop(ctx, s, keep)
	if err == nil {
		_ = w.n.sim.host.DeleteBranch(ctx, s.Repo, s.Branch)
	}
	return err
}

func (w watchedPlace) Remove(ctx context.Context, r work.Remains) error {
	w.check.unused(w.n, r)
	return w.Place.Remove(ctx, r)
}

// leasePort is the leases as a replica reaches them.
type leasePort struct{ n *node }

func ofLease(name string) op { return op{name: "lease." + name, lane: LaneStore} }

func (p *leasePort) Acquire(ctx context.Context, name, holder string, ttl time.Duration) (lease.Lease, error) {
	return call(ctx, p.n, ofLease("Acquire"), holder, func() (lease.Lease, error) {
		s := p.n.sim
		before, held, _ := s.leases.Holder(ctx, name)
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

func (p *leasePort) Holder(ctx context.Context, name string) (l lease.Lease, ok bool, err error) {
	err = void(ctx, p.n, op{name: "lease.Holder", lane: LaneStore, read: true}, name, func() (err error) {
		l, ok, err = p.n.sim.leases.Holder(ctx, name)
		return err
	})
	return l, ok, err
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
		res = work.Result{Kind: work.ResultFailed, ExitCode: -1, Reason: "the agent cannot be started: " + err.Error()}
	}
	res.StartedAt, res.FinishedAt = begun, now()
	return res
}
