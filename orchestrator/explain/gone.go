package explain

import (
	"context"
	"strings"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/admit"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// readMarks reads what is so beside the tasks and explains something.
func (s *situation) readMarks(ctx context.Context, e *orchestrator.Engine) (err error) {
	if s.gone, err = e.GoneCards(ctx); err != nil {
		return err
	}
	s.refused, err = e.Store.Facts(ctx, task.Fact{Kind: orchestrator.FactAccess}, explainMax)
	return err
}

// blockOfCard explains a task that is held for its card or its pull request.
func (a account) blockOfCard() {
	if h, is := a.gone[a.ID]; is {
		do, status := orchestrator.MendCard(h, a.ID)
		kind := "card"
		link := ""
		if orchestrator.IsForPull(h) {
			kind, link = "pull_request", a.State.PRURL
		}
		a.add(Blocker{
			Kind: kind, Link: link, Why: h.Reason, Since: h.Since, Who: admit.WhoYou, Do: strings.ToUpper(do[:1]) + do[1:], Status: status,
		})
	}
}
