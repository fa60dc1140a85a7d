package explain

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// gone are the marks of tasks whose cards were deleted or archived, by task.
func gone(ctx context.Context, e *orchestrator.Engine) (map[int64]queue.Hold, error) {
	held, err := e.Jobs.Holds(ctx)
	out := map[int64]queue.Hold{}
	for _, h := range held {
		text, ok := strings.CutPrefix(h.Subject, "card/")
		if id, err := strconv.ParseInt(text, 10, 64); ok && err == nil && h.Name == orchestrator.CardGone {
			out[id] = h
		}
	}
	return out, err
}

// blockOfCard explains a task whose card is gone: nobody can move it there any more.
func (s situation) blockOfCard(x *Explanation, t task.Task) {
	if h, is := s.gone[t.ID]; is {
		do := orchestrator.StopGone(t.ID)
		x.add(s, Blocker{Kind: "card", Why: h.Reason, Since: h.Since, Who: WhoYou, Do: strings.ToUpper(do[:1]) + do[1:]})
	}
}

// behindGone names the task without a card that a job waits for, if it waits for one.
func (s situation) behindGone(r queue.Reason) (why, do string, is bool) {
	for id := range s.gone {
		if strings.Contains(r.Text, fmt.Sprintf("(task %d)", id)) {
			return fmt.Sprintf("; the card of task %d was deleted or archived, so nobody can move it on the board", id),
				fmt.Sprintf("Stop task %d: its page on the dashboard, or POST /tasks/%d/stop", id, id), true
		}
	}
	return "", "", false
}
