package admin

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/signalbox-dev/signalbox/messenger"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Chat takes what people say in a chat as words about tasks, by the same rules as Decide.
type Chat struct {
	Engine   *orchestrator.Engine
	Listener messenger.Listener
	Stop     bool   // STOP cancellation is on
	Pages    string // address of the dashboard; empty = it is not known

	mu   sync.Mutex // one act at a time
	told map[string]bool
}

// toldMax bounds the strangers that are remembered, so that each is told once who may speak here.
const toldMax = 1000

// chatAct is a button.
type chatAct struct {
	label string
	asks  string        // for the text that it needs; empty = none
	on    stage.Trigger // a decision; else an act of its own
}

func chatActs() map[string]chatAct {
	return map[string]chatAct{
		task.ActApprove: {label: "Approve", on: stage.OnApproved},
		task.ActReject:  {label: "Reject", on: stage.OnRejected, asks: "why is it rejected?"},
		task.ActConfirm: {label: "Confirm Deploy", on: stage.OnConfirmDeploy},
		task.ActAnswer:  {label: "Answer", asks: "what is the answer?"},
		task.ActRetry:   {label: "Retry"},
		task.ActStop:    {label: "Stop"},
	}
}

// Dress gives a message what may be said about a task at this moment, where its project's messages go, and the
// way to its page. Without a task it is the repository's.
func (c *Chat) Dress(ctx context.Context, taskID int64, repo string, m *messenger.Message) error {
	if p, ok := c.Engine.Projects.ByRepo(repo); ok {
		m.To = p.Chat
	}
	if taskID == 0 {
		return nil
	}
	t, err := c.Engine.Store.Task(ctx, taskID)
	if err != nil {
		return err
	}
	if c.Pages != "" {
		m.Lines = append(m.Lines, fmt.Sprintf("task: %s/tasks/%d#verdict", c.Pages, t.ID))
	}
	if c.Listener == nil {
		return nil
	}
	acts := chatActs()
	for _, act := range c.sayable(t) {
		if m.Moment != "" && m.Moment != task.Moment(t) && act != task.ActStop {
			continue // it is not about what the message says
		}
		m.Choices = append(m.Choices, messenger.Choice{ID: fmt.Sprintf("%s.%d.%s", act, t.ID, task.Moment(t)), Label: acts[act].label})
	}
	return nil
}

// sayable lists the acts that move a task as it stands.
func (c *Chat) sayable(t task.Task) (out []string) {
	s := t.State
	if s.Stage.Terminal() {
		return nil
	}
	for _, act := range []string{task.ActApprove, task.ActConfirm, task.ActReject} {
		edge, ok := c.Engine.Machine().Edge(s, stage.Event{On: chatActs()[act].on})
		if ok && s.Hold != stage.HoldNone && edge.Do != stage.DoNothing && edge.Do != stage.DoDecline {
			out = append(out, act)
		}
	}
	switch s.Hold {
	case stage.HoldNeedsInput:
		out = append(out, task.ActAnswer)
	case stage.HoldBlocked:
		out = append(out, task.ActRetry)
	}
	if c.Stop && !s.Stopping {
		out = append(out, task.ActStop)
	}
	return out
}

// Listen takes acts until ctx ends.
func (c *Chat) Listen(ctx context.Context) { c.Listener.Listen(ctx, c.Hear) }

// Hear takes one act: nil when its word is durable, or it was refused. An error has it come again.
func (c *Chat) Hear(ctx context.Context, a messenger.Act) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	with, err := c.hear(ctx, a)
	if err != nil {
		c.Engine.Log.Error("an act in the chat cannot be taken yet", "act", a.ID, "err", err)
		return err
	}
	if err := c.Listener.Answer(ctx, a, with); err != nil {
		c.Engine.Log.Warn("an act in the chat could not be answered", "act", a.ID, "err", err)
		if with.Ask && fault.Retryable(err) {
			return err // else nobody could say why; a chat that refuses it for good would keep what others say from being heard
		}
	}
	return nil
}

