package orchestrator

import (
	"context"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
	"github.com/signalbox-dev/signalbox/tracker"
)

// Bounds of what a run is given of a card's files: all of them are in memory while its place is made.
const (
	cardFilesMax = 20
	cardFileMax  = 5 << 20  // bytes of one
	cardFilesAll = 20 << 20 // bytes of all
	cardFileTime = time.Minute
)

// filesOf reads the files of the task's card, to lie beside the request in the place of a run, and says what they are. What
// cannot be read is said to be left out: the run does not wait for it.
func (a *attempt) filesOf(ctx context.Context) (out []work.File, told []quotation) {
	from, ok := a.Tracker.(tracker.Files)
	if !ok {
		return nil, nil
	}
	ctx, cancel := a.Scheduler.WithTimeout(ctx, cardFileTime)
	defer cancel()
	project, item := a.project.On(a.task.TrackerProjectID).TrackerProject, task.OriginalKey(a.task.TrackerIssueID)
	list, err := from.Files(ctx, project, item)
	if err != nil {
		a.log.Warn("the files of a card could not be listed", "err", err)
	}
	if err != nil || len(list) == 0 {
		return nil, nil
	}
	dir, room, text := a.project.Docs(a.task.WorkItemID)+"/files/", int64(cardFilesAll), ""
	for n, f := range list[:min(len(list), cardFilesMax)] {
		name := fmt.Sprintf("%d-%s", n+1, plainName(f.Name))
		body, err := readFile(ctx, from, project, item, f, min(room, cardFileMax))
		if err != nil {
			a.log.Warn("a file of a card is left out", "file", f.ID, "err", err)
			text += fmt.Sprintf("%q is left out: it is too large, or could not be read\n", f.Name)
			continue
		}
		room -= int64(len(body))
		out = append(out, work.File{Path: dir + name, Body: body})
		text += fmt.Sprintf("%s: %q, %q, %d bytes; in the texts it is files/%s\n", name, f.Name, f.Type, len(body), plainName(f.ID))
	}
	if more := len(list) - cardFilesMax; more > 0 {
		text += fmt.Sprintf("%d more are left out\n", more)
	}
	return out, []quotation{{"Files that people have put on the work item. They lie in " + dir + ", in no commit", text}}
}

func readFile(ctx context.Context, from tracker.Files, project, item string, f tracker.File, most int64) ([]byte, error) {
	if f.Size > most {
		return nil, fmt.Errorf("it has %d bytes, and %d are left", f.Size, most)
	}
	r, err := from.OpenFile(ctx, project, item, f.ID)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }() // it was read only
	body, err := io.ReadAll(io.LimitReader(r, most+1))
	if err == nil && int64(len(body)) > most { // a tracker's word for its size is not enough
		err = fmt.Errorf("it has more than %d bytes", most)
	}
	return body, err
}

// plainName is a name in characters that mean nothing to a shell, a pattern or a path: the end of it, where its kind stands.
func plainName(name string) string {
	name = strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '.' || r == '_' {
			return r
		}
		return '-'
	}, name)
	return name[max(0, len(name)-60):]
}
