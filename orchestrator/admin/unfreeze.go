package admin

import (
	"context"
	"fmt"
	"regexp"
	"strconv"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// frozenBy finds the task in the reason of a freeze, as package monitor writes it.
var frozenBy = regexp.MustCompile(`\(task (\d{1,18})\)`)

// TellUnfrozen notifies people that the tasks of a repository may begin again: in the chat, and on
// the card that the freeze was about.
func TellUnfrozen(ctx context.Context, e *orchestrator.Engine, repo, reason string) error {
	p, ok := e.Projects.ByRepo(repo)
	if !ok {
		return &orchestrator.UnregisteredError{Repo: repo}
	}
	key := fmt.Sprintf("unfrozen/%s/%d", p.Repo, e.Now().UnixMicro())
	text := p.Repo + " is not frozen any more: its tasks may begin."
	out := task.Commit{}
	t := task.Task{}
	if m := frozenBy.FindStringSubmatch(reason); m != nil {
		id, err := strconv.ParseInt(m[1], 10, 64)
		if err == nil {
			t, err = e.Store.Task(ctx, id)
		}
		if err == nil && t.Repo == p.Repo {
			comment := stage.Effect{Kind: stage.EffectComment, Author: stage.Stream, Text: text}
			out.Jobs = append(out.Jobs, orchestrator.EffectJob(t, p, comment, key+"/comment"))
		} else {
			t = task.Task{}
		}
	}
	out.Jobs = append(out.Jobs, orchestrator.EffectJob(t, p, stage.Effect{Kind: stage.EffectNotify, Text: text}, key))
	return e.Store.Commit(ctx, out)
}
