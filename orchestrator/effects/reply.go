package effects

import (
	"context"
	"errors"
	"strings"

	"github.com/signalbox-dev/signalbox/gates/checks"
	"github.com/signalbox-dev/signalbox/githost"
	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/queue"
)

// reply answers comments on lines of the pull request in their threads, those of people whose reviews count alone: an agent is
// given no others.
func (d Deps) reply(ctx context.Context, e orchestrator.Effect) queue.Outcome {
	t, p, err := d.target(ctx, e)
	if err != nil {
		return d.retry(e, err)
	}
	host, says := d.Host.(githost.Commenter)
	shown, shows := d.Host.(githost.Details)
	if !says || !shows || p.Plain() || t.State.Stage == stage.Cancelled {
		return finished
	}
	list, err := shown.LineComments(ctx, p.Repo, t.Branch)
	if err != nil {
		return d.retry(e, err)
	}
	open := map[string]bool{}
	for _, c := range list {
		open[c.ID] = open[c.ID] || c.ID != "" && checks.Counts(c.Review, p.Reviewers)
	}
	for line := range strings.Lines(e.Text) {
		thread, text, _ := strings.Cut(strings.TrimSpace(line), ":")
		if text = strings.TrimSpace(text); !open[thread] || text == "" {
			continue
		}
		err := host.Comment(ctx, githost.NewComment{
			Repo: p.Repo, Number: t.State.PR, Thread: thread, Key: e.Key + "/" + thread, Body: text,
		})
		switch {
		case errors.Is(err, githost.ErrNotFound), errors.Is(err, githost.ErrLacking): // the comment was removed
		case orchestrator.GivenUp(err, e.Attempt):
			return dead(err.Error())
		case err != nil:
			return d.retry(e, err)
		}
	}
	return finished
}
