// Package documents reads what a task's branch has for people: the documents of its directory and
// what it changes, as of a commit of the mirror, and with it all that a person decides a task by.
// What the branch has was written by agents: names are checked,
// lengths are bounded, secrets are replaced, and what steers a terminal or turns the direction of a
// text is taken out. It is still no text of the service's own.
package documents

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"regexp"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/signalbox-dev/signalbox/orchestrator"
	"github.com/signalbox-dev/signalbox/orchestrator/follow"
	"github.com/signalbox-dev/signalbox/orchestrator/secret"
	"github.com/signalbox-dev/signalbox/orchestrator/stage"
	"github.com/signalbox-dev/signalbox/orchestrator/task"
	"github.com/signalbox-dev/signalbox/orchestrator/work"
)

// textMax bounds the text of a document, in characters.
const textMax = 200_000

// Document is a file of a task's directory.
type Document struct {
	Name  string      `json:"name"`
	Stage stage.Stage `json:"stage,omitempty"` // whose work it is part of; empty = none
	Size  int64       `json:"size"`            // bytes
}

// List holds what a task's directory has at a commit.
type List struct {
	TaskID    int64      `json:"task_id"`
	Commit    string     `json:"commit"` // empty = the task has none yet
	Documents []Document `json:"documents"`
}

// Text is a document at a commit.
type Text struct {
	Document
	TaskID int64  `json:"task_id"`
	Commit string `json:"commit"`
	Text   string `json:"text"`
	Cut    bool   `json:"cut"` // the end is left out
}

// Diff holds what a task's branch changes at a commit, since it has left main at Base, or since another commit of its own.
type Diff struct {
	TaskID int64  `json:"task_id"`
	Commit string `json:"commit"`
	Base   string `json:"base"`
	Main   string `json:"main"` // name of the branch
	Files  []File `json:"files"`
	Cut    bool   `json:"cut"` // files, or the end of the text, are left out
}

// File is a file that a branch changes.
type File struct {
	work.FileDiff
	Protected bool `json:"protected"` // a person has to see it
}

// Lines counts the lines that a file has got and lost.
func (f File) Lines() (added, removed int) {
	_, body, _ := strings.Cut(f.Text, "\n@@ ")
	_, body, _ = strings.Cut(body, "\n")
	for line := range strings.Lines(body) {
		switch line[0] {
		case '+':
			added++
		case '-':
			removed++
		}
	}
	return added, removed
}

// NotFoundError reports in a sentence what a task does not have.
type NotFoundError struct{ Text string }

// Error is the sentence.
func (n *NotFoundError) Error() string { return n.Text }

// UnreadableError is that of a mirror that does not have a commit of the task, or not any more.
type UnreadableError struct{ Err error }

// Error names the cause.
func (u *UnreadableError) Error() string { return "the mirror cannot be read: " + u.Err.Error() }

// Reader reads what tasks of an engine have.
type Reader struct {
	Engine   *orchestrator.Engine
	Redactor *secret.Redactor // nil = nothing is hidden
}

// at finds a commit of a task: its head, or one that gates have judged.
func (r Reader) at(ctx context.Context, t task.Task, commit string) (task.Project, work.Workspace, string, error) {
	p, ok := r.Engine.Projects.ByRepo(t.Repo)
	if !ok {
		return p, work.Workspace{}, "", &orchestrator.UnregisteredError{Repo: t.Repo}
	}
	t.WorkItemID, t.Branch = task.OriginalKey(t.WorkItemID), task.OriginalKey(t.Branch)
	space := p.Workspace(t)
	if commit == "" || commit == t.State.Head {
		return p, space, t.State.Head, nil
	}
	judged, err := r.Engine.Records.GateResults(ctx, t.ID)
	if err == nil && !slices.ContainsFunc(judged, func(g task.GateResult) bool { return g.Verdict.SHA == commit }) {
		err = &NotFoundError{fmt.Sprintf("The task has had no such commit; its head is %.12s.", t.State.Head)}
	}
	return p, space, commit, err
}

