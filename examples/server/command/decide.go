package command

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/web"
)

// named is the part of commands about one task.
type named struct {
	Task string `arg:"" help:"Task id, or work item id such as GPX-42."`
}

// decision is the part of commands that decide about a task for a person.
type decision struct {
	Why    string        `help:"In your words; shown on the card. A rejection needs them."`
	Commit string        `help:"The commit that you have read, as show prints it: refused when the task stands at another by now."`
	Wait   time.Duration `default:"1m" help:"How long to wait for what comes of it; 0s: not at all."`
	printer
}

// triggers are those of the commands by which a person says a word.
var triggers = map[string]stage.Trigger{
	"approve": stage.OnApproved, "reject": stage.OnRejected, "confirm": stage.OnConfirmDeploy,
}

// wordCmd says the word of its name.
type wordCmd struct {
	named
	decision
}

// Run says it; it needs the right approver, or releaser to confirm, and the registry's.
func (c wordCmd) Run(s *streams, k *kong.Context) error {
	return c.decide(s, c.Task, k.Selected().Name)
}

type noteCmd struct {
	named
	Text string `arg:"" help:"In your words; shown on the card."`
	printer
}

// Run keeps a note; it needs the right operator.
func (c noteCmd) Run(s *streams) error {
	id, key, err := c.item(c.Task)
	if err != nil {
		return err
	}
	var queued web.Queued
	if err := c.call(http.MethodPost, fmt.Sprintf("/tasks/%d/notes", id), map[string]string{"text": c.Text}, &queued); err != nil {
		return err
	}
	return c.say(s.out, queued, "kept for the next run of %s\n", key)
}

// decided holds the result of a decision, as JSON has it.
type decided struct {
	TaskID int64       `json:"task_id"`
	Status string      `json:"status"` // queued, taken or refused
	Stage  stage.Stage `json:"stage"`
	Hold   stage.Hold  `json:"hold,omitempty"`
	Notes  []string    `json:"notes"`
}

// decisionPoll is how often it is looked what has come of a decision.
const decisionPoll = 300 * time.Millisecond

// decide sends a decision and waits for what comes of it: gates judge an approval.
func (c decision) decide(s *streams, name, verb string) error {
	id, err := c.find(name)
	if err != nil {
		return err
	}
	var before web.TaskDetail
	var queued web.Queued
	path := fmt.Sprintf("/tasks/%d", id)
	if err := c.get(path, &before); err != nil {
		return err
	}
	if err := c.call(http.MethodPost, path+"/"+verb, map[string]string{"why": c.Why, "commit": c.Commit}, &queued); err != nil {
		return err
	}
	out := decided{TaskID: id, Status: queued.Status, Stage: before.Stage, Hold: before.Hold, Notes: []string{}}
	for began := time.Now(); out.Status == queued.Status && time.Since(began) < c.Wait; time.Sleep(decisionPoll) {
		var k web.TaskDetail
		if err := c.get(path, &k); err != nil {
			return err
		}
		i := slices.IndexFunc(k.Journal, func(e web.EntryView) bool {
			return e.Kind == task.KindDecision && e.On == string(triggers[verb]) && !e.At.Before(queued.At)
		})
		if i < 0 {
			continue
		}
		e := k.Journal[i]
		out.Status, out.Stage, out.Hold, out.Notes = "taken", e.Stage, k.Hold, e.Notes
		if !e.Moved || before.Hold != stage.HoldNone && k.Hold == before.Hold {
			out.Status = "refused"
		}
	}
	notes := oneLine(strings.Join(out.Notes, "; "), 400)
	err = c.say(s.out, out, "%s of %s: %s; it is at %s: %s\n", verb, before.WorkItemID, out.Status, out.Stage, notes)
	if err == nil && out.Status == "refused" {
		return &exitError{exitRefused, fmt.Errorf("the %s moves nothing: look at signalbox why %s", verb, before.WorkItemID)}
	}
	return err
}
