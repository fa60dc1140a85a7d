package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// file takes over the report of a run: what its outbox holds is the verdict, and goes
// into the branch, where people read it. It returns the branch's tip too, which is tip
// when nothing was put there. A file that somebody has committed is no verdict.
func (e *Engine) file(ctx context.Context, p Project, t Task, l stage.Launch, tip string) (stage.Filed, string, error) {
	name := l.ReportFile()
	if name == "" || tip == "" {
		return stage.Filed{}, tip, nil
	}
	text, err := e.Agents.Report(ctx, work.Command{TaskID: t.ID, Run: l.Run, Report: name})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stage.Filed{}, tip, nil
	case err != nil:
		return stage.Filed{Role: l.Role, Run: l.Run, Problem: err.Error()}, tip, nil
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	filed := gates.ParseReport(l.Role, l.Run, text)
	if filed.Problem != "" {
		return filed, tip, nil
	}
	space := p.Space(t)
	space.Head = tip
	files := []work.File{{Path: p.Docs(t.WorkItemID) + "/" + name, Body: []byte(text)}}
	added, err := e.Workspaces.Add(ctx, space, files, fmt.Sprintf("%s: %s of run %d", t.WorkItemID, name, l.Run))
	return filed, added.SHA, err
}