func (c *Chat) hear(ctx context.Context, a messenger.Act) (none messenger.Answer, err error) {
	verb, t, bound, err := c.find(ctx, a.Choice)
	if err != nil {
		return none, err
	}
	if t.ID == 0 {
		return messenger.Answer{Text: "There is no such task any more."}, nil
	}
	p, registered := c.Engine.Projects.ByRepo(t.Repo)
	if all := c.Engine.Projects.All(); !registered && len(all) > 0 {
		p = all[0] // people are those of every project
	}
	subject := c.Listener.Accounts() + ":" + a.By.ID
	name := p.People.Accounts[subject]
	if name == "" {
		return messenger.Answer{Text: c.refuse(a.By)}, nil
	}
	by := stage.Principal{
		Kind: stage.KindOperator, ID: name, Subject: subject,
		Via: stage.ViaChat, Proof: stage.ProofChat, Request: a.ID,
	}
	item, act := task.OriginalKey(t.WorkItemID), chatActs()[verb]
	taken := messenger.Answer{Text: item + ": " + act.label + " is taken.", Done: true}
	switch before, err := c.heard(ctx, t, by); {
	case err != nil:
		return none, err
	case before:
		return taken, nil
	case a.Text != "" && act.asks == "": // it takes a touch
		return messenger.Answer{Text: item + ": press the button again."}, nil
	case !bound || !slices.Contains(c.sayable(t), verb):
		return messenger.Answer{Text: fmt.Sprintf("%s has moved on since: it is at %s", item, t.State.Stage), Done: true}, nil
	case act.asks != "" && strings.TrimSpace(a.Text) == "":
		return messenger.Answer{Text: item + ": " + act.asks, Ask: true}, nil
	}
	switch verb {
	case task.ActStop:
		err = Stop(ctx, c.Engine, t.ID, by)
	case task.ActRetry:
		err = Retry(ctx, c.Engine, t.ID, by)
	case task.ActAnswer:
		err = Answer(ctx, c.Engine, t.ID, a.Text, by)
	default:
		err = Decide(ctx, c.Engine, t.ID, Word{On: act.on, Why: a.Text, Of: t.State.Head}, by)
	}
	var refused *RefusedError
	var denied *DeniedError
	if errors.As(err, &refused) || errors.As(err, &denied) {
		return messenger.Answer{Text: item + ": " + err.Error()}, nil
	}
	return taken, err
}

// find is the task that a choice is about, and whether that counts still: the task stands as it did then, or is to stop. Of what is
// no choice of ours the task is zero.
func (c *Chat) find(ctx context.Context, choice string) (verb string, t task.Task, bound bool, err error) {
	part := append(strings.SplitN(choice, ".", 3), "", "")
	id, err := strconv.ParseInt(part[1], 10, 64)
	if err != nil || chatActs()[part[0]].label == "" {
		return "", t, false, nil
	}
	t, err = c.Engine.Store.Task(ctx, id)
	if errors.Is(err, task.ErrNotFound) {
		return "", task.Task{}, false, nil
	}
	return part[0], t, task.Moment(t) == part[2] || part[0] == task.ActStop, err
}

// heard reports whether an act was taken before: its answer, or that it was taken, was lost.
func (c *Chat) heard(ctx context.Context, t task.Task, by stage.Principal) (bool, error) {
	entries, err := c.Engine.Records.Journal(ctx, t.ID)
	return slices.ContainsFunc(entries, func(e task.JournalEntry) bool {
		a, err := e.Acted()
		return err == nil && a.By.Request == by.Request && a.By.Subject == by.Subject
	}), err
}

// refuse tells a stranger, once, what is missing; nothing of the task.
func (c *Chat) refuse(by messenger.Account) string {
	if c.told[by.ID] {
		return ""
	}
	if len(c.told) >= toldMax || c.told == nil {
		c.told = map[string]bool{}
	}
	c.told[by.ID] = true
	c.Engine.Log.Warn("somebody who is not in the registry has acted in the chat", "account", by.ID)
	return fmt.Sprintf("You are not registered here. An administrator adds you to people in projects.yaml: %s: %q.",
		c.Listener.Accounts(), by.ID)
}
