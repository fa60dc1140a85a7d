package agentpause

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/queue"
)

// name names what is paused.
func name(p task.Pause) string {
	if p.Model != "" {
		return p.Agent + " with the model " + p.Model
	}
	return p.Agent
}

// mend tells a person what to do about it.
func mend(p task.Pause) string {
	switch p.Kind {
	case work.TroubleLogin:
		return signIn(p.Agent)
	case work.TroubleCredit:
		return "Top up the account at its vendor."
	case work.TroubleLimit:
		return "Wait, or name another agent in the registry and reload it."
	case work.TroubleModel:
		return "Name another model under agents in the registry and reload it."
	case work.TroubleMissing:
		return "Install it for the service's user, or name another agent in the registry and reload it."
	case work.TroubleOutdated:
		return "Update it, or mend its args in the registry and reload that."
	case work.TroublePerson:
		return "Start it by hand as the service's user and answer its questions."
	case work.TroubleRoom:
		return "Make room on the service's disk."
	default:
		return "Run it by hand as the service's user."
	}
}

// signIn is how a person signs in at a tool.
func signIn(agent string) string {
	how := map[string]string{
		"claude": "`claude /login`", "codex": "`codex login`", "gemini": "`gemini`", "antigravity": "`agy`",
		"opencode": "`opencode auth login`",
	}[agent]
	key := map[string]string{
		"claude": "ANTHROPIC_API_KEY", "codex": "OPENAI_API_KEY", "gemini": "GEMINI_API_KEY", "opencode": "OPENCODE_API_KEY",
	}[agent]
	switch {
	case how == "":
		return "Sign in by hand as the service's user, or set its vendor's key."
	case key == "":
		return "Run " + how + " as the service's user."
	default:
		return fmt.Sprintf("Run %s as the service's user, or set %s and restart the service.", how, key)
	}
}

// pausedText is the notice of a pause.
func pausedText(p task.Pause, now time.Time) string {
	again := "It is tried again by itself at " + orchestrator.Moment(now, p.Next) + ", or at once by Resume on the dashboard (Queue)."
	if !p.Until.IsZero() {
		again = "It is used again by itself at " + orchestrator.Moment(now, p.Until) + "."
		if p.Next.Before(p.Until) {
			again += " One task tries it every hour before."
		}
	}
	return fmt.Sprintf("%s: %s. %s %s Tasks wait for it and lose no try.%s", name(p), p.Kind.What(), mend(p), again, quoted(p.Reason))
}

// quoted renders the agent's words in one short line.
func quoted(reason string) string {
	words := []rune(strings.Join(strings.Fields(reason), " "))
	if len(words) == 0 {
		return ""
	}
	if len(words) > 200 {
		words = append(words[:200], '…')
	}
	return fmt.Sprintf(" It said: %s", string(words))
}

// waitText is the reason of a hold. It is the same as long as the trouble is.
func waitText(p task.Pause) string {
	until := ""
	if !p.Until.IsZero() {
		until = " until " + p.Until.UTC().Format("2 Jan 15:04 UTC")
	}
	return fmt.Sprintf("waits for %s%s: %s", name(p), until, p.Kind.What())
}

// notice is a message to people, put in the transaction that begins or ends the pause.
func notice(p task.Pause, what, title, text string) queue.Job {
	key := fmt.Sprintf("%s/%s/%s/%s/%s/%d.%d", Name, p.Agent, p.Model, p.Kind, what, p.Since.UnixMicro(), p.Version)
	return orchestrator.EffectJob(task.Task{Title: title}, task.Project{}, stage.Effect{Kind: stage.EffectNotify, Text: text}, key)
}

// pausedView is an agent in the block of /queue.
type pausedView struct {
	Agent  string           `json:"agent"`
	Model  string           `json:"model,omitempty"` // empty = with any
	Kind   work.TroubleKind `json:"kind"`
	What   string           `json:"what"`             // in words
	Do     string           `json:"do"`               // by a person
	Reason string           `json:"reason,omitempty"` // the agent's own words
	Since  time.Time        `json:"since"`
	Until  time.Time        `json:"until,omitzero"`       // when it ends by itself
	Next   time.Time        `json:"next_try_at,omitzero"` // where that is not known
	Task   int64            `json:"tried_by_task,omitempty"`
	Tasks  []int64          `json:"waiting_tasks"`
}

// view is the block in /queue.
type view struct {
	Enabled bool         `json:"enabled"`
	Paused  []pausedView `json:"paused"`
}

func (f *Pauses) show(ctx context.Context) (any, error) {
	stored, err := f.opt.Store.Pauses(ctx)
	if err != nil {
		return nil, err
	}
	waiting, err := admit.ListWaiting(ctx, f.opt.Store, f.rule(), "")
	if err != nil {
		return nil, err
	}
	v := view{Enabled: true, Paused: []pausedView{}}
	for _, p := range stored {
		one := pausedView{
			Agent: p.Agent, Model: p.Model, Kind: p.Kind, What: p.Kind.What(), Do: mend(p), Reason: p.Reason,
			Since: p.Since, Until: p.Until, Task: p.Task, Tasks: []int64{},
		}
		if p.Until.IsZero() {
			one.Next = p.Next
		}
		for _, w := range waiting {
			if w.Reason == waitText(p) {
				one.Tasks = append(one.Tasks, w.TaskID)
			}
		}
		v.Paused = append(v.Paused, one)
	}
	return v, nil
}
