package orchestrator

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"

	"github.com/signalbox-dev/signalbox/gates"
	"github.com/signalbox-dev/signalbox/orchestrator/fault"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// questionsMax bounds what is taken over of an agent's questions, in bytes.
const questionsMax = 4000

// file takes over the report of a run: what its outbox holds is the verdict, and goes
// into the branch, where people read it. It returns the branch's tip too, which is tip
// when nothing was put there. A file that somebody has committed is no verdict.
func (e *Engine) file(ctx context.Context, p task.Project, t task.Task, l stage.Launch, tip string) (stage.Filed, string, error) {
	name := l.ReportFile()
	if name == "" || tip == "" {
		return stage.Filed{}, tip, nil
	}
	text, err := e.Agents.Report(ctx, work.Command{TaskID: t.ID, Run: l.Run, Report: name})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return stage.Filed{}, tip, nil
	case err != nil:
		return stage.Filed{Role: l.Role, Run: l.Run, Problem: fault.Words(err.Error())}, tip, nil
	}
	text = strings.ToValidUTF8(text, "\uFFFD")
	filed := gates.ParseReport(l.Role, l.Run, text)
	if filed.Problem != "" {
		return filed, tip, nil
	}
	space := p.Workspace(t)
	space.Head = tip
	files := []work.File{{Path: p.Docs(t.WorkItemID) + "/" + name, Body: []byte(text)}}
	added, err := e.Workspaces.Add(ctx, space, files, fmt.Sprintf("%s: %s of run %d", t.WorkItemID, name, l.Run))
	return filed, added.SHA, err
}

// readLeft reads what a run has left for people in its commit: open questions, if any, and
// which of its artefacts are there. Questions that stood there when it began were put to
// people then. What cannot be read is an error: a task whose questions are overlooked goes
// on without the answers.
func (e *Engine) readLeft(ctx context.Context, p task.Project, t task.Task, l stage.Launch, sha string, r *stage.Report) error {
	if sha == "" {
		return nil
	}
	tree, err := e.Workspaces.Files(ctx, p.Workspace(t), sha)
	if err != nil {
		return err
	}
	docs := p.Docs(t.WorkItemID) + "/"
	for _, name := range append(l.Artefacts(), p.Required[l.Stage]...) {
		_, err := fs.Stat(tree, docs+name)
		stale := name == l.ReportFile() && r.Filed.Role == "" // of a run before
		switch {
		case err == nil && !stale && !slices.Contains(r.Files, name):
			r.Files = append(r.Files, name)
		case err != nil && !errors.Is(err, fs.ErrNotExist):
			return err
		}
	}
	now, err := questionsIn(tree, docs)
	if err != nil || now == "" || l.Head == "" {
		r.Questions = now
		return err
	}
	if tree, err = e.Workspaces.Files(ctx, p.Workspace(t), l.Head); err != nil {
		return err
	}
	if before, err := questionsIn(tree, docs); err != nil || before == now {
		return err
	}
	r.Questions = now
	return nil
}

// questionsIn are the questions in a commit.
func questionsIn(tree fs.FS, docs string) (string, error) {
	body, err := fs.ReadFile(tree, docs+stage.QuestionsFile)
	if errors.Is(err, fs.ErrNotExist) {
		return "", nil
	}
	return strings.TrimSpace(strings.ToValidUTF8(string(body[:min(len(body), questionsMax)]), "")), err
}
