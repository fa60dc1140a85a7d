package orchestrator

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
	"github.com/signalbox-dev/signalbox/tracker"
)

func (in intake) subjectOfItem(item tracker.Item) gates.Facts {
	return gates.Facts{
		At:     in.Now(),
		Task:   gates.Task{Title: item.Title, Description: item.Description, Repo: in.project.Repo, Main: in.project.Main},
		Policy: in.project.Policy(),
	}
}

// subject gathers the facts of a task, as of its newest commit.
func (e *Engine) subject(ctx context.Context, p task.Project, t task.Task, ev stage.Event) (gates.Facts, error) {
	sha := commitOf(t.State, ev)
	s, err := FactsOf(ctx, e.Workspaces, e.Host, p, t, sha, e.Now())
	s.Commands = e.Commands
	s.Works = e.machine.Info(t.State.Stage)
	addEvent(&s, ev)
	if p.Plain() && ev.CI != nil {
		s.CI = ownCI(*ev.CI)
	}
	if sha != "" && ev.On == stage.OnReconcile {
		if fact := e.probe(ctx, s); fact != nil { // it may have come since the deployer's report
			s.Filed.Probed = fact
		}
	}
	return s, err
}

// commitOf is the commit that an event of a task is judged by.
func commitOf(s stage.State, ev stage.Event) string {
	if (ev.On == stage.OnAgentFinished || ev.On == OnCaughtUp) && ev.SHA != "" {
		return ev.SHA
	}
	return s.Head
}

// addEvent adds to a subject what an event of the task says.
func addEvent(s *gates.Facts, ev stage.Event) {
	if ev.On == stage.OnAgentFinished && ev.Agent != nil {
		s.Filed = ev.Agent.Filed
	}
	if ev.On == stage.OnApproved {
		s.Approval = ev.By.Vouch(cmp.Or(ev.Of, s.SHA), ev.At)
	}
	if ev.On == OnCaughtUp {
		s.Mergeable = &gates.Mergeable{Base: ev.Base, Conflicts: ev.Conflicts}
	}
}

// statedFacts are the facts of a task and one of its commits that nothing has to be read for.
func statedFacts(p task.Project, t task.Task, sha string, now time.Time) gates.Facts {
	s := gates.Facts{
		At: now, Stage: t.State.Stage, SHA: sha, Deployed: t.State.MergeSHA, Filed: t.State.Filed,
		Task: gates.Task{
			ID: t.ID, WorkItem: t.WorkItemID, Title: t.Title, Description: t.Description,
			Repo: t.Repo, Branch: t.Branch, Main: p.Main, Docs: p.Docs(t.WorkItemID),
		},
		Vouched: t.State.Vouched, Retries: t.State.Retries, Policy: p.Policy(),
	}
	if t.State.Reran.SHA == sha && sha != "" {
		s.Reran = t.State.Reran
	}
	return s
}

// FactsOf gathers the facts of a task and one of its commits, which may be empty, at a moment. Nothing
// of an event is among them, and no command.
func FactsOf(
	ctx context.Context, from Workspaces, host githost.Host, p task.Project, t task.Task, sha string, now time.Time,
) (gates.Facts, error) {
	s := statedFacts(p, t, sha, now)
	if p.Plain() {
		s.CI = ownCI(t.State.CI)
	} else {
		s.CI, s.Reviews = host, host
	}
	if sha == "" {
		return s, nil
	}
	s.Unpublished = sha != t.State.Pushed
	judged := t.State.Stage == stage.Deploy // CI of what is deployed was judged before
	s.Settled = !s.Unpublished && (now.Sub(t.UpdatedAt) >= ciSettles || judged)
	space := p.Workspace(t)
	space.Head = sha
	tip, err := from.Tip(ctx, space)
	if err != nil {
		return s, err
	}
	s.Changes = changes{from, space, sha}
	s.SameCode, s.Base = []string{sha}, tip.Base
	if tip.SHA == sha {
		s.SameCode = tip.SameCode
	}
	s.Tree, err = from.Files(ctx, space, sha)
	return s, err
}

// changes reads what a commit of a task has changed.
type changes struct {
	from  Workspaces
	space work.Workspace
	sha   string
}

func (c changes) Changed(ctx context.Context, from string, patterns []string) ([]string, error) {
	return c.from.Changed(ctx, c.space, from, c.sha, patterns)
}

func (c changes) Diff(ctx context.Context) (files []gates.FileDiff, cut bool, err error) {
	d, err := c.from.Diff(ctx, c.space, "", c.sha)
	for _, f := range d.Files {
		files = append(files, gates.FileDiff(f))
	}
	return files, d.Cut, err
}

// Prober reads from a deployment which commit it runs: 7 to 64 hexadecimal digits in lower
// case. Without an answer that names one it returns an error.
type Prober interface {
	Commit(ctx context.Context, address string) (string, error)
}

// probePoll is the time between two looks at a deployment that is not there yet.
const probePoll = 10 * time.Second

