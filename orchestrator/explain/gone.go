package explain

import (
	"context"
	"fmt"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/queue"
)

// readMarks reads what is so beside the tasks and explains something.
func (s *situation) readMarks(ctx context.Context, e *orchestrator.Engine) (err error) {
	if s.gone, err = e.GoneCards(ctx); err != nil {
		return err
	}
	s.refused, err = e.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactAccess}, explainMax)
	return err
}

// blockOfCard explains a task that is held for its card.
func (a account) blockOfCard() {
	if h, is := a.gone[a.ID]; is {
		do, status := orchestrator.MendCard(h, a.ID)
		a.add(Blocker{Kind: "card", Why: h.Reason, Since: h.Since, Who: WhoYou, Do: strings.ToUpper(do[:1]) + do[1:], Status: status})
	}
}

// behindGone names the task without a card that a job waits for, if it waits for one.
func (s situation) behindGone(r queue.Reason) (why, do string, is bool) {
	for id, h := range s.gone {
		if strings.Contains(r.Text, fmt.Sprintf("(task %d)", id)) {
			do, _ := orchestrator.MendCard(h, id)
			return fmt.Sprintf("; task %d is held for its card", id), fmt.Sprintf("Task %d: %s", id, do), true
		}
	}
	return "", "", false
}
