package app

import (
	"context"
	"fmt"
	"io"
	"os"
	"strconv"

	"github.com/signalbox-dev/signalbox/orchestrator/admin"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
)

// Replay holds the result of deciding journals again.
type Replay struct {
	Tasks     []ReplayedTask `json:"tasks"`
	Decisions int            `json:"decisions"`
	Differing int            `json:"differing_tasks"`
	Other     int            `json:"other,omitempty"` // decisions by another policy: see admin.Replayed
	Note      string         `json:"note"`            // what the comparison means
}

// ReplayedTask is one task of a Replay.
type ReplayedTask struct {
	WorkItem string `json:"work_item"`
	Repo     string `json:"repo"`
	Equal    bool   `json:"equal"`
	First    string `json:"first,omitempty"` // difference, for people
	admin.Replayed
}

// replayNote says what decided, and on what.
const replayNote = "The present program, features and settings decided: where they have changed since, a difference may be theirs. " +
	"Each decision was made on the state that the one before has recorded, so that one difference makes no others behind it."

// Replay decides the journals again of every task, or of those with an id or a work
// item (cancelled ones too). It may run beside a server. That there is nothing to
// decide is an error: a comparison of nothing must not pass for a good one.
func (v *Service) Replay(ctx context.Context, taskID string) (Replay, error) {
	out := Replay{Tasks: []ReplayedTask{}, Note: replayNote}
	err := v.eachJournal(ctx, taskID, func(t task.Task) (int, error) {
		again, err := admin.Replay(ctx, v.Engine, t.ID)
		out.add(t, again)
		return again.Decisions + len(again.Broken), err
	})
	return out, err
}

// eachJournal calls f with every task, or those with an id or a work item. f returns how much it has decided again; that
// this is nothing at all is an error.
func (v *Service) eachJournal(ctx context.Context, taskID string, f func(task.Task) (int, error)) error {
	found, decided := 0, 0
	for after := int64(0); ; {
		page, err := v.DB.Tasks(ctx, task.Filter{AfterID: after})
		if err != nil {
			return err
		}
		for _, t := range page {
			after = t.ID
			item, _ := task.ParseTombstone(t.WorkItemID)
			if taskID != "" && taskID != item && taskID != t.WorkItemID && taskID != strconv.FormatInt(t.ID, 10) {
				continue
			}
			n, err := f(t)
			if err != nil {
				return fmt.Errorf("the journal of task %d: %w", t.ID, err)
			}
			found, decided = found+1, decided+n
		}
		switch {
		case len(page) > 0:
		case found == 0 && taskID != "":
			return fmt.Errorf("no task %q in %s: want an id such as 7 or a work item such as GPX-42", taskID, v.Settings.Database())
		case decided == 0:
			return fmt.Errorf("nothing was decided yet in %s: is it the right one?", v.Settings.Database())
		default:
			return nil
		}
	}
}

func (r *Replay) add(t task.Task, again admin.Replayed) {
	one := ReplayedTask{WorkItem: t.WorkItemID, Repo: t.Repo, First: again.First(), Replayed: again}
	one.Equal = one.First == ""
	if !one.Equal {
		r.Differing++
	}
	r.Decisions, r.Other = r.Decisions+again.Decisions, r.Other+again.Other
	r.Tasks = append(r.Tasks, one)
}

// Print writes one line for each task, the first difference of those that differ, and
// a summary.
func (r Replay) Print(w io.Writer) error {
	for _, t := range r.Tasks {
		name := fmt.Sprintf("%s (task %d, %s)", t.WorkItem, t.TaskID, t.Repo)
		if t.Equal {
			fmt.Fprintf(w, "%s: equal, %d decisions\n", name, t.Decisions)
			continue
		}
		fmt.Fprintf(w, "%s: %d of %d decisions differ; the first is\n%s\n", name, len(t.Differ), t.Decisions, t.First)
	}
	fmt.Fprintf(w, "\n%d journals with %d decisions, %d of them differ. %s\n", len(r.Tasks), r.Decisions, r.Differing, r.Note)
	if r.Other > 0 {
		fmt.Fprintf(w, "%d decisions were made by other settings, or before these were kept: what was concluded then stands.\n", r.Other)
	}
	return nil
}

// NeedsDatabase is the error of a database that is not there: opening it would make an
// empty one.
func (s Settings) NeedsDatabase() error {
	if s.Shared() {
		return nil // the server of the database says so
	}
	if info, err := os.Stat(s.file()); err != nil || info.Size() == 0 {
		return fmt.Errorf("%sDATA_DIR: there is no database %s; name the data directory of the server", Prefix, s.file())
	}
	return nil
}