// probed reads what a deployment runs that its deployer calls good, in the job of the run: it
// looks again until that is the commit, or Options.ProbeWait is over. Nil means that there is
// nothing to look at. It is an error when it was interrupted, or when nobody can look.
func (a *attempt) probed(ctx context.Context, ev stage.Event) (*stage.Probed, error) {
	if a.project.Probe.ByStage()[a.task.State.Stage] == "" {
		return nil, nil
	}
	s, err := a.subject(ctx, a.project, a.task, ev)
	if err != nil {
		return nil, err
	}
	for until := a.Now().Add(a.opt.ProbeWait); ; {
		fact := a.probe(ctx, s)
		if fact == nil || checks.Proved(s, *fact) || !a.Now().Before(until) {
			return fact, ctx.Err()
		}
		if err := a.Wait(ctx, probePoll); err != nil {
			return nil, err
		}
	}
}

// probe looks once; nil when, by the report, there is nothing to see.
func (e *Engine) probe(ctx context.Context, s gates.Facts) *stage.Probed {
	address := s.Policy.Probe[s.Stage]
	if s.Stage == stage.Deploy && s.Deployed == "" { // the deployer runs before the merge too
		return nil
	}
	if address == "" || s.Filed.Role != s.Works.Role || !slices.Contains(s.Works.Good, s.Filed.Verdict) {
		return nil
	}
	fact := &stage.Probed{Address: address}
	fact.Issuer, fact.Proof, fact.At = stage.IssuerSite+address, stage.ProofAnswer, e.Now()
	if e.Probe == nil {
		fact.Problem = "no probe can be read here"
		return fact
	}
	commit, err := e.Probe.Commit(ctx, address)
	if fact.SHA = commit; err != nil {
		fact.SHA, fact.Problem = "", cmp.Or(err.Error(), "no answer")
	}
	e.Log.Info("probed", "task", s.Task.ID, "repo", s.Task.Repo, "stage", s.Stage, "address", address, "sha", fact.SHA, "err", fact.Problem)
	return fact
}

// journal writes into a task's story what no decision says. The story is for people: what cannot
// be written there holds nothing up.
func (e *Engine) journal(ctx context.Context, t task.Task, kind string, payload any) {
	entry := task.JournalEntry{TaskID: t.ID, Seq: t.State.Seq, At: e.Now(), Kind: kind, Payload: encode(payload)}
	if err := e.Store.Commit(context.WithoutCancel(ctx), task.Commit{Journal: []task.JournalEntry{entry}}); err != nil {
		e.Log.Warn("the task's story could not be written",
			"task", t.ID, "repo", t.Repo, "kind", kind, "entry", string(entry.Payload), "err", err)
	}
}

// journalOnce writes a sentence into a task's story, unless it is there.
func (e *Engine) journalOnce(ctx context.Context, t task.Task, kind, text string) {
	text = cut(text, tailMax, "…")
	story, err := e.Records.Journal(ctx, t.ID)
	if err != nil {
		e.Log.Warn("the task's story could not be read", "task", t.ID, "repo", t.Repo, "err", err)
	}
	for _, entry := range story {
		if entry.Kind == kind && entry.Result() == kind+": "+text {
			return
		}
	}
	e.Log.Warn("a note for the story of a task", "task", t.ID, "repo", t.Repo, "kind", kind, "text", text)
	e.journal(ctx, t, kind, task.Note{Result: text})
}

// takeIn is how long the job of an agent that could not work is put off, so that the pause,
// which the event of the attempt brings, is there before it.
const takeIn = 30 * time.Second

// hindrance returns what kept the agent of a run from working; nil where the attempt failed by
// itself, and where no rule pauses agents.
func (a *attempt) hindrance(r work.Result) *stage.Hindrance {
	pauses := slices.ContainsFunc(a.Admission.Rules, func(r admit.Rule) bool { return r.Hinders })
	if r.Trouble.Kind == "" || !pauses {
		return nil
	}
	agent := a.project.Agents[a.launch.Role]
	name, _ := work.Identify(a.Agents, agent)
	h := &stage.Hindrance{Agent: name, Kind: string(r.Trouble.Kind), Until: r.Trouble.Until}
	if r.Trouble.Kind == work.TroubleModel {
		h.Model = agent.Model
	}
	return h
}

// hindered gives an attempt back that its agent could not make.
func (a *attempt) hindered(r work.Result, ev stage.Event) *queue.Outcome {
	a.log.Warn("an agent cannot work", "agent", ev.Agent.Hindered.Agent, "why", r.Reason)
	then := []queue.Job{a.event(r, ev)}
	return &queue.Outcome{Kind: queue.OutcomeRelease, At: a.Now().Add(takeIn), Error: r.Reason, Then: then}
}

// vendorCaveat returns why an agent that is to be of another vendor than the developer was
// is not, or may not be; empty when it is, or need not be.
func (a *attempt) vendorCaveat(ctx context.Context, agent work.Agent) string {
	if !agent.Independent {
		return ""
	}
	_, own := work.Identify(a.Agents, agent)
	runs, err := a.Records.AgentRuns(ctx, a.task.ID)
	if err != nil {
		a.log.Warn("the vendor of the developer cannot be read", "err", err)
	}
	developer := ""
	for _, r := range runs { // the newest is the last
		if r.Role == stage.Developer && r.Status == work.ResultOK {
			developer = r.Vendor
		}
	}
	switch {
	case own == "" || developer == "":
		return fmt.Sprintf("it is not known whether the %s is of another vendor than the developer (%s, %s): "+
			"it may not be independent", a.launch.Role, cmp.Or(own, "unknown"), cmp.Or(developer, "unknown"))
	case own == developer:
		return fmt.Sprintf("the %s is of the same vendor as the developer (%s): it is not independent", a.launch.Role, own)
	default:
		return ""
	}
}
