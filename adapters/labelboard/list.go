package labelboard

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/tracker"
)

// List implements tracker.Tracker, all of it in one page. With statuses, or where columns are enough, the issues of each column are
// listed; else all issues of the repository, for which pagesMax may not be enough. An issue in a column by which nobody requests anything
// is listed with its last change of any kind: there may be thousands, and each log is a call.
func (c *Client) List(ctx context.Context, q tracker.Query) (none tracker.Page, err error) {
	at, err := project(q.ProjectID)
	if err != nil {
		return none, err
	}
	labels := []string{""}
	if len(q.Statuses) > 0 || q.Placed {
		b, err := c.board(ctx, q.ProjectID)
		if err != nil {
			return none, err
		}
		labels = nil
		for s, l := range b.labels {
			if q.Placed || slices.Contains(q.Statuses, s) {
				labels = append(labels, l.Name)
			}
		}
	}
	found := map[int64]wireIssue{}
	for _, label := range labels {
		values := maps.Clone(c.opt.Issues.List)
		if label != "" {
			values.Set("labels", label)
		}
		if !q.Since.IsZero() {
			values.Set("since", q.Since.UTC().Format(time.RFC3339))
		}
		err := each(ctx, c, at+"issues", values, func(i wireIssue) {
			if i.PullRequest == nil {
				found[i.Number] = i
			}
		})
		if err != nil {
			return none, err
		}
	}
	var out tracker.Page
	for _, i := range found {
		one, err := c.glance(ctx, q.ProjectID, i)
		if err != nil {
			return none, err
		}
		if !one.UpdatedAt.Before(q.Since) && (len(q.Statuses) == 0 || slices.Contains(q.Statuses, one.Status)) {
			out.Items = append(out.Items, one)
		}
	}
	slices.SortFunc(out.Items, func(a, b tracker.Item) int {
		return cmp.Or(b.UpdatedAt.Compare(a.UpdatedAt), cmp.Compare(b.Sequence, a.Sequence))
	})
	return out, nil
}

// glanced is where an issue stood when it was listed last.
type glanced struct {
	updated time.Time
	labels  []wireLabel
	column  string
	at      time.Time
	moved   time.Time // MovedAt
}

// glance is read, without the log where there is no request, and of an issue that is as it was:
// those at STOP are listed for ever. The hosts count whole seconds; who has moved an issue is never taken from here.
func (c *Client) glance(ctx context.Context, projectID string, i wireIssue) (tracker.Item, error) {
	id := c.ItemID(projectID, i.Number)
	if columns := i.columns(); len(columns) == 1 {
		if info, _ := stage.StatusNamed(tracker.StatusCalled(columns[0])); !info.Trigger {
			return convert(projectID, id, i, columns[0], i.UpdatedAt.Time), nil
		}
	}
	before, known := c.glances.Get(id)
	if known && before.updated.Equal(i.UpdatedAt.Time) && slices.Equal(before.labels, i.Labels) {
		out := convert(projectID, id, i, before.column, before.at)
		out.MovedAt = before.moved
		return out, nil
	}
	out, err := c.read(ctx, projectID, i)
	if err != nil && ctx.Err() == nil && fault.After(err) == 0 { // no other issue waits for this log
		c.opt.Log.Warn("the log of an issue cannot be read now", "item", id, "repo", projectID, "err", err)
		column, _, _ := standing(i, nil)
		return convert(projectID, id, i, column, i.UpdatedAt.Time), nil
	}
	if err != nil {
		return tracker.Item{}, err
	}
	c.glances.Add(id, glanced{i.UpdatedAt.Time, i.Labels, out.StatusName, out.UpdatedAt, out.MovedAt})
	return out, nil
}