var nameForm = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,99}$`)

// List lists the documents of a task at a commit ("" = its head), in the order of the stages.
func (r Reader) List(ctx context.Context, t task.Task, commit string) (List, error) {
	list, _, err := r.list(ctx, t, commit)
	return list, err
}

func (r Reader) list(ctx context.Context, t task.Task, commit string) (List, fs.FS, error) {
	p, space, sha, err := r.at(ctx, t, commit)
	out := List{TaskID: t.ID, Commit: sha, Documents: []Document{}}
	if err != nil || sha == "" {
		return out, nil, err
	}
	tree, err := r.Engine.Workspaces.Files(ctx, space, sha)
	if err != nil {
		return out, nil, &UnreadableError{err}
	}
	if tree, err = fs.Sub(tree, space.Docs); err != nil {
		return out, nil, err
	}
	entries, err := fs.ReadDir(tree, ".")
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return out, nil, &UnreadableError{err}
	}
	known := expected(p, r.Engine.Machine().Pipeline().Stages)
	for _, e := range entries {
		if info, err := e.Info(); err == nil && !e.IsDir() && nameForm.MatchString(e.Name()) {
			out.Documents = append(out.Documents, Document{Name: e.Name(), Size: info.Size()})
		}
	}
	rank := func(d Document) int {
		i := slices.IndexFunc(known, func(k Document) bool { return k.Name == d.Name })
		return (i + len(known)) % len(known) // what no stage asks for is last
	}
	for i, d := range out.Documents {
		out.Documents[i].Stage = known[rank(d)].Stage
	}
	slices.SortStableFunc(out.Documents, func(a, b Document) int { return rank(a) - rank(b) })
	return out, tree, nil
}

// expected are the documents that stages ask for, in their order; the last is that of none.
func expected(p task.Project, stages []stage.Info) (out []Document) {
	for _, i := range stages {
		for _, name := range slices.Concat(i.Prepared, i.Written(""), p.Required[i.Stage]) {
			if !slices.ContainsFunc(out, func(d Document) bool { return d.Name == name }) {
				out = append(out, Document{Name: name, Stage: i.Stage})
			}
		}
	}
	return append(out, Document{})
}

// Read reads a document of a task at a commit ("" = its head), by its name with or without .md.
func (r Reader) Read(ctx context.Context, t task.Task, name, commit string) (Text, error) {
	list, tree, err := r.list(ctx, t, commit)
	if err != nil {
		return Text{}, err
	}
	var names []string
	for _, d := range list.Documents {
		if names = append(names, d.Name); d.Name != name && d.Name != name+".md" {
			continue
		}
		body, err := fs.ReadFile(tree, d.Name)
		if err != nil {
			return Text{}, &UnreadableError{err}
		}
		return Text{
			Document: d, TaskID: t.ID, Commit: list.Commit,
			Text: r.clean(string(body), textMax), Cut: utf8.RuneCount(body) > textMax,
		}, nil
	}
	return Text{}, &NotFoundError{"There is no such document; there are: " + strings.Join(names, ", ") + "."}
}

// Diff reads what a task's branch changes at a commit ("" = its head), from where it has left main.
func (r Reader) Diff(ctx context.Context, t task.Task, commit string) (Diff, error) {
	return r.DiffFrom(ctx, t, "", commit)
}

// DiffFrom reads what has changed from one commit of a task to another, in the files that the branch changes: what main
// brought to others is left out.
func (r Reader) DiffFrom(ctx context.Context, t task.Task, from, commit string) (Diff, error) {
	p, space, sha, err := r.at(ctx, t, commit)
	if err == nil && from != "" {
		_, _, from, err = r.at(ctx, t, from)
	}
	out := Diff{TaskID: t.ID, Commit: sha, Main: p.Main, Files: []File{}}
	if err != nil || sha == "" {
		return out, err
	}
	d, err := r.Engine.Workspaces.Diff(ctx, space, from, sha)
	own := d.Files
	if err == nil && from != "" {
		var whole work.Diff
		whole, err = r.Engine.Workspaces.Diff(ctx, space, "", sha)
		own = whole.Files
	}
	if err != nil {
		return out, &UnreadableError{err}
	}
	out.Base, out.Cut = d.Base, d.Cut
	for _, f := range d.Files {
		if !slices.ContainsFunc(own, func(w work.FileDiff) bool { return w.Path == f.Path }) {
			continue
		}
		protected := stage.MatchPath(p.Policy().Protected, f.Path)
		diff := work.FileDiff{Path: r.clean(f.Path, work.DiffMax), Text: r.clean(f.Text, work.DiffMax)}
		out.Files = append(out.Files, File{diff, protected})
	}
	return out, nil
}

func (r Reader) clean(text string, limit int) string {
	return follow.Clean(r.Redactor.Text(strings.ReplaceAll(text, "\r\n", "\n")), limit)
}
