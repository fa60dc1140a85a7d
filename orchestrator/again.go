package orchestrator

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Again is an event of a journal, decided again.
type Again struct {
	Event    stage.Event // with what is concluded now
	Decision stage.Decision
	Other    bool     // it was decided by another policy than the engine's
	Unknown  []string // what is not concluded again because the journal does not have it: the record stands in for it
}

// DecideAgain decides a recorded event of a task on a state by an engine: what the record has concluded from facts is
// concluded again, as far as the facts are kept. What another policy has concluded stays, unless against is set: then
// everything is concluded by the engine's.
func DecideAgain(
	ctx context.Context, e *Engine, t task.Task, s stage.State, r task.Recorded, at time.Time, against bool,
) (Again, error) {
	out := Again{Event: r.Event, Other: r.Policy != e.policy.Load().ID}
	if out.Other && r.Policy != "" && !against {
		out.Decision = e.machine.Decide(s, r.Event)
		return out, nil
	}
	p, ok := e.Projects.ByRepo(t.Repo)
	if !ok {
		out.Unknown = append(out.Unknown, t.Repo+" is not registered")
		out.Decision = e.machine.Decide(s, out.Event)
		return out, nil
	}
	p = p.On(t.TrackerProjectID)
	in := intake{Engine: e, project: p}
	if against {
		var err error
		if s, err = in.underPolicy(ctx, s); err != nil {
			return out, err
		}
	}
	t.State, t.WorkItemID = s, task.OriginalKey(t.WorkItemID)
	if s.Stage == stage.None && r.Policy != "" {
		if err := in.deriveBeginning(ctx, p, &out.Event); err != nil {
			return out, err
		}
	}
	if r.Policy == "" && (s.Stage == stage.None || len(gatesAt(e.machine, p, s, out.Event)) > 0) {
		out.Unknown = append(out.Unknown, "the entry is from before facts were kept")
	} else if out.Other && r.Policy != "" {
		if err := in.denyAgain(ctx, t, r, &out); err != nil {
			return out, err
		}
	}
	if r.Policy != "" {
		if err := in.judgeAgain(ctx, t, r, at, &out); err != nil {
			return out, err
		}
	}
	out.Decision = e.machine.Decide(s, out.Event)
	return out, nil
}

// underPolicy is a recorded state with what the registry and the features conclude for its repository today. A task that
// is past the place where the merge gate would have been at work counts as tested there.
func (in intake) underPolicy(ctx context.Context, s stage.State) (stage.State, error) {
	if s.Stage == stage.None || s.Stage.Terminal() {
		return s, nil
	}
	ev := stage.Event{On: OnUndo}
	if err := in.deriveBeginning(ctx, in.project, &ev); err != nil {
		return s, err
	}
	s.SelfHosting, s.CINone, s.NoDeploy = ev.SelfHosting, ev.CINone, ev.NoDeploy
	if was := s.Gated; was != ev.MergeGate {
		if s.Gated = ev.MergeGate; !was && s.Stage == stage.Deploy && s.Tested == "" {
			s.Tested = s.Head
		}
	}
	return s, nil
}

// denyAgain concludes whether who has said a word may, where the registry's lists are others now. People whom the lists
// name by more than an id were described by the tracker, which is not kept.
func (in intake) denyAgain(ctx context.Context, t task.Task, r task.Recorded, out *Again) error {
	ev := &out.Event
	list, _ := in.project.People.Allowed(ev.On)
	_, word := stage.BoardTrigger(stage.Status(ev.On))
	if !word || ev.On == stage.OnStop || ev.By == (stage.Principal{}) || ev.By.Via == stage.ViaHost {
		return nil
	}
	var then Policy
	if err := in.readContent(ctx, r.Policy, &then); err != nil {
		if errors.Is(err, task.ErrNotFound) {
			out.Unknown = append(out.Unknown, "the policy of that time is not kept")
			return nil
		}
		return err
	}
	i := slices.IndexFunc(then.Projects, func(p policyProject) bool { return p.Repo == in.project.Repo })
	if i >= 0 && reflect.DeepEqual(then.Projects[i].People, in.project.People) {
		return nil
	}
	people, who := in.project.People, tracker.Person{ID: ev.By.ID}
	if strings.Contains(ev.By.ID, "@") {
		who.Email = ev.By.ID
	}
	if s := t.State; s.Stage == stage.None {
		t.ID = 0
	}
	ev.Denied = refusalByRegistry(people, ev.On, t, ev.By, who)
	if ev.Denied != "" && task.DescribesAccounts(list) && who.Email == "" && ev.By.Proved() {
		ev.Denied = r.Event.Denied
		out.Unknown = append(out.Unknown, "the "+string(ev.On)+" list names people by more than ids, which the tracker described")
	}
	return nil
}

// judgeAgain has the gates of today judge the frozen subject. A verdict that says the same as the record has its words.
func (in intake) judgeAgain(ctx context.Context, t task.Task, r task.Recorded, at time.Time, out *Again) error {
	names := gatesAt(in.machine, in.project, t.State, out.Event)
	if t.State.Stage == stage.None {
		names = []string{"qg0"}
	}
	if len(names) == 0 {
		out.Event.Verdict = stage.Verdict{}
		return nil
	}
	var frozen gates.Frozen
	var diff []byte
	err := in.readContent(ctx, r.Subject, &frozen)
	if err == nil && frozen.Diff != "" {
		diff, err = in.Store.Content(ctx, frozen.Diff)
	}
	if errors.Is(err, task.ErrNotFound) {
		out.Unknown = append(out.Unknown, "no gate had judged: "+strings.Join(names, ", "))
		return nil
	}
	if err != nil {
		return err
	}
	s := statedFacts(in.project, t, cmp.Or(frozen.SHA, commitOf(t.State, out.Event)), at)
	s.Works = in.machine.Info(t.State.Stage)
	addEvent(&s, out.Event)
	s, missed := frozen.Thaw(s, diff)
	have, err := in.gatesOf(in.project)
	if err != nil {
		return err
	}
	quick, slow := have.Split(names...)
	v := have.Judge(ctx, s, quick...)
	if v.Passed() || v.Asks {
		each := single(v)
		for _, name := range slow {
			each = append(each, have.Judge(ctx, s, name))
		}
		if len(slow) > 0 {
			v = gates.Combine(s.SHA, each...)
		}
	}
	if lacks := missed(); len(lacks) > 0 && v.Outcome == gates.Error {
		out.Unknown = append(out.Unknown, "a gate would have read more: "+strings.Join(lacks, ", "))
		return nil
	}
	now := verdictOf(v)
	now.Reason, now.SHA = r.Event.Verdict.Reason, r.Event.Verdict.SHA
	if now != r.Event.Verdict {
		out.Event.Verdict = verdictOf(v)
	}
	return nil
}

// readContent reads what an entry names; ErrNotFound where it names nothing.
func (in intake) readContent(ctx context.Context, id string, into any) error {
	if id == "" {
		return task.ErrNotFound
	}
	body, err := in.Store.Content(ctx, id)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(body, into); err != nil {
		return fmt.Errorf("what the journal names as %s cannot be read: %w", id, err)
	}
	return nil
}
