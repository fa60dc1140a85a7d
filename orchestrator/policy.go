package orchestrator

import (
	"context"
	"encoding/json"
	"sync/atomic"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Policy holds the settings, the pipeline and the registry by which decisions are made, as the journal keeps them.
type Policy struct {
	Settings map[string]string `json:"settings,omitempty"` // see Options.Settings
	Features []string          `json:"features"`
	Options  stage.Options     `json:"options"`
	Stages   []stage.Info      `json:"stages"`
	Edges    []stage.Edge      `json:"edges"`
	Lanes    []stage.Lane      `json:"lanes,omitempty"`
	Projects []policyProject   `json:"projects"`
}

// policyProject is an entry of the registry. The commands of its own checks have their names alone.
type policyProject struct {
	task.Project
	Commands []string `json:",omitempty"`
}

// policyVersion is a policy as the journal names it. Once it is kept by this process, commits bring it no more.
type policyVersion struct {
	task.Content
	kept atomic.Bool
}

func policyOf(e *Engine) *policyVersion {
	m := e.machine.Pipeline()
	p := Policy{Features: e.Features(), Options: e.opt.Stage, Stages: m.Stages, Edges: m.Edges, Lanes: m.Lanes}
	if e.opt.Settings != nil {
		p.Settings = e.opt.Settings()
	}
	for _, one := range e.Projects.All() {
		of := policyProject{Project: one}
		for _, g := range one.Commands {
			of.Commands = append(of.Commands, g.Name())
		}
		p.Projects = append(p.Projects, of)
	}
	body, _ := json.Marshal(p) // it has texts, numbers, lists and maps alone
	return &policyVersion{Content: task.NewContent(body)}
}

// addFacts adds to a decision's transaction what it was made by: the subject of its gates, the policy, the word. kept is
// called once that is durable.
func (in intake) addFacts(ctx context.Context, out *task.Commit, r *task.Recorded, of *gates.Recording) (kept func()) {
	if of != nil {
		frozen := of.Freeze(ctx)
		if diff := of.Diff(); diff != nil {
			c := task.NewContent(diff)
			frozen.Diff = c.ID
			out.Contents = append(out.Contents, c)
		}
		c := task.NewContent(encode(frozen))
		r.Subject = c.ID
		out.Contents = append(out.Contents, c)
	}
	if in.said() {
		r.Word = in.word.Number
	}
	p := in.policy.Load()
	if r.Policy = p.ID; p.kept.Load() {
		return func() {}
	}
	out.Contents = append(out.Contents, p.Content)
	return func() {
		if _, err := in.Store.Content(ctx, p.ID); err == nil { // else it was redacted, and has another name
			p.kept.Store(true)
		}
	}
}

// deriveBeginning fills in what the registry and the features conclude for a task that begins.
func (in intake) deriveBeginning(ctx context.Context, p task.Project, ev *stage.Event) error {
	ev.SelfHosting, ev.CINone, ev.NoDeploy = p.SelfHosting, p.WithoutCI(), p.Deploy.None
	if ev.On == stage.OnToAnalyse {
		ev.Lane = p.Lanes.Of(ev.Labels)
	}
	return passOn(ctx, in.features, Beginning{p, ev})
}

// gatesAt names the gates that an event meets; none where its edge has none.
func gatesAt(m *stage.Machine, p task.Project, s stage.State, ev stage.Event) []string {
	edge, ok := m.Edge(s, ev)
	if !ok || len(edge.Gates) == 0 {
		return nil
	}
	names := append([]string(nil), edge.Gates...)
	if edge.To != edge.From {
		names = append(names, p.Gates[edge.From]...)
	}
	return names
}

// verdictOf reduces a verdict to what the machine needs.
func verdictOf(v gates.Verdict) stage.Verdict {
	out := stage.Verdict{
		Outcome: stage.Outcome(v.Outcome.String()), Reason: v.Reason, SHA: v.SHA, Asks: v.Asks, Empty: v.Empty, Person: v.Person,
	}
	if v.Outcome == gates.Error { // the reason is an error of our own, and no finding
		out.Reason = fault.Words(v.Reason)
	}
	return out
}
